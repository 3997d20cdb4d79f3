"""HTML text to a light tree of our own: UTF-8 whatever the page declares, bounded in depth, without scripts.

The tree has no tails and no namespaces: the children of a `Node` are nodes and strings, in order.  All later steps
(cleaning, segmentation, pruning, conversion) walk and change it in place.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any

import lxml.etree
import lxml.html

# An lxml element; its class has no complete type stubs.
Element = Any

# Deeper elements are dissolved into their ancestor at this depth, so that recursion is safe everywhere.
MAX_DEPTH = 180
# libxml2 gives up here; markup that is deeper is flattened before it is parsed.
_PARSER_DEPTH = "Excessive depth"
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]{0,500}\?>")
# What XML 1.0 can't hold, and so neither can the tree; lone surrogates are no characters at all.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0e-\x1f\ufffe\uffff]")
_EARLY_ENDS = re.compile(r"</(?:body|html)\s*>", re.IGNORECASE)
_SURROGATES = re.compile("[\ud800-\udfff]")
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
_NO_ATTRIBUTES: dict[str, str] = {}

# Never content, whatever they hold.
_DROPPED = frozenset(
    (
        "style link meta head title base object embed applet canvas svg select option datalist textarea param "
        "map area source track progress meter dialog-backdrop"
    ).split()
)
# Elements without content that the parser takes for holders of all that follows; a picture's sources stay.
_EMPTY = frozenset("embed source track wbr keygen command bgsound".split())
_SOURCED = frozenset(("picture", "video", "audio"))
# Set at capture on what stands for a frame; its value is the frame's address.
FRAME_MARK = "data-cdpfetch-frame"
_MATH_SCRIPT = re.compile(r"^math/(?:tex|asciimath|mml)", re.IGNORECASE)


class Node:
    """An element.

    Attributes:
        tag: in lower case.
        attrs: its attributes; shared and empty for many, so never change it in place.
        kids: child nodes and strings.
        parent: the node that holds it, or None for a root.
    """

    __slots__ = ("attrs", "kids", "parent", "tag")

    def __init__(self, tag: str, attrs: dict[str, str] | None = None, parent: Node | None = None) -> None:
        self.tag = tag
        self.attrs = attrs if attrs is not None else _NO_ATTRIBUTES
        self.kids: list[Node | str] = []
        self.parent = parent

    def __repr__(self) -> str:
        return f"<{self.tag} {self.attrs} {len(self.kids)} kids>"

    def get(self, name: str, default: str = "") -> str:
        """An attribute's value."""
        return self.attrs.get(name, default)

    def set(self, name: str, value: str) -> None:
        """Change one attribute."""
        self.attrs = {**self.attrs, name: value}

    @property
    def classes(self) -> str:
        """Class names and id, in lower case."""
        attrs = self.attrs
        if not attrs:
            return ""
        return f"{attrs.get('class', '')} {attrs.get('id', '')}".lower()

    def add(self, kid: Node | str) -> None:
        """Append a child."""
        self.kids.append(kid)
        if isinstance(kid, Node):
            kid.parent = self

    def walk(self) -> Iterator[Node]:
        """This node and all below it, in document order; the tree may be changed below a node that was given."""
        stack: list[Node] = [self]
        while stack:
            node = stack.pop()
            yield node
            if node.kids:
                stack.extend([kid for kid in reversed(node.kids) if isinstance(kid, Node)])

    def find_all(self, *tags: str) -> list[Node]:
        """All descendants with one of the tags."""
        return [node for node in self.walk() if node.tag in tags and node is not self]

    def strings(self) -> Iterator[str]:
        """All text below, in document order."""
        stack: list[Node | str] = [self]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                yield item
            else:
                stack.extend(reversed(item.kids))

    def text(self) -> str:
        """All text below, as it stands."""
        return "".join(self.strings())

    def line(self) -> str:
        """All text below, with blanks collapsed."""
        return " ".join(self.text().split())

    def ancestors(self) -> Iterator[Node]:
        """The parent, its parent, and so on."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def remove(self) -> None:
        """Take this node out of its parent."""
        if self.parent is not None:
            # By identity: equal strings are common among siblings.
            self.parent.kids = [kid for kid in self.parent.kids if kid is not self]
            self.parent = None

    def replace(self, *kids: Node | str) -> None:
        """Put ``kids`` in the place of this node."""
        parent = self.parent
        if parent is None:
            return
        index = next(i for i, kid in enumerate(parent.kids) if kid is self)
        parent.kids[index : index + 1] = kids
        for kid in kids:
            if isinstance(kid, Node):
                kid.parent = parent
        self.parent = None

    def filter(self, keep: Callable[[Node], bool]) -> None:
        """Take out all descendants for which ``keep`` is false, with everything below them; linear."""
        stack = [self]
        while stack:
            node = stack.pop()
            kept: list[Node | str] = []
            for kid in node.kids:
                if isinstance(kid, str):
                    kept.append(kid)
                elif keep(kid):
                    kept.append(kid)
                    stack.append(kid)
            if len(kept) != len(node.kids):
                node.kids = kept


def parse(html: str) -> Element | None:
    """The lxml root of ``html``, or None when there is nothing in it.  Never raises for bad markup, but MemoryError."""
    html = _FORBIDDEN.sub("", _XML_DECLARATION.sub("", html, count=1))
    # Browsers go on after these; libxml2 would begin another document.
    html = _EARLY_ENDS.sub("", _SURROGATES.sub("\ufffd", html))
    if not html.strip():
        return None
    root, deep = _parse(html)
    if deep:
        root, _ = _parse(flatten(html))
    return root


def _parse(html: str) -> tuple[Element | None, bool]:
    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True, remove_pis=True, remove_comments=True)
    root = None
    with contextlib.suppress(lxml.etree.ParserError, lxml.etree.XMLSyntaxError, ValueError, AssertionError):
        root = lxml.html.document_fromstring(html.encode("utf-8"), parser=parser)
    if any(entry.type == lxml.etree.ErrorTypes.ERR_NO_MEMORY for entry in parser.error_log):
        # libxml2 reports it like a fault of the markup: an empty or cut tree.
        raise MemoryError("the page is too large to be parsed")
    return root, any(_PARSER_DEPTH in entry.message for entry in parser.error_log)


def build(root: Element) -> Node:
    """The body of a parsed page as a tree of nodes."""
    body = Node("body", dict(root.items()))
    for element in root if root.tag == "html" else [root]:
        if element.tag == "body":
            body.attrs = {**body.attrs, **dict(element.items())}
            _fill(body, element)
        elif element.tag == "head":
            # Without a body tag the parser leaves elements that it does not know (main, custom ones) in the head.
            _fill(body, element)
        elif isinstance(element.tag, str):
            _fill(body, element, wrap=True)
    return body


def fragment(html: str) -> Node:
    """A piece of HTML as a tree below a ``body``."""
    root = parse(html)
    return build(root) if root is not None else Node("body")


def _fill(target: Node, source: Element, *, wrap: bool = False) -> None:
    """Copy what is below ``source`` (with ``wrap``: and itself) into ``target``; iterative, bounded in depth."""
    # Each entry: the lxml element, the node that takes its children, and the depth of that node.
    stack: list[tuple[Iterator[Element], Node, int]] = []
    if wrap:
        stack.append((iter([source]), target, 0))
    else:
        if source.text:
            target.kids.append(source.text)
        stack.append((iter(source), target, 0))
    while stack:
        children, node, depth = stack[-1]
        element = next(children, None)
        if element is None:
            stack.pop()
            continue
        made = _node(element, node) if isinstance(element.tag, str) else None
        empty = element.tag in _EMPTY
        if made is not None or empty:
            into = node
            if made is not None and (depth < MAX_DEPTH or made.tag in ("br", "img", "hr")):
                node.kids.append(made)
                into = node if empty else made
            if element.text:
                into.kids.append(element.text)
            if len(element):
                stack.append((_then_tail(element, node), into, depth + (into is not node)))
                continue
        if element.tail and element is not source:
            node.kids.append(element.tail)


def _then_tail(element: Element, node: Node) -> Iterator[Element]:
    """The children of ``element``; when they are done its tail goes to ``node``."""
    yield from element
    if element.tail:
        node.kids.append(element.tail)


def _node(element: Element, parent: Node) -> Node | None:
    """The empty node for an element, or None when it can't hold content."""
    tag = element.tag
    if tag in _DROPPED and not (tag == "source" and parent.tag in _SOURCED):
        return None
    # items(), not attrib: names that are no XML names can't be looked up.
    attrs = dict(element.items()) if element.attrib else None
    if tag == "script":
        return Node(tag, attrs, parent) if attrs and _MATH_SCRIPT.match(attrs.get("type", "")) else None
    if tag == "template":
        # A declarative shadow root is what the visitor sees; any other template is not shown.
        return Node("div", attrs, parent) if attrs and "shadowrootmode" in attrs else None
    return Node(tag.lower(), attrs, parent)


class _Flattener(HTMLParser):
    """Copies markup and leaves out the tags below a depth; text always stays."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.out: list[str] = []
        # For each open element: its tag and whether its tags were written.
        self._open: list[tuple[str, bool]] = []
        self._written = 0
        # How many elements of each tag are open, so that a stray end tag costs no search.
        self._counts: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        text = self.get_starttag_text() or ""
        if tag in _VOID:
            self.out.append(text)
            return
        write = self._written < MAX_DEPTH
        self._open.append((tag, write))
        self._counts[tag] = self._counts.get(tag, 0) + 1
        self._written += write
        self.out.append(text if write else " ")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if not self._counts.get(tag):
            return
        while self._open:
            name, written = self._open.pop()
            self._counts[name] -= 1
            self._written -= written
            self.out.append(f"</{name}>" if written else " ")
            if name == tag:
                return

    def handle_data(self, data: str) -> None:
        self.out.append(data)

    def handle_entityref(self, name: str) -> None:
        self.out.append(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.out.append(f"&#{name};")


def flatten(html: str) -> str:
    """``html`` with the tags below a depth left out and every word kept."""
    flattener = _Flattener()
    flattener.feed(html)
    flattener.close()
    return "".join(flattener.out)
