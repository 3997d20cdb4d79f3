"""What a test may not leave behind.  These look and compare; they never tidy."""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from cdpfetch import process

# Descriptors that belong to a helper of the tests (the sites add their connections), as /proc names them.
FOREIGN: set[str] = set()


class Snapshot(NamedTuple):
    """Descriptors and child processes of this process at one moment."""

    fds: dict[int, str]
    children: frozenset[tuple[int, str]]


def snapshot(apart_from: int | None = None) -> Snapshot:
    """What there is now; the descendants of the process ``apart_from`` are its own business."""
    found = {(p.pid, p.started) for p in process.descendants(os.getpid())}
    if apart_from is not None:
        found -= {(p.pid, p.started) for p in process.descendants(apart_from)}
    return Snapshot(_fds(), frozenset(found))


def leaked(before: Snapshot, grace: float = 5.0, apart_from: int | None = None) -> list[str]:
    """What there is now and was not before, in words; what is on its way out gets ``grace`` seconds."""
    end = time.monotonic() + grace
    while True:
        found = _compare(before, snapshot(apart_from))
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.05)


def _compare(before: Snapshot, now: Snapshot) -> list[str]:
    found = [f"fd {fd}: {what}" for fd, what in now.fds.items() if before.fds.get(fd) != what and not _harmless(what)]
    fresh = now.children - before.children
    for pid, _ in before.children if fresh else ():
        # What a process of before starts now (a browser that tests share, its helpers) is that one's business.
        fresh -= {(p.pid, p.started) for p in process.descendants(pid)}
    for pid, started in sorted(fresh):
        if process.start_time(pid) == started:
            found.append(f"process {pid}: {process.command_line(pid)[:120]}")
    return found


def _harmless(what: str) -> bool:
    """What the interpreter or the test runner itself keeps open."""
    return what in FOREIGN or what.startswith(("/dev/null", "/dev/urandom", "/proc/")) or what.endswith(".py")


def _fds() -> dict[int, str]:
    fds: dict[int, str] = {}
    for name in os.listdir("/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"):
        try:
            fds[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
    return fds
