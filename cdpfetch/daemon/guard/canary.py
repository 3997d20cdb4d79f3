"""The proof that a running Chrome reaches the network through the guard: a managed policy could take it out in silence.

Two requests: of a name that nobody can guess, which the guard must be asked for; and of a port of this machine, which
the guard must be asked for, too, and where nobody may arrive.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import socket

from cdpfetch.cdp.errors import CdpError
from cdpfetch.cdp.tab import Tab
from cdpfetch.daemon.guard.guard import HOST, Guard
from cdpfetch.errors import CdpFetchError

# Seconds for both requests; the guard answers them within milliseconds.
LIMIT = 10.0
_HINT = "look for a managed policy (chrome://policy, ProxySettings) and at browser.extra_args; then: cdpfetch doctor"
_REQUESTS = "Promise.allSettled(%s.map((url) => fetch(url, {mode: 'no-cors', cache: 'no-store'}))).then(() => null)"


async def prove(guard: Guard, lane: str, tab: Tab) -> None:
    """Make both requests in a blank tab of the lane's context, which stays blank and can be used afterwards.

    Raises CdpFetchError (``browser_failed``) when Chrome's traffic does not pass the guard, or that can't be told.
    """
    name = f"{secrets.token_hex(16)}.invalid"
    started = asyncio.get_running_loop().time()
    with _trap() as trap:
        port = trap.getsockname()[1]
        with guard.forbidden(port):
            expression = _REQUESTS % json.dumps([f"http://{name}/", f"http://{HOST}:{port}/"])
            try:
                await tab.session.execute(
                    "Runtime.evaluate", {"expression": expression, "awaitPromise": True}, timeout=LIMIT
                )
            except CdpError as error:
                raise _failed(f"the proof could not be made: {error}") from error
            if _sprung(trap):
                raise _failed("a connection to this machine went past it")
            if guard.fault(lane, name, 80, started) is None:
                raise _failed("it was not asked for a name that Chrome was sent to")
            fault = guard.fault(lane, HOST, port, started)
            if fault is None or fault.code != "blocked_address":
                raise _failed("it was not asked for a connection to this machine")


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


def _sprung(trap: socket.socket) -> bool:
    try:
        visitor, _ = trap.accept()
    except BlockingIOError:
        return False
    visitor.close()
    return True


def _failed(what: str) -> CdpFetchError:
    return CdpFetchError("browser_failed", f"Chrome's traffic does not pass the guard: {what}", _HINT)
