"""Tables that only place things on the page become plain blocks."""

from __future__ import annotations

from cdpfetch.extract.dom import Node

_PARTS = frozenset("table tbody thead tfoot tr td th colgroup col caption".split())
_HEAVY = frozenset("pre h1 h2 h3 h4 h5 h6 blockquote article section form".split())
# A cell with more characters than this holds running text; a table of such cells is a layout, unless it has a head.
_LONG_CELL = 600


def repair(nodes: list[Node]) -> None:
    """Dissolve the layout tables among ``nodes`` (in document order)."""
    for table in [node for node in nodes if node.tag == "table"][::-1]:
        if table.parent is not None and is_layout(table):
            dissolve(table)


def rows(table: Node) -> list[Node]:
    """The rows of a table itself, not of tables inside it."""
    found: list[Node] = []
    for kid in table.kids:
        if isinstance(kid, Node):
            if kid.tag == "tr":
                found.append(kid)
            elif kid.tag in ("thead", "tbody", "tfoot"):
                found += [row for row in kid.kids if isinstance(row, Node) and row.tag == "tr"]
    return found


def cells(row: Node) -> list[Node]:
    """The cells of a row."""
    return [kid for kid in row.kids if isinstance(kid, Node) and kid.tag in ("td", "th")]


def is_layout(table: Node) -> bool:
    """Whether a table places blocks rather than relating values."""
    if table.get("role") in ("presentation", "none"):
        return True
    if any(node.tag == "table" for node in table.find_all("table")):
        # Inner tables were judged first: one that is left holds data, so this one places it.
        return True
    grid = [cells(row) for row in rows(table)]
    grid = [row for row in grid if row]
    widths = [len(row) for row in grid]
    if not grid or max(widths) < 2:
        return True
    has_head = any(cell.tag == "th" for row in grid for cell in row)
    if len(grid) == 1 and not has_head:
        return True
    return _is_heavy(grid, has_head)


def _is_heavy(grid: list[list[Node]], has_head: bool) -> bool:
    """Whether the cells hold more than values."""
    heavy = long = count = 0
    for row in grid:
        for cell in row:
            count += 1
            size = sum(map(len, cell.strings()))
            long += size > _LONG_CELL
            heavy += any(node.tag in _HEAVY and not _is_small(node) for node in cell.walk() if node is not cell)
    if has_head:
        return heavy > count * 0.5 or long > count * 0.5
    return (heavy > 0 and heavy >= count * 0.1) or long > max(1, count * 0.2)


def _is_small(node: Node) -> bool:
    """A heading or one line of code may stand in a cell."""
    return node.tag not in ("article", "section", "form", "blockquote") and sum(map(len, node.strings())) < 80


def dissolve(table: Node) -> None:
    """Turn a table and its parts into blocks; nested data tables stay."""
    stack = [table]
    while stack:
        node = stack.pop()
        if node.tag in _PARTS:
            node.tag = "div"
        stack.extend(kid for kid in node.kids if isinstance(kid, Node) and kid.tag != "table")
