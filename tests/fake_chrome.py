"""A scripted Chrome: the far end of a debugging pipe, in this process or as a program of its own.

In this process, ``FakeChrome`` sits at the other end of a socket pair.  It answers every command with ``{}`` unless
told otherwise: a result of its own, an error, or a ``plan`` for the n-th command of a name: no answer (``drop``), a
later one in any order (``hold`` and ``release``), one that breaks off (``truncate``), none and a closed pipe (``die``),
two (``twice``).  Events, unknown ids and plain garbage can be sent at any time.

As a program (``python fake_chrome.py --fake=MODE``), it speaks the pipe on fds 3 and 4 as the real one does.  Modes:
``normal``, ``crash`` (says why on stderr and exits with 21), ``mute`` (never answers), ``stubborn`` (ignores
``Browser.close`` and SIGTERM), ``deaf`` (ends its pipe and goes on).
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

Result = dict[str, Any]
# What a command is answered with: a result, or what makes one of its parameters.
Answer = Result | Callable[[dict[str, Any]], Result]

VERSION = {"product": "Chrome/156.0.8078.114", "protocolVersion": "1.3"}


class Refusal(Exception):
    """An answer with an error object: raise it in an answer's function, or give it to ``refuse``."""

    def __init__(self, message: str, code: int = -32000) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message}


class FakeChrome(asyncio.Protocol):
    """The browser's end; everything that came is in ``received``."""

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []
        self.held: list[bytes] = []  # answers that wait for release()
        self.gone = asyncio.get_running_loop().create_future()  # resolved when our peer has closed
        self._answers: dict[str, Answer] = {"Browser.getVersion": VERSION}
        self._plans: dict[tuple[str, int], str] = {}  # (method, n-th of its name) -> what to do
        self._counts: dict[str, int] = {}
        self._waiters: list[tuple[str, int, asyncio.Future[dict[str, Any]]]] = []
        self._buffer = b""
        self._contexts = 0
        self._targets = 0
        self._transport: asyncio.Transport | None = None
        self.answer("Target.createTarget", self._create_target)
        self.answer("Target.createBrowserContext", self._create_context)
        self.answer("Target.attachToTarget", lambda params: {"sessionId": f"session-of-{params['targetId']}"})

    @classmethod
    async def open(cls) -> tuple[FakeChrome, socket.socket]:
        """A fake browser, and the other end of its pipe."""
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        _, fake = await asyncio.get_running_loop().create_connection(cls, sock=theirs)
        return fake, ours

    # the script

    def answer(self, method: str, answer: Answer) -> None:
        """Answer every command of this name so."""
        self._answers[method] = answer

    def refuse(self, method: str, message: str, code: int = -32000) -> None:
        """Answer every command of this name with an error."""

        def refusing(params: dict[str, Any]) -> Result:
            raise Refusal(message, code)

        self._answers[method] = refusing

    def plan(self, method: str, action: str, nth: int = 1) -> None:
        """Do something else with the n-th command of this name (counted from 1 for the whole life)."""
        self._plans[method, nth] = action

    def release(self, *, reverse: bool = False) -> None:
        """Send the answers that were held, in order or in reverse."""
        held, self.held = self.held, []
        for data in reversed(held) if reverse else held:
            self.raw(data)

    # what it says by itself

    def event(self, method: str, params: dict[str, Any] | None = None, session_id: str | None = None) -> None:
        """Send an event."""
        message: dict[str, Any] = {"method": method, "params": params or {}}
        if session_id is not None:
            message["sessionId"] = session_id
        self.raw(encode(message))

    def raw(self, data: bytes) -> None:
        """Send bytes as they are (a message ends with NUL)."""
        assert self._transport is not None
        self._transport.write(data)

    def die(self) -> None:
        """Close the pipe once what was written has left."""
        assert self._transport is not None
        self._transport.close()

    # what it saw

    async def saw(self, method: str, nth: int = 1) -> dict[str, Any]:
        """The n-th command of this name; waits for it."""
        found = [message for message in self.received if message["method"] == method]
        if len(found) >= nth:
            return found[nth - 1]
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiters.append((method, nth, future))
        return await future

    def count(self, method: str) -> int:
        """How many commands of this name came."""
        return self._counts.get(method, 0)

    # asyncio's callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *frames, self._buffer = (self._buffer + data).split(b"\0")
        for frame in frames:
            self._take(json.loads(frame))

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.gone.done():
            self.gone.set_result(exc)

    def _take(self, message: dict[str, Any]) -> None:
        method = message["method"]
        self.received.append(message)
        self._counts[method] = nth = self._counts.get(method, 0) + 1
        for waiter in list(self._waiters):
            if waiter[:2] == (method, nth) and not waiter[2].done():
                self._waiters.remove(waiter)
                waiter[2].set_result(message)
        self._act(self._plans.get((method, nth), "answer"), self._reply(message))

    def _act(self, action: str, reply: bytes) -> None:
        if action == "hold":
            self.held.append(reply)
        elif action == "truncate":
            self.raw(reply[: len(reply) // 2])
            self.die()
        elif action == "die":
            self.die()
        elif action != "drop":
            self.raw(reply * (2 if action == "twice" else 1))

    def _reply(self, message: dict[str, Any]) -> bytes:
        reply = {"id": message["id"]}
        if "sessionId" in message:
            reply["sessionId"] = message["sessionId"]
        answer = self._answers.get(message["method"], {})
        try:
            reply["result"] = answer(message.get("params", {})) if callable(answer) else answer
        except Refusal as refusal:
            reply["error"] = refusal.error
        return encode(reply)

    def _create_context(self, params: dict[str, Any]) -> Result:
        self._contexts += 1
        return {"browserContextId": f"context-{self._contexts}"}

    def _create_target(self, params: dict[str, Any]) -> Result:
        self._targets += 1
        return {"targetId": f"target-{self._targets}"}


def encode(message: dict[str, Any]) -> bytes:
    """One message as the pipe carries it."""
    return json.dumps(message).encode() + b"\0"


# What the program says to the commands whose answers are looked into; {} in a value is the number of the command.
_PROGRAM_ANSWERS: dict[str, Result] = {
    "Browser.getVersion": VERSION,
    "Target.createTarget": {"targetId": "target-{}"},
    "Target.attachToTarget": {"sessionId": "session-{}"},
    "Target.createBrowserContext": {"browserContextId": "context-{}"},
}


def serve(mode: str) -> int:
    """Be the program; returns the exit status."""
    if mode == "crash":
        print("[1130/180000] profile is broken beyond repair", file=sys.stderr, flush=True)
        return 21
    if mode == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if mode == "deaf":
        socket.socket(fileno=os.dup(4)).shutdown(socket.SHUT_RDWR)
        signal.pause()
    print("[1130/180000] fake browser up", file=sys.stderr, flush=True)
    buffer = b""
    while data := os.read(3, 1 << 16):
        *frames, buffer = (buffer + data).split(b"\0")
        for frame in frames:
            message = json.loads(frame)
            if mode == "mute":
                continue
            answer = _PROGRAM_ANSWERS.get(message["method"], {})
            result = {key: str(value).replace("{}", str(message["id"])) for key, value in answer.items()}
            os.write(4, encode({"id": message["id"], "result": result}))
            if message["method"] == "Browser.close" and mode != "stubborn":
                return 0
    if mode == "stubborn":
        signal.pause()
    return 0


if __name__ == "__main__":
    modes = [argument.removeprefix("--fake=") for argument in sys.argv if argument.startswith("--fake=")]
    sys.exit(serve(modes[0] if modes else "normal"))
