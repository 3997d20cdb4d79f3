"""What stands under a heading, as features of its blocks: a section of links only is seldom content."""

from __future__ import annotations

from itertools import groupby
from math import log2
from operator import itemgetter

from cdpfetch.extract.segment import Block

NAMES = ("section_blocks", "section_chars", "section_density", "section_long", "section_place")
_LONG_WORDS = 15


def numbers(heads: list[bool]) -> list[int]:
    """For each block the number of its section; ``heads`` says which blocks are headings.

    A section is a heading, or several that follow each other, and what comes up to the next one.
    """
    out, number = [], 0
    for index, is_heading in enumerate(heads):
        number += is_heading and index > 0 and not heads[index - 1]
        out.append(number)
    return out


def rows(found: list[Block], heads: list[bool]) -> list[list[float]]:
    """For each block the features of its section, in the order of `NAMES`; ``heads`` as for `numbers`."""
    out: list[list[float]] = []
    for _, section in groupby(zip(numbers(heads), found, strict=True), key=itemgetter(0)):
        blocks = [block for _, block in section]
        row = _row(blocks)
        out += [[*row, log2(1 + place)] for place in range(len(blocks))]
    return out


def _row(blocks: list[Block]) -> list[float]:
    chars = max(1, sum([len(block.text) for block in blocks]))
    long = sum([len(block.text) for block in blocks if block.words >= _LONG_WORDS])
    density = min(1.0, sum([block.link_chars for block in blocks]) / chars)
    return [log2(1 + len(blocks)), log2(chars), density, long / chars]
