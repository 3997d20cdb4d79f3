"""The running text of a Word paragraph: formats, links, fields, formulas, marks of notes."""

from __future__ import annotations

import re
from html import escape

from cdpfetch.extract import wordmath
from cdpfetch.extract.dom import Element
from cdpfetch.extract.package import Relation, attribute, child, children, related
from cdpfetch.extract.xmltext import local_name

# What a mark in the text is called; the part, the element and the letter of what it refers to.
NOTES = {
    "footnotereference": ("word/footnotes.xml", "footnote", ""),
    "endnotereference": ("word/endnotes.xml", "endnote", "e"),
    "commentreference": ("word/comments.xml", "comment", "c"),
}
# Inside a paragraph these hold nothing that is read: what was deleted, and properties.
_SKIPPED = frozenset(("del", "movefrom", "ppr", "rpr", "sectpr", "instrtext", "deltext", "fldchar", "sdtpr", "rt"))
_FIELD = re.compile(r'\s*HYPERLINK\s+(?:\\\w\s+)*"([^"]+)"', re.IGNORECASE)
_TAGS = {"b": "strong", "i": "em", "strike": "del", "dstrike": "del"}
_SHIFTS = {"superscript": "sup", "subscript": "sub"}
_MONOSPACE = re.compile(r"courier|mono|consolas|menlo|typewriter", re.IGNORECASE)
_SIGNS = {"tab": " ", "nobreakhyphen": "-", "softhyphen": "", "cr": "<br>", "ptab": " "}


class Context:
    """What the runs of one part need, and what they find.

    Attributes:
        relations: of the part that is read.
        marks: for every note that is referred to, by kind and id, its label.
    """

    def __init__(self, relations: dict[str, Relation]) -> None:
        self.relations = relations
        self.marks: dict[tuple[str, str], str] = {}

    def mark(self, kind: str, key: str) -> str:
        """The label of a note: a number within its kind, in the order of the text."""
        if (kind, key) not in self.marks:
            count = sum(of == kind for of, _ in self.marks)
            self.marks[kind, key] = f"{NOTES[kind][2]}{count + 1}"
        return self.marks[kind, key]


def text(paragraph: Element, context: Context) -> tuple[str, list[Element]]:
    """The paragraph's HTML, and the contents of the text boxes that are anchored in it."""
    runs = _Runs(context)
    runs.read(paragraph, "")
    return runs.html(), runs.boxes


def plain(paragraph: Element) -> str:
    """A line of code: the text alone, blanks as they are."""
    out = []
    for node in paragraph.iter():
        name = local_name(node)
        if name == "t":
            out.append(node.text or "")
        elif name in ("tab", "br", "cr"):
            out.append("\t" if name == "tab" and local_name(node.getparent()) == "r" else "\n" * (name != "tab"))
    return escape("".join(out))


class _Runs:
    """Collects pieces of text with the same link and the same formats, which are written as one."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._pieces: list[tuple[str, tuple[str, ...], str]] = []
        # The instruction of every field that is open, and whether its result has begun.
        self._fields: list[tuple[str, bool]] = []
        self.boxes: list[Element] = []

    def html(self) -> str:
        out, index = [], 0
        pieces = self._pieces
        while index < len(pieces):
            link, tags, _ = pieces[index]
            end = index
            while end < len(pieces) and pieces[end][:2] == (link, tags):
                end += 1
            inner = "".join(piece[2] for piece in pieces[index:end])
            for tag in tags:
                inner = f"<{tag}>{inner}</{tag}>"
            out.append(f'<a href="{escape(link)}">{inner}</a>' if link else inner)
            index = end
        return "".join(out)

    def read(self, node: Element, link: str) -> None:
        for kid in node:
            name = local_name(kid)
            if name == "r":
                self._run(kid, link)
            elif name == "hyperlink":
                target = self._context.relations.get(related(kid))
                self.read(kid, target.target if target is not None and target.outside else link)
            elif name == "fldsimple":
                found = _FIELD.match(attribute(kid, "instr"))
                self.read(kid, found.group(1) if found else link)
            elif name in ("omath", "omathpara"):
                self._formula(kid)
            elif name not in _SKIPPED and not name.endswith("pr"):
                self.read(kid, link)

    def _formula(self, node: Element) -> None:
        formulas = children(node, "omath") if local_name(node) == "omathpara" else [node]
        for formula in formulas:
            self._pieces.append(("", (), wordmath.mathml(formula, display=formula is not node)))

    def _run(self, run: Element, link: str) -> None:
        tags = _formats(child(run, "rpr"))
        for kid in run:
            name = local_name(kid)
            if name == "fldchar":
                self._field(attribute(kid, "fldCharType"))
            elif name == "instrtext" and self._fields:
                instruction, begun = self._fields[-1]
                self._fields[-1] = instruction + (kid.text or ""), begun
            elif all(begun for _, begun in self._fields):
                self._write(kid, name, self._link() or link, tags)

    def _write(self, node: Element, name: str, link: str, tags: tuple[str, ...]) -> None:
        if name == "t":
            self._pieces.append((link, tags, escape(node.text or "")))
        elif name == "br":
            self._pieces.append((link, tags, " " if attribute(node, "type") in ("page", "column") else "<br>"))
        elif name in _SIGNS:
            self._pieces.append((link, tags, _SIGNS[name]))
        elif name in NOTES:
            label = self._context.mark(name, attribute(node, "id"))
            self._pieces.append(("", (), f'<fnref name="{label}"></fnref>'))
        elif name == "ruby":
            self._pieces.append((link, tags, _ruby(node)))
        elif name in ("drawing", "pict", "alternatecontent", "object"):
            self._drawing(node)

    def _drawing(self, node: Element) -> None:
        """The words beside a picture, and the text boxes; those of the older form repeat those of the newer one."""
        if local_name(node) == "alternatecontent":
            node = next(iter(children(node, "choice", "fallback")), node)
        for kid in node.iter():
            name = local_name(kid)
            if name == "txbxcontent":
                self.boxes.append(kid)
            elif name == "docpr" and (words := (kid.get("descr") or "").strip()):
                self._pieces.append(("", (), f'<img alt="{escape(words)}">'))

    def _field(self, step: str) -> None:
        if step == "begin":
            self._fields.append(("", False))
        elif step == "separate" and self._fields:
            self._fields[-1] = self._fields[-1][0], True
        elif step == "end" and self._fields:
            self._fields.pop()

    def _link(self) -> str:
        found = [_FIELD.match(instruction) for instruction, _ in self._fields]
        return next((match.group(1) for match in reversed(found) if match), "")


def _formats(about: Element | None) -> tuple[str, ...]:
    """The tags of a run's formats, from the inside out."""
    if about is None:
        return ()
    tags = []
    fonts = child(about, "rfonts")
    if fonts is not None and _MONOSPACE.search(attribute(fonts, "ascii")):
        tags.append("code")
    for kid in about:
        name = local_name(kid)
        if name in _TAGS and attribute(kid, "val") not in ("0", "false", "none") and _TAGS[name] not in tags:
            tags.append(_TAGS[name])
        elif name == "vertalign" and attribute(kid, "val") in _SHIFTS:
            tags.append(_SHIFTS[attribute(kid, "val")])
        elif name in ("vanish", "webhidden") and attribute(kid, "val") not in ("0", "false"):
            tags.append("template")
    return tuple(tags)


def _ruby(node: Element) -> str:
    words = {local_name(kid): "".join(kid.itertext()) for kid in node}
    return f"<ruby>{escape(words.get('rubybase', ''))}<rt>{escape(words.get('rt', ''))}</rt></ruby>"
