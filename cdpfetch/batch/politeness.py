"""When a fetch may start: so many at once, so many of one host, so long between two of one host.  Pure.

Time is an argument (seconds of any one clock).  Items wait here only in small buffers, one for each host that is
active; the manifest holds the others.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict, deque
from typing import Generic, TypeVar

T = TypeVar("T")

# A server that names a longer time is asked again after this (seconds): more would hold a batch for ever.
MAX_PAUSE = 3600.0
# Hosts without items whose last start is remembered.
_REMEMBERED = 20_000


class _Host(Generic[T]):
    __slots__ = ("active", "delay", "free_at", "items", "queued")

    def __init__(self, delay: float) -> None:
        self.items: deque[T] = deque()
        self.active = 0  # under way
        self.free_at = 0.0  # no start before
        self.delay = delay
        self.queued = False  # whether the heap has an entry of it


class Scheduler(Generic[T]):
    """Owns the order of starts.

    Args:
        concurrency: starts that may be under way at once.
        per_host: of these, from one host.
        delay: seconds between two starts from one host.
    """

    def __init__(self, concurrency: int, per_host: int, delay: float) -> None:
        self._concurrency = concurrency
        self._per_host = per_host
        self._delay = delay
        self._hosts: OrderedDict[str, _Host[T]] = OrderedDict()
        # (time from which it may start, turn, host) of hosts with items and a free place.
        self._heap: list[tuple[float, int, str]] = []
        self._turn = 0
        self.active = 0  # under way, of all hosts
        self.waiting = 0  # items in the buffers

    @property
    def hosts(self) -> int:
        """Hosts that have items here."""
        return sum(1 for host in self._hosts.values() if host.items)

    def lacks(self, host: str) -> bool:
        """Whether a host has no item here."""
        found = self._hosts.get(host)
        return found is None or not found.items

    def offer(self, host: str, item: T) -> None:
        """An item that may start when its host's turn has come."""
        found = self._hosts.get(host)
        if found is None:
            found = self._hosts[host] = _Host(self._delay)
            self._forget()
        found.items.append(item)
        self.waiting += 1
        self._queue(host, found)

    def take(self, now: float) -> tuple[str, T] | None:
        """The next (host, item) to start at ``now``, counted as under way until ``done``; None: none may."""
        if self.active >= self._concurrency:
            return None
        while self._heap:
            when, _, name = self._heap[0]
            host = self._hosts[name]
            if host.free_at > when:  # it was told to pause since
                heapq.heappop(self._heap)
                host.queued = False
                self._queue(name, host)
                continue
            if when > now:
                return None
            heapq.heappop(self._heap)
            host.queued = False
            item = host.items.popleft()
            host.active += 1
            self.active += 1
            self.waiting -= 1
            host.free_at = now + host.delay
            self._queue(name, host)
            return name, item
        return None

    def wait(self, now: float) -> float | None:
        """Seconds until ``take`` may give something; None: not before ``offer`` or ``done``."""
        if self.active >= self._concurrency or not self._heap:
            return None
        return max(0.0, self._heap[0][0] - now)

    def done(self, host: str) -> None:
        """A start of a host has ended."""
        found = self._hosts[host]
        found.active -= 1
        self.active -= 1
        self._queue(host, found)

    def pause(self, host: str, until: float, now: float) -> None:
        """Start nothing from a host before ``until`` (what ``Retry-After`` says), an hour at most."""
        found = self._hosts.get(host)
        if found is not None:
            found.free_at = max(found.free_at, min(until, now + MAX_PAUSE))

    def slow(self, host: str, delay: float) -> None:
        """Keep at least ``delay`` seconds between two starts from a host (what robots.txt says)."""
        found = self._hosts.get(host)
        if found is not None and delay > found.delay:
            found.free_at += delay - found.delay
            found.delay = delay

    def _queue(self, name: str, host: _Host[T]) -> None:
        if host.items and not host.queued and host.active < self._per_host:
            self._turn += 1
            heapq.heappush(self._heap, (host.free_at, self._turn, name))
            host.queued = True

    def _forget(self) -> None:
        """Drop the oldest hosts that have nothing here, so that millions of hosts fill no memory."""
        for name in list(self._hosts)[:2] if len(self._hosts) > _REMEMBERED else ():
            host = self._hosts[name]
            if host.items or host.active:
                self._hosts.move_to_end(name)
            else:
                del self._hosts[name]
