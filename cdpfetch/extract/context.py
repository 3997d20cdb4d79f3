"""The second look at a block: what the model thinks of the blocks around it, above it and of those that look like it.

One card of a list, one comment of a thread or one paragraph of a text may look doubtful by itself; its kin decide.
"""

from __future__ import annotations

from itertools import accumulate
from math import log2
from typing import NamedTuple

from cdpfetch.extract import features
from cdpfetch.extract.dom import Node
from cdpfetch.extract.segment import Block

_LEVELS = (0, 1, 2, 3, 4, 6, 8)
_SIGNATURE_LEVELS = 5
_REACH = 4
_OFFSETS = (-4, -3, -2, -1, 1, 2, 3, 4)
_OWN = ("words", "link_density", "heading", "ends", "chars_0", "whole", "repeats", "index")
_OWN_INDEXES = [features.NAMES.index(name) for name in _OWN]

NAMES = (
    ["chance", *(f"mean_{level}" for level in _LEVELS), "mean_twins", "twins"]
    + [f"chance_{offset:+}" for offset in _OFFSETS]
    + ["mean_near", "mean_around", "mean_page", "reached", "highest", "expected", *_OWN]
)


class Kin(NamedTuple):
    """How the blocks of a page belong together.

    Attributes:
        sizes: their words, at least a half.
        chains: for each block the numbers of its ancestors at some levels.
        twins: for each block the number of its kind: same tags and classes up to some levels.
        own: for each block some of its first features.
    """

    sizes: list[float]
    chains: list[list[int]]
    twins: list[int]
    own: list[list[float]]


def kin(found: list[Block], rows: list[list[float]]) -> Kin:
    """The kinship of blocks with their first feature rows."""
    numbers: dict[Node, int] = {}
    kinds: dict[tuple[tuple[str, str], ...], int] = {}
    chains, twins = [], []
    for block in found:
        above = [block.node, *block.node.ancestors()]
        last = len(above) - 1
        chains.append([numbers.setdefault(above[min(level, last)], len(numbers)) for level in _LEVELS])
        signature = tuple([(node.tag, node.get("class")) for node in above[:_SIGNATURE_LEVELS]])
        twins.append(kinds.setdefault(signature, len(kinds)))
    sizes = [max(0.5, float(block.words)) for block in found]
    return Kin(sizes, chains, twins, [[row[index] for index in _OWN_INDEXES] for row in rows])


def second_rows(kin: Kin, chances: list[float]) -> list[list[float]]:
    """One row a block, in the order of `NAMES`, from the chances of the first model."""
    count = len(chances)
    masses = [chance * size for chance, size in zip(chances, kin.sizes, strict=True)]
    columns = [chances]
    columns += [_means([chain[level] for chain in kin.chains], masses, kin.sizes) for level in range(len(_LEVELS))]
    columns.append(_means(kin.twins, masses, kin.sizes))
    numbers = [0] * (max(kin.twins) + 1)
    for kind in kin.twins:
        numbers[kind] += 1
    columns.append([log2(numbers[kind]) for kind in kin.twins])
    padded = [-1.0] * _REACH + chances + [-1.0] * _REACH
    columns += [padded[_REACH + offset : _REACH + offset + count] for offset in _OFFSETS]
    mass, size = [0.0, *accumulate(masses)], [0.0, *accumulate(kin.sizes)]
    columns += [_window(mass, size, reach) for reach in (5, 15)]
    total = max(mass[-1], 1e-9)
    columns.append([total / size[-1]] * count)
    columns.append([reached / total for reached in mass[1:]])
    columns.append([max(chances)] * count)
    columns.append([log2(1 + total)] * count)
    return [[*values, *own] for values, own in zip(zip(*columns, strict=True), kin.own, strict=True)]


def _means(groups: list[int], masses: list[float], sizes: list[float]) -> list[float]:
    """For each block the mean chance, by words, of its group."""
    top = max(groups) + 1
    mass, size = [0.0] * top, [0.0] * top
    for group, own_mass, own_size in zip(groups, masses, sizes, strict=True):
        mass[group] += own_mass
        size[group] += own_size
    return [mass[group] / size[group] for group in groups]


def _window(mass: list[float], size: list[float], reach: int) -> list[float]:
    """For each block the mean chance, by words, of those within ``reach``; from running sums."""
    count = len(mass) - 1
    out = []
    for index in range(count):
        low, high = max(0, index - reach), min(count, index + reach + 1)
        out.append((mass[high] - mass[low]) / (size[high] - size[low]))
    return out
