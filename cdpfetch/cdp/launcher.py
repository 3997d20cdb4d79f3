"""Starts Chrome with its debugging pipe and owns the process until it has ended."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from cdpfetch.cdp.errors import LaunchError
from cdpfetch.cdp.transport import PipeTransport

log = logging.getLogger(__name__)

# Chrome's end of the pipe is moved above the fds that it must not collide with (3 and 4 in the child).
_HIGH_FD = 16
_STDERR_LINES = 40
# Seconds that the loop may be held, once, to learn how a browser ended whose pipe has just closed.
_ENDING = 0.05
# Chrome's own default, large enough for one batch of commands; the kernel doubles and caps it as it likes.
_SOCKET_BUFFER = 1 << 20


class ChromeProcess:
    """One Chrome in a process group of its own; ``wait`` gives its exit status (negative: the signal)."""

    def __init__(self, pid: int, stderr: int) -> None:
        self.pid = pid
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._lines: deque[str] = deque(maxlen=_STDERR_LINES)  # the last lines that Chrome wrote to stderr
        self._partial = b""
        self._stderr: int | None = stderr  # our end of Chrome's stderr, until it is at its end
        os.set_blocking(stderr, False)
        self._loop.add_reader(stderr, self._read_stderr)
        _watch_exit(self._loop, pid, self._set_ended)

    @property
    def returncode(self) -> int | None:
        """The exit status, or None while Chrome runs."""
        return self._ended.result() if self._ended.done() else None

    async def wait(self) -> int:
        """Wait for the end of the process."""
        return await asyncio.shield(self._ended)

    def last_words(self) -> str:
        """The end of what Chrome wrote to stderr, on one line."""
        text = " | ".join(line for line in self._lines if line.strip())[-600:]
        returncode = self.returncode if self.returncode is not None else self._exit_status()
        if returncode is not None:
            text = f"{describe_exit(returncode)}{': ' + text if text else ''}"
        return text

    def _exit_status(self) -> int | None:
        """The exit status of a process that is just ending: its pipe closes a moment before the kernel tells it."""
        if not hasattr(os, "waitid"):
            return None
        end = time.monotonic() + _ENDING
        while True:
            try:
                found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return None
            if found is not None:
                return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
            if time.monotonic() > end:
                return None
            time.sleep(0.001)

    def kill(self, sig: int = signal.SIGKILL) -> None:
        """Signal the whole process group (Chrome's helpers are in it)."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self.returncode is None:
                os.killpg(self.pid, sig)

    async def close(self, grace: float = 5.0) -> None:
        """Make sure that Chrome has ended: wait ``grace`` seconds, then SIGTERM, then SIGKILL.  Idempotent."""
        for sig, seconds in ((None, grace), (signal.SIGTERM, 2.0), (signal.SIGKILL, 10.0)):
            if sig is not None:
                self.kill(sig)
            try:
                async with asyncio.timeout(seconds):
                    await self.wait()
                break
            except TimeoutError:
                log.warning("Chrome %d is still there after %g s", self.pid, seconds)
        # Helpers that outlive the browser process are ended with their group.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._close_stderr()

    def _read_stderr(self) -> None:
        if self._stderr is None:
            return
        try:
            data = os.read(self._stderr, 1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._close_stderr()
            return
        *lines, self._partial = (self._partial + data).split(b"\n")
        self._partial = self._partial[-4096:]
        for line in lines:
            text = line.decode("utf-8", "replace").strip()[:400]
            self._lines.append(text)
            log.debug("chrome: %s", text)

    def _close_stderr(self) -> None:
        if self._stderr is not None:
            self._loop.remove_reader(self._stderr)
            os.close(self._stderr)
            self._stderr = None

    def _set_ended(self, returncode: int) -> None:
        if not self._ended.done():
            self._ended.set_result(returncode)


async def spawn(argv: Sequence[str], environ: Mapping[str, str]) -> tuple[ChromeProcess, PipeTransport]:
    """Start Chrome; the transport is ready to be given to a Connection.

    Raises LaunchError when the program can't be run.
    """
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, option, _SOCKET_BUFFER)
    read_stderr, write_stderr = os.pipe()
    opened: list[int] = []
    try:
        null = os.open(os.devnull, os.O_RDWR)
        opened.append(null)
        opened += [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH_FD) for fd in (theirs.fileno(), write_stderr, null)]
        pipe, stderr, devnull = opened[1:]
        pid = os.posix_spawn(  # noqa: ASYNC221 - returns at once: vfork, then exec
            argv[0],
            list(argv),
            dict(environ),
            file_actions=[
                (os.POSIX_SPAWN_DUP2, devnull, 0),
                (os.POSIX_SPAWN_DUP2, devnull, 1),
                (os.POSIX_SPAWN_DUP2, stderr, 2),
                (os.POSIX_SPAWN_DUP2, pipe, 3),
                (os.POSIX_SPAWN_DUP2, pipe, 4),
            ],
            setpgroup=0,
            # What Python or a service manager ignores or blocks is not Chrome's business.
            setsigmask=[],
            setsigdef=[signal.SIGPIPE, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP],
        )
    except OSError as error:
        os.close(read_stderr)
        ours.close()
        raise LaunchError(f"cannot run {argv[0]}: {error.strerror}") from error
    finally:
        theirs.close()
        os.close(write_stderr)
        for fd in opened:
            os.close(fd)
    process = ChromeProcess(pid, read_stderr)
    try:
        return process, await PipeTransport.open(ours)
    except BaseException:
        ours.close()
        await process.close(grace=0)
        raise


def describe_exit(returncode: int) -> str:
    """A phrase for an exit status: ``exit status 21``, ``killed by SIGSEGV``."""
    if returncode >= 0:
        return f"exit status {returncode}"
    try:
        return f"killed by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"killed by signal {-returncode}"


def _watch_exit(loop: asyncio.AbstractEventLoop, pid: int, ended: Callable[[int], None]) -> None:
    """Call ``ended(returncode)`` in the loop when the child has ended and has been reaped."""

    def reap() -> int:
        try:
            _, status = os.waitpid(pid, 0)
        except ChildProcessError:
            return 0
        return os.waitstatus_to_exitcode(status)

    if hasattr(os, "pidfd_open"):
        fd = os.pidfd_open(pid)

        def readable() -> None:
            loop.remove_reader(fd)
            os.close(fd)
            ended(reap())

        loop.add_reader(fd, readable)
        return

    import threading  # platforms without process descriptors

    def wait_in_thread() -> None:
        returncode = reap()
        with contextlib.suppress(RuntimeError):  # the loop may have been closed meanwhile
            loop.call_soon_threadsafe(ended, returncode)

    threading.Thread(target=wait_in_thread, name=f"wait-{pid}", daemon=True).start()
