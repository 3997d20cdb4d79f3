"""Packages of XML parts (Open Packaging Conventions): parts by name, and what their relations lead to."""

from __future__ import annotations

import posixpath
import zipfile
from types import TracebackType
from typing import NamedTuple, Self

from cdpfetch.extract import xmltext
from cdpfetch.extract.dom import Element
from cdpfetch.extract.xmltext import local_name

# A part of a package is read up to this many bytes.
MAX_PART = 32 << 20
_BROKEN = (zipfile.BadZipFile, KeyError, OSError, ValueError, RuntimeError, NotImplementedError, EOFError)


class Relation(NamedTuple):
    """What a part is related to: the kind (the last word of its type), the target, whether it is outside."""

    kind: str
    target: str
    outside: bool


class NotAPackage(Exception):
    """The file is no readable ZIP archive; the text says why."""


class Package:
    """A package file, open for reading.  Raises NotAPackage."""

    def __init__(self, path: str) -> None:
        try:
            self._archive = zipfile.ZipFile(path)
        except _BROKEN as error:
            raise NotAPackage(str(error)) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._archive.close()

    def part(self, name: str) -> Element | None:
        """The root of an XML part, or None when it is missing, broken or too large."""
        try:
            if self._archive.getinfo(name).file_size > MAX_PART:
                return None
            return xmltext.parse(self._archive.read(name).decode("utf-8", "replace"))
        except _BROKEN:
            return None

    def relations(self, name: str) -> dict[str, Relation]:
        """By id, what a part is related to; targets inside the package are names of parts."""
        folder, _, base = name.rpartition("/")
        root = self.part(posixpath.join(folder, "_rels", f"{base}.rels"))
        found = {}
        for node in root if root is not None else ():
            if local_name(node) != "relationship":
                continue
            target = node.get("Target") or ""
            outside = node.get("TargetMode") == "External"
            if not outside:
                target = posixpath.normpath(posixpath.join(folder, target)).lstrip("/")
            found[node.get("Id") or ""] = Relation((node.get("Type") or "").rpartition("/")[2], target, outside)
        return found


def attribute(node: Element, name: str) -> str:
    """The value of an attribute, whatever its namespace; empty without."""
    return next((str(value) for key, value in node.attrib.items() if key.rpartition("}")[2] == name), "")


def related(node: Element, name: str = "id") -> str:
    """The id of a relation that an element names; empty without."""
    return next((str(value) for key, value in node.attrib.items() if key.endswith(f"/relationships}}{name}")), "")


def children(node: Element | None, *names: str) -> list[Element]:
    """The child elements with one of the names (without namespace, in lower case)."""
    return [kid for kid in node if local_name(kid) in names] if node is not None else []


def child(node: Element | None, *path: str) -> Element | None:
    """The element that a path of names leads to, or None."""
    for name in path:
        node = next(iter(children(node, name)), None)
    return node
