"""Mends of a PDF's Markdown: page marks, and prose that was taken for a table."""

from __future__ import annotations

import re

# Words of a page's beginning that are looked for, and how much markup may stand between two of them.
_WORDS = 6
_GAP = r"[\s|*_#\\>-]{1,12}"
_MAX_PAGES = 5000
_SENTENCE_END = re.compile(r"[.,;:!?]$")
_NUMBER = re.compile(r"[\d.,%$€£()+-]+$")


def mend(text: str, pages: list[str]) -> str:
    """``text`` with ``<!-- page N -->`` before the words of each page, and without tables that are none.

    ``pages`` are the plain texts of the pages; a page whose beginning can't be found gets no mark.
    """
    return _mark_pages(_without_false_tables(text), pages[:_MAX_PAGES])


def _mark_pages(text: str, pages: list[str]) -> str:
    if len(pages) < 2:
        return text
    marks: list[tuple[int, int]] = []
    position = 0
    for number, page in enumerate(pages, 1):
        words = page.split()[:_WORDS]
        if not words:
            continue
        found = re.compile(_GAP.join(map(re.escape, words))).search(text, position)
        if found is None and len(words) > 3:
            found = re.compile(_GAP.join(map(re.escape, words[:3]))).search(text, position)
        if found is not None:
            marks.append((_block_start(text, found.start()), number))
            position = found.end()
    out, last = [], 0
    for at, number in marks:
        out += [text[last:at], f"<!-- page {number} -->\n\n"]
        last = at
    return "".join(out) + text[last:]


def _block_start(text: str, at: int) -> int:
    """The beginning of the block (after a blank line) that holds a position."""
    blank = text.rfind("\n\n", 0, at)
    return blank + 2 if blank >= 0 else 0


def _without_false_tables(text: str) -> str:
    blocks = text.split("\n\n")
    return "\n\n".join(_as_prose(block) if block.startswith("|") else block for block in blocks)


def _as_prose(block: str) -> str:
    """A table whose rows read as sentences becomes lines again."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.strip().split("\n")]
    rows = [row for row in rows if not all(re.fullmatch(r":?-*:?", cell) for cell in row)]
    filled = [[cell for cell in row if cell] for row in rows]
    filled = [row for row in filled if row]
    cells = [cell for row in filled for cell in row]
    if not cells:
        return ""
    ends = sum(bool(_SENTENCE_END.search(row[-1])) for row in filled) / len(filled)
    numbers = sum(bool(_NUMBER.match(cell)) for cell in cells) / len(cells)
    if ends < 0.5 or numbers > 0.2:
        return block
    return "\n".join(" ".join(row) for row in filled)
