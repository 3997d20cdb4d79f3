"""Where a ref ends and a path begins: names of branches may have slashes, so only GitHub knows.  Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

# Splits that are tried at most: a ref of more parts than this is not looked for.
MAX_SPLITS = 8
_HEX = frozenset("0123456789abcdefABCDEF")


def splits(rest: Sequence[str], *, bare: bool = False) -> Iterator[tuple[str, str]]:
    """``(ref, path)`` in the order to be tried, the longest path first.

    ``bare``: a ref without a path is possible.  A whole commit's hash has no slash, ``refs/heads/`` and
    ``refs/tags/`` belong to the ref.
    """
    first = 3 if len(rest) > 2 and rest[0] == "refs" and rest[1] in ("heads", "tags") else 1
    last = len(rest) if bare else len(rest) - 1
    if len(rest[0]) == 40 and _HEX.issuperset(rest[0]):
        last = 1
    for border in range(first, min(last, first + MAX_SPLITS - 1) + 1):
        yield "/".join(rest[:border]), "/".join(rest[border:])
