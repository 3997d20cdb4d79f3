"""The block model: gradient-boosted trees from a JSON file, evaluated without any library."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from math import exp
from typing import Any

from cdpfetch.extract import context
from cdpfetch.extract.features import Features
from cdpfetch.extract.metadata import Metadata
from cdpfetch.extract.segment import Block

FILE = "blocks.json"
# A score (log-odds) beyond this is not looked at again: the chance is under 4 or over 96 in a hundred.
_CLEAR = 3.2
_Tree = tuple[list[Any], list[float]]


@cache
def load() -> tuple[list[_Tree], list[_Tree]]:
    """The trees of the first and of the second model."""
    data = json.loads(files("cdpfetch.extract").joinpath(FILE).read_text("utf-8"))
    return _trees(data["first"]), _trees(data["second"])


def _trees(model: dict[str, Any]) -> list[_Tree]:
    return [(tree["nodes"], tree["leaves"]) for tree in model["trees"]]


def judge(found: list[Block], meta: Metadata, url: str) -> list[float]:
    """For each block the chance (0..1) that it is content."""
    first, second = load()
    features = Features(found, meta, url)
    rows = features.rows()
    own = chances(first, rows)
    if not found:
        return []
    kin = context.kin(found, rows, features.kinds)
    return context.settled(kin, chances(second, context.second_rows(kin, own)))


def chances(trees: list[_Tree], rows: list[list[float]]) -> list[float]:
    """For each row the chance by these trees.

    Each tree sends all rows down at once, split by split: the work is in list comprehensions instead of calls.
    """
    if not rows:
        return []
    columns = list(zip(*rows, strict=True))
    scores = [0.0] * len(rows)
    members_left = list(range(len(rows)))
    reviews = {len(trees) // 3, len(trees) * 2 // 3}
    for number, (nodes, leaves) in enumerate(trees):
        if number in reviews:
            # The later trees only refine: what is clear by now stays as it is.
            members_left = [index for index in members_left if -_CLEAR < scores[index] < _CLEAR]
        stack = [(0, members_left)] if nodes else [(~0, members_left)]
        while stack:
            at, members = stack.pop()
            if at < 0:
                value = leaves[~at]
                for index in members:
                    scores[index] += value
                continue
            feature, threshold, left, right = nodes[at]
            column = columns[feature]
            low = [index for index in members if column[index] <= threshold]
            if len(low) == len(members):
                stack.append((left, members))
            elif low:
                stack.append((left, low))
                stack.append((right, [index for index in members if column[index] > threshold]))
            else:
                stack.append((right, members))
    return [1 / (1 + exp(-score)) if score > -500 else 0.0 for score in scores]
