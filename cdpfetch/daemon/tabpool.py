"""Hands out tabs: at most so many at work, fairly queued, with spare ones kept ready and used ones renewed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Hashable
from typing import NamedTuple

from cdpfetch.cdp import renewal
from cdpfetch.cdp.browser import Browser
from cdpfetch.cdp.errors import CdpError
from cdpfetch.cdp.tab import Tab
from cdpfetch.daemon.contexts import Clearances, Contexts, no_clearances
from cdpfetch.daemon.guard.guard import Guard
from cdpfetch.daemon.lanes import ANONYMOUS, PROFILE
from cdpfetch.daemon.parking import PARKED_MAX, Parking
from cdpfetch.daemon.plan import FairQueue
from cdpfetch.daemon.supervisor import Supervisor
from cdpfetch.errors import CdpFetchError

log = logging.getLogger(__name__)

# Blank tabs that wait for the next fetch: navigating a ready tab costs a third of creating one first.
SPARES = 2
# So many fetches at once leave the machine room for more than themselves.
_FEW = 2
# Lanes that last longer than one call, for which it is worth keeping tabs.
_LASTING = frozenset({PROFILE, ANONYMOUS})


class _Used(NamedTuple):
    """A tab that has served a visit, and whether it could be made to serve another one."""

    tab: Tab
    renewed: asyncio.Task[bool]


class TabPool:
    """Leases tabs of the supervisor's browser.

    A tab serves one fetch after the other only within one origin and lane, renewed in between (cdp/renewal.py), for
    its renderer is warm: a fresh one costs Chrome three times the processor time of a page.  No state passes over.
    """

    def __init__(self, supervisor: Supervisor, guard: Guard, size: int, clearances: Clearances = no_clearances) -> None:
        self._supervisor = supervisor
        self._guard = guard
        self._clearances = clearances
        self._queue: FairQueue[asyncio.Future[None]] = FairQueue(size)
        self._contexts: Contexts | None = None  # of the browser below
        self._browser: Browser | None = None  # the browser whose tabs these are
        self._spares: dict[str, list[Tab]] = {}  # by lane
        self._parking: Parking[_Used] = Parking(size)  # used tabs, by lane and origin
        self._preparing: asyncio.Task[None] | None = None  # makes spare tabs, at most one at a time
        self._closing: set[asyncio.Task[None]] = set()  # tabs on their way out
        self._renewing: set[asyncio.Task[bool]] = set()

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
    async def tab(
        self, lane: str, *, origin: str | None = None, images: bool = False, fresh: bool = False
    ) -> AsyncIterator[Tab]:
        """A blank tab of a lane, for somebody who has a place; it is taken back afterwards, whatever happened.

        ``origin``: of the page that it is for, as in ``https://example.com``.  ``images``: its browser must load them.
        ``fresh``: neither a spare nor a used one, which may have died a moment ago.

        Raises CdpFetchError or CdpError when there is no browser.
        """
        async with self._supervisor.use(images=images) as browser:
            tab = await self._take(browser, lane, origin, fresh)
            try:
                yield tab
            finally:
                self._take_back(browser, lane, tab)

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

    def _take_back(self, browser: Browser, lane: str, tab: Tab) -> None:
        """Park it for another page of its origin, or close it; in tasks: a cancelled fetch must not wait for that."""
        if lane in _LASTING and self._browser is browser and renewal.is_fit(tab):
            renewing = asyncio.create_task(renewal.renew(tab), name="renew-tab")
            self._renewing.add(renewing)
            renewing.add_done_callback(self._renewing.discard)
            loop = asyncio.get_running_loop()
            for used in self._parking.put((lane, tab.origin), _Used(tab, renewing), loop.time()):
                self._close(used.tab)
            loop.call_later(PARKED_MAX, self._end_waiting)
        else:
            self._close(tab)
        # Now, and not while its page was loading, which has better use for the machine.
        self._prepare_spares(browser, lane)

    def _end_waiting(self) -> None:
        for used in self._parking.expired(asyncio.get_running_loop().time()):
            self._close(used.tab)

    def _close(self, tab: Tab) -> None:
        closing = asyncio.create_task(tab.close(), name="close-tab")
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def _take(self, browser: Browser, lane: str, origin: str | None, fresh: bool) -> Tab:
        if self._browser is not browser or self._contexts is None:
            self._browser, self._contexts = browser, Contexts(browser, self._guard, self._clearances)
            first, browser.first_tab = browser.first_tab, None
            self._spares = {PROFILE: [first]} if first is not None else {}
            self._parking.clear()
        contexts = self._contexts
        if fresh:
            return await contexts.new_tab(lane)
        # One that is still being renewed is waited for only where many are at work, who keep the machine busy: pages
        # in a row have two tabs then, and one of them is renewed while the other one loads.
        used = await self._take_used(contexts, lane, origin, wait=False)
        spares = self._spares.get(lane, [])
        if used is None and (self.working > _FEW or not spares):
            used = await self._take_used(contexts, lane, origin, wait=True)
        if used is not None:
            return used
        while spares:
            tab = spares.pop()
            if tab.session.closed is None:
                return tab
        return await contexts.new_tab(lane)

    async def _take_used(self, contexts: Contexts, lane: str, origin: str | None, *, wait: bool) -> Tab | None:
        """A used tab that is as good as new, or None; ``wait``: one will do that has yet to become so."""
        while used := self._parking.take((lane, origin), lambda used: wait or used.renewed.done()):
            try:
                renewed = await asyncio.shield(used.renewed)
            except BaseException:
                self._close(used.tab)
                raise
            if renewed and used.tab.session.closed is None and contexts.again(used.tab, lane):
                return used.tab
            self._close(used.tab)
        return None

    def _prepare_spares(self, browser: Browser, lane: str) -> None:
        if lane in _LASTING and (self._preparing is None or self._preparing.done()):
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
        for renewing in self._renewing:
            renewing.cancel()
        pending = [task for task in (self._preparing, *self._closing, *self._renewing) if task is not None]
        await asyncio.gather(*pending, return_exceptions=True)
        self._spares.clear()
        self._parking.clear()

    def __repr__(self) -> str:
        spares = {lane: len(tabs) for lane, tabs in self._spares.items()}
        return f"<TabPool {self._queue!r}, spare {spares}, {len(self._parking)} used>"
