"""One file that Chrome is writing for us."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import uuid
from collections.abc import Callable
from typing import BinaryIO

from cdpfetch.cdp.connection import Session
from cdpfetch.cdp.errors import CallTimeout
from cdpfetch.cdp.landing import DownloadFailed, NavigationTimeout, ResponseHead

# Seconds without a byte before a download is given up.
STALL_TIMEOUT = 20.0

# What Chrome adds to the name of a file that is not whole yet.
UNFINISHED = ".crdownload"
# Seconds between looks at the file, at most and, where it grows fast towards its limit, at least: Chrome tells of its
# growth only now and then.
_LOOK, _LOOK_FAST = 0.1, 0.002
# Bytes to read of a stream at a time, first and at most.
_READ_FIRST = 512
_READ_MAX = 1 << 16

Progress = Callable[[int, int], None]


class Download:
    """A download under way.

    Chrome writes to ``path``; ``received`` and ``total`` (0: unknown) count bytes as they
    arrive, content codings already undone where Chrome undoes them.
    """

    def __init__(self, guid: str, url: str, suggested_name: str, path: str | None) -> None:
        self.guid = guid
        self.url = url
        self.suggested_name = suggested_name
        self.path = path
        self.tab_id: str | None = None  # the tab that it belongs to, set by the browser
        self.received = 0
        self.total = 0
        self.on_progress: Callable[[], None] | None = None  # called in the reader at each progress event
        self._state: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @property
    def ended(self) -> bool:
        """Whether it has been completed or cancelled."""
        return self._state.done()

    async def wait(self) -> str:
        """Wait for the end: ``completed`` or ``canceled``."""
        return await asyncio.shield(self._state)

    def on_end(self, handler: Callable[[], None]) -> None:
        """Call ``handler`` soon after the end."""
        self._state.add_done_callback(lambda state: handler())

    def progress(self, received: int, total: int) -> None:
        """Note what Chrome reports."""
        self.received = max(self.received, received)
        self.total = total
        if self.on_progress is not None:
            self.on_progress()

    def look(self) -> None:
        """Note how large the file is by now, which Chrome tells late."""
        for path in self._files():
            with contextlib.suppress(OSError):
                self.received = max(self.received, os.lstat(path).st_size)

    def end(self, state: str) -> None:
        """Note the end; the first one counts."""
        if not self._state.done():
            self._state.set_result(state)

    def remove(self) -> None:
        """Delete what was written, where it is still there."""
        for path in self._files():
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def _files(self) -> tuple[str, ...]:
        """Where Chrome writes: under the final name only when it is done."""
        return () if self.path is None else (self.path, self.path + UNFINISHED)

    def __repr__(self) -> str:
        state = self._state.result() if self._state.done() else "under way"
        return f"<Download {self.guid} {state} {self.received}/{self.total or '?'} bytes>"


async def receive(
    download: Download, head: ResponseHead, session: Session, progress: Progress, limit: int = 1 << 62
) -> None:
    """Wait for the end of a download, as long as bytes keep coming and ``progress`` lets it go on.

    ``limit``: bytes beyond which ``progress`` will not; the nearer they are, the more often it is asked.
    Raises NavigationTimeout (stalled: Chrome also waits on where it could take up a broken connection
    again), DownloadFailed (broken off), the session's cause when the tab goes
    away, and whatever ``progress`` raises.
    """
    loop = asyncio.get_running_loop()
    moved = asyncio.Event()
    download.on_progress = moved.set
    download.on_end(moved.set)
    session.on_closed(lambda cause: moved.set())
    seen, seen_at = download.received, loop.time()
    began, first = seen_at, seen
    told: tuple[int, int] | None = None
    while not download.ended:
        download.look()
        if told != (download.received, download.total):
            told = (download.received, download.total)
            progress(*told)
        with contextlib.suppress(TimeoutError):
            pause = _pause(download.received - first, loop.time() - began, limit - download.received)
            async with asyncio.timeout_at(min(loop.time() + pause, seen_at + STALL_TIMEOUT)):
                await moved.wait()
        moved.clear()
        if session.closed is not None:
            raise session.closed
        if download.received > seen:
            seen, seen_at = download.received, loop.time()
        elif loop.time() >= seen_at + STALL_TIMEOUT:
            raise NavigationTimeout(f"an incomplete download ({_came(seen, head)})", STALL_TIMEOUT, head.url, head)
    progress(download.received, download.total)
    if await download.wait() != "completed":
        if download.received >= limit:
            # The kernel has ended it at the bound (filebound.py).
            progress(limit + 1, 0)
        raise DownloadFailed(f"the connection was closed after {_came(download.received, head)}", head)


def _pause(received: int, seconds: float, left: int) -> float:
    """Seconds until the next look: a quarter of what is left until the limit at the speed so far."""
    speed = received / seconds if seconds > 0 else 0.0
    return _LOOK if speed <= 0 else min(_LOOK, max(_LOOK_FAST, left / speed / 4))


def _came(received: int, head: ResponseHead) -> str:
    declared = head.header("content-length")
    return f"{received} bytes of the declared {declared}" if declared else f"{received} bytes"


async def receive_stream(
    session: Session, request_id: str, directory: str, seconds: float, progress: Progress
) -> tuple[str, int, bool]:
    """Write the body of a paused answer for at most ``seconds``: (path, bytes, whether it came to its end).

    For bodies that have no end of their own, which a download would lose.  Raises CdpError, OSError and
    whatever ``progress`` raises; no file is left then.
    """
    path = os.path.join(directory, f"stream-{uuid.uuid4()}")
    answer = await session.execute("Fetch.takeResponseBodyAsStream", {"requestId": request_id})
    stream = {"handle": answer["stream"]}
    try:
        with open(path, "xb") as file:  # noqa: ASYNC230 - small writes, to a local disk
            received, whole = await _read_stream(session, stream, seconds, file, progress)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        raise
    finally:
        session.send("IO.close", stream, timeout=5.0)
    return path, received, whole


async def _read_stream(
    session: Session, stream: dict[str, str], seconds: float, file: BinaryIO, progress: Progress
) -> tuple[int, bool]:
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    received, size = 0, _READ_FIRST
    while (left := end - loop.time()) > 0:
        try:
            # Chrome answers when it has all that was asked for: small bites for slow bodies.
            chunk = await session.execute("IO.read", {**stream, "size": size}, timeout=left)
        except CallTimeout:
            break
        size = min(size * 2, _READ_MAX) if end - loop.time() > left - 0.1 else _READ_FIRST
        data = chunk.get("data", "")
        content = base64.b64decode(data) if chunk.get("base64Encoded") else data.encode()
        file.write(content)
        received += len(content)
        progress(received, 0)
        if chunk.get("eof"):
            return received, True
    return received, False
