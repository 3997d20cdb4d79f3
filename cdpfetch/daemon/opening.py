"""Starts a visible window on the shared profile, and keeps the note by which a later daemon finds it.

The note (``run/interactive.json``) says which process the window is, since when it is open and what it is for: the
user's own, or a bot wall's.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cdpfetch import paths, process
from cdpfetch.cdp import window
from cdpfetch.cdp.errors import LaunchError
from cdpfetch.daemon import profile
from cdpfetch.daemon.sessions import write_private
from cdpfetch.errors import CdpFetchError

log = logging.getLogger(__name__)

# Seconds from the window's start to the moment when it holds the profile.
START_TIMEOUT = 30.0
_LOOK = 0.05

USER, WALL = "user", "wall"


class Noted(NamedTuple):
    """A window as the note names it: ``opened`` in seconds since the epoch, ``purpose`` USER or WALL."""

    window: process.Process
    opened: float
    purpose: str


class Opener:
    """Windows on the profile ``directory``, at most one at a time: ``busy`` is held by who asks for one."""

    def __init__(self, home: paths.Home, directory: str) -> None:
        self._home = home
        self._directory = directory
        self._note = os.path.join(home.run, "interactive.json")
        self._log = os.path.join(home.logs, "window.log")
        self.busy = asyncio.Lock()

    async def open(self, argv: Sequence[str], environ: Mapping[str, str], purpose: str) -> Noted:
        """Start a window on the profile, which nobody uses; returns when the window holds it.

        Raises CdpFetchError (``profile_in_use``, ``browser_failed``); nothing is left behind then.
        """
        paths.ensure_private_dir(self._directory)
        paths.ensure_private_dir(self._home.logs)
        await profile.await_leftover(self._directory)
        profile.prepare(self._directory)
        profile.forget_tabs(self._directory)
        log.info("opening a browser window: %s", " ".join(argv))
        noted = self.write(Noted(self._spawn(argv, environ), time.time(), purpose))
        try:
            return await self._up(noted)
        except BaseException:
            await window.end(noted.window, 1.0)
            await window.wait(noted.window)
            self.forget()
            raise

    async def forward(self, argv: Sequence[str], environ: Mapping[str, str]) -> None:
        """Let the open window show another address: a second Chrome on a profile hands over what it is given."""
        messenger = self._spawn(argv, environ)
        try:
            async with asyncio.timeout(START_TIMEOUT):
                await window.wait(messenger)
        except TimeoutError:
            await window.end(messenger, 0.5)
            await window.wait(messenger)

    def read(self) -> Noted | None:
        """The window that the note names, whether it is open or not; None without a note."""
        try:
            with open(self._note, encoding="utf-8") as file:
                record = json.load(file)
            found = process.Process(int(record["pid"]), str(record["started"]), "")
            return Noted(found, float(record.get("opened", 0.0)), str(record.get("purpose", USER)))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError) as error:
            log.warning("%s can't be read: %s", self._note, error)
            return None

    def write(self, noted: Noted) -> Noted:
        """Note a window; returns it.  Raises OSError."""
        found, opened, purpose = noted
        record = {"pid": found.pid, "started": found.started, "opened": opened, "purpose": purpose}
        write_private(self._note, record)
        return noted

    def forget(self) -> None:
        """The window is no more, and all that it has left is known."""
        with contextlib.suppress(OSError):
            os.unlink(self._note)

    def _spawn(self, argv: Sequence[str], environ: Mapping[str, str]) -> process.Process:
        try:
            return window.spawn(argv, environ, self._log)
        except LaunchError as error:
            raise CdpFetchError("browser_failed", error.reason, "run: cdpfetch doctor") from error

    async def _up(self, noted: Noted) -> Noted:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_TIMEOUT):
                while True:
                    holder = profile.holder(self._directory)
                    if holder is not None and holder.alive:
                        return self._holding(noted, holder.pid)
                    if not process.is_alive(noted.window):
                        raise CdpFetchError(
                            "browser_failed",
                            f"Chrome ended before its window opened{self._last_words()}",
                            f"see {self._log}",
                        )
                    await asyncio.sleep(_LOOK)
        raise CdpFetchError(
            "browser_failed", f"Chrome did not open its window within {START_TIMEOUT:g} s", f"see {self._log}"
        )

    def _holding(self, noted: Noted, pid: int) -> Noted:
        """The process to watch: a program that starts Chrome and goes is not it."""
        if pid == noted.window.pid:
            return noted
        real = process.Process(pid, process.start_time(pid) or "", process.command_line(pid))
        return self.write(noted._replace(window=real))

    def _last_words(self) -> str:
        try:
            with open(self._log, encoding="utf-8", errors="replace") as file:
                lines = [line.strip() for line in file if line.strip()]
        except OSError:
            return ""
        return f": {lines[-1][:300]}" if lines else ""
