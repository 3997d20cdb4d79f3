"""Where documents stand: at most ``SIZE`` in one folder, by their number in the manifest.  Pure."""

from __future__ import annotations

SIZE = 256


def folder(item: int) -> str:
    """The folder of an item, below the batch's directory: ``00/1f``, and so on to any number."""
    high, low = divmod(item // SIZE, SIZE)
    return f"{high:02x}/{low:02x}"


def result_name(number: int, kind: str) -> str:
    """The file name of a shard of results."""
    return f"results-{number:05d}.{kind}"
