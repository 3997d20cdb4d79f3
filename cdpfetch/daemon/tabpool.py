"""Hands out tabs: at most so many at work, fairly queued, with spare ones kept ready."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Hashable

from cdpfetch.cdp.browser import Browser
from cdpfetch.cdp.errors import CdpError
from cdpfetch.cdp.tab import Tab
from cdpfetch.daemon.contexts import Clearances, Contexts, no_clearances
from cdpfetch.daemon.guard.guard import Guard
from cdpfetch.daemon.lanes import ANONYMOUS, PROFILE
from cdpfetch.daemon.plan import FairQueue
from cdpfetch.daemon.supervisor import Supervisor
from cdpfetch.errors import CdpFetchError

log = logging.getLogger(__name__)

# Blank tabs that wait for the next fetch: navigating a ready tab costs a third of creating one first.
SPARES = 2


class TabPool:
    """Leases tabs of the supervisor's browser.  A tab serves one fetch: no state passes from one to the next."""

    def __init__(self, supervisor: Supervisor, guard: Guard, size: int, clearances: Clearances = no_clearances) -> None:
        self._supervisor = supervisor
        self._guard = guard
        self._clearances = clearances
        self._queue: FairQueue[asyncio.Future[None]] = FairQueue(size)
        self._contexts: Contexts | None = None  # of the browser below
        self._browser: Browser | None = None  # the browser whose tabs these are
        self._spares: dict[str, list[Tab]] = {}  # by lane
        self._preparing: asyncio.Task[None] | None = None  # makes spare tabs, at most one at a time
        self._closing: set[asyncio.Task[None]] = set()  # tabs on their way out

    @property
    def working(self) -> int:
        """Fetches that have a tab or are being given one."""
        return self._queue.working

    @property
    def waiting(self) -> int:
        """Fetches in the queue."""
        return len(self._queue)

    @contextlib.asynccontextmanager
    async def place(self, client: Hashable, on_queued: Callable[[], None]) -> AsyncIterator[None]:
        """A place among those at work; ``on_queued`` is called when there is none at once."""
        await self._enter(client, on_queued)
        try:
            await self._supervisor.served(on_queued)
            yield
        finally:
            self._leave()

    @contextlib.asynccontextmanager
    async def tab(self, lane: str, *, images: bool = False, fresh: bool = False) -> AsyncIterator[Tab]:
        """A blank tab of a lane, for somebody who has a place; it is closed afterwards, whatever happened.

        ``images``: its browser must load them.  ``fresh``: no spare one, which may have died a moment ago.

        Raises CdpFetchError or CdpError when there is no browser.
        """
        async with self._supervisor.use(images=images) as browser:
            tab = await self._take(browser, lane, fresh)
            try:
                yield tab
            finally:
                # In its own task: a cancelled fetch must not wait, and must not leave the tab behind.
                closing = asyncio.create_task(tab.close(), name="close-tab")
                self._closing.add(closing)
                closing.add_done_callback(self._closing.discard)

    async def prove(self, browser: Browser) -> None:
        """See once more that a browser's traffic passes the guard; raises what Contexts.prove does."""
        known = self._contexts is not None and self._browser is browser
        contexts = self._contexts if known and self._contexts is not None else Contexts(browser, self._guard)
        await contexts.prove()

    def end_lane(self, lane: str) -> None:
        """A lane will not be used again."""
        if self._contexts is not None:
            self._contexts.end(lane)

    async def _enter(self, client: Hashable, on_queued: Callable[[], None]) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._queue.enter(client, turn):
            return
        on_queued()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                # Out of the line, unless someone who left has passed over it already.
                self._queue.withdraw(client, turn)
            else:
                self._leave()  # the turn came in the same moment: pass it on
            raise

    def _leave(self) -> None:
        turn = self._queue.leave()
        while turn is not None:
            if not turn.done():
                turn.set_result(None)
                return
            turn = self._queue.leave()

    async def _take(self, browser: Browser, lane: str, fresh: bool = False) -> Tab:
        if self._browser is not browser or self._contexts is None:
            self._browser, self._contexts = browser, Contexts(browser, self._guard, self._clearances)
            first, browser.first_tab = browser.first_tab, None
            self._spares = {PROFILE: [first]} if first is not None else {}
        spares = self._spares.get(lane, [])
        while spares and not fresh:
            tab = spares.pop()
            if tab.session.closed is None:
                self._prepare_spares(browser, lane)
                return tab
        tab = await self._contexts.new_tab(lane)
        self._prepare_spares(browser, lane)
        return tab

    def _prepare_spares(self, browser: Browser, lane: str) -> None:
        if lane in (PROFILE, ANONYMOUS) and (self._preparing is None or self._preparing.done()):
            self._preparing = asyncio.create_task(self._make_spares(browser, lane), name="spare-tabs")

    async def _make_spares(self, browser: Browser, lane: str) -> None:
        contexts = self._contexts
        try:
            spares = self._spares.setdefault(lane, [])
            while contexts is not None and len(spares) < min(SPARES, self._queue.size):
                tab = await contexts.new_tab(lane)
                if self._browser is not browser:
                    await tab.close()
                    return
                spares.append(tab)
        except (CdpError, CdpFetchError) as error:
            log.debug("no spare tab could be made: %s", error)

    async def close(self) -> None:
        """End what the pool itself has started; the tabs end with their browser."""
        if self._preparing is not None:
            self._preparing.cancel()
        pending = [task for task in (self._preparing, *self._closing) if task is not None]
        await asyncio.gather(*pending, return_exceptions=True)
        self._spares.clear()

    def __repr__(self) -> str:
        spares = {lane: len(tabs) for lane, tabs in self._spares.items()}
        return f"<TabPool {self._queue!r}, spare {spares}>"
