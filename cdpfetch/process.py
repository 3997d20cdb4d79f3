"""Which process a number really is: start times, command lines and children.

A pid alone says nothing, since numbers are reused; every signal that cdpfetch sends to a
process it did not start itself is preceded by a look at start time and command line.
Linux reads ``/proc``; elsewhere (macOS) ``ps`` is asked.
"""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

_PROC = "/proc"
# A name of its own, so that a type checker looks at both branches.
_LINUX: bool = sys.platform == "linux"


class Process(NamedTuple):
    """A process as it was seen: ``started`` as by ``start_time``, ``command`` as by ``command_line``."""

    pid: int
    started: str
    command: str


def start_time(pid: int) -> str | None:
    """When a process started: Linux clock ticks since boot, elsewhere ``ps``'s date; None when it is gone or a zombie.

    The text is only good for comparison with another one of the same machine.
    """
    if _LINUX:
        fields = _stat(pid)
        return fields[19] if fields and fields[0] not in "ZX" else None
    line = _ps(["-o", "stat=", "-o", "lstart=", "-p", str(pid)]).strip()
    state, _, started = line.partition(" ")
    return started.strip() or None if not state.startswith("Z") else None


def command_line(pid: int) -> str:
    """The arguments of a process joined by blanks; empty when it is gone or a zombie."""
    if _LINUX:
        try:
            with open(f"{_PROC}/{pid}/cmdline", "rb") as file:
                return os.fsdecode(file.read().rstrip(b"\0").replace(b"\0", b" "))
        except OSError:
            return ""
    return _ps(["-ww", "-o", "command=", "-p", str(pid)]).strip()


def is_ours(pid: int, started: str | int, word: str = "cdpfetch") -> bool:
    """Whether ``pid`` is still the process that started at ``started`` and has ``word`` in its command line."""
    return pid > 1 and start_time(pid) == str(started) and word in command_line(pid)


def is_alive(process: Process) -> bool:
    """Whether this very process, not a later one of the same number, still runs."""
    return start_time(process.pid) == process.started


def descendants(pid: int) -> list[Process]:
    """The children of a process and theirs, at this moment."""
    parents = _parents()
    found: list[Process] = []
    seen = {pid}
    wave = [pid]
    while wave:
        wave = [child for child, parent in parents.items() if parent in wave and child not in seen]
        seen.update(wave)
        for child in wave:
            started = start_time(child)
            if started is not None:
                found.append(Process(child, started, command_line(child)))
    return found


def _parents() -> dict[int, int]:
    """The parent of every process that can be seen."""
    parents: dict[int, int] = {}
    if _LINUX:
        for name in os.listdir(_PROC):
            fields = _stat(int(name)) if name.isdigit() else None
            if fields:
                parents[int(name)] = int(fields[1])
        return parents
    for line in _ps(["-ax", "-o", "pid=", "-o", "ppid="]).splitlines():
        pair = line.split()
        if len(pair) == 2:
            parents[int(pair[0])] = int(pair[1])
    return parents


def _stat(pid: int) -> list[str] | None:
    """The fields of ``/proc/PID/stat`` from the third (state) on; the second may hold blanks and brackets."""
    try:
        with open(f"{_PROC}/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].decode("ascii").split()
    except OSError:
        return None


def _ps(arguments: list[str]) -> str:
    import subprocess

    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
    try:
        done = subprocess.run(
            ["ps", *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            env=environment,
            timeout=5,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
