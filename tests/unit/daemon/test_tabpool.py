"""Leasing tabs: the limit holds whatever is cancelled, spares are ready, used tabs serve their origin again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fake_chrome import FakeChrome

from cdpfetch.cdp import renewal
from cdpfetch.cdp.browser import Browser
from cdpfetch.cdp.connection import Connection
from cdpfetch.cdp.errors import CdpError
from cdpfetch.cdp.tab import Tab
from cdpfetch.cdp.transport import PipeTransport
from cdpfetch.daemon import contexts, parking, tabpool
from cdpfetch.daemon.guard import canary
from cdpfetch.daemon.lanes import ANONYMOUS, PROFILE
from cdpfetch.daemon.tabpool import SPARES, TabPool
from cdpfetch.errors import CdpFetchError

ORIGIN = "http://x.example"


class OneBrowser:
    """Stands for the supervisor: a browser of a scripted Chrome, or the error that there is none."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.error: CdpFetchError | None = None
        self.users = 0

    async def served(self, on_wait: object) -> None:
        """Nobody holds it."""

    @asynccontextmanager
    async def use(self, *, images: bool = False) -> AsyncIterator[Browser]:
        if self.error is not None:
            raise self.error
        self.users += 1
        try:
            yield self.browser
        finally:
            self.users -= 1


class OnePort:
    """Stands for the guard, of which only the ports matter here."""

    def port(self, lane: str) -> int:
        return 4711


class Bench:
    """A pool, and tasks that hold its tabs until they are told."""

    def __init__(self, chrome: FakeChrome, browser: Browser, size: int) -> None:
        self.chrome = chrome
        self.supervisor = OneBrowser(browser)
        self.guard = OnePort()
        self.pool = TabPool(self.supervisor, self.guard, size)  # type: ignore[arg-type]
        self.queued: list[str] = []
        self.served: list[str] = []
        self.tabs: list[str] = []
        self.end: dict[str, asyncio.Event] = {}

    def hold(
        self, name: str, client: str = "client", lane: str = PROFILE, origin: str | None = None
    ) -> asyncio.Task[None]:
        self.end[name] = asyncio.Event()

        async def holding() -> None:
            queued = self.pool.place(client, lambda: self.queued.append(name))
            async with queued, self.pool.tab(lane, origin=origin) as tab:
                self.served.append(name)
                self.tabs.append(tab.target_id)
                tab.origin = origin
                await self.end[name].wait()

        return asyncio.create_task(holding(), name=name)

    async def settled(self) -> None:
        """Let everything that can happen happen: what is sent to Chrome is answered."""
        for _ in range(30):
            await self.supervisor.browser.connection.root.execute("A.round-trip")


@pytest.fixture(autouse=True)
def proof(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The proof that a lane's traffic passes the guard, which a scripted Chrome can't give."""
    asked: list[str] = []

    async def prove(guard: object, lane: str, tab: object) -> None:
        asked.append(lane)

    monkeypatch.setattr(canary, "prove", prove)
    return asked


@asynccontextmanager
async def bench(size: int) -> AsyncIterator[Bench]:
    chrome, ours = await FakeChrome.open()
    browser = Browser(Connection(await PipeTransport.open(ours)), None)
    made = Bench(chrome, browser, size)
    try:
        yield made
    finally:
        await made.pool.close()
        await browser.close()
        chrome.die()
        await chrome.gone
    assert made.pool.working == 0
    assert made.pool.waiting == 0
    assert made.supervisor.users == 0


async def test_more_than_there_are_tabs_wait_and_are_told() -> None:
    async with bench(2) as b:
        tasks = [b.hold(name) for name in "abcd"]
        await b.settled()
        assert (b.served, b.queued) == (["a", "b"], ["c", "d"])
        assert repr(b.pool).startswith("<TabPool <FairQueue 2/2 at work, 2 waiting>")
        b.end["b"].set()
        await b.settled()
        assert b.served == ["a", "b", "c"]
        for name in "acd":
            b.end[name].set()
        await asyncio.gather(*tasks)


async def test_clients_take_turns() -> None:
    async with bench(1) as b:
        tasks = [b.hold("f0", "flood"), b.hold("f1", "flood"), b.hold("f2", "flood"), b.hold("q", "quiet")]
        await b.settled()
        for name in ("f0", "f1", "q", "f2"):
            b.end[name].set()
            await b.settled()
        await asyncio.gather(*tasks)
        assert b.served == ["f0", "f1", "q", "f2"]


async def test_a_tab_that_is_not_fit_for_more_is_closed() -> None:
    async with bench(2) as b:
        for name in "abc":
            task = b.hold(name)
            await b.settled()
            b.end[name].set()
            await task
        await b.settled()
        assert len(set(b.tabs)) == 3
        closed = {m["params"]["targetId"] for m in b.chrome.received if m["method"] == "Target.closeTarget"}
        assert closed == set(b.tabs)


async def test_spare_tabs_wait_for_the_next() -> None:
    async with bench(6) as b:
        task = b.hold("a")
        await b.settled()
        assert len(b.supervisor.browser.tabs) == 1, "a page that loads has better use for the machine"
        b.end["a"].set()
        await task
        await b.settled()
        assert len(b.supervisor.browser.tabs) == SPARES
        before = b.chrome.count("Target.createTarget")
        b.chrome.plan("Target.createTarget", "drop", before + 1)  # no new tab can be had
        other = b.hold("b")
        await b.settled()
        assert b.served == ["a", "b"]
        b.end["b"].set()
        await other


async def test_a_spare_tab_that_has_died_is_not_handed_out() -> None:
    async with bench(6) as b:
        task = b.hold("a")
        await b.settled()
        b.end["a"].set()
        await task
        await b.settled()
        spares = set(b.supervisor.browser.tabs)
        for target_id in spares:
            await b.supervisor.browser.close_tab(b.supervisor.browser.tabs[target_id])
        other = b.hold("b")
        await b.settled()
        assert b.tabs[1] not in spares
        b.end["b"].set()
        await other


# tabs that serve again


class Renewals:
    """Stands for cdp/renewal.py: every tab is fit, and as good as new when it is said."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.works = True
        self.gate = asyncio.Event()
        self.gate.set()
        monkeypatch.setattr(renewal, "is_fit", self._is_fit)
        monkeypatch.setattr(renewal, "renew", self._renew)

    def _is_fit(self, tab: Tab) -> bool:
        return tab.session.closed is None

    async def _renew(self, tab: Tab) -> bool:
        await self.gate.wait()
        return self.works


async def visit(b: Bench, name: str, **where: Any) -> None:
    """One visit from its beginning to its end."""
    task = b.hold(name, origin=where.pop("origin", ORIGIN), **where)
    await b.settled()
    b.end[name].set()
    await task
    await b.settled()


async def test_a_used_tab_serves_its_origin_and_lane_again(monkeypatch: pytest.MonkeyPatch) -> None:
    Renewals(monkeypatch)
    async with bench(6) as b:
        for name in "ab":
            await visit(b, name, lane=ANONYMOUS)
        await visit(b, "c", lane=ANONYMOUS, origin="http://y.example")
        await visit(b, "d")
        await visit(b, "e", lane=ANONYMOUS)
        assert b.tabs[0] == b.tabs[1] == b.tabs[4]
        assert len(set(b.tabs)) == 3


async def test_a_fetch_that_is_tried_anew_gets_a_new_tab(monkeypatch: pytest.MonkeyPatch) -> None:
    Renewals(monkeypatch)
    async with bench(6) as b:
        await visit(b, "a")
        async with b.pool.place("client", lambda: None), b.pool.tab(PROFILE, origin=ORIGIN, fresh=True) as tab:
            assert tab.target_id not in b.tabs


async def test_many_wait_for_a_tab_that_is_being_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    renewals = Renewals(monkeypatch)
    async with bench(6) as b:
        others = [b.hold(name, lane=ANONYMOUS) for name in "xy"]
        await b.settled()
        renewals.gate.clear()
        await visit(b, "a")
        task = b.hold("b", origin=ORIGIN)
        await b.settled()
        assert "b" not in b.served
        renewals.gate.set()
        await b.settled()
        first, second = b.tabs[-2:]
        assert first == second
        # Somebody who does not wait for the end leaves no tab behind.
        renewals.gate.clear()
        b.end["b"].set()
        await task
        impatient = b.hold("c", origin=ORIGIN)
        await b.settled()
        impatient.cancel()
        with pytest.raises(asyncio.CancelledError):
            await impatient
        renewals.gate.set()
        await b.settled()
        assert first not in b.supervisor.browser.tabs
        for name in "xy":
            b.end[name].set()
        await asyncio.gather(*others)


async def test_few_take_a_spare_tab_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    renewals = Renewals(monkeypatch)
    async with bench(6) as b:
        renewals.gate.clear()
        for name in "ab":
            await visit(b, name)
        renewals.gate.set()
        await b.settled()
        for name in "cd":
            await visit(b, name)
        one, other = b.tabs[:2]
        assert one != other
        assert set(b.tabs[2:]) <= {one, other}


async def test_a_tab_that_could_not_be_renewed_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    renewals = Renewals(monkeypatch)
    renewals.works = False
    async with bench(6) as b:
        for name in "ab":
            await visit(b, name)
        assert b.tabs[0] != b.tabs[1]
        assert b.tabs[0] not in b.supervisor.browser.tabs


async def test_used_tabs_wait_for_a_while_and_not_in_any_number(monkeypatch: pytest.MonkeyPatch) -> None:
    Renewals(monkeypatch)
    monkeypatch.setattr(tabpool, "PARKED_MAX", 0.0)  # the time that it looks at
    async with bench(2) as b:
        for name in "abc":
            await visit(b, name, origin=f"http://{name}.example")
        assert b.tabs[0] not in b.supervisor.browser.tabs, "two are enough for two at work"
        assert {b.tabs[1], b.tabs[2]} <= set(b.supervisor.browser.tabs)
        monkeypatch.setattr(parking, "PARKED_MAX", 0.0)
        await visit(b, "d", origin="http://d.example")
        await b.settled()
        assert set(b.tabs) & set(b.supervisor.browser.tabs) == set()


async def test_a_worn_context_takes_none_of_its_tabs_back(monkeypatch: pytest.MonkeyPatch) -> None:
    Renewals(monkeypatch)
    monkeypatch.setattr(contexts, "VISITS_MAX", 5)  # one visit, two spare tabs, two visits more
    async with bench(6) as b:
        for name in "abcd":
            await visit(b, name, lane=ANONYMOUS)
        assert b.tabs[0] == b.tabs[1] == b.tabs[2]
        assert b.tabs[3] != b.tabs[0]


# lanes


async def test_the_anonymous_lane_has_a_context_of_its_own_behind_its_own_proxy(proof: list[str]) -> None:
    async with bench(6) as b:
        tasks = [b.hold("p"), b.hold("a", lane=ANONYMOUS), b.hold("b", lane=ANONYMOUS)]
        await b.settled()
        assert set(proof) == {ANONYMOUS}
        (made,) = (m["params"] for m in b.chrome.received if m["method"] == "Target.createBrowserContext")
        assert made["proxyServer"] == "socks5://127.0.0.1:4711"
        assert made["proxyBypassList"] == "<-loopback>", "without it loopback would be open"
        contexts_of = [
            m["params"].get("browserContextId") for m in b.chrome.received if m["method"] == "Target.createTarget"
        ]
        assert contexts_of.count(None) >= 1
        assert sum(context is not None for context in contexts_of) >= 2
        for name in "pab":
            b.end[name].set()
        await asyncio.gather(*tasks)


async def test_a_worn_context_is_replaced_and_goes_with_its_last_tab(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contexts, "VISITS_MAX", 2)
    async with bench(6) as b:
        tasks = [b.hold(name, lane=ANONYMOUS) for name in "abc"]
        await b.settled()
        assert b.chrome.count("Target.createBrowserContext") == 2, "two tabs wore out the first"
        assert b.chrome.count("Target.disposeBrowserContext") == 0
        for name in "abc":
            b.end[name].set()
        await asyncio.gather(*tasks)
        await b.settled()
        for target_id in list(b.supervisor.browser.tabs):
            await b.supervisor.browser.close_tab(b.supervisor.browser.tabs[target_id])
        await b.settled()
        made = b.chrome.count("Target.createBrowserContext")
        assert b.chrome.count("Target.disposeBrowserContext") == made - 1, "the last one is still the lane's"


# cancelling


async def test_who_is_cancelled_in_the_line_leaves_it() -> None:
    async with bench(1) as b:
        first, second, third = b.hold("a"), b.hold("b"), b.hold("c")
        await b.settled()
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        assert (b.pool.working, b.pool.waiting) == (1, 1)
        b.end["a"].set()
        await b.settled()
        assert b.served == ["a", "c"]
        b.end["c"].set()
        await asyncio.gather(first, third)


@pytest.mark.parametrize("first", ["leave", "cancel"])
async def test_cancelled_in_the_moment_of_its_turn(first: str) -> None:
    async with bench(1) as b:
        await b.pool._enter("client", lambda: None)
        waiting = asyncio.create_task(b.pool._enter("client", lambda: None))
        await asyncio.sleep(0)
        assert (b.pool.working, b.pool.waiting) == (1, 1)
        # Both happen before the one that waits can run.
        for action in (b.pool._leave, waiting.cancel) if first == "leave" else (waiting.cancel, b.pool._leave):
            action()
        with contextlib.suppress(asyncio.CancelledError):
            await waiting
            b.pool._leave()
        assert (b.pool.working, b.pool.waiting) == (0, 0)
        # The place is free for exactly one.
        one, two = b.hold("one"), b.hold("two")
        await b.settled()
        assert b.served == ["one"]
        for name in ("one", "two"):
            b.end[name].set()
        await asyncio.gather(one, two)


async def test_a_cancelled_fetch_does_not_wait_for_its_tab_to_close() -> None:
    async with bench(1) as b:
        task = b.hold("a")
        await b.settled()
        b.chrome.plan("Target.closeTarget", "hold")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert b.pool.working == 0
        await b.chrome.saw("Target.closeTarget")
        b.chrome.release()
        await b.settled()


# faults


async def test_without_a_browser_the_place_is_free_again() -> None:
    async with bench(1) as b:
        b.supervisor.error = CdpFetchError("browser_not_found", "no Chrome")
        for _ in range(3):
            with pytest.raises(CdpFetchError, match="no Chrome"):
                await b.hold("x")
        assert b.pool.working == 0
        b.supervisor.error = None
        task = b.hold("a")
        await b.settled()
        b.end["a"].set()
        await task


async def test_a_tab_that_can_not_be_made_frees_the_place() -> None:
    async with bench(1) as b:
        b.chrome.refuse("Target.createTarget", "out of memory")
        with pytest.raises(CdpError, match="out of memory"):
            await b.hold("a")
        assert b.pool.working == 0


async def test_another_browser_means_other_spares() -> None:
    async with bench(6) as b:
        task = b.hold("a")
        await b.settled()
        b.end["a"].set()
        await task
        await b.settled()
        chrome, ours = await FakeChrome.open()
        fresh: Any = Browser(Connection(await PipeTransport.open(ours)), None)
        old, b.supervisor.browser = b.supervisor.browser, fresh
        task = b.hold("b")
        await b.settled()
        assert chrome.count("Target.createTarget") >= 1
        b.end["b"].set()
        await task
        await b.pool.close()
        b.supervisor.browser = old
        await fresh.close()
        chrome.die()
        await chrome.gone
