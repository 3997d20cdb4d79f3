"""One worker process seen from its parent: start, handshake, one call at a time, end."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import sys
from collections import deque
from typing import Any, Self

import cdpfetch
from cdpfetch.errors import CdpFetchError
from cdpfetch.extract import sandbox
from cdpfetch.extract.staging import Staging

# An answer holds an outline and facts, never content.
_MAX_LINE = 8 << 20
# How much of the worker's standard error is kept for the reason of a crash.
_TAIL_BYTES = 4096
_END_SECONDS = 5.0


class WorkerDied(Exception):
    """The process ended, or broke the protocol; the text says how, with its last words."""


class WorkerProcess:
    """A started worker; made by `start`, ended by `close`."""

    def __init__(self, process: asyncio.subprocess.Process, staging: Staging) -> None:
        self._process = process
        self._staging = staging  # the files that it sees; removed by close()
        self.sandbox = ""  # how far it is shut off from the network, once it is ready
        self.files_closed = False  # whether it sees no files but these, once it is ready
        self._ids = itertools.count(1)
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        # Reads standard error for the whole life, so that a chatty library can't block on a full pipe.
        self._drain = asyncio.ensure_future(self._read_stderr())

    @property
    def alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.returncode is None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @classmethod
    async def start(cls, memory_mb: int, seconds: float, place: str | None = None) -> Self:
        """Start a worker, with a folder in ``place``, and wait until it is ready.  Raises WorkerDied."""
        folder: str | None = None
        try:
            folder = sandbox.make_folder(place)
            staging = Staging(folder)
            process = await asyncio.create_subprocess_exec(
                *command(memory_mb, folder),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment(),
                limit=_MAX_LINE,
            )
        except BaseException as error:
            if folder is not None:
                sandbox.remove_folder(folder)
            if isinstance(error, OSError):
                raise WorkerDied(f"it cannot be started: {error}") from None
            raise
        worker = cls(process, staging)
        try:
            async with asyncio.timeout(seconds):
                message = await worker._read()
            if message.get("ready") is not True:
                raise WorkerDied(f"its first line is {message!r:.200}")
            worker.sandbox = str(message.get("sandbox"))
            worker.files_closed = message.get("files") is True
        except TimeoutError:
            await worker.close()
            raise WorkerDied(f"it was not ready within {seconds:g} s") from None
        except BaseException:
            await asyncio.shield(worker.close())
            raise
        return worker

    async def call(self, job: dict[str, Any]) -> dict[str, Any]:
        """Send a job, with its file, and wait for its message; what it has made is then in the job's ``out_dir``.

        Raises WorkerDied.  A cancelled call leaves the worker unusable.
        """
        try:
            staged = await self._staging.put(job)
            message = await self._exchange(staged)
        except OSError as error:
            return {"error": {"kind": "failed", "reason": f"{type(error).__name__}: {error}"[:500]}}
        finally:
            self._staging.release()
        if "answer" in message:
            try:
                await self._staging.take(message["answer"], job["out_dir"])
            except (OSError, ValueError, CdpFetchError) as error:
                raise WorkerDied(f"what it has made can't be taken: {error}") from None
        return message

    async def _exchange(self, job: dict[str, Any]) -> dict[str, Any]:
        job_id = next(self._ids)
        line = json.dumps({**job, "id": job_id}).encode("ascii") + b"\n"
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101 - opened as a pipe in start()
        try:
            stdin.write(line)
            await stdin.drain()
        except (ConnectionError, RuntimeError):
            raise WorkerDied(await self._last_words()) from None
        message = await self._read()
        if message.get("id") != job_id:
            raise WorkerDied(f"it answered job {message.get('id')!r} instead of {job_id}")
        return message

    async def _read(self) -> dict[str, Any]:
        stdout = self._process.stdout
        assert stdout is not None  # noqa: S101 - opened as a pipe in start()
        try:
            line = await stdout.readline()
        except ValueError:
            raise WorkerDied(f"its answer is longer than {_MAX_LINE} bytes") from None
        if not line.endswith(b"\n"):
            raise WorkerDied(await self._last_words())
        try:
            message = json.loads(line)
        except ValueError:
            raise WorkerDied(f"it wrote {line[:100]!r}") from None
        if not isinstance(message, dict):
            raise WorkerDied(f"it wrote {line[:100]!r}")
        return message

    async def _read_stderr(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None  # noqa: S101 - opened as a pipe in start()
        while chunk := await stderr.read(_TAIL_BYTES):
            self._tail.append(chunk)
            self._tail_size += len(chunk)
            while self._tail_size - len(self._tail[0]) >= _TAIL_BYTES:
                self._tail_size -= len(self._tail.popleft())

    async def _last_words(self) -> str:
        """How the process ended, with the end of its standard error."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await self._process.wait()
                await asyncio.shield(self._drain)
        code = self._process.returncode
        how = "it closed its pipe" if code is None else f"signal {-code}" if code < 0 else f"exit status {code}"
        lines = b"".join(self._tail)[-_TAIL_BYTES:].decode("utf-8", "replace").strip().splitlines()
        return f"{how}: {lines[-1].strip()[:300]}" if lines else how

    async def close(self) -> None:
        """Kill the process and wait for its end; idempotent, leaves no pipe and no task."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        if self._process.stdin is not None:
            self._process.stdin.close()
        await self._process.wait()
        sandbox.remove_folder(self._staging.root)
        if not self._drain.done():
            # Killed, so standard error ends by itself, unless something else holds it.
            await asyncio.wait({self._drain}, timeout=1.0)
            self._drain.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._drain
        stdout = self._process.stdout
        if stdout is not None:
            with contextlib.suppress(ValueError):
                while await stdout.read(_MAX_LINE):
                    pass


def command(memory_mb: int, folder: str | None = None) -> list[str]:
    """The worker's command line; ``folder`` is the one place for files."""
    # -P: a module in the daemon's working directory must not be imported in place of ours.
    arguments = ["-P", "-m", "cdpfetch.extract.worker", "--memory-mb", str(memory_mb), "--parent", str(os.getpid())]
    return [sys.executable, *arguments, *(["--folder", folder] if folder else [])]


def environment() -> dict[str, str]:
    """The worker's environment: what it needs of ours, and the place of this package first, to run the same code."""
    place = os.path.dirname(os.path.dirname(os.path.abspath(cdpfetch.__file__)))
    rest = os.environ.get("PYTHONPATH")
    return {
        **sandbox.environment(os.environ),
        "PYTHONPATH": place + (os.pathsep + rest if rest else ""),
        "PYTHONSAFEPATH": "1",
        # The arenas of many threads would be counted against the cap on address space.
        "MALLOC_ARENA_MAX": "2",
    }
