"""Footnotes: marks in the text and the notes they lead to, as a pair that Markdown has a form for."""

from __future__ import annotations

import re
from typing import NamedTuple

from cdpfetch.extract.dom import Node

# The text of a mark: a number, a letter or a sign, bare or in brackets.
_MARK = re.compile(
    r"[\[(]?\s*(?:(?:note|nb|n|fn)[\s.]*)?(\d{1,4}|[a-z]{1,2}|[ivx]{1,5}|[*†‡§¶]{1,3})\s*[\])]?[:.]?\Z", re.IGNORECASE
)
_NUMBER = re.compile(r"[\[(]?\d{1,4}[\])]?\Z")
# The names that generators give to a note's place and to the link that leads to it.
_NOTE_ID = re.compile(
    r"(?:^|[\W_])_?(?:fn|ftn|foot-?note|cite_?note|end-?note|sdfootnote|note|ref|easy-footnote)", re.IGNORECASE
)
_BACK_TEXT = re.compile(r"[\s^↑↩↵⏎⬆️\ufe0e\ufe0f⤴\[\]().:*†‡§¶·,a-z0-9]{0,12}\Z", re.IGNORECASE)
_HOLDERS = frozenset(("li", "p", "div", "dd", "aside", "section", "td"))
_LIST_TAGS = frozenset(("ol", "ul"))
# A note is a remark, not the rest of the page.
_MAX_NOTE = 6000
_MAX_NOTES = 2000
_MAX_MARK = 8


class _Mark(NamedTuple):
    """A link in running text to a note."""

    link: Node
    outer: Node
    target: str
    name: str


def mark(root: Node) -> None:
    """Turn marks into ``fnref`` and their notes into ``fn`` nodes, both with the attribute ``name``.

    A mark keeps the text and the address that it had, for the case that its note is not written.
    """
    nodes = list(root.walk())
    marks = [found for node in nodes if node.tag == "a" and (found := _read_mark(node))]
    if not marks:
        return
    wanted = {found.target for found in marks}
    places = {node.attrs[key]: node for node in reversed(nodes) for key in ("id", "name") if node.get(key) in wanted}
    names: dict[str, str] = {}
    for found in marks[:_MAX_NOTES]:
        if found.target not in names:
            name = _free(found.name, set(names.values()))
            holder = _holder(places.get(found.target), found)
            if holder is None:
                continue
            names[found.target] = name
            _make_note(holder, name)
        kept = {"name": names[found.target], "href": found.link.get("href"), "text": found.link.line()}
        found.outer.replace(Node("fnref", kept))
    if names:
        _dissolve_lists(root)


def _read_mark(link: Node) -> _Mark | None:
    target = link.get("href").partition("#")[2]
    if not target:
        return None
    text = link.line()
    found = _MARK.match(text) if len(text) <= _MAX_MARK else None
    if found is None:
        return None
    outer = link
    parent = link.parent
    while parent is not None and parent.tag in ("sup", "span", "small", "b", "i", "em") and parent.line() == text:
        outer, parent = parent, parent.parent
    raised = outer.tag == "sup" or any(kid.tag == "sup" for kid in link.walk()) or "sup" in outer.classes.split()
    named = bool(_NOTE_ID.search(target)) and not _is_back(link)
    if not (raised or (named and text[:1] in "[(")) or not _stands_after_text(outer):
        return None
    return _Mark(link, outer, target, found.group(1).lower())


def _is_back(link: Node) -> bool:
    """Whether a link goes from a note to its mark."""
    return bool(re.search(r"(?:^|[\W_])(?:cite_ref|fnref|ftnref|ref-?back|backref)", link.get("href"), re.IGNORECASE))


def _stands_after_text(node: Node) -> bool:
    """Whether something is said before a mark in its block: a note begins with its number, a text does not."""
    steps = 0
    while node.parent is not None and steps < 4:
        before: list[Node | str] = []
        for kid in node.parent.kids:
            if kid is node:
                break
            before.append(kid)
        if any(kid.strip() if isinstance(kid, str) else kid.text().strip() or kid.tag == "fnref" for kid in before):
            return True
        if node.parent.tag in _HOLDERS or node.parent.tag in ("body", "blockquote"):
            return False
        node, steps = node.parent, steps + 1
    return False


def _holder(place: Node | None, found: _Mark) -> Node | None:
    """The element that is the note which a mark leads to, or None."""
    node = place
    while node is not None and node.tag not in _HOLDERS:
        node = node.parent
    if node is None or node.tag == "td" or any(above is node for above in found.outer.ancestors()):
        return None
    size = sum(map(len, node.strings()))
    if not 0 < size <= _MAX_NOTE or any(below.tag == "fn" for below in node.walk()):
        return None
    return node if _looks_like_note(node, place, found) else None


def _looks_like_note(node: Node, place: Node | None, found: _Mark) -> bool:
    """Whether an element links back, is called a note, or begins with the mark's own sign."""
    if any(below.tag == "a" and "#" in below.get("href") and _BACK_TEXT.match(below.line()) for below in node.walk()):
        return True
    if _NOTE_ID.search(found.target) and node.tag == "li":
        return True
    if any(re.search(r"footnote|endnote|reference", above.classes) for above in [node, *node.ancestors()][:4]):
        return True
    return place is not node and node.line().startswith(found.link.line())


def _make_note(node: Node, name: str) -> None:
    """Make an element the note ``name``: without links back, and without the sign that it begins with."""
    for link in node.find_all("a"):
        if "#" in link.get("href") and _BACK_TEXT.match(link.line()):
            _frame(link, node).remove()
    _without_sign(node, name)
    made = Node("fn", {"name": name})
    made.kids = node.kids
    for kid in made.kids:
        if isinstance(kid, Node):
            kid.parent = made
    node.replace(made)


def _frame(link: Node, note: Node) -> Node:
    """A link back, or the element that holds nothing else."""
    outer = link
    while (
        outer.parent is not None
        and outer.parent is not note
        and outer.parent.tag in ("sup", "b", "span", "strong", "cite")
        and outer.parent.line() == link.line()
    ):
        outer = outer.parent
    return outer


def _without_sign(node: Node, name: str) -> None:
    """Take the mark's own sign from the beginning of a note."""
    pattern = re.compile(
        rf"\s*(?:\[{re.escape(name)}\]|\({re.escape(name)}\)|{re.escape(name)}[.):]?(?=\s|$)|[\^↑:]+(?=\s))",
        re.IGNORECASE,
    )
    stack: list[Node] = [node]
    while stack:
        current = stack.pop()
        for index, kid in enumerate(current.kids):
            if isinstance(kid, Node):
                if kid.text().strip():
                    if kid.tag in ("sup", "b", "strong") and pattern.fullmatch(kid.line()):
                        kid.remove()
                        return
                    stack.append(kid)
                    break
            elif kid.strip():
                current.kids[index] = pattern.sub("", kid, count=1)
                return


def _dissolve_lists(root: Node) -> None:
    """A list that holds notes only is no list any more."""
    for node in root.walk():
        if node.tag in _LIST_TAGS and any(isinstance(kid, Node) and kid.tag == "fn" for kid in node.kids):
            rest = [kid for kid in node.kids if isinstance(kid, Node) and kid.tag != "fn" and kid.text().strip()]
            if not rest:
                node.tag = "div"


def _free(name: str, taken: set[str]) -> str:
    name = name if _NUMBER.match(name) or name.isalnum() else {"*": "star"}.get(name, "note")
    number, free = 2, name
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free
