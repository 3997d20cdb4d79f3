"""The table of commands that wait for their answer; synchronous, time comes as an argument."""

from __future__ import annotations

import asyncio
import heapq
from typing import Any, NamedTuple

from cdpfetch.cdp.errors import CallTimeout, ProtocolError

Result = dict[str, Any]


class Call(NamedTuple):
    """One command under way."""

    method: str
    session_id: str | None
    seconds: float  # its time limit
    future: asyncio.Future[Result]


class PendingCalls:
    """Commands by id, each with a deadline; every one of them ends."""

    def __init__(self) -> None:
        self._calls: dict[int, Call] = {}  # under way, by message id
        self._deadlines: list[tuple[float, int]] = []  # heap of (loop time, id); ids of ended calls linger until popped
        self._last_id = 0

    def __len__(self) -> int:
        return len(self._calls)

    def add(
        self, method: str, session_id: str | None, seconds: float, now: float, future: asyncio.Future[Result]
    ) -> int:
        """Enter a command and return its message id."""
        self._last_id += 1
        self._calls[self._last_id] = Call(method, session_id, seconds, future)
        heapq.heappush(self._deadlines, (now + seconds, self._last_id))
        return self._last_id

    def resolve(self, message: dict[str, Any]) -> bool:
        """Hand an answer to its command; False when no command waits for it (late or foreign)."""
        call = self._calls.pop(message["id"], None)
        if call is None:
            return False
        if not call.future.done():
            error = message.get("error")
            if error is not None:
                call.future.set_exception(
                    ProtocolError(call.method, error.get("code", 0), str(error.get("message", error)))
                )
            else:
                call.future.set_result(message.get("result", {}))
        return True

    def forget(self, call_id: int) -> None:
        """Drop a command whose caller has gone; its late answer will be ignored."""
        self._calls.pop(call_id, None)

    def expire(self, now: float) -> float | None:
        """Fail every command whose deadline has passed; return the next deadline, or None."""
        heap = self._deadlines
        while heap and (heap[0][1] not in self._calls or heap[0][0] <= now):
            _, call_id = heapq.heappop(heap)
            call = self._calls.pop(call_id, None)
            if call is not None and not call.future.done():
                call.future.set_exception(CallTimeout(call.method, call.seconds))
        return heap[0][0] if heap else None

    def fail(self, error: Exception, session_id: str | None = None) -> None:
        """Fail the commands of one session, or all of them when no session is named."""
        for call_id, call in list(self._calls.items()):
            if session_id is None or call.session_id == session_id:
                del self._calls[call_id]
                if not call.future.done():
                    call.future.set_exception(error)

    def __repr__(self) -> str:
        methods = ", ".join(call.method for call in self._calls.values())
        return f"<PendingCalls {len(self._calls)} [{methods}]>"
