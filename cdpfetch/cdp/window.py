"""Chrome's visible window as a process: started so that it outlives us, watched, and ended politely."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from typing import Any

from cdpfetch import process
from cdpfetch.cdp.errors import LaunchError

# Seconds between two looks where the system has no process descriptors.
_LOOK = 0.5


def spawn(argv: Sequence[str], environ: Mapping[str, str], log: str) -> process.Process:
    """Start Chrome in a session of its own, with what it writes going to the file ``log`` (made anew, 0600).

    Nothing ties it to us: no pipe, no terminal, no process group.  Raises LaunchError when it can't be run.
    """
    options: dict[str, Any] = {
        "setsigmask": [],
        "setsigdef": [signal.SIGPIPE, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP],
    }
    try:
        fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            options["file_actions"] = [
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, fd, 1),
                (os.POSIX_SPAWN_DUP2, fd, 2),
            ]
            try:
                pid = os.posix_spawn(argv[0], list(argv), dict(environ), setsid=True, **options)
            except NotImplementedError:
                pid = os.posix_spawn(argv[0], list(argv), dict(environ), setpgroup=0, **options)
        finally:
            os.close(fd)
    except OSError as error:
        raise LaunchError(f"cannot run {argv[0]}: {error.strerror}") from error
    return process.Process(pid, process.start_time(pid) or "", " ".join(argv))


async def wait(window: process.Process) -> int | None:
    """Wait for the end of the process; its exit status (negative: the signal), or None when it is no child of ours."""
    fd = None
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(ProcessLookupError):
            fd = os.pidfd_open(window.pid)
    if fd is not None:
        # Only now: the descriptor may be of a later process of the same number.
        await (_readable(fd) if process.is_alive(window) else _closed(fd))
    else:
        while process.is_alive(window):  # noqa: ASYNC110 - nothing tells it
            await asyncio.sleep(_LOOK)
    return _reap(window.pid)


async def end(window: process.Process, grace: float = 10.0) -> None:
    """End the window: SIGINT, after ``grace`` seconds (a page may ask whether to leave it) SIGTERM, then SIGKILL.

    On Linux Chrome takes SIGTERM for the end of the whole desktop session, and goes without writing the cookies of the
    last half minute (measured with version 156); SIGINT is like quitting it by hand.
    """
    for sig, seconds in ((signal.SIGINT, grace), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
        if not process.is_alive(window):
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(window.pid, sig)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while process.is_alive(window):  # noqa: ASYNC110 - it need not be a child of ours
                    await asyncio.sleep(0.02)


async def _readable(fd: int) -> None:
    """Wait until a process descriptor says that its process has ended, and close it."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(fd, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(fd)
        os.close(fd)


async def _closed(fd: int) -> None:
    os.close(fd)


def _reap(pid: int) -> int | None:
    try:
        _, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return None
    return os.waitstatus_to_exitcode(status)
