"""Bot walls that do not clear headless: passed in a visible window on the same profile, with nobody at work meanwhile.

The page behind it was not asked for by the user in this window, so the window reaches the network through the guard,
as the fetch itself did.  It has no debugging switch either; that the wall is gone shows in the file in which Chrome
notes its tabs (``cdp.sessionfile``), and the fetch that follows is the proof.  The cookies that let it pass stay in
the profile; an anonymous visit gets a copy of those of that site (``Sessions.clearances``).
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from cdpfetch import process
from cdpfetch.cdp import flags, sessionfile, window
from cdpfetch.cdp.discovery import find_chrome
from cdpfetch.cdp.errors import CdpError
from cdpfetch.config import Config
from cdpfetch.daemon.guard import chrome
from cdpfetch.daemon.guard.guard import Guard
from cdpfetch.daemon.interactive import Interactive, need_display
from cdpfetch.daemon.lanes import PROFILE
from cdpfetch.daemon.opening import WALL, Opener
from cdpfetch.daemon.sessions import Sessions, site_of
from cdpfetch.daemon.supervisor import StillAtWork, Supervisor
from cdpfetch.daemon.verdicts import WALL_STATUS
from cdpfetch.errors import CdpFetchError
from cdpfetch.urls import Url, parse_url

log = logging.getLogger(__name__)

# Seconds that fetches under way may still take when a wall asks for a window.
DRAIN = 10.0
# Seconds of the deadline that are kept for closing the window, starting headless again and fetching the page.
RETURN = 8.0
# A window that could be looked at for less than this (seconds) is not worth its while.
LEAST = 3.0
# Seconds that a page gets after the wall has gone, for what it still writes into its cookies.
SETTLE = 0.5
# Seconds from the polite request to close to the rude one.
CLOSE_TIMEOUT = 5.0
_LOOK = 0.2


class Met(NamedTuple):
    """A wall that a fetch has met: where, in which lane, and with which status (0: unknown)."""

    url: Url
    lane: str
    status: int


class Walls:
    """Passes walls, one at a time."""

    def __init__(
        self,
        config: Config,
        supervisor: Supervisor,
        guard: Guard,
        opener: Opener,
        interactive: Interactive,
        sessions: Sessions,
    ) -> None:
        self._config = config
        self._supervisor = supervisor
        self._guard = guard
        self._opener = opener
        self._interactive = interactive
        self._sessions = sessions
        self._passes: Counter[str] = Counter()  # windows that ended well so far, by site
        self._tasks: set[asyncio.Task[Any]] = set()
        self.pid: int | None = None  # the window's process, while one is open

    async def clear(self, met: Met, end: float) -> str | None:
        """Let a window pass a wall, before the loop time ``end``; None when it is worth to fetch the page again.

        Else the reason, in words that go on from "the wall did not clear by itself".  The caller must not hold a lease
        of the browser.  When it is cancelled the window closes without it.
        """
        impossible = self._impossible(end)
        if impossible is not None:
            return impossible
        site = await asyncio.to_thread(site_of, met.url.host)
        passing = asyncio.create_task(self._clear(met, site, self._passes[site], end), name="pass-wall")
        self._tasks.add(passing)
        passing.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(passing)
        except asyncio.CancelledError:
            passing.cancel()
            raise

    async def close(self) -> None:
        """End what is under way; idempotent."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _impossible(self, end: float) -> str | None:
        """Why no window can be opened for a wall, or None."""
        if self._config.challenge.escalation == "never":
            return 'and fetch.challenge.escalation is "never"'
        if self._config.browser.cdp_url:
            return "and the browser is somebody else's (browser.cdp_url)"
        try:
            need_display(self._interactive.environment())
        except CdpFetchError:
            return "and there is no display to open a window on"
        if self._interactive.open:
            return "and the interactive browser is open"
        if end - asyncio.get_running_loop().time() < RETURN + LEAST:
            return "and too little of the deadline was left for a window"
        return None

    async def _clear(self, met: Met, site: str, passes: int, end: float) -> str | None:
        try:
            async with asyncio.timeout_at(end - RETURN) as limit, self._opener.busy:
                if self._passes[site] != passes:
                    return None  # another fetch has passed it meanwhile
                if self._interactive.open:
                    return "and the interactive browser was opened meanwhile"
                async with self._supervisor.hold(DRAIN):
                    limit.reschedule(None)  # from here on each step has its own
                    failed = await self._watch(met, site, end - RETURN)
                if failed is None:
                    self._passes[site] += 1
                    await self._remember(met, site)
                return failed
        except StillAtWork as busy:
            return f"and {busy}, so no window was opened"
        except TimeoutError:
            return "and the deadline came before a window could be opened"
        except (CdpFetchError, CdpError, OSError) as error:
            log.warning("no window for the wall at %s: %s", met.url.href, error)
            return f"and no window could be opened: {getattr(error, 'reason', error)}"

    async def _watch(self, met: Met, site: str, end: float) -> str | None:
        """Open the window, wait, and close it; None when the wall has gone, or may have."""
        noted = await self._opener.open(self._command(met), self._interactive.environment(), WALL)
        self.pid = noted.window.pid
        until = min(asyncio.get_running_loop().time() + self._config.challenge.headed_wait, end)
        try:
            return await self._passed(noted.window, met, site, until)
        finally:
            await window.end(noted.window, CLOSE_TIMEOUT)
            await window.wait(noted.window)
            self.pid = None
            self._opener.forget()

    def _command(self, met: Met) -> list[str]:
        settings = self._config.browser
        return flags.headed(
            find_chrome(settings.executable_path),
            self._supervisor.profile_dir,
            no_sandbox=self._supervisor.without_sandbox(),
            locale=settings.locale,
            url=met.url.href,
            extra=[*chrome.switches(self._guard.port(met.lane)), *self._supervisor.extra_args()],
        )

    async def _passed(self, found: process.Process, met: Met, site: str, until: float) -> str | None:
        loop = asyncio.get_running_loop()
        directory = os.path.join(self._supervisor.profile_dir, "Default", "Sessions")
        seen: bool | None = None
        while loop.time() < until:
            if not process.is_alive(found):
                return None  # somebody has closed it: perhaps since it was passed
            seen = has_passed(sessionfile.navigations(_newest(directory)), met.status, site)
            if seen:
                await asyncio.sleep(SETTLE)
                return None
            await asyncio.sleep(_LOOK)
        if seen is None:
            return None  # nothing can be told: the fetch will
        return f"nor in a visible window within {self._config.challenge.headed_wait:g} s"

    async def _remember(self, met: Met, site: str) -> None:
        if met.lane == PROFILE:
            return
        async with self._supervisor.use() as browser:
            await self._sessions.clear_wall(browser, site)

    def __repr__(self) -> str:
        return f"<Walls {self._passes.total()} passed, window {self.pid}>"


def has_passed(shown: Sequence[sessionfile.Shown], status: int, site: str) -> bool | None:
    """Whether a window shows something else than the wall, by its navigations; None when that can't be told.

    ``status`` is the wall's.  A page of another site (a vendor's own) and an answer that refuses are not what was
    wanted; a wall with an ordinary status is gone when the page has been loaded again.
    """
    if not shown:
        return None
    last = shown[-1]
    try:
        at_site = site_of(parse_url(last.url).host) == site
    except CdpFetchError:
        at_site = False
    if not at_site or last.status in WALL_STATUS:
        return False
    if last.status == 0:
        return None
    if last.status == status:
        return len([one for one in shown if one.tab == last.tab]) > 1
    return True


def _newest(directory: str) -> bytes:
    """What the newest of Chrome's notes of its tabs says; empty when there is none."""
    try:
        name = max((name for name in os.listdir(directory) if name.startswith("Session_")), default=None)
        if name is None:
            return b""
        with open(os.path.join(directory, name), "rb") as file:
            return file.read()
    except OSError:
        return b""
