"""The browser contexts behind the lanes: made when first needed, replaced by count and by age, disposed when empty."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from cdpfetch.cdp.browser import Browser
from cdpfetch.cdp.errors import CdpError
from cdpfetch.cdp.tab import Tab
from cdpfetch.daemon.guard import canary, chrome
from cdpfetch.daemon.guard.guard import Guard
from cdpfetch.daemon.lanes import PROFILE
from cdpfetch.errors import CdpFetchError

log = logging.getLogger(__name__)

# The anonymous context is shared by so many visits, for so many seconds: what pages store in it does not last.
VISITS_MAX = 240
AGE_MAX = 600.0

# The cookies (CDP's CookieParam) that each new context gets: those by which bot walls let it pass.
Clearances = Callable[[Browser], Awaitable[list[dict[str, Any]]]]


async def no_clearances(browser: Browser) -> list[dict[str, Any]]:
    """A context begins without any cookie."""
    return []


class _Context:
    """One browser context of a lane."""

    def __init__(self, context_id: str, lane: str) -> None:
        self.id = context_id
        self.lane = lane
        self.born = time.monotonic()
        self.made = 0  # visits so far, each in a tab of its own or in one that was renewed
        self.proved = False  # whether its traffic has been seen to pass the guard
        self.open = 0  # those of them that are open, or being made

    @property
    def worn(self) -> bool:
        return self.made >= VISITS_MAX or time.monotonic() - self.born > AGE_MAX


class Contexts:
    """The contexts of one browser."""

    def __init__(self, browser: Browser, guard: Guard, clearances: Clearances = no_clearances) -> None:
        self._browser = browser
        self._guard = guard
        self._clearances = clearances
        self._current: dict[str, _Context] = {}  # by lane
        self._homes: dict[str, _Context] = {}  # by the id of an open tab
        self._making = asyncio.Lock()  # held while a context is chosen, so that two callers don't make two
        self._all: set[_Context] = set()  # with those that only wait for their last tab

    async def new_tab(self, lane: str) -> Tab:
        """A prepared tab of a lane.

        Raises CdpError; CdpFetchError (``browser_failed``) when the lane's traffic does not pass the guard.
        """
        if lane == PROFILE:
            return await self._browser.new_tab()
        async with self._making:
            context = self._current.get(lane)
            if context is None or context.worn:
                context = await self._make(lane)
            context.made += 1
            context.open += 1
        try:
            tab = await self._browser.new_tab(context.id)
        except BaseException:
            self._tab_closed(context)
            raise
        self._homes[tab.target_id] = context
        tab.session.on_closed(lambda cause: self._tab_closed(context, tab.target_id))
        if not context.proved:
            try:
                await canary.prove(self._guard, lane, tab)
            except BaseException:
                await tab.close()
                raise
            context.proved = True
        return tab

    def again(self, tab: Tab, lane: str) -> bool:
        """Count one more visit for the context of a tab; False when that is none of the lane any more, or worn."""
        if lane == PROFILE:
            return True
        context = self._homes.get(tab.target_id)
        if context is None or context.worn or self._current.get(lane) is not context:
            return False
        context.made += 1
        return True

    async def prove(self) -> None:
        """See once more that the traffic of every context that is in use passes the guard.

        Raises CdpError; CdpFetchError (``browser_failed``) when one's does not (canary.Unproved: when that is unknown).
        """
        if self._browser.process is not None:  # somebody else's browser is not led through it
            await self._prove(PROFILE, await self._browser.new_tab())
        for context in list(self._current.values()):
            context.open += 1  # it stays meanwhile
            try:
                await self._prove(context.lane, await self._browser.new_tab(context.id))
            except (CdpError, CdpFetchError):
                # The lane of a single call may have ended under the proof's hands.
                if self._current.get(context.lane) is context:
                    raise
            finally:
                self._tab_closed(context)

    async def _prove(self, lane: str, tab: Tab) -> None:
        try:
            await canary.prove(self._guard, lane, tab)
        finally:
            await tab.close()

    def end(self, lane: str) -> None:
        """Give up the context of a lane; it goes with its last tab."""
        context = self._current.pop(lane, None)
        if context is not None:
            self._dispose_when_empty(context)

    async def _make(self, lane: str) -> _Context:
        proxied = chrome.context(self._guard.port(lane))
        cookies = await self._clearances(self._browser)
        context = _Context(await self._browser.new_context(proxied), lane)
        if cookies:
            await self._browser.connection.root.execute(
                "Storage.setCookies", {"cookies": cookies, "browserContextId": context.id}
            )
        previous = self._current.get(lane)
        self._current[lane] = context
        self._all.add(context)
        if previous is not None:
            self._dispose_when_empty(previous)
        log.debug("lane %s has the context %s", lane, context.id)
        return context

    def _tab_closed(self, context: _Context, target_id: str = "") -> None:
        self._homes.pop(target_id, None)
        context.open -= 1
        if self._current.get(context.lane) is not context:
            self._dispose_when_empty(context)

    def _dispose_when_empty(self, context: _Context) -> None:
        if context.open == 0 and context in self._all:
            self._all.discard(context)
            self._browser.chore("Target.disposeBrowserContext", {"browserContextId": context.id})

    def __repr__(self) -> str:
        return f"<Contexts {sorted(self._current)}, {len(self._all)} in all>"
