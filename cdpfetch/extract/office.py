"""What the converter leaves out of Word files: the markers of lists."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator

from cdpfetch.extract import xmltext
from cdpfetch.extract.dom import Element
from cdpfetch.extract.xmltext import local_name

# A part of a package is read up to this many bytes.
_MAX_PART = 32 << 20
# Columns by which an inner list is indented: enough below a number, and no more than a bullet bears.
_STEP = 3
_MAX_LEVEL = 8
_ITEM = re.compile(r"(?:\d+\.|-) (?=\S)")


def with_lists(path: str, markdown: str) -> str:
    """The Markdown of a Word file with the markers of its list items, which are paragraphs like any other in it."""
    document = part(path, "word/document.xml")
    if document is None:
        return markdown
    kinds = _numbering(part(path, "word/numbering.xml"))
    items = dict(_list_items(document, kinds))
    if not items:
        return markdown
    out: list[str] = []
    # How many items each open level has so far; empty outside a list.
    counts: list[int] = []
    for block in _blocks(markdown, items):
        found = items.get(_plain(block))
        if found is None:
            counts = []
            out.append(block)
            continue
        kind, level = found
        begins = not counts
        counts = [*counts, *[0] * (level + 1 - len(counts))][: level + 1]
        counts[level] += 1
        marker = f"{counts[level]}." if kind == "number" else "-"
        line = f"{' ' * _STEP * level}{marker} {block}"
        # The items of one list stand together.
        if begins:
            out.append(line)
        else:
            out[-1] += "\n" + line
    return "\n\n".join(out)


def _blocks(markdown: str, items: dict[str, tuple[str, int]]) -> Iterator[str]:
    """The blocks of the Markdown; the converter's own flat lists are taken apart into their items."""
    for block in markdown.split("\n\n"):
        lines = [_ITEM.sub("", line) for line in block.split("\n")]
        if all(_plain(line) in items for line in lines):
            yield from lines
        else:
            yield block


def part(path: str, name: str) -> Element | None:
    """The root of an XML part of a package, or None when it is missing, broken or too large."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(name).file_size > _MAX_PART:
                return None
            return xmltext.parse(archive.read(name).decode("utf-8", "replace"))
    except (zipfile.BadZipFile, KeyError, OSError, ValueError, RuntimeError, NotImplementedError, EOFError):
        return None


def _text(paragraph: Element) -> str:
    return "".join(node.text or "" for node in paragraph.iter() if local_name(node) == "t")


def _plain(block: str) -> str:
    """A block's words without the signs of Markdown, to be compared."""
    return re.sub(r"[\\*_`~\s]+", "", block)


def _numbering(root: Element | None) -> dict[tuple[str, int], str]:
    """Number ids and levels -> ``number`` or ``bullet``."""
    if root is None:
        return {}
    formats: dict[str, dict[int, str]] = {}
    kinds: dict[tuple[str, int], str] = {}
    for node in root:
        if local_name(node) == "abstractnum":
            formats[_attribute(node, "abstractNumId")] = dict(_level_formats(node))
        elif local_name(node) == "num":
            link = next((kid for kid in node if local_name(kid) == "abstractnumid"), None)
            for level, style in formats.get(_attribute(link, "val") if link is not None else "", {}).items():
                kinds[_attribute(node, "numId"), level] = "bullet" if style in ("bullet", "none") else "number"
    return kinds


def _level_formats(abstract: Element) -> Iterator[tuple[int, str]]:
    for level in abstract:
        if local_name(level) == "lvl":
            style = next((kid for kid in level if local_name(kid) == "numfmt"), None)
            yield _level(_attribute(level, "ilvl")), _attribute(style, "val") if style is not None else "bullet"


def _level(text: str) -> int:
    return min(int(text), _MAX_LEVEL) if text.isdecimal() else 0


def _attribute(node: Element, name: str) -> str:
    return next((str(value) for key, value in node.attrib.items() if key.rpartition("}")[2] == name), "")


def _list_items(document: Element, kinds: dict[tuple[str, int], str]) -> Iterator[tuple[str, tuple[str, int]]]:
    for paragraph in document.iter():
        if local_name(paragraph) != "p":
            continue
        kind, level = _item_kind(paragraph, kinds)
        if kind and (text := _plain(_text(paragraph))):
            yield text, (kind, level)


def _item_kind(paragraph: Element, kinds: dict[tuple[str, int], str]) -> tuple[str, int]:
    """Whether a paragraph is an item of a numbered or a bullet list, and how deep; empty when it is none."""
    properties = next((node for node in paragraph if local_name(node) == "ppr"), None)
    if properties is None:
        return "", 0
    style = number = ""
    level = 0
    for node in properties.iter():
        if local_name(node) == "pstyle":
            style = _attribute(node, "val").lower()
        elif local_name(node) == "numid":
            number = _attribute(node, "val")
        elif local_name(node) == "ilvl":
            level = _level(_attribute(node, "val"))
    if style.startswith(("heading", "title")) or number == "0":
        return "", 0
    if number:
        return kinds.get((number, level), "bullet"), level
    return "number" if style.startswith("listnumber") else "bullet" if style.startswith("listbullet") else "", level
