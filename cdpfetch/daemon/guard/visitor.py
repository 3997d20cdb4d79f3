"""A connection to one of the guard's listeners, until it is known where it wants to go."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import cast

from cdpfetch.daemon.guard import socks
from cdpfetch.daemon.guard.owner import Ends
from cdpfetch.daemon.guard.relay import End

log = logging.getLogger(__name__)

# Seconds from the connection to its request; a browser needs milliseconds.
NEGOTIATION = 10.0


class Visitor(asyncio.Protocol):
    """Admits, negotiates, and hands over: ``on_request(visitor, request)`` is called once, ``on_gone`` at the end.

    ``admit`` says whether the socket with these addresses may be served.
    """

    def __init__(
        self,
        admit: Callable[[Ends], bool],
        on_request: Callable[[Visitor, socks.Request], None],
        on_gone: Callable[[Visitor], None],
    ) -> None:
        self.transport: asyncio.Transport | None = None
        self._admit = admit
        self._on_request = on_request
        self._on_gone = on_gone
        self._negotiation = socks.Negotiation()
        self._timer: asyncio.TimerHandle | None = None  # ends a client that does not get to its request

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport = cast(asyncio.Transport, transport)
        ends = Ends(transport.get_extra_info("peername")[:2], transport.get_extra_info("sockname")[:2])
        if not self._admit(ends):
            transport.abort()
            return
        self._timer = asyncio.get_running_loop().call_later(NEGOTIATION, transport.abort)

    def data_received(self, data: bytes) -> None:
        transport, negotiation = self.transport, self._negotiation
        if transport is None or transport.is_closing():
            return
        asked_before = negotiation.request is not None
        answer = negotiation.feed(data)
        if answer:
            transport.write(answer)
        if negotiation.failed is not None:
            log.debug("a client of the guard sent %s", negotiation.failed)
            transport.close()
        elif negotiation.request is not None and not asked_before:
            # What it says now is for the far side, which is not there yet.
            transport.pause_reading()
            self._stop_timer()
            self._on_request(self, negotiation.request)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self._stop_timer()
        self._on_gone(self)

    def become(self, end: End) -> bytes | None:
        """Tell the client that it is connected and turn into an end of a relay; what it has said already.

        None when the client has gone.
        """
        transport = self.transport
        if transport is None or transport.is_closing():
            return None
        transport.write(socks.SUCCEEDED)
        transport.set_protocol(end)
        end.connection_made(transport)
        self.transport = None
        return self._negotiation.rest

    def refuse(self, code: int) -> None:
        """Tell the client that it can't be connected, and why as far as SOCKS can say."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(socks.reply(code))
            self.transport.close()

    def abort(self) -> None:
        """Close it now."""
        if self.transport is not None:
            self.transport.abort()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
