"""Word files as Markdown: headings, nested lists, tables with spans, links, formulas, notes and comments, in place.

Insertions count and deletions do not: the text is what it is when all changes are accepted.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import groupby
from typing import NamedTuple

from cdpfetch.extract import convert, wordruns
from cdpfetch.extract.dom import Element
from cdpfetch.extract.package import Package, attribute, child, children
from cdpfetch.extract.wordruns import NOTES, Context
from cdpfetch.extract.xmltext import local_name

_MAIN = "word/document.xml"
_MAX_LEVEL = 8
_MAX_DEPTH = 20
# What only wraps blocks; the rest of what is unknown (deletions, properties) is left out.
_WRAPPERS = frozenset(("sdt", "sdtcontent", "customxml", "ins", "moveto", "smarttag", "body"))
_MONOSPACE = ("code", "preformatted", "source", "macro", "verbatim", "plaintext")


class _Styles(NamedTuple):
    """What styles mean: their lower-case names, their levels as headings, and the lists that they number."""

    names: dict[str, str]
    headings: dict[str, int]
    lists: dict[str, tuple[str, str]]


class _Item(NamedTuple):
    """A paragraph: its HTML, and what it is an item of (an empty ``kind`` for none)."""

    html: str
    kind: str = ""
    level: int = 0


def _sort(item: _Item) -> str:
    return "list" if item.kind in ("ul", "ol") else item.kind


def markdown(package: Package) -> str | None:
    """The text of a Word file, or None when the package holds none."""
    body = child(package.part(_MAIN), "body")
    if body is None:
        return None
    context = Context(package.relations(_MAIN))
    reader = _Reader(package, context)
    html = reader.blocks(body, 0)
    notes = "".join(_notes(package, context, reader))
    return convert.fragment(html + notes) + "\n"


def _notes(package: Package, context: Context, reader: _Reader) -> Iterator[str]:
    """The notes and comments that the text refers to, in the order of their marks."""
    for kind, (name, element, _) in NOTES.items():
        wanted = {key: label for (of, key), label in context.marks.items() if of == kind}
        root = package.part(name) if wanted else None
        texts = {attribute(node, "id"): node for node in children(root, element)}
        # Links of a note are relations of its own part.
        context.relations = package.relations(name) if wanted else {}
        for key, label in wanted.items():
            if key in texts:
                author = attribute(texts[key], "author") if element == "comment" else ""
                said = f"<p>{escape(author)}: " if author else "<p>"
                yield f'<fn name="{label}">{reader.blocks(texts[key], 0).replace("<p>", said, 1)}</fn>'


class _Reader:
    """Turns the parts of a package into HTML."""

    def __init__(self, package: Package, context: Context) -> None:
        self._context = context
        self._styles = _read_styles(package.part("word/styles.xml"))
        self._numbering = _read_numbering(package.part("word/numbering.xml"))

    def blocks(self, holder: Element, depth: int) -> str:
        """Paragraphs, lists and tables."""
        found = [
            _Item(self._table(node, depth) if depth < _MAX_DEPTH else "")
            if local_name(node) == "tbl"
            else self._paragraph(node, depth)
            for node in _flat(holder, 0)
        ]
        out: list[str] = []
        for sort, group in groupby((item for item in found if item.html), key=_sort):
            items = list(group)
            if sort == "code":
                out.append("<pre>" + "\n".join(item.html for item in items) + "</pre>")
            else:
                out += [_lists(items)] if sort == "list" else [item.html for item in items]
        return "".join(out)

    def _paragraph(self, node: Element, depth: int) -> _Item:
        about = child(node, "ppr")
        style = _value(about, "pstyle")
        name = self._styles.names.get(style, style.lower())
        text, boxes = wordruns.text(node, self._context)
        beside = "".join(self.blocks(box, depth + 1) for box in boxes) if depth < _MAX_DEPTH else ""
        if any(word in name for word in _MONOSPACE):
            # A line without words is one, too.
            return _Item(wordruns.plain(node) or " ", "code")
        if not text.strip():
            return _Item(beside)
        level = self._heading(about, style, name)
        if level:
            return _Item(f"<h{level}>{text}</h{level}>{beside}")
        kind, depth_of_list = self._list(about, style, name)
        if kind:
            return _Item(text + beside, kind, depth_of_list)
        if "quote" in name:
            return _Item(f"<blockquote><p>{text}</p></blockquote>{beside}")
        return _Item(f"<p>{text}</p>{beside}")

    def _heading(self, about: Element | None, style: str, name: str) -> int:
        outline = _value(about, "outlinelvl")
        if outline.isdecimal() and int(outline) < 6:
            return int(outline) + 1
        return 1 if name == "title" else self._styles.headings.get(style, 0)

    def _list(self, about: Element | None, style: str, name: str) -> tuple[str, int]:
        numbering = child(about, "numpr")
        number, level = _value(numbering, "numid"), _value(numbering, "ilvl")
        if not number and style in self._styles.lists:
            number, level = self._styles.lists[style]
        depth = min(int(level), _MAX_LEVEL) if level.isdecimal() else 0
        words = name.split()
        # The built-in styles say their level by a number: "List Bullet 2".
        if depth == 0 and words[:1] == ["list"] and words[-1].isdecimal():
            depth = min(int(words[-1]) - 1, _MAX_LEVEL)
        if number == "0":
            return "", 0
        if number:
            return self._numbering.get((number, level or "0"), "ul"), depth
        kinds = {"number": "ol", "bullet": "ul"}
        return (kinds.get(words[1], ""), depth) if words[:1] == ["list"] and len(words) > 1 else ("", 0)

    def _table(self, table: Element, depth: int) -> str:
        """A table with its spans; a cell that goes on with the one above it adds to that one's rows."""
        grid: list[list[list[str | int]]] = []
        open_cells: dict[int, list[str | int]] = {}
        for row in _parts(table, "tr"):
            cells: list[list[str | int]] = []
            column = 0
            for cell in _parts(row, "tc"):
                about = child(cell, "tcpr")
                across = int(span) if (span := _value(about, "gridspan")).isdecimal() else 1
                merge = child(about, "vmerge")
                above = open_cells.get(column)
                if merge is not None and attribute(merge, "val") != "restart" and above is not None:
                    above[2] = int(above[2]) + 1
                else:
                    made: list[str | int] = [self.blocks(cell, depth + 1), across, 1]
                    cells.append(made)
                    open_cells[column] = made
                column += across
            grid.append(cells)
        rows = ("".join(f'<th colspan="{a}" rowspan="{d}">{html}</th>' for html, a, d in cells) for cells in grid)
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def _flat(holder: Element, depth: int) -> Iterator[Element]:
    """The paragraphs and tables in an element, looking through what only wraps them."""
    for node in holder:
        name = local_name(node)
        if name in ("p", "tbl"):
            yield node
        elif name in _WRAPPERS and depth < _MAX_DEPTH:
            yield from _flat(node, depth + 1)


def _parts(holder: Element, name: str) -> Iterator[Element]:
    """The rows of a table (``tr``) or the cells of a row (``tc``), looking into what only wraps them."""
    for node in holder:
        if local_name(node) == name:
            yield node
        elif local_name(node) in _WRAPPERS:
            yield from (kid for kid in node.iter() if local_name(kid) == name)


def _lists(items: list[_Item]) -> str:
    """Nested lists; an inner one belongs to the item before it."""
    out: list[str] = []
    opened: list[tuple[str, int]] = []
    for item in items:
        while opened and (opened[-1][1] > item.level or (opened[-1][1] == item.level and opened[-1][0] != item.kind)):
            out.append(f"</li></{opened.pop()[0]}>")
        if opened and opened[-1][1] == item.level:
            out.append("</li>")
        else:
            out.append(f"<{item.kind}>")
            opened.append((item.kind, item.level))
        out.append(f"<li>{item.html}")
    return "".join(out) + "".join(f"</li></{kind}>" for kind, _ in reversed(opened))


def _value(holder: Element | None, name: str) -> str:
    found = child(holder, name)
    return attribute(found, "val") if found is not None else ""


def _read_styles(root: Element | None) -> _Styles:
    names: dict[str, str] = {}
    headings: dict[str, int] = {}
    lists: dict[str, tuple[str, str]] = {}
    for style in children(root, "style"):
        key, about = attribute(style, "styleId"), child(style, "ppr")
        names[key] = name = _value(style, "name").lower()
        outline = _value(about, "outlinelvl")
        words = name.split()
        if words[:1] == ["heading"] and words[-1].isdecimal():
            headings[key] = min(int(words[-1]), 6)
        elif outline.isdecimal() and int(outline) < 6:
            headings[key] = int(outline) + 1
        if number := _value(child(about, "numpr"), "numid"):
            lists[key] = number, _value(child(about, "numpr"), "ilvl") or "0"
    return _Styles(names, headings, lists)


def _read_numbering(root: Element | None) -> dict[tuple[str, str], str]:
    """Number ids and levels -> ``ol`` or ``ul``."""
    formats: dict[str, dict[str, str]] = {}
    for node in children(root, "abstractnum"):
        levels = {attribute(level, "ilvl"): _value(level, "numfmt") for level in children(node, "lvl")}
        formats[attribute(node, "abstractNumId")] = levels
    kinds: dict[tuple[str, str], str] = {}
    for node in children(root, "num"):
        for level, style in formats.get(_value(node, "abstractnumid"), {}).items():
            kinds[attribute(node, "numId"), level] = "ul" if style in ("bullet", "none", "") else "ol"
    return kinds
