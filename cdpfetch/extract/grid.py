"""Data tables as pipe tables: one line a row, the same number of cells in each."""

from __future__ import annotations

import re
from collections.abc import Callable

from cdpfetch.extract.dom import Node
from cdpfetch.extract.repair import layout

# Spans are honoured up to these: a hostile table must not multiply itself.
_MAX_SPAN = 100
_MAX_COLUMNS = 400


class Grid:
    """The cells of one table.

    Args:
        table: a ``table`` node.
        render: gives a cell's content on one line.
    """

    def __init__(self, table: Node, render: Callable[[Node], str]) -> None:
        self.captions = [
            text for kid in table.kids if isinstance(kid, Node) and kid.tag == "caption" if (text := render(kid))
        ]
        self.rows: list[list[str]] = []
        # Cells that reach down from rows above: column -> how many rows they still cover.
        pending: dict[int, int] = {}
        for row in layout.rows(table):
            self.rows.append(self._row(row, pending, render))

    @staticmethod
    def _row(row: Node, pending: dict[int, int], render: Callable[[Node], str]) -> list[str]:
        out: list[str] = []

        def skip_covered() -> None:
            while pending.get(len(out), 0) > 0:
                pending[len(out)] -= 1
                out.append("")

        for cell in layout.cells(row):
            skip_covered()
            column = len(out)
            if column >= _MAX_COLUMNS:
                break
            across, down = _span(cell.get("colspan")), _span(cell.get("rowspan"))
            out += [render(cell), *[""] * (across - 1)]
            if down > 1:
                for covered in range(column, column + across):
                    pending[covered] = down - 1
        skip_covered()
        return out

    def markdown(self) -> str:
        """The pipe table, or an empty string when all cells are empty."""
        rows = [row for row in self.rows if any(row)]
        if not rows:
            return ""
        width = max(map(len, rows))
        used = [column for column in range(width) if any(column < len(row) and row[column] for row in rows)]
        lines = []
        for row in rows:
            filled = row + [""] * (width - len(row))
            lines.append("| " + " | ".join(filled[column] for column in used) + " |")
        lines.insert(1, "|" + " --- |" * len(used))
        return "\n".join(lines)


def _span(value: str) -> int:
    found = re.match(r"\s*(\d{1,4})", value)
    return min(max(int(found.group(1)), 1), _MAX_SPAN) if found else 1
