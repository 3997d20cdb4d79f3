"""The process of a script, seen from the daemon: started when needed, killed when it takes too long."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from cdpfetch.errors import CdpFetchError
from cdpfetch.extract import process

# Seconds for one answer, with all names that the script has resolved for it; and until the script is read, which
# comes with the start of a process.
ANSWER = 5.0
START = 15.0
_MAX_LINE = 1 << 16

Resolve = Callable[[str], Awaitable[list[str]]]
"""The addresses of a name; raises CdpFetchError."""


class ScriptFailed(Exception):
    """The script gave no answer; the text says why."""


class ScriptProcess:
    """Runs one script.  Questions are put one after the other; ``close`` it."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._process: asyncio.subprocess.Process | None = None
        self._script: str | None = None  # that the process has read
        self._turn = asyncio.Lock()  # held while a question is put

    async def ask(self, script: str, url: str, host: str) -> str:
        """What ``FindProxyForURL(url, host)`` returns.  Raises ScriptFailed."""
        limit = START
        try:
            async with asyncio.timeout(START + ANSWER), self._turn:
                if self._process is None or self._process.returncode is not None or self._script != script:
                    await self._start(script)
                limit = ANSWER
                return await self._put({"url": url, "host": host}, ANSWER)
        except TimeoutError:
            raise ScriptFailed(f"it gave no answer within {limit:g} s") from None

    async def _start(self, script: str) -> None:
        await self._end()
        arguments = ["-P", "-m", "cdpfetch.daemon.guard.pac.worker", "--parent", str(os.getpid())]
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *arguments,
            stdin=pipe,
            stdout=pipe,
            stderr=asyncio.subprocess.DEVNULL,
            env=process.environment(),
            limit=_MAX_LINE,
        )
        kind = await self._put({"script": script}, START)
        if kind != "function":
            raise ScriptFailed("it has no function FindProxyForURL")
        self._script = script

    async def _put(self, question: dict[str, Any], seconds: float) -> str:
        """The answer to one message; a process that does not give it is killed."""
        answered = False
        try:
            async with asyncio.timeout(seconds):
                # The alarm is for a daemon that is gone; this one is earlier.
                answer = await self._talk({**question, "seconds": seconds + 1})
                answered = True
        finally:
            if not answered:
                await asyncio.shield(self._end())
        if "error" in answer:
            raise ScriptFailed(str(answer["error"]))
        return str(answer.get("route", ""))

    async def _talk(self, message: dict[str, Any]) -> dict[str, Any]:
        while True:
            answer = await self._exchange(message)
            if "resolve" in answer:
                message = {"address": await self._address(str(answer["resolve"]))}
            elif "own" in answer:
                message = {"address": _own_address()}
            else:
                return answer

    async def _exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        running = self._process
        assert running is not None and running.stdin is not None and running.stdout is not None  # noqa: S101 - started
        try:
            running.stdin.write(json.dumps(message).encode("ascii") + b"\n")
            await running.stdin.drain()
            line = await running.stdout.readline()
            answer = json.loads(line)
        except (ConnectionError, ValueError):
            raise ScriptFailed("its process ended, or was ended") from None
        if not isinstance(answer, dict):
            raise ScriptFailed("its process talks nonsense")
        return answer

    async def _address(self, name: str) -> str | None:
        with contextlib.suppress(CdpFetchError):
            return next((found for found in await self._resolve(name) if ":" not in found), None)
        return None

    async def _end(self) -> None:
        running, self._process, self._script = self._process, None, None
        if running is None:
            return
        with contextlib.suppress(ProcessLookupError):
            running.kill()
        if running.stdin is not None:
            running.stdin.close()
        await running.wait()
        if running.stdout is not None:
            with contextlib.suppress(ValueError):
                while await running.stdout.read(_MAX_LINE):
                    pass

    async def close(self) -> None:
        """End the process; idempotent."""
        await self._end()


def _own_address() -> str:
    """This machine's address towards the net: the one of the route, for which nothing is sent."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("192.0.2.1", 9))
        return str(sock.getsockname()[0])
    return "127.0.0.1"
