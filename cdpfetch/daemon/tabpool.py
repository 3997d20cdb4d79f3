"""Hands out tabs: at most so many at work, fairly queued, with spare ones kept ready."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Hashable

from cdpfetch.cdp.browser import Browser
from cdpfetch.cdp.errors import CdpError
from cdpfetch.cdp.tab import Tab
from cdpfetch.daemon.plan import FairQueue
from cdpfetch.daemon.supervisor import Supervisor

log = logging.getLogger(__name__)

# Blank tabs that wait for the next fetch: navigating a ready tab costs a third of creating one first.
SPARES = 2


class TabPool:
    """Leases tabs of the supervisor's browser.  A tab serves one fetch: no state passes from one to the next."""

    def __init__(self, supervisor: Supervisor, size: int) -> None:
        self._supervisor = supervisor
        self._queue: FairQueue[asyncio.Future[None]] = FairQueue(size)
        self._spares: list[Tab] = []
        self._spares_of: Browser | None = None  # the browser whose tabs they are
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
    async def lease(
        self, client: Hashable, on_queued: Callable[[], None], *, images: bool = False
    ) -> AsyncIterator[Tab]:
        """A blank tab for one fetch; it is closed afterwards, whatever happened.

        ``images``: its browser must load them.  ``on_queued`` is called when there is no free place at
        once.  Raises CdpFetchError or CdpError when there is no browser.
        """
        await self._enter(client, on_queued)
        try:
            async with self._supervisor.use(images=images) as browser:
                tab = await self._take(browser)
                try:
                    yield tab
                finally:
                    # In its own task: a cancelled fetch must not wait, and must not leave the tab behind.
                    closing = asyncio.create_task(tab.close(), name="close-tab")
                    self._closing.add(closing)
                    closing.add_done_callback(self._closing.discard)
        finally:
            self._leave()

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

    async def _take(self, browser: Browser) -> Tab:
        if self._spares_of is not browser:
            self._spares, self._spares_of = [], browser
        while self._spares:
            tab = self._spares.pop()
            if tab.session.closed is None:
                self._prepare_spares(browser)
                return tab
        tab = await browser.new_tab()
        self._prepare_spares(browser)
        return tab

    def _prepare_spares(self, browser: Browser) -> None:
        if self._preparing is None or self._preparing.done():
            self._preparing = asyncio.create_task(self._make_spares(browser), name="spare-tabs")

    async def _make_spares(self, browser: Browser) -> None:
        try:
            while len(self._spares) < min(SPARES, self._queue.size) and self._spares_of is browser:
                tab = await browser.new_tab()
                if self._spares_of is not browser:
                    await tab.close()
                    return
                self._spares.append(tab)
        except CdpError as error:
            log.debug("no spare tab could be made: %s", error)

    async def close(self) -> None:
        """End what the pool itself has started; the tabs end with their browser."""
        if self._preparing is not None:
            self._preparing.cancel()
        pending = [task for task in (self._preparing, *self._closing) if task is not None]
        await asyncio.gather(*pending, return_exceptions=True)
        self._spares.clear()

    def __repr__(self) -> str:
        return f"<TabPool {self._queue!r}, {len(self._spares)} spare>"
