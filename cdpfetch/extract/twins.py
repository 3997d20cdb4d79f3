"""Blocks that look alike (the prices of cards, the bodies of posts), as features of each of them."""

from __future__ import annotations

from math import log2

from cdpfetch.extract.dom import Node
from cdpfetch.extract.segment import Block

NAMES = ("kind_blocks", "kind_words", "kind_density", "kind_share", "kind_distinct", "kind_first", "kind_spread")
# Elements upwards that have to be alike.
_LEVELS = 5


def kinds(found: list[Block]) -> list[int]:
    """For each block the number of its kind: same tags and classes up to some levels."""
    numbers: dict[tuple[tuple[str, str], ...], int] = {}
    known: dict[Node, int] = {}
    out = []
    for block in found:
        number = known.get(block.node)
        if number is None:
            number = known[block.node] = numbers.setdefault(signature(block.node), len(numbers))
        out.append(number)
    return out


def signature(node: Node) -> tuple[tuple[str, str], ...]:
    """Tags and classes of an element and of those it is in, up to some levels."""
    above = [node]
    while len(above) < _LEVELS and above[-1].parent is not None:
        above.append(above[-1].parent)
    return tuple([(node.tag, node.get("class")) for node in above])


def rows(found: list[Block], kinds: list[int]) -> list[list[float]]:
    """For each block the features of its kind, in the order of `NAMES`."""
    members: dict[int, list[int]] = {}
    for index, kind in enumerate(kinds):
        members.setdefault(kind, []).append(index)
    total = max(1, sum(len(block.text) for block in found))
    known = {kind: _row(found, indexes, total) for kind, indexes in members.items()}
    return [known[kind] for kind in kinds]


def _row(found: list[Block], indexes: list[int], total: int) -> list[float]:
    blocks = [found[index] for index in indexes]
    chars = sum([len(block.text) for block in blocks])
    count = len(blocks)
    return [
        log2(count),
        log2(1 + sum([block.words for block in blocks]) / count),
        min(1.0, sum([block.link_chars for block in blocks]) / max(1, chars)),
        chars / total,
        len({block.text for block in blocks}) / count,
        indexes[0] / len(found),
        (indexes[-1] - indexes[0]) / len(found),
    ]
