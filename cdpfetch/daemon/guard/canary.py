"""The proof that a running Chrome reaches the network through the guard: a managed policy could take it out in silence.

Two requests: of a name that nobody can guess, which the guard must be asked for; and of a port of this machine, which
the guard must be asked for, too, and where nobody may arrive.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
from collections.abc import Coroutine
from typing import Any

from cdpfetch.cdp.errors import CdpError
from cdpfetch.cdp.tab import Tab
from cdpfetch.daemon.guard.guard import HOST, Guard
from cdpfetch.errors import CdpFetchError

# Seconds for both requests; the guard answers them within milliseconds.
LIMIT = 10.0
_HINT = "look for a managed policy (chrome://policy, ProxySettings) and at browser.extra_args; then: cdpfetch doctor"
_REQUESTS = "Promise.allSettled(%s.map((url) => fetch(url, {mode: 'no-cors', cache: 'no-store'}))).then(() => null)"


class Unproved(CdpFetchError):
    """The proof could not be made: whether the traffic passes the guard is not known."""


async def prove(guard: Guard, lane: str, tab: Tab) -> None:
    """Make both requests in a blank tab of the lane's context, which stays blank and can be used afterwards.

    Raises CdpFetchError (``browser_failed``) when Chrome's traffic does not pass the guard, Unproved when that can't
    be told.
    """
    name = f"{secrets.token_hex(16)}.invalid"
    started = asyncio.get_running_loop().time()
    with _trap() as trap:
        port = trap.getsockname()[1]
        with guard.forbidden(port):
            if await _sprung(trap, _request(tab, [f"http://{name}/", f"http://{HOST}:{port}/"])):
                raise _failed("a connection to this machine went past it")
            if guard.fault(lane, name, 80, started) is None:
                raise _failed("it was not asked for a name that Chrome was sent to")
            fault = guard.fault(lane, HOST, port, started)
            if fault is None or fault.code != "blocked_address":
                raise _failed("it was not asked for a connection to this machine")
    guard.proved(lane)
    # What the tab has seen of this is nothing to whoever uses it next.
    while not tab.events.empty():
        tab.events.get_nowait()


async def _request(tab: Tab, urls: list[str]) -> None:
    params = {"expression": _REQUESTS % json.dumps(urls), "awaitPromise": True}
    try:
        await tab.session.execute("Runtime.evaluate", params, timeout=LIMIT)
    except CdpError as error:
        reason = f"it is not known whether Chrome's traffic passes the guard: {error}"
        raise Unproved("browser_failed", reason, _HINT) from error


async def _sprung(trap: socket.socket, request: Coroutine[Any, Any, None]) -> bool:
    """Whether somebody comes into the trap until the request has ended; raises what the request raises."""
    requesting = asyncio.ensure_future(request)
    arriving = asyncio.ensure_future(asyncio.get_running_loop().sock_accept(trap))
    try:
        await asyncio.wait({requesting, arriving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (requesting, arriving):
            task.cancel()
        outcome, arrival = await asyncio.gather(requesting, arriving, return_exceptions=True)
    visitor = arrival if isinstance(arrival, tuple) else _at_the_door(trap)
    if visitor is not None:
        visitor[0].close()
        return True
    if isinstance(outcome, BaseException):
        raise outcome
    return False


def _at_the_door(trap: socket.socket) -> tuple[socket.socket, Any] | None:
    """Who has come and was not noticed yet."""
    try:
        return trap.accept()
    except BlockingIOError:
        return None


def _trap() -> socket.socket:
    """A port where connections are noticed, and never served."""
    trap = socket.socket()
    try:
        trap.setblocking(False)
        trap.bind((HOST, 0))
        trap.listen(8)
    except OSError as error:
        trap.close()
        raise _failed(f"no port for the proof: {error}") from error
    return trap


def _failed(what: str) -> CdpFetchError:
    return CdpFetchError("browser_failed", f"Chrome's traffic does not pass the guard: {what}", _HINT)
