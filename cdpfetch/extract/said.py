"""What a page says its content is: texts in its structured data, as a witness for the blocks that repeat them."""

from __future__ import annotations

from math import log2

from cdpfetch.extract.metadata import Metadata
from cdpfetch.extract.segment import Block

NAMES = ("said_share", "said_chars", "described")
# Words that have to follow each other; those of a block that are looked at.
_RUN = 3
_WORDS = 60


def rows(found: list[Block], meta: Metadata) -> list[list[float]]:
    """One row a block, in the order of `NAMES`."""
    said = set[tuple[str, ...]]()
    for text in meta.texts:
        said.update(_runs(text.lower().split()))
    described = set(_runs((meta.description or "").lower().split()))
    size = log2(1 + sum(map(len, meta.texts)))
    if not said and not described:
        return [[-1.0, 0.0, 0.0]] * len(found)
    out = []
    for block in found:
        runs = _runs(block.text[:600].lower().split()[:_WORDS])
        count = max(1, len(runs))
        share = sum([run in said for run in runs]) / count if said else -1.0
        out.append([share, size, sum([run in described for run in runs]) / count])
    return out


def _runs(words: list[str]) -> list[tuple[str, ...]]:
    """Each run of three words; the words themselves when there are fewer."""
    if len(words) < _RUN:
        return [tuple(words)] if words else []
    return list(zip(words, words[1:], words[2:], strict=False))
