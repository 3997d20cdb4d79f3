"""Who gets the next free tab: a fair queue over clients; synchronous, free of I/O."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """At most ``size`` entries at work; the clients that wait take turns, each one's own entries in order."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.working = 0  # entries that have been let in and have not left
        self._waiting: OrderedDict[Hashable, deque[T]] = OrderedDict()  # by client, the next to serve first

    def __len__(self) -> int:
        return sum(len(entries) for entries in self._waiting.values())

    def enter(self, client: Hashable, entry: T) -> bool:
        """Let an entry in at once (True), or put it into its client's line."""
        if self.working < self.size and not self._waiting:
            self.working += 1
            return True
        self._waiting.setdefault(client, deque()).append(entry)
        return False

    def leave(self) -> T | None:
        """One entry has left; the entry that takes its place, or None when nobody waits."""
        self.working -= 1
        if not self._waiting or self.working >= self.size:
            return None
        client, entries = next(iter(self._waiting.items()))
        entry = entries.popleft()
        if entries:
            self._waiting.move_to_end(client)
        else:
            del self._waiting[client]
        self.working += 1
        return entry

    def withdraw(self, client: Hashable, entry: T) -> bool:
        """Take an entry out of the line; False when it is not there (any more)."""
        entries = self._waiting.get(client)
        if entries is None or entry not in entries:
            return False
        entries.remove(entry)
        if not entries:
            del self._waiting[client]
        return True

    def __repr__(self) -> str:
        return f"<FairQueue {self.working}/{self.size} at work, {len(self)} waiting>"
