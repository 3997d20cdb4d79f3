"""One tool call as a process, for agents' programs in any language: arguments in, JSON lines out.

Each stage of the work is a line ``{"event": "progress", "text"}``; the last line is
``{"event": "result", "text", "data", "is_error"}``, where ``text`` is for the model and ``data`` fits the tool's output
schema.  A call that is cancelled ends without a result.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from typing import Any

from cdpfetch.adapters.toolset import ToolResult, Toolset, failure
from cdpfetch.asyncapi import AsyncClient
from cdpfetch.errors import InvalidRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Bytes of JSON that one call's arguments may have.
MAX_ARGUMENTS = 1_000_000


def listed(home: str | None = None) -> list[dict[str, Any]]:
    """The tools of a home as plain data; nothing is started for that."""
    return [one._asdict() for one in Toolset(AsyncClient(home)).definitions()]


async def call(
    name: str,
    arguments: bytes,
    emit: Callable[[dict[str, Any]], None],
    *,
    home: str | None = None,
    hold: int | None = None,
) -> ToolResult | None:
    """Run one tool; ``emit`` gets the lines.  None when it was cancelled.

    SIGTERM and SIGINT cancel it, and so does the end of the descriptor ``hold``, and an ``emit`` that finds nobody
    there (BrokenPipeError).  What is wrong with the call is a result that says so.
    """
    try:
        given = _object(name, arguments)
    except InvalidRequest as error:
        return _told(failure(error), emit)
    running = asyncio.ensure_future(_run(name, given, emit, home))
    with _cancelled_by_others(running, hold):
        try:
            result = await running
        except asyncio.CancelledError:
            return None
    return _told(result, emit)


async def _run(
    name: str, given: dict[str, Any], emit: Callable[[dict[str, Any]], None], home: str | None
) -> ToolResult:
    running = asyncio.current_task()

    def progress(text: str) -> None:
        try:
            emit({"event": "progress", "text": text})
        except BrokenPipeError:
            if running is not None:
                running.cancel()

    async with AsyncClient(home) as client:
        return await Toolset(client).call(name, given, progress)


def _told(result: ToolResult, emit: Callable[[dict[str, Any]], None]) -> ToolResult:
    emit({"event": "result", "text": result.text, "data": result.data, "is_error": result.is_error})
    return result


def _object(name: str, arguments: bytes) -> dict[str, Any]:
    """The arguments as an object.  Raises InvalidRequest."""
    if len(arguments) > MAX_ARGUMENTS:
        raise InvalidRequest(f"{name}: the arguments have over {MAX_ARGUMENTS:,} bytes", "pass less")
    try:
        found = json.loads(arguments.strip() or b"{}")
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"{name}: the arguments are no JSON: {error}", "call it again") from error
    if not isinstance(found, dict):
        raise InvalidRequest(f"{name}: the arguments are no object", "call it again")
    return found


@contextlib.contextmanager
def _cancelled_by_others(running: asyncio.Future[Any], hold: int | None) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, running.cancel)
    watched = hold is not None and _watch(loop, hold, running)
    try:
        yield
    finally:
        if watched and hold is not None:
            loop.remove_reader(hold)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


def _watch(loop: asyncio.AbstractEventLoop, hold: int, running: asyncio.Future[Any]) -> bool:
    """Cancel at the end of a descriptor; what comes before it is of no interest.  False where it can't be watched."""

    def readable() -> None:
        try:
            more = os.read(hold, 65536)
        except BlockingIOError:
            return
        except OSError:
            more = b""
        if not more:
            loop.remove_reader(hold)
            running.cancel()

    try:
        loop.add_reader(hold, readable)
    except PermissionError:
        return False  # a regular file: it has an end from the start, which says nothing
    return True
