"""The block model: gradient-boosted trees from a JSON file, evaluated without any library."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from math import exp
from typing import Any

FILE = "blocks.json"
_Tree = tuple[list[Any], list[float]]


@cache
def _trees() -> list[_Tree]:
    data = json.loads(files("cdpfetch.extract").joinpath(FILE).read_text("utf-8"))
    return [(tree["nodes"], tree["leaves"]) for tree in data["trees"]]


def chances(rows: list[list[float]]) -> list[float]:
    """For each row the chance (0..1) that the block is content.

    Each tree sends all rows down at once, split by split: the work is in list comprehensions instead of calls.
    """
    if not rows:
        return []
    columns = [list(column) for column in zip(*rows, strict=True)]
    scores = [0.0] * len(rows)
    everything = list(range(len(rows)))
    for nodes, leaves in _trees():
        if not nodes:
            for index in everything:
                scores[index] += leaves[0]
            continue
        stack = [(0, everything)]
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
