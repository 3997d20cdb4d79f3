"""The command as a process, for tests that look at it from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from cdpfetch import paths, process, starting, wire
from cdpfetch.daemon import profile

ROOT = str(Path(__file__).resolve().parents[1])
# Seconds that any call of the command may take here.
LIMIT = 50.0


class Ended(NamedTuple):
    """A call of the command that has ended."""

    status: int
    out: str
    err: str

    @property
    def documents(self) -> list[dict[str, Any]]:
        """The objects that ``--json`` printed, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]


class Command:
    """Calls ``cdpfetch`` with a home of its own."""

    def __init__(self, root: Path, allow: list[str]) -> None:
        self.program = [sys.executable, "-m", "cdpfetch"]
        self.home = paths.Home(str(root))
        self.display: str | None = None  # the X display that calls are given
        os.makedirs(root, 0o700)
        self.configure(f"[network]\nallow = {json.dumps(allow)}\n")

    def configure(self, text: str) -> None:
        """Write the settings; a running daemon keeps its own."""
        Path(self.home.config).write_text(text)
        os.chmod(self.home.config, 0o600)

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CDPFETCH_")}
        if "CDPFETCH_CHROME" in os.environ:
            kept["CDPFETCH_CHROME"] = os.environ["CDPFETCH_CHROME"]
        for name in wire.DISPLAY_VARIABLES:
            kept.pop(name, None)
        if self.display is not None:
            kept["DISPLAY"] = self.display
        return {**kept, "CDPFETCH_HOME": self.home.root, "PYTHONPATH": ROOT}

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """A call that goes on by itself."""
        return subprocess.Popen(
            [*self.program, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            env=self.environment,
            **options,
        )

    def __call__(self, *arguments: str, **options: Any) -> Ended:
        """A call, until it has ended."""
        with self.start(*arguments, **options) as running:
            out, err = running.communicate(timeout=LIMIT)
        return Ended(running.returncode, out, err)

    @property
    def daemon(self) -> process.Process:
        """The daemon that runs."""
        found = starting.read_pidfile(self.home)
        assert found is not None
        return found

    def processes(self) -> list[process.Process]:
        """The daemon and all below it."""
        found = starting.read_pidfile(self.home)
        return [found, *process.descendants(found.pid)] if found else []


def wait_for(condition: Callable[[], Any], seconds: float = 10.0) -> None:
    """Poll until something is so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.02)


def end(command: Command) -> None:
    """Stop a command's daemon, and see that nothing of it is left."""
    before = command.processes()
    stopped = command("stop")
    assert stopped.status == 0, stopped.err
    left = [one.command[:100] for one in before if process.is_alive(one)]
    for one in before:
        if process.is_alive(one):
            os.kill(one.pid, signal.SIGKILL)
    assert not left, f"left by stop: {left}"


def process_of_window(command: Command) -> process.Process | None:
    """The window that runs on a command's profile."""
    holder = profile.holder(command.home.profile)
    if holder is None or not holder.alive:
        return None
    words = process.command_line(holder.pid)
    return None if "--headless" in words else process.Process(holder.pid, process.start_time(holder.pid) or "", words)
