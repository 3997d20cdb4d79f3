"""Connections to addresses that have been judged: IPv6 and IPv4 raced, nothing resolved again, one limit for all."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from cdpfetch.errors import CdpFetchError

# Seconds that connecting may take, over all addresses; Chrome itself waits 30 for a proxy.
CONNECT_TIMEOUT = 10.0
# Seconds that an address has to itself before the next one is tried beside it (RFC 8305).
HEAD_START = 0.25
_MAX_ADDRESSES = 8

Connect = Callable[[str, int], Awaitable[socket.socket]]
"""A connected, non-blocking socket to an address and port; raises OSError.  It must not resolve anything."""


class Dialled(NamedTuple):
    """A connection and the address that it leads to."""

    sock: socket.socket
    address: str


async def connect(address: str, port: int) -> socket.socket:
    """Connect to a numeric address.  Raises OSError, also for what is a name."""
    numeric = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
    family, kind, protocol, _, where = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=numeric)[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, where)
    except BaseException:
        sock.close()
        raise
    return sock


def in_order(addresses: Sequence[str]) -> list[str]:
    """The addresses in the order to try them: families take turns, beginning with IPv6; at most eight."""
    six = [address for address in addresses if ":" in address]
    four = [address for address in addresses if ":" not in address]
    mixed = [address for pair in zip(six, four, strict=False) for address in pair]
    shorter = min(len(six), len(four))
    return (mixed + six[shorter:] + four[shorter:])[:_MAX_ADDRESSES]


class Dialler:
    """Opens connections.  ``connect`` stands for the network in tests."""

    def __init__(
        self, connect: Connect = connect, *, limit: float = CONNECT_TIMEOUT, head_start: float = HEAD_START
    ) -> None:
        self._connect = connect
        self._limit = limit
        self._head_start = head_start

    async def dial(self, name: str, addresses: Sequence[str], port: int) -> Dialled:
        """The first connection that comes about to one of ``addresses``; ``name`` is for the reason.

        Raises CdpFetchError: ``connection_failed``, or ``timeout`` when no address answered in time.
        """
        race = _Race(self._connect, in_order(addresses), port, self._head_start)
        won: Dialled | None = None
        try:
            try:
                async with asyncio.timeout(self._limit):
                    won = await race.run()
            finally:
                await race.close()
        except TimeoutError:
            raise CdpFetchError(
                "timeout",
                f"{name}:{port} did not accept a connection within {self._limit:g} s",
                "check that the host is reachable",
            ) from None
        except BaseException:
            if won is not None:
                won.sock.close()
            raise
        if won is None:
            raise _failure(name, port, race.errors)
        return won


class _Race:
    """Attempts at several addresses; the first to succeed wins, the others are given up."""

    def __init__(self, connect: Connect, addresses: list[str], port: int, head_start: float) -> None:
        self._connect = connect
        self._waiting = addresses
        self._port = port
        self._head_start = head_start
        self._running: dict[asyncio.Task[socket.socket], str] = {}
        self._won: asyncio.Task[socket.socket] | None = None  # whose socket is the caller's
        self.errors: list[OSError] = []

    async def run(self) -> Dialled | None:
        """The winner, or None when every attempt failed (``errors`` says how)."""
        while self._waiting or self._running:
            if self._waiting:
                address = self._waiting.pop(0)
                attempt = asyncio.ensure_future(self._connect(address, self._port))
                self._running[attempt] = address
            # A failure starts the next attempt at once, silence after a moment.
            patience = self._head_start if self._waiting else None
            done, _ = await asyncio.wait(self._running, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            for attempt in done:
                error = attempt.exception()
                if error is None:
                    self._won = attempt
                    return Dialled(attempt.result(), self._running[attempt])
                del self._running[attempt]
                if not isinstance(error, OSError):
                    raise error
                self.errors.append(error)
        return None

    async def close(self) -> None:
        """Give up what is under way; a socket that nobody takes is closed."""
        losers = [attempt for attempt in self._running if attempt is not self._won]
        for attempt in losers:
            attempt.cancel()
        for ended in await asyncio.gather(*losers, return_exceptions=True):
            if isinstance(ended, socket.socket):
                ended.close()


def _failure(name: str, port: int, errors: list[OSError]) -> CdpFetchError:
    """The error for attempts that all failed: the first one's words count."""
    error = errors[0] if errors else OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
    words = {
        errno.ECONNREFUSED: "the connection was refused",
        errno.EHOSTUNREACH: "the host can't be reached",
        errno.ENETUNREACH: "the network can't be reached",
    }.get(error.errno or 0, error.strerror or str(error))
    code = "timeout" if error.errno == errno.ETIMEDOUT else "connection_failed"
    return CdpFetchError(code, f"{name}:{port}: {words}", "check that the server runs, and the port")
