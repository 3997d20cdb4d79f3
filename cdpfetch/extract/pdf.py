"""PDFs as Markdown: a mark before every page, headings by their size, columns, tables, lists, listings and links."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from cdpfetch.extract import pdflines
from cdpfetch.extract.inline import escape, guard
from cdpfetch.extract.pdflines import Line, Table
from cdpfetch.extract.pdfwords import Document, Page, Word
from cdpfetch.extract.tables import escape_cell

# pdfium serves one thread at a time.
LOCK = threading.Lock()
# Reading stops after so long (seconds), and after so many pages.
MAX_SECONDS = 25.0
MAX_PAGES = 5000
# The pages that tell the usual size of the text, and what stands on every page.
_SAMPLE = 30
# What is larger than the text by this factor is a heading, if it is short.
_LARGER = 1.12
_MAX_HEADING = 180
_MAX_BOLD_HEADING = 12
# Shares of the page's height in which running heads and feet stand, and the share of pages on which they do.
_MARGIN = 0.09
_REPEATED = 0.5
_BULLET = re.compile(r"[•◦▪▫‣⁃●○■□–∙·*-]\Z")
_LONE_NUMBER = re.compile(r"\d{1,3}[.)]?\Z")
_NUMBER = re.compile(r"(\d{1,3})[.)]\Z")
_DENSE = re.compile("[\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef]")
# Dots that lead to a page's number.
_LEADER = re.compile(r"(?: ?[.·]){4,} ?| ?…{2,} ?")
_DIGITS = re.compile(r"\d+")
_ENDS = re.compile(r"[.!?:;\"”’)\]]\Z")


class Text(NamedTuple):
    """What was read: the Markdown, the pages of the file, how many were read, and those without text.

    ``images``: whether pages without text show images.
    """

    markdown: str
    pages: int
    read: int
    wordless: list[int]
    images: bool


class _Look(NamedTuple):
    """What the pages of a document have in common."""

    size: float
    heads: list[float]
    furniture: frozenset[str]


def read(document: Document) -> Text:
    """The text of an open document."""
    end = time.monotonic() + MAX_SECONDS
    count = min(document.pages, MAX_PAGES)
    sample = [document.page(index) for index in range(min(count, _SAMPLE))]
    look = _look([page for page in sample if page is not None])
    parts: list[str] = []
    wordless: list[int] = []
    seen: set[str] = set()
    number, images = 0, False
    for number in range(1, count + 1):
        page = sample[number - 1] if number <= len(sample) else document.page(number - 1)
        blocks = list(_blocks(page, look, seen)) if page is not None else []
        if not blocks:
            wordless.append(number)
            images = images or (page is not None and page.images > 0)
        if document.pages > 1:
            parts.append(f"<!-- page {number} -->")
        parts += blocks
        if time.monotonic() > end:
            break
    return Text("\n\n".join(parts) + "\n", document.pages, number, wordless, images)


def _look(pages: list[Page]) -> _Look:
    sizes: Counter[float] = Counter()
    margins: Counter[str] = Counter()
    for page in pages:
        for word in page.words:
            sizes[round(word.size * 2) / 2] += len(word.text)
        margins.update({_key(line) for line in pdflines.lines(page.words) if _is_marginal(line, page)})
    usual = sizes.most_common(1)[0][0] if sizes else 10.0
    heads = sorted((size for size in sizes if size >= usual * _LARGER), reverse=True)
    repeated = {key for key, count in margins.items() if count > max(2, len(pages) * _REPEATED)}
    return _Look(usual, heads, frozenset(repeated))


def _is_marginal(line: Line, page: Page) -> bool:
    return line.base < page.height * _MARGIN or line.base > page.height * (1 - _MARGIN)


def _key(line: Line) -> str:
    return _DIGITS.sub("#", " ".join(word.text for word in line.words))


def _blocks(page: Page, look: _Look, seen: set[str]) -> Iterator[str]:
    """The blocks of a page; what runs along all pages is told once."""
    upright = [word for word in page.words if not word.turned]
    kept = []
    for line in pdflines.lines(upright) if upright else []:
        key = _key(line)
        if key in look.furniture and _is_marginal(line, page):
            if key in seen or not key.strip("#-– "):
                continue
            seen.add(key)
        kept.append(line)
    for code, group in groupby(pdflines.arrange(kept), key=_sort):
        items = list(group)
        if code == "table":
            yield from (text for item in items if isinstance(item, Table) and (text := _table(item)))
        elif code == "code" and (len(items) > 1 or _is_listing(items)):
            yield _listing([item for item in items if isinstance(item, Line)])
        else:
            yield from _paragraphs([item for item in items if isinstance(item, Line)], look)
    if turned := [word for word in page.words if word.turned]:
        yield _text(turned)


def _sort(item: pdflines.Item) -> str:
    if isinstance(item, Table):
        return "table"
    return "code" if all(word.mono for word in item.words) else "text"


def _is_listing(items: list[pdflines.Item]) -> bool:
    """Whether one line of one width is a listing and not a word of code that fills its line."""
    return isinstance(items[0], Line) and len(items[0].words) > 2


def _listing(found: list[Line]) -> str:
    """Lines of code with the blanks that their places tell."""
    left, width = min(line.left for line in found), _advance(found)
    rows: list[str] = []
    above = found[0]
    for line in found:
        if above.base - line.base > 1.9 * line.size:
            rows.append("")
        row = " " * round((line.left - left) / width)
        reach = line.left
        for word in line.words:
            if word.left > reach:
                row += " " * max(round((word.left - reach) / width - 0.15), 1)
            row += word.text.replace("\u00ad", "-")
            reach = word.left + len(word.text) * width
        rows.append(row)
        above = line
    longest = max((len(run) for run in re.findall(r"`{3,}", "\n".join(rows))), default=2)
    fence = "`" * (longest + 1)
    return "\n".join([fence, *rows, fence])


def _advance(found: list[Line]) -> float:
    """The width of a character of a listing: from one word to the next."""
    steps = sorted(
        (after.left - word.left) / (len(word.text) + 1)
        for line in found
        for word, after in zip(line.words, line.words[1:], strict=False)
        if after.left - word.right < line.size
    )
    return max(1.0, steps[len(steps) // 2] if steps else found[0].size * 0.6)


def _table(table: Table) -> str:
    marks = [" ".join(word.text for word in row[0]) for row in table.rows]
    if len(table.rows[0]) == 2 and all(_BULLET.match(mark) or _LONE_NUMBER.match(mark) for mark in marks):
        # The numbers or signs of a list stand far from its words.
        items = [(mark.rstrip(".)"), _text(row[1])) for mark, row in zip(marks, table.rows, strict=True)]
        return "\n".join(f"{mark}. {text}" if mark.isdecimal() else f"- {text}" for mark, text in items)
    rows = [[escape_cell(_text(cell)) if cell else "" for cell in row] for row in table.rows]
    used = [column for column in range(max(map(len, rows))) if any(row[column] for row in rows)]
    lines = ["| " + " | ".join(row[column] for column in used) + " |" for row in rows]
    lines.insert(1, "|" + " --- |" * len(used))
    return "\n".join(lines)


def _paragraphs(found: list[Line], look: _Look) -> Iterator[str]:
    """Paragraphs, headings and lists among lines of one column."""
    runs: list[list[Line]] = []
    margin = min((line.left for line in found), default=0.0)
    edge = max((line.right for line in found), default=0.0)
    for line in found:
        if runs and not _begins(runs[-1], line, margin, edge):
            runs[-1].append(line)
        else:
            runs.append([line])
    for listed, group in groupby(runs, key=lambda run: _is_item(run[0]) and not _level(run, look)):
        if listed:
            items = list(group)
            first = min(run[0].left for run in items)
            yield "\n".join(_item(run, first) for run in items)
        else:
            yield from (_paragraph(run, look) for run in group)


def _item(run: list[Line], first: float) -> str:
    """An item of a list, indented by how far it stands from the outermost ones."""
    words = [word for line in run for word in line.reading]
    found = _NUMBER.match(words[0].text)
    level = min(int((run[0].left - first) / (1.2 * run[0].size)), 4)
    return f"{'   ' * level}{f'{found.group(1)}.' if found else '-'} {_text(words[1:])}"


def _begins(run: list[Line], line: Line, margin: float, edge: float) -> bool:
    """Whether a line begins another paragraph than the lines above it."""
    above = run[-1]
    gap, size = above.base - line.base, max(line.size, above.size)
    if gap > 1.75 * size or gap < 0 or abs(line.size - above.size) > 0.08 * size or _is_bold(line) != _is_bold(above):
        return True
    if _is_item(line):
        return True
    if len(run) > 1 and gap > 1.25 * (run[-2].base - above.base):
        return True
    if _is_item(run[0]):
        # An item goes on below its own words.
        return line.left < run[0].left - 0.3 * size
    short = above.right < edge - 0.2 * (edge - margin)
    indented = line.left > above.left + 0.7 * size and (len(run) == 1 or above.left <= run[0].left)
    return (short and bool(_ENDS.search(above.words[-1].text))) or (indented and not short and len(run) > 1)


def _is_bold(line: Line) -> bool:
    return all(word.bold for word in line.words)


def _is_item(line: Line) -> bool:
    first = line.words[0].text
    return len(line.words) > 1 and (_BULLET.match(first) is not None or _NUMBER.match(first) is not None)


def _paragraph(run: list[Line], look: _Look) -> str:
    words = [word for line in run for word in line.reading]
    text = _text(words)
    level = _level(run, look)
    return f"{'#' * level} {text}" if level else guard(text)


def _level(run: list[Line], look: _Look) -> int:
    """The level of a heading, or 0."""
    words = [word for line in run for word in line.reading]
    sizes: Counter[float] = Counter()
    for word in words:
        sizes[round(word.size * 2) / 2] += len(word.text)
    size = sizes.most_common(1)[0][0]
    length = sum(len(word.text) + 1 for word in words)
    text = " ".join(word.text for word in words)
    if not any(map(str.isalpha, text)) or length > _MAX_HEADING or _LEADER.search(text):
        return 0
    if size >= look.size * _LARGER and len(run) <= 3:
        return min(look.heads.index(size) + 1 if size in look.heads else 3, 4)
    ends = words[-1].text[-1:] in ".,;"
    if len(run) == 1 and _is_bold(run[0]) and len(words) <= _MAX_BOLD_HEADING and not ends and not _is_item(run[0]):
        return min(len(look.heads) + 1, 5)
    return 0


def _text(words: list[Word]) -> str:
    """Words as Markdown: those of one link together, and what was hyphenated at the end of a line in one piece."""
    out = ""
    for link, group in groupby(words, key=lambda word: word.link):
        part = ""
        for word in group:
            if part.endswith("\u00ad"):
                # The hyphen of a word that goes on in lower case was made by the end of the line.
                part = part[:-1] + ("" if word.text[:1].islower() else "-") + word.text
            else:
                part += (" " if part and not _is_dense(part[-1], word.text[0]) else "") + word.text
        piece = escape(part.replace("\u00ad", "-") if not part.endswith("\u00ad") else part)
        if link:
            piece = f"[{piece}]({_address(link)})"
        if out.endswith("\u00ad"):
            out = out[:-1] + piece
        else:
            out += (" " if out and not _is_dense(out[-1], piece[0]) else "") + piece
    return _LEADER.sub(" … ", out.replace("\u00ad", "-"))


def _is_dense(one: str, other: str) -> bool:
    """Whether two characters that meet are of scripts without blanks between words."""
    return bool(_DENSE.match(one) and _DENSE.match(other))


def _address(link: str) -> str:
    link = re.sub(r"\s+", "%20", link).replace("<", "%3C").replace(">", "%3E")
    return link if link.count("(") == link.count(")") else link.replace("(", "%28").replace(")", "%29")
