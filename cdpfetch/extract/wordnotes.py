"""Footnotes, endnotes and comments of Word files: the converter numbers them anew and loses some."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cdpfetch.extract.dom import Element
from cdpfetch.extract.office import part
from cdpfetch.extract.xmltext import local_name

# What a reference in the text is called, and the part of the package that holds what it refers to.
_KINDS = {
    "footnotereference": ("word/footnotes.xml", "footnote", ""),
    "endnotereference": ("word/endnotes.xml", "endnote", "e"),
    "commentreference": ("word/comments.xml", "comment", "c"),
}
_MARK = re.compile(r"\[\^\w+\](?!:)")
_DEFINITION = re.compile(
    r"^\[\^\w+\]:[ \t]*(?:\n(?: {4}|\t).*)*.*(?:\n(?: {4}|\t).*|\n(?=\n(?: {4}|\t)))*\n?", re.MULTILINE
)


def with_notes(path: str, markdown: str) -> str:
    """The Markdown of a Word file with the marks of its notes and comments numbered by kind, and their texts last."""
    document = part(path, "word/document.xml")
    if document is None:
        return markdown
    references = [(local_name(node), _id(node)) for node in document.iter() if local_name(node) in _KINDS]
    if not references:
        return markdown
    names = _names(references)
    body = _DEFINITION.sub("", markdown)
    if len(_MARK.findall(body)) == len(references):
        marks = iter([names[reference] for reference in references])
        body = _MARK.sub(lambda _: f"[^{next(marks)}]", body)
    texts = {kind: dict(_texts(path, kind)) for kind in dict.fromkeys(kind for kind, _ in names)}
    lines = [f"[^{name}]: {text}" for (kind, key), name in names.items() if (text := texts[kind].get(key))]
    return body.rstrip() + "\n\n" + "\n\n".join(lines) + "\n" if lines else markdown


def _names(references: list[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """For each reference its name: a number within its kind, in the order of the text."""
    names: dict[tuple[str, str], str] = {}
    counts = dict.fromkeys(_KINDS, 0)
    for reference in references:
        if reference not in names:
            counts[reference[0]] += 1
            names[reference] = f"{_KINDS[reference[0]][2]}{counts[reference[0]]}"
    return names


def _texts(path: str, kind: str) -> Iterator[tuple[str, str]]:
    name, element, _ = _KINDS[kind]
    root = part(path, name)
    for node in root if root is not None else ():
        if local_name(node) != element:
            continue
        paragraphs = (
            "".join(run.text or "" for run in paragraph.iter() if local_name(run) == "t")
            for paragraph in node.iter()
            if local_name(paragraph) == "p"
        )
        text = " ".join(" ".join(paragraphs).split())
        author = _attribute(node, "author") if element == "comment" else ""
        yield _id(node), f"{author}: {text}" if author and text else text


def _id(node: Element) -> str:
    return _attribute(node, "id")


def _attribute(node: Element, name: str) -> str:
    return next((str(value) for key, value in node.attrib.items() if key.rpartition("}")[2] == name), "")
