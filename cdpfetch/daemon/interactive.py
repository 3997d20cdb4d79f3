"""The interactive browser: a window on the shared profile, in which the user signs in, and no fetches meanwhile.

The window is a Chrome without any debugging switch, which nothing ties to the daemon: it goes on when the daemon ends,
and the next daemon finds it by ``run/interactive.json``.  That file stays until the cookies that the window has left
are recorded, so that no end of the daemon in between is one too early.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from cdpfetch import paths, process, urls, wire
from cdpfetch.cdp import flags, window
from cdpfetch.cdp.discovery import find_chrome
from cdpfetch.cdp.errors import CdpError, LaunchError
from cdpfetch.config import Config
from cdpfetch.daemon import profile
from cdpfetch.daemon.sessions import Sessions, write_private
from cdpfetch.daemon.supervisor import Supervisor
from cdpfetch.errors import CdpFetchError, ConfigError, DaemonUnavailable

log = logging.getLogger(__name__)

REASON = "interactive browser is open — quit Chrome to resume fetching"
# Seconds that fetches under way may still take when the window is asked for.
DRAIN = 10.0
# Seconds from the window's start to the moment when it holds the profile.
START_TIMEOUT = 30.0
# Seconds from the polite request to close to the rude one.
CLOSE_TIMEOUT = 10.0
_LOOK = 0.05


def refusal() -> CdpFetchError:
    """What every fetch gets while the window is open."""
    return CdpFetchError("interactive_open", REASON, "quit that Chrome, or: cdpfetch close-browser")


class Interactive:
    """At most one window.  ``changed()`` is called whenever it opens or closes."""

    def __init__(
        self,
        home: paths.Home,
        config: Config,
        supervisor: Supervisor,
        sessions: Sessions,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._home = home
        self._config = config
        self._supervisor = supervisor
        self._sessions = sessions
        self._changed = changed
        self._state = os.path.join(home.run, "interactive.json")
        self._log = os.path.join(home.logs, "window.log")
        self._window: process.Process | None = None  # while it is open
        self._busy = asyncio.Lock()  # held while a window is asked for
        self._opening = False  # whether fetches are refused for one that is on its way
        self._recording = asyncio.Lock()  # held while the cookies are looked at
        self._unrecorded = False  # whether a window has closed whose cookies have not been looked at
        self._done = asyncio.Event()  # set while there is no window, and the last one's cookies have been looked at
        self._done.set()
        self._tasks: set[asyncio.Task[Any]] = set()  # those that watch and open
        self._leaving = False  # set when the daemon ends

    @property
    def pid(self) -> int | None:
        """The window's process while it is open."""
        return self._window.pid if self._window is not None else None

    @property
    def open(self) -> bool:
        """Whether there is a window, or one on its way."""
        return self._window is not None or self._opening

    async def start(self) -> None:
        """Take over the window that an earlier daemon has opened, if there is one."""
        found = self._read_state()
        if found is None:
            return
        if not process.is_alive(found):
            self._unrecorded = True
            return
        log.info("the interactive browser of an earlier daemon is open as process %d", found.pid)
        await self._supervisor.bar(refusal, 0)
        self._watch(found)

    async def admit(self) -> None:
        """For each fetch before it begins: what the last window has left is known before a lane is chosen.

        Raises CdpFetchError(interactive_open) while there is a window.
        """
        if self.open:
            raise refusal()
        if self._unrecorded:
            await self._record()
        await self._sessions.warm()

    async def open_window(self, url: str | None, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Open the window, or a tab in the one that is open; returns ``pid``.

        ``environment`` is the caller's display (wire.DISPLAY_VARIABLES), for a daemon that was started without one.
        The address must be of http or https but is not judged otherwise: the user asks for it, in a window of their
        own, which reaches what their browser reaches.  Fetches under way get ``DRAIN`` seconds.

        Raises CdpFetchError: ``invalid_url``, ``unsupported_scheme``, ``config_error`` without a display,
        ``browser_not_found``, ``profile_in_use`` when another Chrome has the profile, ``browser_failed``.
        """
        href = urls.parse_url(url).href if url is not None else None
        given = {name: str(value) for name, value in (environment or {}).items() if name in wire.DISPLAY_VARIABLES}
        environ = {**self._supervisor.environment(), **given}
        # In a task: a client that hangs up must not leave half a window.
        opening = asyncio.create_task(self._open(href, environ), name="open-window")
        self._keep(opening)
        return {"pid": await asyncio.shield(opening), "url": href}

    async def closed(self) -> None:
        """Wait until there is no window and fetches are served again.

        Raises DaemonUnavailable when the daemon ends first; the window stays.
        """
        await self._done.wait()
        if self._leaving:
            raise DaemonUnavailable("the daemon is stopping; the browser window stays open")

    async def close_window(self) -> bool:
        """Ask the window to close, end it if it does not, and wait for service; False when there was none."""
        async with self._busy:
            found = self._window
        if found is None:
            return False
        await window.end(found, CLOSE_TIMEOUT)
        await self.closed()
        return True

    def let_go(self) -> None:
        """The daemon is about to end: nobody waits for the window any more."""
        self._leaving = True
        self._done.set()

    async def close(self) -> None:
        """Stop watching; the window stays."""
        self.let_go()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # opening

    async def _open(self, href: str | None, environ: dict[str, str]) -> int:
        async with self._busy:
            if self._config.browser.cdp_url:
                raise ConfigError("browser.cdp_url names a browser that somebody else runs", "sign in there")
            need_display(environ)
            executable = find_chrome(self._config.browser.executable_path)
            argv = self._command(executable, href)
            if self._window is not None:
                if href is not None:
                    await self._forward(argv, environ)
                return self._window.pid
            self._opening = True
            try:
                await self._supervisor.bar(refusal, DRAIN)
                paths.ensure_private_dir(self._supervisor.profile_dir)
                paths.ensure_private_dir(self._home.logs)
                await profile.await_leftover(self._supervisor.profile_dir)
                profile.prepare(self._supervisor.profile_dir)
                profile.forget_tabs(self._supervisor.profile_dir)
                found = await self._launch(argv, environ)
            except BaseException:
                self._supervisor.unbar()
                raise
            finally:
                self._opening = False
            self._watch(found)
            return found.pid

    def _command(self, executable: str, href: str | None) -> list[str]:
        settings = self._config.browser
        return flags.headed(
            executable,
            self._supervisor.profile_dir,
            no_sandbox=self._supervisor.without_sandbox(),
            locale=settings.locale,
            proxy=settings.proxy if settings.proxy and "@" not in settings.proxy else None,
            url=href,
            extra=self._supervisor.extra_args(),
        )

    async def _launch(self, argv: list[str], environ: dict[str, str]) -> process.Process:
        """The window, once it holds the profile."""
        log.info("opening the interactive browser: %s", " ".join(argv))
        try:
            found = window.spawn(argv, environ, self._log)
        except LaunchError as error:
            raise CdpFetchError("browser_failed", error.reason, "run: cdpfetch doctor") from error
        self._write_state(found)
        try:
            return await self._up(found)
        except BaseException:
            await window.end(found, 1.0)
            await window.wait(found)
            with contextlib.suppress(OSError):
                os.unlink(self._state)
            raise

    async def _up(self, found: process.Process) -> process.Process:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_TIMEOUT):
                while True:
                    holder = profile.holder(self._supervisor.profile_dir)
                    if holder is not None and holder.alive:
                        return self._holding(found, holder.pid)
                    if not process.is_alive(found):
                        raise CdpFetchError(
                            "browser_failed",
                            f"Chrome ended before its window opened{self._last_words()}",
                            f"see {self._log}",
                        )
                    await asyncio.sleep(_LOOK)
        raise CdpFetchError(
            "browser_failed", f"Chrome did not open its window within {START_TIMEOUT:g} s", f"see {self._log}"
        )

    def _holding(self, found: process.Process, pid: int) -> process.Process:
        """The process to watch: a program that starts Chrome and goes is not it."""
        if pid == found.pid:
            return found
        real = process.Process(pid, process.start_time(pid) or "", process.command_line(pid))
        self._write_state(real)
        return real

    async def _forward(self, argv: list[str], environ: dict[str, str]) -> None:
        """Let the open window show another address: a second Chrome on a profile hands over what it is given."""
        try:
            messenger = window.spawn(argv, environ, self._log)
        except LaunchError as error:
            raise CdpFetchError("browser_failed", error.reason, "run: cdpfetch doctor") from error
        try:
            async with asyncio.timeout(START_TIMEOUT):
                await window.wait(messenger)
        except TimeoutError:
            await window.end(messenger, 0.5)
            await window.wait(messenger)

    def _last_words(self) -> str:
        try:
            with open(self._log, encoding="utf-8", errors="replace") as file:
                lines = [line.strip() for line in file if line.strip()]
        except OSError:
            return ""
        return f": {lines[-1][:300]}" if lines else ""

    # watching

    def _watch(self, found: process.Process) -> None:
        self._window = found
        self._done.clear()
        self._changed()
        self._keep(asyncio.create_task(self._resume_after(found), name="watch-window"))

    async def _resume_after(self, found: process.Process) -> None:
        status = await window.wait(found)
        log.info("the interactive browser has closed (%s); fetching goes on", "adopted" if status is None else status)
        self._window = None
        self._unrecorded = True
        self._supervisor.unbar()
        await self._record()
        self._done.set()
        self._changed()

    async def _record(self) -> None:
        """Look at the cookies that the window has left; when that fails, the next fetch tries again."""
        async with self._recording:
            if not self._unrecorded:
                return
            try:
                async with self._supervisor.use() as browser:
                    await self._sessions.record(browser)
            except (CdpFetchError, CdpError, OSError) as error:
                log.warning("the profile's cookies could not be looked at: %s", error)
                return
            self._unrecorded = False
            if self._window is None:
                with contextlib.suppress(OSError):
                    os.unlink(self._state)

    def _keep(self, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # A failure is its waiter's; when that one has gone it is nobody's.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())

    def _read_state(self) -> process.Process | None:
        try:
            with open(self._state, encoding="utf-8") as file:
                record = json.load(file)
            return process.Process(int(record["pid"]), str(record["started"]), "")
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError) as error:
            log.warning("%s can't be read: %s", self._state, error)
            return None

    def _write_state(self, found: process.Process) -> None:
        write_private(self._state, {"pid": found.pid, "started": found.started})


def need_display(environ: Mapping[str, str], platform: str = sys.platform) -> None:
    """Raises CdpFetchError(config_error) when a window could not be seen."""
    if platform.startswith("linux") and not (environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")):
        raise ConfigError(
            "there is no display to open a window on (neither DISPLAY nor WAYLAND_DISPLAY is set)",
            "run it in a desktop session, over `ssh -X`, or on a virtual display (Xvfb with a VNC server)",
        )
