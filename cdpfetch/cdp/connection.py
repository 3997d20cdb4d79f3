"""One connection to a browser: a single reader that routes answers and events, and the sessions on it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

from cdpfetch.cdp.calls import PendingCalls, Result
from cdpfetch.cdp.errors import ConnectionClosed, SessionClosed
from cdpfetch.cdp.transport import Transport

log = logging.getLogger(__name__)

# Seconds that a command may take when its caller names no limit.
CALL_TIMEOUT = 30.0

# An event's parameters are one of CDP's event types (cdp-use has them as TypedDicts, for the type checker only).
Handler = Callable[[Any], None]


class Session:
    """Commands to and events from one target; the browser itself is the root session (``session_id`` None)."""

    def __init__(self, connection: Connection, session_id: str | None, target_id: str | None = None) -> None:
        self.connection = connection
        self.session_id = session_id
        self.target_id = target_id
        self.closed: Exception | None = None  # the cause, once the session has ended
        self._handlers: dict[str, list[Handler]] = {}  # by event name
        self._on_closed: list[Callable[[Exception], None]] = []

    async def execute(
        self, method: str, params: dict[str, Any] | None = None, *, timeout: float = CALL_TIMEOUT
    ) -> Result:
        """Send one command and wait for its result.

        Raises ProtocolError (Chrome refused), CallTimeout, SessionClosed or ConnectionClosed.
        """
        future = self.send(method, params, timeout=timeout)
        return await future

    def send(
        self, method: str, params: dict[str, Any] | None = None, *, timeout: float = CALL_TIMEOUT
    ) -> asyncio.Future[Result]:
        """Send one command now and return the future of its result, so that several can be under way."""
        if self.closed is not None:
            future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
            future.set_exception(self.closed)
            return quiet(future)
        return self.connection.send(self.session_id, method, params, timeout)

    def on(self, event: str, handler: Handler) -> Callable[[], None]:
        """Call ``handler`` with the parameters of each such event, in the reader: it must not block.

        Returns the function that ends the subscription.
        """
        handlers = self._handlers.setdefault(event, [])
        handlers.append(handler)

        def unsubscribe() -> None:
            if handler in handlers:
                handlers.remove(handler)

        return unsubscribe

    def on_closed(self, handler: Callable[[Exception], None]) -> None:
        """Call ``handler`` once with the cause when the session ends (at once when it has)."""
        if self.closed is not None:
            handler(self.closed)
        else:
            self._on_closed.append(handler)

    def dispatch(self, event: str, params: dict[str, Any]) -> None:
        """Deliver one event (the connection's reader calls this)."""
        for handler in tuple(self._handlers.get(event, ())):
            try:
                handler(params)
            except Exception:
                log.exception("a handler of %s failed", event)

    def close(self, cause: Exception) -> None:
        """End the session: keep the first cause, fail what waits, tell who asked.  Idempotent."""
        if self.closed is not None:
            return
        self.closed = cause
        self.connection.forget_session(self, cause)
        handlers, self._on_closed = self._on_closed, []
        for handler in handlers:
            handler(cause)
        self._handlers.clear()

    def __repr__(self) -> str:
        state = f"closed: {self.closed}" if self.closed else "open"
        return f"<Session {self.session_id or 'root'} {state}>"


class Connection:
    """Owns the transport, the call table and the sessions.

    ``last_words`` is asked for what the browser's process last said, to explain an end.
    """

    def __init__(self, transport: Transport, *, last_words: Callable[[], str] | None = None) -> None:
        self._transport = transport
        self._last_words = last_words
        self._loop = asyncio.get_running_loop()
        self._calls = PendingCalls()
        self._timer: asyncio.TimerHandle | None = None  # at the earliest deadline of the call table
        self._sessions: dict[str, Session] = {}
        self.root = Session(self, None)
        self.closed: ConnectionClosed | None = None  # the cause, once the connection has ended
        transport.start(self._receive, self._transport_closed)

    @property
    def pending(self) -> int:
        """How many commands wait for their answer."""
        return len(self._calls)

    @property
    def sessions(self) -> int:
        """How many sessions are open, the root not counted."""
        return len(self._sessions)

    def send(
        self, session_id: str | None, method: str, params: dict[str, Any] | None, timeout: float
    ) -> asyncio.Future[Result]:
        """Send a command of one session; the future ends in every case."""
        future: asyncio.Future[Result] = self._loop.create_future()
        if self.closed is not None:
            future.set_exception(self.closed)
            return quiet(future)
        now = self._loop.time()
        call_id = self._calls.add(method, session_id, timeout, now, future)
        future.add_done_callback(lambda done: self._calls.forget(call_id) if done.cancelled() else None)
        message: dict[str, Any] = {"id": call_id, "method": method}
        if params:
            message["params"] = params
        if session_id is not None:
            message["sessionId"] = session_id
        self._transport.send(json.dumps(message, separators=(",", ":")).encode("ascii"))
        if self._timer is None or now + timeout < self._timer.when():
            self._arm(now + timeout)
        return quiet(future)

    def attach(self, session_id: str, target_id: str) -> Session:
        """The session of a target that has been attached (flat protocol)."""
        session = self._sessions.get(session_id)
        if session is None:
            session = self._sessions[session_id] = Session(self, session_id, target_id)
        return session

    def forget_session(self, session: Session, cause: Exception) -> None:
        """Drop a session that ends and fail its commands."""
        if session.session_id is not None:
            self._sessions.pop(session.session_id, None)
            self._calls.fail(cause, session.session_id)

    async def close(self, cause: str = "closed by us") -> None:
        """End the connection and everything on it; idempotent, the first cause is kept."""
        self._end(cause)
        await self._transport.close()

    # the reader

    def _receive(self, frame: bytes) -> None:
        """Take one message; whatever is wrong with it, the next one is read all the same."""
        try:
            message = json.loads(frame)
            if isinstance(message, dict):
                self._route(message)
            else:
                log.warning("a message is a JSON %s, not an object; ignored", type(message).__name__)
        except ValueError:
            log.warning("a message of %d bytes is not JSON; ignored", len(frame))
        except Exception:
            log.exception("a message of %d bytes could not be handled", len(frame))

    def _route(self, message: dict[str, Any]) -> None:
        if isinstance(message.get("id"), int):
            if not self._calls.resolve(message):
                log.debug("an answer to no command: id %s", message["id"])
            return
        method, params = message.get("method", ""), message.get("params", {})
        session_id = message.get("sessionId")
        session = self.root if session_id is None else self._sessions.get(session_id)
        if method == "Target.attachedToTarget":
            self.attach(params["sessionId"], params["targetInfo"]["targetId"])
        elif method == "Target.detachedFromTarget":
            gone = self._sessions.get(params.get("sessionId", ""))
            if gone is not None:
                gone.close(SessionClosed("detached"))
        if session is None:
            log.debug("an event of an unknown session: %s", method)
            return
        session.dispatch(method, params)

    def _arm(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(when, self._expire)

    def _expire(self) -> None:
        self._timer = None
        following = self._calls.expire(self._loop.time())
        if following is not None:
            self._arm(following)

    def _transport_closed(self, cause: str) -> None:
        words = self._last_words() if self._last_words is not None else ""
        self._end(cause + (f"; the browser's last words: {words}" if words else ""))

    def _end(self, cause: str) -> None:
        if self.closed is not None:
            return
        self.closed = ConnectionClosed(cause)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._calls.fail(self.closed)
        for session in [*self._sessions.values(), self.root]:
            session.close(self.closed)

    def __repr__(self) -> str:
        state = f"closed: {self.closed}" if self.closed else "open"
        return f"<Connection {state}, {len(self._sessions)} sessions, {self._calls!r}>"


def quiet(future: asyncio.Future[Result]) -> asyncio.Future[Result]:
    """Mark the future's exception as seen: a command that nobody awaits may fail without a word."""
    future.add_done_callback(lambda done: None if done.cancelled() else done.exception())
    return future
