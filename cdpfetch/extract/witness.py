"""A second opinion on where the content is: paragraphs vote for the elements around them.

The oldest idea of the field (Readability's, from 2009): running text scores for its parent, half for the element above,
and less further up; elements full of links lose what they scored.  The winner's extent is one feature among many.
"""

from __future__ import annotations

from math import log2

from cdpfetch.extract.dom import Node
from cdpfetch.extract.segment import Block

NAMES = ("wins", "wins_near", "wins_share", "rivals", "vote_1", "vote_2", "vote_3")
_SHARES = (1.0, 0.5, 0.33, 0.25)
_MIN_WORDS = 8
_FAR = 12.0


class Votes:
    """The votes of a page's blocks.

    Args:
        found: the blocks in order.
        links: for elements that hold blocks, the share of their characters that is inside links.
    """

    def __init__(self, found: list[Block], links: dict[Node, float]) -> None:
        scores: dict[Node, float] = {}
        for block in found:
            if block.words < _MIN_WORDS or block.link_chars * 2 > len(block.text):
                continue
            value = 1 + block.text.count(",") + min(3.0, len(block.text) / 100)
            node = block.node if block.first < 0 else block.node.parent
            for share in _SHARES:
                if node is None:
                    break
                scores[node] = scores.get(node, 0.0) + value * share
                node = node.parent
        self._scores = {node: score * (1 - links.get(node, 0.0)) for node, score in scores.items()}
        self._best = max(self._scores.values(), default=0.0)
        self._winner = next((node for node, score in self._scores.items() if score == self._best), None)
        self._above = {id(node): depth for depth, node in enumerate(self._line())}
        inside = sum(len(block.text) for block in found if self._winner in (block.node, *block.node.ancestors()))
        self._share = inside / max(1, sum(len(block.text) for block in found))
        self._rivals = log2(1 + sum(score * 2 > self._best for score in self._scores.values()))
        self._rows: dict[Node, list[float]] = {}

    def _line(self) -> list[Node]:
        return [self._winner, *self._winner.ancestors()] if self._winner is not None else []

    def row(self, block: Block) -> list[float]:
        """The features of one block, in the order of `NAMES`."""
        node = block.node
        known = self._rows.get(node)
        if known is None:
            known = self._rows[node] = self._row(node)
        return known

    def _row(self, node: Node) -> list[float]:
        best = self._best or 1.0
        near = _FAR
        for above in (node, *node.ancestors()):
            if id(above) in self._above:
                near = min(_FAR, float(self._above[id(above)]))
                break
        votes: list[float] = []
        current = node.parent
        for _ in range(3):
            votes.append(self._scores.get(current, 0.0) / best if current is not None else 0.0)
            current = current.parent if current is not None else None
        return [near == 0, near, self._share, self._rivals, *votes]
