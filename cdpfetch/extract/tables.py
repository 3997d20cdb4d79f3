"""Delimited text (CSV, TSV ...) as a Markdown table."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator

# Above this many characters a table would help nobody: the text is delivered as it is.
MAX_CHARS = 8 << 20
_DELIMITERS = ",;\t|"
_SAMPLE_LINES = 30


def markdown_table(text: str, delimiter: str | None = None) -> str:
    """The rows of ``text`` as a Markdown table, the first as its head; empty when there are none.

    Every row gets as many cells as the widest has.
    """
    rows = [row for row in _rows(text, delimiter or guess_delimiter(text)) if any(cell.strip() for cell in row)]
    if not rows:
        return ""
    width = max(map(len, rows))
    lines = [_line(row, width) for row in rows]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines) + "\n"


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(MAX_CHARS)
    try:
        yield from csv.reader(io.StringIO(text.replace("\x00", ""), newline=""), delimiter=delimiter)
    except csv.Error:
        # A quote that is never closed, beyond the reader's limit: plain splitting keeps every word.
        yield from (line.split(delimiter) for line in text.splitlines())


def _line(row: list[str], width: int) -> str:
    cells = [escape_cell(cell) for cell in row] + [""] * (width - len(row))
    return "| " + " | ".join(cells) + " |"


def escape_cell(cell: str) -> str:
    """A cell's text as it may stand in a pipe table."""
    cell = cell.strip()
    if "|" in cell:
        cell = cell.replace("|", "\\|")
    if "\n" in cell or "\r" in cell:
        cell = "<br>".join(part.strip() for part in cell.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    return cell


def guess_delimiter(text: str) -> str:
    """The delimiter that splits the first lines into the same number (more than one) of cells most often."""
    first, _, _ = text.partition("\n")
    if first.lower().startswith("sep=") and len(first.strip()) == 5:
        return first.strip()[4]
    sample = "\n".join(text[: 64 << 10].splitlines()[:_SAMPLE_LINES])
    best, score = ",", 0.0
    for delimiter in _DELIMITERS:
        widths = Counter(len(row) for row in _rows(sample, delimiter) if row)
        if not widths:
            continue
        width, count = max(widths.items(), key=lambda item: (item[0] > 1, item[1], item[0]))
        value = count / sum(widths.values()) * min(width, 20) if width > 1 else 0.0
        if value > score:
            best, score = delimiter, value
    return best
