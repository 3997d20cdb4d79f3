"""What the converter leaves out of Word and PowerPoint files: list markers and speaker notes."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator

from cdpfetch.extract import xmltext
from cdpfetch.extract.dom import Element
from cdpfetch.extract.xmltext import local_name

# A part of a package is read up to this many bytes.
_MAX_PART = 32 << 20
_MAX_NOTES = 500
_NOTES = re.compile(r"ppt/notesSlides/notesSlide(\d+)\.xml$")


def with_lists(path: str, markdown: str) -> str:
    """The Markdown of a Word file with the markers of its list items, which are paragraphs like any other in it."""
    document = _part(path, "word/document.xml")
    if document is None:
        return markdown
    kinds = _numbering(_part(path, "word/numbering.xml"))
    items = dict(_list_items(document, kinds))
    if not items:
        return markdown
    out: list[str] = []
    number = 0
    for block in markdown.split("\n\n"):
        kind = items.get(_plain(block))
        if kind is None:
            number = 0
            out.append(block)
            continue
        number += 1
        line = f"{number}. {block}" if kind == "number" else f"- {block}"
        # The items of one list stand together.
        if number > 1:
            out[-1] += "\n" + line
        else:
            out.append(line)
    return "\n\n".join(out)


def with_notes(path: str, markdown: str) -> str:
    """The Markdown of a presentation with its speaker notes at the end."""
    notes = []
    for number, root in _notes(path):
        texts = [" ".join(_text(p).split()) for p in root.iter() if local_name(p) == "p"]
        text = " ".join(part for part in texts if part and not part.isdigit())
        if text and text not in markdown:
            notes.append(f"- Slide {number}: {text}")
    return markdown.rstrip() + "\n\n## Notes\n\n" + "\n".join(notes) + "\n" if notes else markdown


def _part(path: str, name: str) -> Element | None:
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(name).file_size > _MAX_PART:
                return None
            return xmltext.parse(archive.read(name).decode("utf-8", "replace"))
    except (zipfile.BadZipFile, KeyError, OSError, ValueError, RuntimeError, NotImplementedError, EOFError):
        return None


def _notes(path: str) -> Iterator[tuple[int, Element]]:
    try:
        with zipfile.ZipFile(path) as archive:
            found = [(int(match.group(1)), name) for name in archive.namelist() if (match := _NOTES.match(name))]
    except (zipfile.BadZipFile, OSError, ValueError):
        return
    for number, name in sorted(found)[:_MAX_NOTES]:
        root = _part(path, name)
        if root is not None:
            yield number, root


def _text(paragraph: Element) -> str:
    return "".join(node.text or "" for node in paragraph.iter() if local_name(node) == "t")


def _plain(block: str) -> str:
    """A block's words without the signs of Markdown, to be compared."""
    return re.sub(r"[\\*_`~\s]+", "", block)


def _numbering(root: Element | None) -> dict[str, str]:
    """Number ids -> ``number`` or ``bullet``."""
    if root is None:
        return {}
    formats: dict[str, str] = {}
    kinds: dict[str, str] = {}
    for node in root:
        if local_name(node) == "abstractnum":
            first = next((part for part in node.iter() if local_name(part) == "numfmt"), None)
            formats[_attribute(node, "abstractNumId")] = _attribute(first, "val") if first is not None else "bullet"
        elif local_name(node) == "num":
            link = next((part for part in node if local_name(part) == "abstractnumid"), None)
            style = formats.get(_attribute(link, "val"), "bullet") if link is not None else "bullet"
            kinds[_attribute(node, "numId")] = "bullet" if style in ("bullet", "none") else "number"
    return kinds


def _attribute(node: Element, name: str) -> str:
    return next((str(value) for key, value in node.attrib.items() if key.rpartition("}")[2] == name), "")


def _list_items(document: Element, kinds: dict[str, str]) -> Iterator[tuple[str, str]]:
    for paragraph in document.iter():
        if local_name(paragraph) != "p":
            continue
        kind = _item_kind(paragraph, kinds)
        if kind and (text := _plain(_text(paragraph))):
            yield text, kind


def _item_kind(paragraph: Element, kinds: dict[str, str]) -> str:
    """Whether a paragraph is an item of a numbered or a bullet list; empty when it is none."""
    properties = next((node for node in paragraph if local_name(node) == "ppr"), None)
    if properties is None:
        return ""
    style = number = ""
    for node in properties.iter():
        if local_name(node) == "pstyle":
            style = _attribute(node, "val").lower()
        elif local_name(node) == "numid":
            number = _attribute(node, "val")
    if style.startswith(("heading", "title")) or number == "0":
        return ""
    if number:
        return kinds.get(number, "bullet")
    return "number" if style.startswith("listnumber") else "bullet" if style.startswith("listbullet") else ""
