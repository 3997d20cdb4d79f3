"""The words of a PDF page as lines in reading order: columns one after the other, tables apart."""

from __future__ import annotations

import itertools
from typing import NamedTuple
from unicodedata import bidirectional

from cdpfetch.extract.pdfwords import Word

# In sizes of the font: a wider gap in a line parts columns or cells, and so wide must a gutter be.
_GAP = 1.0
_GUTTER = 0.7
# Fewer lines than these make no columns; cells of so many words are running text, in so many columns at most.
_COLUMN_LINES = 4
_PROSE_WORDS = 4.5
_MAX_COLUMNS = 4
_MAX_DEPTH = 4


class Segment(NamedTuple):
    """Words of a line without a wide gap between them."""

    words: list[Word]

    @property
    def left(self) -> float:
        return self.words[0].left

    @property
    def right(self) -> float:
        return self.words[-1].right


class Line(NamedTuple):
    """A line: its segments from the left to the right, its base line, and the size of its font."""

    segments: list[Segment]
    base: float
    size: float

    @property
    def words(self) -> list[Word]:
        return [word for segment in self.segments for word in segment.words]

    @property
    def reading(self) -> list[Word]:
        """The words in the order in which they are read: from the right where most letters run that way."""
        words = self.words
        letters = [char for word in words for char in word.text if char.isalpha()]
        backwards = sum(bidirectional(char) in ("R", "AL") for char in letters)
        return words[::-1] if backwards * 2 > len(letters) else words

    @property
    def left(self) -> float:
        return self.segments[0].left

    @property
    def right(self) -> float:
        return self.segments[-1].right


class Table(NamedTuple):
    """Rows of cells; a cell is the words of its lines."""

    rows: list[list[list[Word]]]


Item = Line | Table


def lines(words: list[Word]) -> list[Line]:
    """The lines of a page, from the top to the bottom."""
    groups: list[list[Word]] = []
    for word in sorted(words, key=lambda word: (-word.base, word.left)):
        # A raised or lowered sign belongs to the line that it touches.
        near = next((group for group in groups[-3:][::-1] if _same_line(group, word)), None)
        if near is None:
            groups.append([word])
        else:
            near.append(word)
    out = []
    for group in groups:
        group.sort(key=lambda word: word.left)
        size = max(word.size for word in group)
        base = next(word.base for word in group if word.size == size)
        out.append(Line(_segments(group, size), base, size))
    return sorted(out, key=lambda line: -line.base)


def _same_line(group: list[Word], word: Word) -> bool:
    first = max(group, key=lambda one: one.size)
    return abs(first.base - word.base) < 0.4 * max(first.size, word.size) and not (
        # Two lines of small print beside a large initial are two lines.
        word.size > 2.5 * first.size or first.size > 2.5 * word.size
    )


def _segments(words: list[Word], size: float) -> list[Segment]:
    runs = [[words[0]]]
    reach = words[0].right
    for word in words[1:]:
        if word.left - reach > _GAP * size:
            runs.append([])
        runs[-1].append(word)
        reach = max(reach, word.right)
    return [Segment(run) for run in runs]


def arrange(found: list[Line], depth: int = 0) -> list[Item]:
    """The lines in reading order, and the tables among them."""
    out: list[Item] = []
    index = 0
    while index < len(found):
        end, gutters = _band(found, index) if depth < _MAX_DEPTH and not _is_code(found[index]) else (index, [])
        if end - index < 2:
            out.append(found[index])
            index += 1
            continue
        out += _columns_or_table(found[index:end], gutters, depth)
        index = end
    return out


def _is_code(line: Line) -> bool:
    return all(word.mono for word in line.words)


def _gaps(line: Line) -> list[tuple[float, float]]:
    """Where a line has nothing, the margins counted."""
    edges = [(float("-inf"), line.left), (line.right, float("inf"))]
    words = line.words
    inner = [(a.right, b.left) for a, b in itertools.pairwise(words) if b.left - a.right > 0.5 * line.size]
    return sorted(edges + inner)


def _band(found: list[Line], start: int) -> tuple[int, list[tuple[float, float]]]:
    """The end of the run of lines from ``start`` that share a gutter, and their gutters."""
    first = found[start]
    shared = [(a.right, b.left) for a, b in zip(first.segments, first.segments[1:], strict=False)]
    end, last, several = start, start, 0
    for index in range(start, len(found)):
        line = found[index]
        meet = [(max(a, c), min(b, d)) for a, b in shared for c, d in _gaps(line)]
        kept = [gap for gap in meet if gap[1] - gap[0] >= _GUTTER * line.size]
        if not kept or (index > start and not _alike(found[index - 1], line)):
            break
        shared, end = kept, index + 1
        if sum(map(bool, _cells(line, sorted(kept)))) > 1:
            last, several = end, several + 1
    # What follows the last line with several parts is no part of the band, unless it is a long column.
    if not (end - last >= _COLUMN_LINES and last - start >= _COLUMN_LINES):
        reached, end = end, last
        # The last row's cells may go on below it.
        while start < end < reached and _goes_on(found[end - 1], found[end], sorted(shared)):
            end += 1
    inner = [gap for gap in shared if _parts(found[start:end], gap)]
    return (end, inner) if inner and several >= max(2, 0.5 * (end - start)) else (start, [])


def _goes_on(above: Line, line: Line, gutters: list[tuple[float, float]]) -> bool:
    """Whether a line stands close below a row and leaves its first cell empty."""
    return above.base - line.base <= 1.35 * line.size and not _cells(line, gutters)[0]


def _alike(above: Line, line: Line) -> bool:
    """Whether a line may belong to the same columns or table as the one above it."""
    near = above.base - line.base <= 3.5 * line.size
    return near and abs(above.size - line.size) <= 0.15 * above.size and _is_code(above) == _is_code(line)


def _parts(found: list[Line], gap: tuple[float, float]) -> bool:
    """Whether there are lines on both sides of a gutter."""
    middle = (gap[0] + gap[1]) / 2
    return any(line.left < middle for line in found) and any(line.right > middle for line in found)


def _cells(line: Line, gutters: list[tuple[float, float]]) -> list[list[Word]]:
    cells: list[list[Word]] = [[] for _ in range(len(gutters) + 1)]
    for word in line.words:
        cells[sum(word.left >= (a + b) / 2 for a, b in gutters)].append(word)
    return cells


def _columns_or_table(found: list[Line], gutters: list[tuple[float, float]], depth: int) -> list[Item]:
    gutters = sorted(gutters)
    grid = [_cells(line, gutters) for line in found]
    filled = [cell for row in grid for cell in row if cell]
    words = sum(any(map(str.isalnum, word.text)) for cell in filled for word in cell)
    prose = words / max(1, len(filled)) >= _PROSE_WORDS
    if prose and len(gutters) < _MAX_COLUMNS and len(found) >= _COLUMN_LINES:
        out: list[Item] = []
        for column in range(len(gutters) + 1):
            own = [word for row in grid for word in row[column]]
            out += arrange(lines(own), depth + 1) if own else []
        return out
    if prose and len(found) < _COLUMN_LINES:
        return list(found)
    return [Table(_rows(found, grid))]


def _rows(found: list[Line], grid: list[list[list[Word]]]) -> list[list[list[Word]]]:
    """The rows of a table; a line that leaves its first cell empty and stands close goes on with the row above."""
    pitches = sorted(a.base - b.base for a, b in itertools.pairwise(found))
    usual = pitches[len(pitches) // 2] if pitches else 0.0
    rows: list[list[list[Word]]] = []
    for index, cells in enumerate(grid):
        close = index > 0 and found[index - 1].base - found[index].base <= min(1.35 * found[index].size, usual * 1.05)
        if rows and close and not cells[0] and sum(map(bool, cells)) < sum(map(bool, rows[-1])):
            for into, cell in zip(rows[-1], cells, strict=True):
                into += cell
        else:
            rows.append([list(cell) for cell in cells])
    return rows
