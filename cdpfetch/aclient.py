"""The asyncio client: the same calls as the blocking one, for many callers on one connection.

Cancelling a call cancels its request in the daemon; closing the client cancels them all.  What blocks (starting and
ending the daemon's process, reading files) runs in a thread.
"""

from __future__ import annotations

import asyncio
import time

from cdpfetch import calls, wire
from cdpfetch.aconnection import Call, Line, end_daemon
from cdpfetch.client import Client
from cdpfetch.connection import Gone, NotRunning, Silent
from cdpfetch.errors import CdpFetchError
from cdpfetch.paths import Home, find_home
from cdpfetch.wire import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import TracebackType
    from typing import Any, Self, Unpack

    from cdpfetch.document import Document, Outcome, Page

_REPLACE_SECONDS = 20.0


class AsyncClient:
    """Calls the daemon of a home; any number of tasks may use one client.

    Args:
        home: the directory, or a Home; default: this account's, or ``CDPFETCH_HOME``.
        start: whether a daemon is started when none runs.
        environment: the variables that such a daemon gets; default: those of this process.
    """

    def __init__(
        self, home: Home | str | None = None, *, start: bool = True, environment: Mapping[str, str] | None = None
    ) -> None:
        self.home = home if isinstance(home, Home) else Home(home) if home else find_home()
        self.start = start
        # Whether a daemon that has to be started will need its browser at once; set by fetch_documents.
        self._warm = False
        self.environment = environment
        # The open line to the daemon, made by the first call; replaced when the daemon went away.
        self._line: Line | None = None
        # Held while a line is made, so that tasks that call at once share it.
        self._making = asyncio.Lock()
        self._next_id = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Hang up; calls under way fail.  Safe to call again."""
        line, self._line = self._line, None
        if line is not None:
            await line.close(CdpFetchError("cancelled", "the client was closed"))

    # Documents

    async def fetch(
        self,
        url: str,
        *,
        on_status: Callable[[str, Message], None] | None = None,
        **options: Unpack[calls.FetchOptions],
    ) -> Document:
        """Fetch one URL.  Raises FetchError when it failed, CdpFetchError when the call was wrong."""
        outcome = (await self.fetch_many([url], on_status=on_status, **options))[0]
        if outcome.error is not None:
            raise outcome.error
        return outcome.document

    async def fetch_many(
        self,
        urls: Iterable[str],
        *,
        on_status: Callable[[str, Message], None] | None = None,
        **options: Unpack[calls.FetchOptions],
    ) -> list[Outcome]:
        """Fetch URLs at once; one outcome each, in order.  Raises only when the call itself is wrong."""
        from cdpfetch.document import outcome_of

        asked = list(urls)

        def status(index: int, event: Message) -> None:
            if on_status is not None:
                on_status(asked[index], event)

        return [outcome_of(data) for data in await self.fetch_documents(asked, on_status=status, **options)]

    async def fetch_documents(
        self,
        urls: Sequence[str],
        *,
        on_status: Callable[[int, Message], None] | None = None,
        on_document: Callable[[int, dict[str, Any]], None] | None = None,
        **options: Unpack[calls.FetchOptions],
    ) -> list[dict[str, Any]]:
        """Fetch URLs as plain document dicts, in order.

        ``on_status(index, event)`` gets the progress, ``on_document(index, document)`` each document when it is there.
        """
        fields = calls.fetch_fields(self.home, options)
        self._warm = calls.needs_browser(fields)
        window = asyncio.Semaphore(calls.WINDOW)

        async def one(index: int, url: str) -> dict[str, Any]:
            def status(event: Message) -> None:
                if on_status is not None:
                    on_status(index, event)

            async with window:
                try:
                    document = calls.document_of(url, await self._call({**fields, "url": url}, status))
                except CdpFetchError as error:
                    document = calls.failed(url, error)
            if on_document is not None:
                on_document(index, document)
            return document

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(index, url)) for index, url in enumerate(urls)]
        return [task.result() for task in tasks]

    async def read(self, fetch_id: str, **options: Any) -> Page:
        """One page of a fetched document, from disk; options as those of ``cdpfetch.reading.read``."""
        from cdpfetch.document import Page
        from cdpfetch.reading import read

        return Page(await asyncio.to_thread(read, self.home.artifacts, fetch_id, **options))

    # The daemon and its browser

    async def status(self) -> Message:
        """What the daemon says of itself.  Never starts one: raises DaemonUnavailable when none runs."""
        async with AsyncClient(self.home, start=False) as client:
            return await client.request("status", timeout=30)

    async def open_browser(
        self, url: str | None = None, *, wait: bool = False, on_status: Callable[[Message], None] | None = None
    ) -> Message:
        """Open the visible browser window on the shared profile; while it is open nothing is fetched.

        ``wait``: return when the user has closed it; ``on_status`` hears of its opening then.
        """
        return await self.request(
            "open-browser", on_status=on_status, **calls.window_fields(url, wait, self.environment)
        )

    async def close_browser(self) -> Message:
        """Close the visible browser window."""
        return await self.request("close-browser")

    async def sessions(self) -> list[dict[str, Any]]:
        """The sites that have cookies in the profile, with names and ends of the cookies, never their values."""
        return list((await self.request("sessions"))["sites"])

    async def clear_sessions(self, site: str | None = None) -> Message:
        """Remove the cookies and stored data of one site, or of all; the result has ``sites`` and ``cookies``."""
        fields: Message = {"site": site} if site is not None else {}
        return await self.request("sessions", action="clear", **fields)

    async def stop(self) -> bool:
        """Shut the daemon down and wait until it is gone; False when none ran."""
        await self.close()
        return await asyncio.to_thread(Client(self.home).stop)

    async def restart(self) -> Message:
        """Stop the daemon, start a new one, and return its status."""
        await self.stop()
        return await self.request("status", timeout=30)

    async def request(
        self,
        op: str,
        *,
        on_status: Callable[[Message], None] | None = None,
        timeout: float | None = None,
        **fields: Any,
    ) -> Message:
        """One request of any op, with the wire's fields; returns the result event.

        ``timeout`` (seconds) bounds the wait: then the request is cancelled and CdpFetchError(timeout) raised.
        """
        try:
            async with asyncio.timeout(timeout):
                event = await self._call({"op": op, **fields}, on_status or (lambda event: None))
        except TimeoutError:
            raise CdpFetchError("timeout", f"no answer within {timeout:g} s") from None
        if event.get("event") == "error":
            raise wire.error_from(event)
        return event

    # The engine

    async def _call(self, fields: Message, on_status: Callable[[Message], None]) -> Message:
        """The terminal event of one request.  One that nobody heard of when the daemon left is sent once more."""
        self._next_id += 1
        request = calls.request_of(fields["op"], {name: fields[name] for name in fields if name != "op"}, self._next_id)
        for last in (False, True):
            line = await self._connected()
            call = Call(on_status)
            try:
                return await line.exchange(request, call)
            except Gone:
                if last or call.heard:
                    raise
        raise AssertionError("unreachable")

    async def _connected(self) -> Line:
        async with self._making:
            if self._line is None or self._line.ended is not None:
                self._line = await self._connect()
            return self._line

    async def _connect(self) -> Line:
        deadline = time.monotonic() + _REPLACE_SECONDS
        ended = False
        while True:
            try:
                line = await Line.open(self.home)
            except NotRunning:
                if not self.start:
                    raise
                await asyncio.to_thread(_start, self.home, self.environment, self._warm)
                continue
            except Gone:
                # It is shutting down.
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.05)
                continue
            except Silent:
                if ended or not self.start or not await asyncio.to_thread(end_daemon, self.home):
                    raise
                ended = True
                continue
            try:
                if calls.judge_peer(line.peer) == "use" or not self.start:
                    return line
            except CdpFetchError as error:
                await line.close(error)
                raise
            await line.close(Gone("the daemon is replaced"))
            await asyncio.to_thread(Client(self.home).stop)


def _start(home: Home, environment: Mapping[str, str] | None, warm: bool) -> None:
    from cdpfetch import starting

    starting.start(home, environment, warm=warm)
