"""Renewing a tab of a scripted Chrome: what is sent, and everything after which the tab is not used again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fake_chrome import FakeChrome

from cdpfetch.cdp import renewal
from cdpfetch.cdp.browser import Browser
from cdpfetch.cdp.connection import Connection
from cdpfetch.cdp.errors import SessionClosed
from cdpfetch.cdp.renewal import HEAP_MAX, USES_MAX, is_fit, renew
from cdpfetch.cdp.tab import Tab
from cdpfetch.cdp.transport import PipeTransport

SITE = "http://x.example"


class Used:
    """A tab that has shown a page, and a Chrome that leaves it when it is told to."""

    def __init__(self, chrome: FakeChrome, tab: Tab) -> None:
        self.chrome = chrome
        self.tab = tab
        self.heap: dict[str, Any] = {"usedSize": 1000.0, "totalSize": 2000.0}
        self.leaves = True  # whether it gets to the blank page
        chrome.answer("Page.navigate", self._navigate)
        chrome.answer("Page.addScriptToEvaluateOnNewDocument", {"identifier": "7"})
        chrome.answer("Runtime.getHeapUsage", lambda params: self.heap)

    def commit(self, url: str, **more: Any) -> None:
        frame = {"id": self.tab.target_id, "loaderId": f"loader of {url}", "url": url, "securityOrigin": "://", **more}
        self.event("Page.frameNavigated", frame=frame)

    def event(self, method: str, **params: Any) -> None:
        self.chrome.event(method, {"frameId": self.tab.target_id, **params}, self.tab.session.session_id)

    def _navigate(self, params: dict[str, Any]) -> dict[str, Any]:
        assert params == {"url": "about:blank"}
        self.event("Page.frameStoppedLoading")  # of the page before
        if self.leaves:
            self.commit("about:blank")
            self.event("Page.loadEventFired")
            self.event("Page.frameStoppedLoading")
        return {"frameId": self.tab.target_id, "loaderId": "blank"}


@asynccontextmanager
async def used() -> AsyncIterator[Used]:
    chrome, ours = await FakeChrome.open()
    browser = Browser(Connection(await PipeTransport.open(ours)), None)
    try:
        one = Used(chrome, await browser.new_tab())
        one.commit(f"{SITE}/page", securityOrigin=SITE)
        await browser.connection.root.execute("A.round-trip")
        one.tab.settled = True
        yield one
    finally:
        await browser.close()
        chrome.die()
        await chrome.gone


async def test_a_renewed_tab_has_forgotten_its_visit() -> None:
    async with used() as one:
        tab = one.tab
        assert is_fit(tab)
        tab.budget, tab.received, tab.grown = 5, 7, True
        assert await renew(tab)
        assert (tab.events.empty(), tab.budget, tab.received, tab.uses) == (True, None, 0, 1)
        assert tab.frames == {tab.target_id}
        assert not is_fit(tab), "its next visit has not ended yet"
        sent = [message["method"] for message in one.chrome.received]
        assert {"Page.resetNavigationHistory", "Emulation.clearDeviceMetricsOverride"} <= set(sent)
        added = (await one.chrome.saw("Page.addScriptToEvaluateOnNewDocument", 2))["params"]
        assert "sessionStorage.clear()" in added["source"]
        assert added["worldName"] == "cdpfetch", "a page's own scripts must not be able to change what it does"
        # The script is for the next document alone.
        assert one.chrome.count("Page.removeScriptToEvaluateOnNewDocument") == 0
        one.commit(f"{SITE}/next", securityOrigin=SITE)
        removed = await one.chrome.saw("Page.removeScriptToEvaluateOnNewDocument")
        assert removed["params"] == {"identifier": "7"}
        one.commit(f"{SITE}/after", securityOrigin=SITE)
        await tab.session.execute("A.round-trip")
        assert one.chrome.count("Page.removeScriptToEvaluateOnNewDocument") == 1


@pytest.mark.parametrize(
    "happens",
    [
        lambda one: one.commit("http://y.example/", securityOrigin="http://y.example"),
        lambda one: one.event(
            "Page.frameNavigated",
            frame={"id": "inner", "url": "https://ads.example/", "securityOrigin": "https://ads.example"},
        ),
        lambda one: one.event(
            "Target.attachedToTarget", sessionId="s", targetInfo={"targetId": "oopif", "type": "iframe", "url": ""}
        ),
        lambda one: one.event("Page.javascriptDialogOpening", type="alert", message="x", url=SITE),
        lambda one: one.tab.session.close(SessionClosed("crashed")),
        lambda one: setattr(one.tab, "settled", False),
        lambda one: setattr(one.tab, "origin", None),
        lambda one: setattr(one.tab, "uses", USES_MAX - 1),
    ],
)
async def test_what_makes_a_tab_unfit(happens: Callable[[Used], None]) -> None:
    async with used() as one:
        happens(one)
        await one.tab.browser.connection.root.execute("A.round-trip")
        assert not is_fit(one.tab)


async def test_frames_without_an_origin_of_their_own_do_no_harm() -> None:
    async with used() as one:
        for origin in (SITE, "://", "null"):
            one.event("Page.frameNavigated", frame={"id": "inner", "url": "about:srcdoc", "securityOrigin": origin})
        await one.tab.browser.connection.root.execute("A.round-trip")
        assert is_fit(one.tab)


async def test_a_renderer_that_has_grown_large_is_given_up() -> None:
    async with used() as one:
        one.heap = {"usedSize": HEAP_MAX / 2, "totalSize": 0, "embedderHeapUsedSize": HEAP_MAX / 2 + 1}
        assert not await renew(one.tab)


async def test_a_page_that_does_not_go_away_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renewal, "TIMEOUT", 0.05)
    async with used() as one:
        one.leaves = False
        assert not await renew(one.tab)


async def test_a_tab_that_ends_meanwhile_is_given_up() -> None:
    async with used() as one:
        one.leaves = False
        renewing = asyncio.create_task(renew(one.tab))
        await one.chrome.saw("Page.navigate")
        one.tab.session.close(SessionClosed("crashed"))
        assert not await renewing


async def test_a_dialog_on_the_way_out_is_seen() -> None:
    async with used() as one:
        one.leaves = False
        renewing = asyncio.create_task(renew(one.tab))
        await one.chrome.saw("Page.navigate")
        one.event("Page.javascriptDialogOpening", type="beforeunload", message="", url=SITE)
        one.commit("about:blank")
        one.event("Page.frameStoppedLoading")
        assert not await renewing
