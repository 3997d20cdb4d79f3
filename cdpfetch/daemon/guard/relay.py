"""Two connections joined: what comes in on one goes out on the other, as fast as the slower one takes it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable
from typing import cast

# Bytes that wait for a slow reader before the other side is paused.
HIGH_WATER = 256 * 1024
# Seconds that what is still to be written gets after the other side has gone.
LINGER = 30.0
_RESET = struct.pack("ii", 1, 0)


class Budget:
    """So many bytes and no more; None is no limit.  ``used`` counts in any case."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.used = 0

    def spend(self, size: int) -> bool:
        """Count ``size`` bytes; False when they are over the limit."""
        self.used += size
        return self.limit is None or self.used <= self.limit


class End(asyncio.Protocol):
    """One end of a relay.  It reads nothing until the relay is complete."""

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self.transport: asyncio.Transport | None = None
        self.peer: End | None = None  # set by Relay.start
        self.ended = False  # whether this end will send no more
        self._plain = True  # whether it can be half-closed (TLS can't)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._plain = self.transport.can_write_eof()
        self.transport.pause_reading()
        self.transport.set_write_buffer_limits(high=HIGH_WATER)

    def data_received(self, data: bytes) -> None:
        peer = self.peer
        if peer is not None and peer.transport is not None and self._relay.spend(len(data)):
            peer.transport.write(data)

    def pause_writing(self) -> None:
        if self.peer is not None and self.peer.transport is not None:
            self.peer.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.peer is not None and self.peer.transport is not None:
            self.peer.transport.resume_reading()

    def eof_received(self) -> bool:
        self.ended = True
        self._relay.half_closed(self)
        return self._plain

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self._relay.lost(self, exc)

    def write_eof(self) -> None:
        """Say that no more comes; a connection that can't say it is closed."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write_eof() if self._plain else self.close()

    def close(self) -> None:
        """Close when all is written, or after a while."""
        if self.transport is None:
            return
        self.transport.close()
        if self.transport.get_write_buffer_size():
            self._relay.linger(self)

    def abort(self, *, reset: bool = False) -> None:
        """Close now; ``reset`` tells the far side that it was no orderly end."""
        if self.transport is None:
            return
        sock = self.transport.get_extra_info("socket")
        if reset and sock is not None:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.transport.abort()


class Relay:
    """A pair of ends.  ``on_end`` is called once, when both are closed; ``on_over`` when a budget is used up."""

    def __init__(
        self,
        budgets: tuple[Budget, ...] = (),
        on_end: Callable[[Relay], None] = lambda relay: None,
        on_over: Callable[[Relay], None] = lambda relay: None,
    ) -> None:
        self.client = End(self)
        self.remote = End(self)
        self._budgets = budgets
        self._on_end = on_end
        self._on_over = on_over
        self._open = 2  # ends that are not closed
        self._timers: list[asyncio.TimerHandle] = []  # of ends that still write

    def start(self, from_client: bytes = b"", from_remote: bytes = b"") -> None:
        """Both ends are connected: pass on what came before, and everything from now on."""
        self.client.peer, self.remote.peer = self.remote, self.client
        for end, data in ((self.client, from_client), (self.remote, from_remote)):
            if data:
                end.data_received(data)
        for end, reader in ((self.client, self.remote), (self.remote, self.client)):
            if reader.transport is None:
                end.close()  # it ended while the relay was made
            elif end.transport is not None and reader.transport.get_write_buffer_size() <= HIGH_WATER:
                end.transport.resume_reading()

    def spend(self, size: int) -> bool:
        """Count bytes; over a budget the relay ends at once."""
        over = [budget for budget in self._budgets if not budget.spend(size)]
        if not over:
            return True
        self.abort(reset=True)
        self._on_over(self)
        return False

    def half_closed(self, end: End) -> None:
        """An end has nothing more to say."""
        if end.peer is None:
            return
        if end.peer.ended:
            end.close()
            end.peer.close()
        else:
            end.peer.write_eof()

    def lost(self, end: End, cause: Exception | None) -> None:
        """An end is closed: the other one follows, in order or not."""
        self._open -= 1
        if end.peer is not None:
            end.peer.close() if cause is None else end.peer.abort(reset=isinstance(cause, ConnectionResetError))
        if self._open == 0:
            for timer in self._timers:
                timer.cancel()
            self._on_end(self)

    def linger(self, end: End) -> None:
        """An end that is closed has something to write; its reader may never take it."""
        self._timers.append(asyncio.get_running_loop().call_later(LINGER, end.abort))

    def abort(self, *, reset: bool = False) -> None:
        """Close both ends now."""
        self.client.abort(reset=reset)
        self.remote.abort(reset=reset)
