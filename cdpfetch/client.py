"""The blocking client: one connection, many requests, a daemon started when there is none.

A client that closes, by whatever way, cancels what it asked for.  Not for use by several threads at once: give each
thread a client of its own.
"""

from __future__ import annotations

import time
from collections import deque

from cdpfetch import calls
from cdpfetch.connection import Connection, Gone, NotRunning, Silent
from cdpfetch.errors import CdpFetchError, DaemonUnavailable
from cdpfetch.paths import Home, find_home
from cdpfetch.wire import Message, error_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType
    from typing import Any, Self, Unpack

    from cdpfetch.document import Document, Outcome, Page

# Seconds for a daemon that is shutting down to make room for the next one.
_REPLACE_SECONDS = 20.0


class Client:
    """Calls the daemon of a home.

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
        self.environment = environment
        # Open from the first request on; None again when the daemon went away.
        self._connection: Connection | None = None
        self._next_id = 0
        # Whether a daemon that has to be started will need its browser at once; set by fetch_documents.
        self._warm = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up; safe to call again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    # Documents

    def fetch(
        self,
        url: str,
        *,
        on_status: Callable[[str, Message], None] | None = None,
        **options: Unpack[calls.FetchOptions],
    ) -> Document:
        """Fetch one URL.  Raises FetchError when it failed, CdpFetchError when the call was wrong.

        Options: ``output_dir, format, extractor, screenshot, wait_for, redirects, deadline, insecure, keep_page,
        headers, accept_language, allow`` (see ``cdpfetch fetch -h``).
        """
        outcome = self.fetch_many([url], on_status=on_status, **options)[0]
        if outcome.error is not None:
            raise outcome.error
        return outcome.document

    def fetch_many(
        self,
        urls: Iterable[str],
        *,
        on_status: Callable[[str, Message], None] | None = None,
        **options: Unpack[calls.FetchOptions],
    ) -> list[Outcome]:
        """Fetch URLs at once; one outcome each, in order.  Raises only when the call itself is wrong."""
        from cdpfetch.document import outcome_of

        return [outcome_of(data) for data in self.fetch_documents(list(urls), on_status=on_status, **options)]

    def fetch_documents(
        self,
        urls: list[str],
        *,
        on_status: Callable[[str, Message], None] | None = None,
        on_document: Callable[[int, dict[str, Any]], None] | None = None,
        **options: Unpack[calls.FetchOptions],
    ) -> list[dict[str, Any]]:
        """Fetch URLs as plain document dicts, in request order.

        ``on_status(url, event)`` gets the progress, ``on_document(index, document)`` each document when it is there.
        """
        fields = calls.fetch_fields(self.home, options)
        self._warm = calls.needs_browser(fields)
        documents: list[dict[str, Any]] = [{} for _ in urls]

        def done(index: int, event: Message | CdpFetchError) -> None:
            url = urls[index]
            documents[index] = (
                calls.failed(url, event) if isinstance(event, CdpFetchError) else calls.document_of(url, event)
            )
            if on_document is not None:
                on_document(index, documents[index])

        def status(index: int, event: Message) -> None:
            if on_status is not None:
                on_status(urls[index], event)

        self._exchange([{**fields, "url": url} for url in urls], status, done, None)
        return documents

    def read(self, fetch_id: str, **options: Any) -> Page:
        """One page of a fetched document, from disk; options as those of ``cdpfetch.reading.read``."""
        from cdpfetch.document import Page
        from cdpfetch.reading import read

        return Page(read(self.home.artifacts, fetch_id, **options))

    # The daemon and its browser

    def status(self) -> Message:
        """What the daemon says of itself.  Never starts one: raises DaemonUnavailable when none runs."""
        with Client(self.home, start=False) as client:
            return client.request("status", timeout=30)

    def open_browser(
        self, url: str | None = None, *, wait: bool = False, on_status: Callable[[Message], None] | None = None
    ) -> Message:
        """Open the visible browser window on the shared profile; while it is open nothing is fetched.

        ``wait``: return when the user has closed it; ``on_status`` hears of its opening then.
        """
        return self.request("open-browser", on_status=on_status, **calls.window_fields(url, wait, self.environment))

    def close_browser(self) -> Message:
        """Close the visible browser window."""
        return self.request("close-browser")

    def sessions(self) -> list[dict[str, Any]]:
        """The sites that have cookies in the profile, with names and ends of the cookies, never their values."""
        return list((self.request("sessions"))["sites"])

    def clear_sessions(self, site: str | None = None) -> Message:
        """Remove the cookies and stored data of one site, or of all; the result has ``sites`` and ``cookies``."""
        fields: Message = {"site": site} if site is not None else {}
        return self.request("sessions", action="clear", **fields)

    def stop(self) -> bool:
        """Shut the daemon down, with its browser, and wait until it is gone; False when none ran.

        Requests that are under way get 10 s to end.  A daemon that does not answer is killed.
        """
        from cdpfetch import starting

        self.close()
        try:
            connection = Connection(self.home)
        except NotRunning:
            return starting.end(self.home, grace=starting.END_SECONDS)
        except (Gone, Silent):
            return starting.end(self.home)
        self._shut_down(connection)
        return True

    def restart(self) -> Message:
        """Stop the daemon, start a new one, and return its status."""
        self.stop()
        return self.request("status", timeout=30)

    # The engine

    def request(
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
        ended: list[Message | CdpFetchError] = []

        def status(_index: int, event: Message) -> None:
            if on_status is not None:
                on_status(event)

        self._exchange([{"op": op, **fields}], status, lambda _index, event: ended.append(event), timeout)
        event = ended[0]
        if isinstance(event, CdpFetchError):
            raise event
        if event.get("event") == "error":
            raise error_from(event)
        return event

    def _exchange(
        self,
        requests: list[Message],
        on_status: Callable[[int, Message], None],
        on_done: Callable[[int, Message | CdpFetchError], None],
        timeout: float | None,
    ) -> None:
        """Send requests, at most ``calls.WINDOW`` under way, and tell what comes back.

        What was not sent, or not heard of, when the daemon ended is tried once more with a new daemon.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        unsent = deque(range(len(requests)))
        again = True
        while unsent:
            under_way = _UnderWay(on_status, on_done)
            try:
                connection = self._connected()
                self._pump(connection, requests, unsent, under_way, deadline)
            except (Gone, Silent) as error:
                self.close()
                cause = self._end_wedged(error) if isinstance(error, Silent) else error
                retry = under_way.lose(cause, retry=again and isinstance(error, Gone))
                unsent.extendleft(reversed(retry))
                if not again:
                    _fail(unsent, cause, on_done)
                again = False
            except TimeoutError:
                self._cancel(list(under_way.indices))
                late = CdpFetchError("timeout", f"no answer within {timeout:g} s")
                _fail(deque([*under_way.indices.values(), *unsent]), late, on_done)
                return
            except CdpFetchError as error:
                self.close()
                _fail(deque([*under_way.indices.values(), *unsent]), error, on_done)
                return
            except BaseException:
                self.close()
                raise

    def _pump(
        self,
        connection: Connection,
        requests: list[Message],
        unsent: deque[int],
        under_way: _UnderWay,
        deadline: float | None,
    ) -> None:
        while unsent or under_way.indices:
            batch: list[Message] = []
            while unsent and len(under_way.indices) < calls.WINDOW:
                index = unsent.popleft()
                self._next_id += 1
                try:
                    batch.append(calls.request_of(requests[index]["op"], _without_op(requests[index]), self._next_id))
                except CdpFetchError as error:
                    under_way.on_done(index, error)
                    continue
                under_way.indices[self._next_id] = index
            if batch:
                connection.send(batch)
            if under_way.indices:
                under_way.take(connection.receive(deadline))

    def _cancel(self, ids: list[int]) -> None:
        """Tell the daemon that nobody waits for these any more."""
        messages: list[Message] = []
        for target in ids:
            self._next_id += 1
            messages.append({"id": self._next_id, "op": "cancel", "target": target})
        try:
            if self._connection is not None:
                self._connection.send(messages)
        except CdpFetchError:
            self.close()

    def _end_wedged(self, error: Silent) -> CdpFetchError:
        """End a daemon that says nothing, so that the next call gets a new one; returns the error to report."""
        from cdpfetch import starting

        if starting.end(self.home):
            return DaemonUnavailable(f"{error.reason} and was ended", error.hint)
        hint = f"{self.home.pidfile} names no process of cdpfetch: end the daemon by hand"
        return DaemonUnavailable(error.reason, hint)

    def _connected(self) -> Connection:
        """The open connection, or a new one to a daemon that is good for this client."""
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _connect(self) -> Connection:
        deadline = time.monotonic() + _REPLACE_SECONDS
        ended = False
        while True:
            try:
                connection = Connection(self.home)
            except NotRunning:
                if not self.start:
                    raise
                from cdpfetch import starting

                starting.start(self.home, self.environment, warm=self._warm)
                continue
            except Gone:
                # It is shutting down.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
                continue
            except Silent:
                from cdpfetch import starting

                if ended or not self.start or not starting.end(self.home):
                    raise
                ended = True
                continue
            try:
                if calls.judge_peer(connection.peer) == "use" or not self.start:
                    return connection
            except CdpFetchError:
                connection.close()
                raise
            self._shut_down(connection)

    def _shut_down(self, connection: Connection) -> None:
        """Let a daemon drain and end, and wait for its process."""
        from cdpfetch import starting

        daemon = starting.read_pidfile(self.home)
        followers = starting.followers_of(daemon)
        try:
            connection.send([{"id": 0, "op": "shutdown", "drain": True}])
            deadline = time.monotonic() + starting.END_SECONDS
            while True:
                connection.receive(deadline)
        except (Gone, Silent, TimeoutError):
            pass
        finally:
            connection.close()
        starting.await_end(self.home, daemon, followers)


class _UnderWay:
    """The requests that were sent on one connection and have not ended."""

    def __init__(
        self,
        on_status: Callable[[int, Message], None],
        on_done: Callable[[int, Message | CdpFetchError], None],
    ) -> None:
        self.on_status = on_status
        self.on_done = on_done
        # Request id on the wire -> index in the call.
        self.indices: dict[int, int] = {}
        # Ids of which anything was heard: these are never sent a second time.
        self._heard: set[int] = set()

    def take(self, event: Message) -> None:
        """Pass an event on; late ones of requests that were given up are dropped."""
        request_id = event.get("id")
        if not isinstance(request_id, int) or request_id not in self.indices:
            return
        self._heard.add(request_id)
        if event.get("event") == "status":
            self.on_status(self.indices[request_id], event)
        elif event.get("event") in ("result", "error"):
            self.on_done(self.indices.pop(request_id), event)

    def lose(self, error: CdpFetchError, *, retry: bool) -> list[int]:
        """The daemon is gone: fail what it had taken up, and return the indices that may be sent again."""
        lost = calls.lost(error, len(self.indices))
        again: list[int] = []
        for request_id, index in list(self.indices.items()):
            if retry and request_id not in self._heard:
                again.append(index)
            else:
                self.on_done(index, lost)
        self.indices.clear()
        return again


def _without_op(fields: Message) -> Message:
    return {name: value for name, value in fields.items() if name != "op"}


def _fail(indices: deque[int], error: CdpFetchError, on_done: Callable[[int, CdpFetchError], None]) -> None:
    while indices:
        on_done(indices.popleft(), error)
