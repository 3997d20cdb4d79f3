"""Where used tabs wait for another page of their origin: a few, for a moment; synchronous, free of I/O."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")

# Seconds that something waits: several pages of one site in a row are what it is for.
PARKED_MAX = 15.0


class Parking(Generic[T]):
    """At most ``size`` entries, each for a place such as a lane and an origin; the oldest make room."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._parked: OrderedDict[int, tuple[Hashable, T, float]] = OrderedDict()  # by ticket: place, entry, since
        self._tickets = 0

    def __len__(self) -> int:
        return len(self._parked)

    def put(self, place: Hashable, entry: T, now: float) -> list[T]:
        """Park an entry; those that have to make room for it."""
        self._tickets += 1
        self._parked[self._tickets] = (place, entry, now)
        return [self._parked.popitem(last=False)[1][1] for _ in range(len(self._parked) - self._size)]

    def take(self, place: Hashable, wanted: Callable[[T], bool] = lambda entry: True) -> T | None:
        """Of the entries for a place that are wanted the one that was parked last, or None."""
        for ticket in reversed(self._parked):
            parked, entry, _ = self._parked[ticket]
            if parked == place and wanted(entry):
                del self._parked[ticket]
                return entry
        return None

    def expired(self, now: float) -> list[T]:
        """The entries that have waited long enough; they are not parked any more."""
        ended = [ticket for ticket, (_, _, since) in self._parked.items() if now - since >= PARKED_MAX]
        return [self._parked.pop(ticket)[1] for ticket in ended]

    def clear(self) -> list[T]:
        """All entries, which are not parked any more."""
        entries = [entry for _, entry, _ in self._parked.values()]
        self._parked.clear()
        return entries
