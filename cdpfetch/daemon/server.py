"""The socket: lines in, lines out, one task per request, heartbeats while any is under way."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from typing import Any, cast

from cdpfetch import wire
from cdpfetch.daemon.fetch import FetchFailed
from cdpfetch.daemon.peer import peer_uid
from cdpfetch.errors import CdpFetchError, InvalidRequest

log = logging.getLogger(__name__)

# Requests of one client that may be under way; the next one waits in the socket until one has ended.
MAX_PENDING = 256
# Bytes of answers that may wait for a client that does not read; beyond that it is hung up on.
MAX_OUTBOX = 16 << 20
# Seconds for the first line of a client.
HELLO_TIMEOUT = 10.0

Send = Callable[[wire.Message], None]
Handle = Callable[["Client", wire.Message], Awaitable[wire.Message]]


class Client:
    """One connection.  ``handle`` makes the terminal message of a request; ``send`` is for what comes before it."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handle: Handle, version: str
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._handle = handle
        self._version = version
        self.requests: dict[Any, asyncio.Task[None]] = {}  # under way, by the client's id
        self._free = asyncio.Semaphore(MAX_PENDING)
        self._heartbeat: asyncio.Task[None] | None = None  # runs while requests are under way

    def send(self, message: wire.Message) -> None:
        """Queue one line; a client that reads nothing is hung up on."""
        if self._writer.is_closing():
            return
        self._writer.write(wire.encode(message))
        if self._writer.transport.get_write_buffer_size() > MAX_OUTBOX:
            log.warning("a client does not read its answers; it is hung up on")
            self._writer.transport.abort()

    def hang_up(self) -> None:
        """End the connection; ``serve`` ends by that."""
        if self._writer.transport.get_write_buffer_size() == 0:
            self._writer.transport.abort()
        else:
            self._writer.close()
            self._reader.feed_eof()

    async def serve(self) -> None:
        """Serve until the client hangs up; its requests are cancelled then."""
        self.send(wire.hello(self._version, pid=os.getpid()))
        try:
            async with asyncio.timeout(HELLO_TIMEOUT):
                wire.check_hello(wire.decode(await self._line()))
            while line := await self._line():
                await self._free.acquire()
                self._accept(line)
        except (InvalidRequest, TimeoutError) as error:
            reason = error if isinstance(error, InvalidRequest) else InvalidRequest("no hello came")
            self.send(wire.error_event(None, reason))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            await self._end()

    async def _line(self) -> bytes:
        try:
            return await self._reader.readuntil(b"\n")
        except asyncio.LimitOverrunError:
            raise InvalidRequest(f"a line is longer than {wire.MAX_LINE} bytes") from None
        except asyncio.IncompleteReadError as error:
            return error.partial

    def _accept(self, line: bytes) -> None:
        """Start one request, or refuse it."""
        message: wire.Message = {}
        try:
            message = wire.decode(line)
            wire.check_request(message)
            if message["id"] in self.requests:
                raise InvalidRequest(f"a request with the id {message['id']!r} is under way")
        except InvalidRequest as error:
            self._free.release()
            request_id = message.get("id")
            self.send(wire.error_event(request_id if isinstance(request_id, (str, int)) else None, error))
            return
        task = asyncio.create_task(self._run(message), name=f"request-{message['op']}")
        self.requests[message["id"]] = task
        task.add_done_callback(lambda done: self._ended(message["id"]))
        if self._heartbeat is None:
            self._heartbeat = asyncio.create_task(self._beat(), name="heartbeat")

    async def _run(self, message: wire.Message) -> None:
        request_id = message["id"]
        try:
            answer = await self._handle(self, message)
        except FetchFailed as failed:
            answer = wire.error_event(request_id, failed.error, document=failed.document)
        except CdpFetchError as error:
            answer = wire.error_event(request_id, error)
        except asyncio.CancelledError:
            self.send(wire.error_event(request_id, CdpFetchError("cancelled", "the request was cancelled")))
            raise
        except Exception as error:
            log.exception("a request failed unexpectedly")
            fault = CdpFetchError("internal", f"{type(error).__name__}: {error}", "see: cdpfetch logs")
            answer = wire.error_event(request_id, fault)
        self.send(answer)

    def _ended(self, request_id: Any) -> None:
        self.requests.pop(request_id, None)
        self._free.release()
        if not self.requests and self._heartbeat is not None:
            self._heartbeat.cancel()
            self._heartbeat = None

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(wire.HEARTBEAT)
            self.send(wire.heartbeat())

    async def _end(self) -> None:
        tasks = list(self.requests.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._heartbeat is not None:
            self._heartbeat.cancel()
        self._writer.close()
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(5.0):
                await self._writer.wait_closed()


class Server:
    """Listens, and keeps the connections."""

    def __init__(self, handle: Handle, version: str) -> None:
        self._handle = handle
        self._version = version
        self._server: asyncio.Server | None = None
        self._clients: dict[Client, asyncio.Task[None]] = {}
        self.changed = asyncio.Event()  # set whenever a client comes or goes

    @property
    def active(self) -> int:
        """Requests under way, of all clients."""
        return sum(len(client.requests) for client in self._clients)

    @property
    def clients(self) -> int:
        """Connections that are open."""
        return len(self._clients)

    async def start(self, listener: socket.socket) -> None:
        """Accept connections on a listening unix socket."""
        self._server = await asyncio.start_unix_server(self._connected, sock=listener, limit=wire.MAX_LINE)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sock = writer.get_extra_info("socket")
        if peer_uid(sock) not in (os.getuid(), None):
            log.warning("a connection of another user was refused")
            writer.close()
            return
        client = Client(reader, writer, self._handle, self._version)
        self._clients[client] = cast("asyncio.Task[None]", asyncio.current_task())
        self.changed.set()
        try:
            await client.serve()
        finally:
            self._clients.pop(client, None)
            self.changed.set()

    async def stop_accepting(self) -> None:
        """Take no more connections."""
        if self._server is not None:
            self._server.close()

    async def drain(self, seconds: float) -> None:
        """Wait until no request is under way, but no longer than ``seconds``."""
        tasks = [
            task for client in self._clients for task in client.requests.values() if task is not asyncio.current_task()
        ]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)

    async def close(self) -> None:
        """Hang up on everybody; idempotent."""
        await self.stop_accepting()
        for client in self._clients:
            client.hang_up()
        await asyncio.gather(*self._clients.values(), return_exceptions=True)
