"""A repaired tree as a sequence of text blocks, and the tree without some of them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cdpfetch.extract import blocks
from cdpfetch.extract.dom import Node

# Elements that are one block, whatever is in them.
_WHOLE = frozenset(("pre", "tex", "table"))
_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0e7f]")
# A table that holds more than this share of the page's text is looked into: it may be the page's frame.
_FRAME_SHARE = 0.6


class Block:
    """A run of inline content, or a whole listing, formula or data table.

    Attributes:
        node: the element that directly holds the run; for a whole element the element itself.
        first, last: the run is ``node.kids[first:last]``; both are -1 for a whole element.
        text: its words, blanks collapsed.
        words: how many.
        link_chars: characters of ``text`` inside links; ``links`` counts these.
        images: images in it.
    """

    __slots__ = ("first", "images", "last", "link_chars", "links", "node", "text", "words")

    def __init__(self, node: Node, first: int, last: int) -> None:
        self.node = node
        self.first = first
        self.last = last
        self.links = self.link_chars = self.images = 0
        items = [node] if first < 0 else node.kids[first:last]
        pieces: list[str] = []
        for item in items:
            self._read(item, pieces, in_link=False)
        words = "".join(pieces).split()
        self.text = " ".join(words)
        # Scripts without blanks between words: each character counts.
        self.words = len(words) if self.text.isascii() else len(words) + len(_CJK.findall(self.text))

    def __repr__(self) -> str:
        return f"<Block {self.node.tag} {self.text[:40]!r}>"

    def _read(self, item: Node | str, pieces: list[str], *, in_link: bool) -> None:
        if isinstance(item, str):
            pieces.append(item)
            if in_link:
                self.link_chars += len(item.strip())
            return
        tag = item.tag
        if tag == "img":
            self.images += 1
            return
        if tag == "br" or (self.first < 0 and tag in blocks.BLOCK):
            pieces.append(" ")
        if tag == "a" and not in_link and "href" in item.attrs:
            in_link = True
            self.links += 1
        for kid in item.kids:
            self._read(kid, pieces, in_link=in_link)
        if self.first < 0 and tag in blocks.BLOCK:
            pieces.append(" ")


def segment(body: Node) -> list[Block]:
    """The blocks of a tree in document order; blocks without text hold at least an image."""
    blocky = blocks.mark(body)
    total = max(1, sum(map(len, body.strings())))
    out: list[Block] = []
    _walk(body, blocky, total, out)
    return out


def _walk(node: Node, blocky: set[Node], total: int, out: list[Block]) -> None:
    start = 0
    kids = node.kids
    index = 0
    while index < len(kids):
        kid = kids[index]
        if isinstance(kid, Node):
            if kid in blocky:
                _emit(node, start, index, out)
                if kid.tag in _WHOLE and not (
                    kid.tag == "table" and sum(map(len, kid.strings())) > total * _FRAME_SHARE
                ):
                    block = Block(kid, -1, -1)
                    if block.words or block.images:
                        out.append(block)
                else:
                    _walk(kid, blocky, total, out)
                start = index + 1
            elif kid.tag == "br" and _is_double(kids, index):
                _emit(node, start, index, out)
                start = index
        index += 1
    _emit(node, start, len(kids), out)


def _is_double(kids: list[Node | str], index: int) -> bool:
    """Whether the line break at ``index`` follows another one."""
    index -= 1
    while index >= 0:
        before = kids[index]
        if isinstance(before, Node):
            return before.tag == "br"
        if before.strip():
            return False
        index -= 1
    return False


def _emit(node: Node, first: int, last: int, out: list[Block]) -> None:
    if first >= last:
        return
    block = Block(node, first, last)
    if block.words or block.images:
        out.append(block)


def prune(dropped: Iterable[Block]) -> None:
    """Take the blocks out of the tree they come from."""
    ranges: dict[Node, list[tuple[int, int]]] = {}
    for block in dropped:
        if block.first < 0:
            block.node.kids = []
            block.node.tag = "span"
        else:
            ranges.setdefault(block.node, []).append((block.first, block.last))
    for node, spans in ranges.items():
        for first, last in sorted(spans, reverse=True):
            # A blank keeps the words on both sides apart.
            node.kids[first:last] = [" "]
