"""A loopback HTTP server of raw bytes: it keeps each request as it came, and answers what a test's function says."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NamedTuple


class Seen(NamedTuple):
    """One request."""

    method: str
    target: str
    head: bytes  # the request line and the headers, with the empty line
    body: bytes

    @property
    def raw(self) -> bytes:
        return self.head + self.body

    @property
    def headers(self) -> dict[str, str]:
        lines = self.head.decode("latin-1").split("\r\n")[1:]
        return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines) if name}


# The bytes of an answer; or a coroutine that writes it by itself.
Answer = Callable[[Seen], bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]]


def answer(status: int = 200, body: bytes = b"", **headers: str) -> bytes:
    """A response whose connection ends with it; ``content_type="..."`` and so on are headers."""
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(body)}", "connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


class Fake:
    """The server: ``answers`` may be replaced at any time, ``seen`` grows; ``hung_up`` counts who left early."""

    def __init__(self, answers: Answer) -> None:
        self.answers = answers
        self.seen: list[Seen] = []
        self.hung_up = 0
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            # Cancelled by close alone: the server's callback would log it.
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._one(reader, writer)
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method, target, _ = head.split(b"\r\n")[0].decode("latin-1").split(" ")
        seen = Seen(method, target, head, b"")
        length = int(seen.headers.get("content-length", "0"))
        seen = seen._replace(body=await reader.readexactly(length))
        self.seen.append(seen)
        made = self.answers(seen)
        if isinstance(made, bytes):
            writer.write(made)
            await writer.drain()
            return
        leaving = asyncio.ensure_future(reader.read(1))
        writing = asyncio.ensure_future(made(writer))
        try:
            await asyncio.wait([leaving, writing], return_when=asyncio.FIRST_COMPLETED)
            self.hung_up += not writing.done()
        finally:
            for task in (leaving, writing):
                task.cancel()
            await asyncio.gather(leaving, writing, return_exceptions=True)

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def silence(_writer: asyncio.StreamWriter) -> None:
    """An answer that never comes."""
    await asyncio.Event().wait()


@contextlib.asynccontextmanager
async def serving(answers: Answer) -> AsyncIterator[Fake]:
    """A server for the time of a ``with``."""
    fake = Fake(answers)
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    fake.port = server.sockets[0].getsockname()[1]
    try:
        yield fake
    finally:
        server.close()
        await fake.close()
        await server.wait_closed()


class Serving(threading.Thread):
    """A server in a thread of its own, for callers that block: ``with Serving(answers) as fake``."""

    def __init__(self, answers: Answer) -> None:
        super().__init__()
        self.answers = answers
        self.ready = threading.Event()
        self.fake: Fake | None = None

    def run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self.loop, self.over = asyncio.get_running_loop(), asyncio.Event()
        async with serving(self.answers) as self.fake:
            self.ready.set()
            await self.over.wait()

    def __enter__(self) -> Fake:
        self.start()
        self.ready.wait()
        assert self.fake is not None
        return self.fake

    def __exit__(self, *error: object) -> None:
        self.loop.call_soon_threadsafe(self.over.set)
        self.join()
