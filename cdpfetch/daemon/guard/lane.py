"""A lane: one listener of the guard, its policy, and what runs through it now."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from cdpfetch.daemon.guard.purse import Purse
from cdpfetch.daemon.guard.relay import Relay
from cdpfetch.daemon.guard.visitor import Visitor
from cdpfetch.policy import Policy
from cdpfetch.urls import Url

# Connections at a time; Chrome opens some hundred at most, a page that attacks may try more.
MAX_CONNECTIONS = 512


class Lane(NamedTuple):
    """What a lane is: its name, what it may reach, and bytes (both ways) that each connection may carry, and that all
    may carry beside what their visits bring (``Guard.visit``).
    """

    name: str
    policy: Policy
    connection_bytes: int | None = None
    total_bytes: int | None = None


class Live(NamedTuple):
    """A connection that stands: where it leads (``address`` is None behind an upstream proxy)."""

    target: Url
    address: str | None


class Door:
    """An open lane.  Only the guard changes it."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.purse = Purse(lane.total_bytes)
        self.server: asyncio.Server | None = None  # set when it listens
        self.port = 0  # its port on 127.0.0.1, once it listens
        self.visitors: dict[Visitor, asyncio.Task[None] | None] = {}  # not yet relays, and what serves them
        self.relays: dict[Relay, Live] = {}
        self.proved: float | None = None  # Unix time when Chrome's traffic was last seen to pass it
        self.ended = False  # set when it is closed: nobody is admitted any more
        self.closed = asyncio.Event()  # set while nothing runs through it
        self.closed.set()

    @property
    def live(self) -> int:
        """Connections that run through it, in whatever state."""
        return len(self.visitors) + len(self.relays)

    def note(self) -> None:
        """Something has come or gone."""
        if self.live:
            self.closed.clear()
        else:
            self.closed.set()

    def __repr__(self) -> str:
        return f"<Door {self.lane.name} :{self.port}, {len(self.visitors)} asking, {len(self.relays)} live>"
