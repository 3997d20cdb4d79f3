"""OpenDocument presentations as Markdown: a heading a slide, its texts, its tables, its notes."""

from __future__ import annotations

from collections.abc import Iterator

from cdpfetch.extract.dom import Element
from cdpfetch.extract.package import NotAPackage, Package
from cdpfetch.extract.tables import escape_cell
from cdpfetch.extract.xmltext import local_name

TYPE = "application/vnd.oasis.opendocument.presentation"
_MAX_SLIDES = 2000
_MAX_DEPTH = 8


class NotReadable(Exception):
    """The file holds no presentation; the text says why."""


def markdown(path: str) -> tuple[str, int]:
    """``(Markdown, slides)`` of the presentation at ``path``.  Raises NotReadable."""
    try:
        with Package(path) as package:
            manifest, root = package.part("META-INF/manifest.xml"), package.part("content.xml")
    except NotAPackage as error:
        raise NotReadable(f"it is no package: {error}") from None
    if manifest is not None and any(local_name(node) == "encryption-data" for node in manifest.iter()):
        raise NotReadable("it is encrypted and needs a password")
    if root is None:
        raise NotReadable("its content.xml is missing or broken")
    slides = [node for node in root.iter() if local_name(node) == "page"][:_MAX_SLIDES]
    return "\n\n".join(block for number, slide in enumerate(slides, 1) for block in _slide(number, slide)), len(slides)


def _slide(number: int, slide: Element) -> Iterator[str]:
    frames = [node for node in slide if local_name(node) != "notes"]
    title = next((frame for frame in frames if _attribute(frame, "class") == "title" and _line(frame)), None)
    yield f"<!-- slide {number} -->"
    if title is not None:
        yield f"## {_line(title)}"
    for frame in frames:
        if frame is not title:
            yield from _blocks(frame, 0)
    for notes in slide:
        if local_name(notes) == "notes":
            texts = [text for text in (_line(node) for node in notes.iter() if local_name(node) == "p") if text]
            if texts:
                yield "Notes: " + " ".join(texts)


def _blocks(node: Element, depth: int) -> Iterator[str]:
    name = local_name(node)
    if name in ("p", "h"):
        if text := _line(node):
            yield text
    elif name == "list":
        if lines := list(_items(node, 0)):
            yield "\n".join(lines)
    elif name == "table":
        if text := _table(node):
            yield text
    elif depth < _MAX_DEPTH:
        for kid in node:
            yield from _blocks(kid, depth + 1)


def _items(node: Element, level: int) -> Iterator[str]:
    if level > _MAX_DEPTH:
        return
    for item in node:
        for kid in item:
            if local_name(kid) == "list":
                yield from _items(kid, level + 1)
            elif text := _line(kid):
                yield f"{'  ' * level}- {text}"


def _table(node: Element) -> str:
    found = [row for row in node.iter() if local_name(row) == "table-row"]
    rows = [[escape_cell(_line(cell)) for cell in row if local_name(cell).endswith("table-cell")] for row in found]
    rows = [row for row in rows if any(row)]
    if not rows:
        return ""
    width = max(map(len, rows))
    lines = ["| " + " | ".join(row + [""] * (width - len(row))) + " |" for row in rows]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)


def _line(node: Element) -> str:
    return " ".join(" ".join(node.itertext()).split())


def _attribute(node: Element, name: str) -> str:
    return next(
        (str(value) for key, value in node.attrib.items() if key.rpartition("}")[2].rpartition(":")[2] == name), ""
    )
