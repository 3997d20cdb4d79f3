"""The interactive browser: a window on the shared profile, in which the user signs in, and no fetches meanwhile.

The window is a Chrome without any debugging switch, which nothing ties to the daemon: it goes on when the daemon ends,
and the next daemon finds it by ``run/interactive.json``.  That file stays until the cookies that the window has left
are recorded, so that no end of the daemon in between is one too early.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any

from cdpfetch import process, urls, wire
from cdpfetch.cdp import flags, window
from cdpfetch.cdp.discovery import find_chrome
from cdpfetch.cdp.errors import CdpError
from cdpfetch.config import Config
from cdpfetch.daemon import history
from cdpfetch.daemon.opening import USER, WALL, Noted, Opener
from cdpfetch.daemon.sessions import Sessions
from cdpfetch.daemon.supervisor import Supervisor
from cdpfetch.errors import CdpFetchError, ConfigError, DaemonUnavailable

log = logging.getLogger(__name__)

REASON = "interactive browser is open — quit Chrome to resume fetching"
# Seconds that fetches under way may still take when the window is asked for.
DRAIN = 10.0
# Seconds from the polite request to close to the rude one.
CLOSE_TIMEOUT = 10.0


def refusal() -> CdpFetchError:
    """What every fetch gets while the window is open."""
    return CdpFetchError("interactive_open", REASON, "quit that Chrome, or: cdpfetch close-browser")


class Interactive:
    """At most one window.  ``changed()`` is called whenever it opens or closes."""

    def __init__(
        self,
        opener: Opener,
        config: Config,
        supervisor: Supervisor,
        sessions: Sessions,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._opener = opener
        self._config = config
        self._supervisor = supervisor
        self._sessions = sessions
        self._changed = changed
        self._window: process.Process | None = None  # while it is open
        self._display: dict[str, str] = {}  # that of the client who asked last
        self._opening = False  # whether fetches are refused for one that is on its way
        self._recording = asyncio.Lock()  # held while the cookies are looked at
        self._unrecorded = False  # whether a window has closed whose cookies have not been looked at
        self._visited: dict[str, set[str]] = {}  # the origins that were visited in it, by site
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
        noted = self._opener.read()
        if noted is None:
            return
        if noted.purpose == WALL:
            # Nobody waits for it any more, and it has lost its network with the daemon that opened it.
            await window.end(noted.window, CLOSE_TIMEOUT)
            self._opener.forget()
        elif process.is_alive(noted.window):
            log.info("the interactive browser of an earlier daemon is open as process %d", noted.window.pid)
            await self._supervisor.bar(refusal, 0)
            self._watch(noted)
        else:
            await self._look_back(noted)

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
        self._display = given or self._display
        environ = self.environment()
        # In a task: a client that hangs up must not leave half a window.
        opening = asyncio.create_task(self._open(href, environ), name="open-window")
        self._keep(opening)
        return {"pid": await asyncio.shield(opening), "url": href}

    def environment(self) -> dict[str, str]:
        """What a window gets: the daemon's environment, and the display of the client who asked for one last."""
        return {**self._supervisor.environment(), **self._display}

    async def closed(self) -> None:
        """Wait until there is no window and fetches are served again.

        Raises DaemonUnavailable when the daemon ends first; the window stays.
        """
        await self._done.wait()
        if self._leaving:
            raise DaemonUnavailable("the daemon is stopping; the browser window stays open")

    async def close_window(self) -> bool:
        """Ask the window to close, end it if it does not, and wait for service; False when there was none."""
        async with self._opener.busy:
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
        async with self._opener.busy:
            if self._config.browser.cdp_url:
                raise ConfigError("browser.cdp_url names a browser that somebody else runs", "sign in there")
            need_display(environ)
            executable = find_chrome(self._config.browser.executable_path)
            argv = self._command(executable, href)
            if self._window is not None:
                if href is not None:
                    await self._opener.forward(argv, environ)
                return self._window.pid
            self._opening = True
            try:
                await self._supervisor.bar(refusal, DRAIN)
                noted = await self._opener.open(argv, environ, USER)
            except BaseException:
                self._supervisor.unbar()
                raise
            finally:
                self._opening = False
            self._watch(noted)
            return noted.window.pid

    def _command(self, executable: str, href: str | None) -> list[str]:
        settings = self._config.browser
        return flags.headed(
            executable,
            self._supervisor.profile_dir,
            no_sandbox=self._supervisor.without_sandbox(),
            locale=settings.locale,
            proxy=settings.proxy if settings.proxy and "@" not in settings.proxy else None,
            proxy_pac=settings.proxy_pac,
            url=href,
            extra=self._supervisor.extra_args(),
        )

    # watching

    def _watch(self, noted: Noted) -> None:
        self._window = noted.window
        self._done.clear()
        self._changed()
        self._keep(asyncio.create_task(self._resume_after(noted), name="watch-window"))

    async def _resume_after(self, noted: Noted) -> None:
        status = await window.wait(noted.window)
        log.info("the interactive browser has closed (%s); fetching goes on", "adopted" if status is None else status)
        await self._look_back(noted)
        self._window = None
        self._supervisor.unbar()
        await self._record()
        self._done.set()
        self._changed()

    async def _look_back(self, noted: Noted) -> None:
        """What the window that has closed has visited, from its history, which no other Chrome must hold."""
        self._visited.update(await asyncio.to_thread(history.visited, self._supervisor.profile_dir, noted.opened))
        self._unrecorded = True

    async def _record(self) -> None:
        """Look at the cookies that the window has left; when that fails, the next fetch tries again."""
        async with self._recording:
            if not self._unrecorded:
                return
            try:
                async with self._supervisor.use() as browser:
                    await self._sessions.record(browser, self._visited)
            except (CdpFetchError, CdpError, OSError) as error:
                log.warning("the profile's cookies could not be looked at: %s", error)
                return
            self._unrecorded = False
            self._visited.clear()
            if self._window is None:
                self._opener.forget()

    def _keep(self, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # A failure is its waiter's; when that one has gone it is nobody's.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())


def need_display(environ: Mapping[str, str], platform: str = sys.platform) -> None:
    """Raises CdpFetchError(config_error) when a window could not be seen."""
    if platform.startswith("linux") and not (environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")):
        raise ConfigError(
            "there is no display to open a window on (neither DISPLAY nor WAYLAND_DISPLAY is set)",
            "run it in a desktop session, over `ssh -X`, or on a virtual display (Xvfb with a VNC server)",
        )
