"""What stands under a heading, as features of its blocks: a section of links only is seldom content."""

from __future__ import annotations

from math import log2

from cdpfetch.extract.segment import Block

NAMES = ("section_blocks", "section_chars", "section_density", "section_long", "section_place")
_LONG_WORDS = 15


def rows(found: list[Block], heads: list[bool]) -> list[list[float]]:
    """For each block the features of its section, in the order of `NAMES`.

    A section is a heading and what follows up to the next one; ``heads`` says which blocks are headings.
    """
    out: list[list[float]] = []
    start = 0
    for index in range(1, len(found) + 1):
        if index == len(found) or (heads[index] and not heads[index - 1]):
            row = _row(found[start:index])
            out += [[*row, log2(1 + place)] for place in range(index - start)]
            start = index
    return out


def _row(blocks: list[Block]) -> list[float]:
    chars = max(1, sum([len(block.text) for block in blocks]))
    long = sum([len(block.text) for block in blocks if block.words >= _LONG_WORDS])
    density = min(1.0, sum([block.link_chars for block in blocks]) / chars)
    return [log2(1 + len(blocks)), log2(chars), density, long / chars]
