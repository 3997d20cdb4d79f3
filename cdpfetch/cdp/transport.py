"""Ways to carry messages to a browser: its debugging pipe, or a WebSocket that somebody else's browser offers."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any, Protocol, cast

from cdpfetch.cdp.framing import NulFramer

OnMessage = Callable[[bytes], None]
OnClose = Callable[[str], None]

# Read this much at a time: captures of large pages arrive as single messages of megabytes.
_READ_SIZE = 1 << 18


class Transport(Protocol):
    """Carries whole messages in both directions; calls back from the event loop only."""

    def start(self, on_message: OnMessage, on_close: OnClose) -> None:
        """Begin to deliver; ``on_close`` is called once, with the cause."""

    def send(self, message: bytes) -> None:
        """Queue one message; never blocks, does nothing after the end."""

    async def close(self) -> None:
        """End the transport and wait until it has ended; idempotent."""


class PipeTransport(asyncio.BufferedProtocol):
    """The debugging pipe, as one socket pair whose far end Chrome has as both fd 3 and fd 4."""

    def __init__(self) -> None:
        self._framer = NulFramer()
        self._buffer = bytearray(_READ_SIZE)  # read target, reused
        self._view = memoryview(self._buffer)
        self._transport: asyncio.Transport | None = None  # set by connection_made
        self._on_message: OnMessage | None = None  # set soon after start
        self._early: list[bytes] = []  # messages that came before that: none may be lost
        self._on_close: OnClose | None = None  # set soon after start
        self._loop = asyncio.get_running_loop()
        self._closed: asyncio.Future[str] = self._loop.create_future()  # resolved with the cause at the end

    @classmethod
    async def open(cls, sock: socket.socket) -> PipeTransport:
        """Take over our end of the socket pair."""
        loop = asyncio.get_running_loop()
        _, transport = await loop.create_connection(cls, sock=sock)
        return transport

    def start(self, on_message: OnMessage, on_close: OnClose) -> None:
        # Soon, and not now: the caller has yet to subscribe.
        self._loop.call_soon(self._begin, on_message, on_close)

    def _begin(self, on_message: OnMessage, on_close: OnClose) -> None:
        self._on_message = on_message
        self._on_close = on_close
        early, self._early = self._early, []
        for message in early:
            on_message(message)
        if self._closed.done():
            on_close(self._closed.result())

    def send(self, message: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(message + b"\0")

    async def close(self) -> None:
        if self._transport is not None:
            # What is still queued will not be read by a browser that is being closed.
            self._transport.abort()
            await asyncio.shield(self._closed)

    # asyncio's callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Pausing here is no way to lose nothing: Python 3.11.2 (Debian 12's) resumes right after this call.
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._view

    def buffer_updated(self, nbytes: int) -> None:
        on_message = self._early.append if self._on_message is None else self._on_message
        for message in self._framer.feed(self._view[:nbytes]):
            on_message(message)

    def connection_lost(self, exc: Exception | None) -> None:
        cause = f"the pipe broke: {exc}" if exc else "the pipe was closed"
        if self._framer.pending:
            cause += f" in the middle of a message ({self._framer.pending} bytes of it had come)"
        # What is left of an ended browser goes in circles, and may wait for the collector through many more of them.
        self._framer, self._buffer, self._view = NulFramer(), bytearray(), memoryview(b"")
        if not self._closed.done():
            self._closed.set_result(cause)
            if self._on_close is not None:
                self._on_close(cause)


class WebSocketTransport:
    """A ``ws://`` debugging address: to attach to a browser that somebody else runs."""

    def __init__(self, websocket: Any) -> None:
        self._websocket = websocket
        self._outbox: asyncio.Queue[bytes] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []  # the reader and the writer, set by start
        self._closed = False  # set when on_close has been called or close() was asked for

    @classmethod
    async def open(cls, url: str, connect_timeout: float = 10.0) -> WebSocketTransport:
        """Connect; raises OSError, TimeoutError or websockets' own exceptions."""
        from websockets.asyncio.client import connect  # lazily: only attaching needs it

        # No limit on size: one captured page is one message.  No proxy: the address is a local one.
        websocket = await connect(
            url, max_size=None, compression=None, open_timeout=connect_timeout, ping_interval=None, proxy=None
        )
        return cls(websocket)

    def start(self, on_message: OnMessage, on_close: OnClose) -> None:
        self._tasks = [
            asyncio.create_task(self._read(on_message, on_close), name="cdp-websocket-reader"),
            asyncio.create_task(self._write(), name="cdp-websocket-writer"),
        ]

    def send(self, message: bytes) -> None:
        if not self._closed:
            self._outbox.put_nowait(message)

    async def close(self) -> None:
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._websocket.close()

    async def _read(self, on_message: OnMessage, on_close: OnClose) -> None:
        from websockets.exceptions import ConnectionClosed

        cause = "the WebSocket was closed"
        try:
            async for message in self._websocket:
                on_message(message.encode() if isinstance(message, str) else message)
        except ConnectionClosed as error:
            cause = f"the WebSocket broke: {error}"
        if not self._closed:
            self._closed = True
            on_close(cause)

    async def _write(self) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            while True:
                message = await self._outbox.get()
                await self._websocket.send(message.decode())
        except ConnectionClosed:
            return  # the reader reports it
