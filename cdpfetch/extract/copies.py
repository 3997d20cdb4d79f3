"""Text that a page holds twice: laid out once for small and once for large windows, teased and told, shown and spoken.

One of the copies is enough.  What is repeated in the same place is no copy: a list may well say the same twice.
"""

from __future__ import annotations

from cdpfetch.extract import twins
from cdpfetch.extract.blocks import HEADINGS
from cdpfetch.extract.dom import Node
from cdpfetch.extract.segment import Block

# Shorter texts are labels that may stand in many places.
_FEWEST = 4
# How much likelier content the later copy has to be, to be the one that stays.
_LIKELIER = 0.1
# Elements upwards that may say that a text is quoted, which it is on purpose.
_UP = 4


def drop(found: list[Block], chances: list[float]) -> list[float]:
    """The chances, with none left for all but the likeliest of the copies of a text."""
    out = list(chances)
    seen: dict[str, int] = {}
    for index, block in enumerate(found):
        if block.words < _FEWEST or block.first < 0 or block.node.tag in HEADINGS:
            continue
        other = seen.setdefault(block.text, index)
        if other == index or _is_quoted(block.node) or _is_alike(block.node, found[other].node):
            continue
        if out[index] > out[other] + _LIKELIER:
            out[other], seen[block.text] = 0.0, index
        else:
            out[index] = 0.0
    return out


def _is_alike(node: Node, other: Node) -> bool:
    return node is other or twins.signature(node) == twins.signature(other)


def _is_quoted(node: Node) -> bool:
    above: Node | None = node
    for _ in range(_UP):
        if above is None:
            return False
        if above.tag == "blockquote" or "quote" in above.classes:
            return True
        above = above.parent
    return False
