"""The second look at a block: what the model thinks of the blocks around it, above it and of those that look like it.

One card of a list, one comment of a thread or one paragraph of a text may look doubtful by itself; its kin decide.
"""

from __future__ import annotations

from itertools import accumulate
from math import exp, log, log2
from typing import NamedTuple

from cdpfetch.extract import features, sections, twins
from cdpfetch.extract.dom import Node
from cdpfetch.extract.segment import Block

_LEVELS = (0, 1, 2, 3, 4, 6, 8)
_REACH = 4
# How far a block's log-odds go towards the mean of its kind, when it has that many; chances are kept off 0 and 1.
_PULL = 0.6
_FEW = 3
_LEAST = 0.003
_OFFSETS = (-4, -3, -2, -1, 1, 2, 3, 4)
_OWN = (
    *("words", "link_density", "heading", "ends", "whole", "repeats", "index"),
    *(*twins.NAMES, *sections.NAMES, "said_share", "is_title", "title_share"),
    *("from_h1", "after_h1", "heading_level", "density_1", "density_2", "long_1", "density_4", "wins_near"),
)
_HEADING = features.NAMES.index("heading")
_OWN_INDEXES = [features.NAMES.index(name) for name in _OWN]

NAMES = (
    ["chance", *(f"mean_{level}" for level in _LEVELS), "mean_twins", "twins"]
    + [f"chance_{offset:+}" for offset in _OFFSETS]
    + ["mean_near", "mean_around", "mean_page", "reached", "highest", "expected", *_OWN]
    + ["mean_section", "chance_heading", "highest_twin"]
)


class Kin(NamedTuple):
    """How the blocks of a page belong together.

    Attributes:
        sizes: their words, at least a half.
        chains: for each block the numbers of its ancestors at some levels.
        twins: for each block the number of its kind: same tags and classes up to some levels.
        own: for each block some of its first features.
        sections: for each block the number of its section: a heading and what follows up to the next one.
        heads: for each block the last heading at or before it, -1 before the first.
    """

    sizes: list[float]
    chains: list[list[int]]
    twins: list[int]
    own: list[list[float]]
    sections: list[int]
    heads: list[int]


def kin(found: list[Block], rows: list[list[float]], kinds: list[int]) -> Kin:
    """The kinship of blocks with their first feature rows and the numbers of their kinds."""
    numbers: dict[Node, int] = {}
    chains = []
    for block in found:
        above = [block.node, *block.node.ancestors()]
        last = len(above) - 1
        chains.append([numbers.setdefault(above[min(level, last)], len(numbers)) for level in _LEVELS])
    sizes = [max(0.5, float(block.words)) for block in found]
    own = [[row[index] for index in _OWN_INDEXES] for row in rows]
    is_heading = [row[_HEADING] > 0 for row in rows]
    return Kin(sizes, chains, kinds, own, sections.numbers(is_heading), _heads(is_heading))


def _heads(is_heading: list[bool]) -> list[int]:
    """For each block the last heading at or before it, -1 before the first."""
    return list(accumulate((index if heading else -1 for index, heading in enumerate(is_heading)), max))


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
    highest = [0.0] * len(numbers)
    for kind, chance in zip(kin.twins, chances, strict=True):
        highest[kind] = max(highest[kind], chance)
    last = [
        _means(kin.sections, masses, kin.sizes),
        [chances[head] if head >= 0 else -1.0 for head in kin.heads],
        [highest[kind] for kind in kin.twins],
    ]
    return [
        [*values, *own, *late]
        for values, own, late in zip(zip(*columns, strict=True), kin.own, zip(*last, strict=True), strict=True)
    ]


def settled(kin: Kin, chances: list[float]) -> list[float]:
    """The chances, drawn towards those of each block's kind, so that a list's cards or a thread's posts stay alike."""
    odds = [log(chance / (1 - chance)) for chance in (min(max(chance, _LEAST), 1 - _LEAST) for chance in chances)]
    counts = [0] * (max(kin.twins, default=-1) + 1)
    for kind in kin.twins:
        counts[kind] += 1
    means = _means(kin.twins, [odd * size for odd, size in zip(odds, kin.sizes, strict=True)], kin.sizes)
    return [
        chance if counts[kind] < _FEW else 1 / (1 + exp(-odd - _PULL * (mean - odd)))
        for chance, kind, odd, mean in zip(chances, kin.twins, odds, means, strict=True)
    ]


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
