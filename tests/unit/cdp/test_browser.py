"""The browser against a scripted Chrome: tabs, popups, crashes, and whose download is whose."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fake_chrome import FakeChrome

from cdpfetch.cdp.browser import Browser
from cdpfetch.cdp.connection import Connection
from cdpfetch.cdp.errors import ConnectionClosed, ProtocolError, SessionClosed
from cdpfetch.cdp.transport import PipeTransport


@asynccontextmanager
async def running(download_dir: Path | None = None) -> AsyncIterator[tuple[FakeChrome, Browser]]:
    """A browser that somebody else runs, so that its end is ours to see."""
    chrome, ours = await FakeChrome.open()
    browser = Browser(Connection(await PipeTransport.open(ours)), None)
    await browser._prepare(str(download_dir) if download_dir else None)
    try:
        yield chrome, browser
    finally:
        await browser.close()
        await browser.close()
        chrome.die()
        await chrome.gone
    assert browser.tabs == {}
    assert browser.connection.sessions == 0
    assert browser.connection.pending == 0


def methods(chrome: FakeChrome, session_id: str | None) -> list[str]:
    return [message["method"] for message in chrome.received if message.get("sessionId") == session_id]


def began(guid: str, frame_id: str) -> dict[str, Any]:
    return {"guid": guid, "frameId": frame_id, "url": f"http://x.example/{guid}", "suggestedFilename": "a.bin"}


async def test_a_tab_is_prepared_before_it_is_handed_out() -> None:
    async with running() as (chrome, browser):
        chrome.plan("Fetch.enable", "hold")
        opening = asyncio.create_task(browser.new_tab())
        await chrome.saw("Fetch.enable")
        await browser.connection.root.execute("A.round-trip")
        assert not opening.done()
        chrome.release()
        tab = await opening
        assert browser.tabs == {"target-1": tab}
        sent = methods(chrome, tab.session.session_id)
        assert {"Page.enable", "Network.enable", "Fetch.enable"} <= set(sent)
        assert "Page.navigate" not in sent


@pytest.mark.parametrize("method", ["Target.attachToTarget", "Page.enable", "Fetch.enable", "Network.enable"])
async def test_a_tab_that_can_not_be_prepared_is_closed(method: str) -> None:
    async with running() as (chrome, browser):
        chrome.refuse(method, "out of order")
        with pytest.raises(ProtocolError, match="out of order"):
            await browser.new_tab()
        closing = await chrome.saw("Target.closeTarget")
        assert closing["params"] == {"targetId": "target-1"}
        assert browser.tabs == {}
        # What was refused may be granted the next time.
        chrome.answer(method, {"sessionId": "later"})
        tab = await browser.new_tab()
        assert browser.tabs == {"target-2": tab}


async def test_an_opening_that_is_cancelled_leaves_no_tab() -> None:
    async with running() as (chrome, browser):
        chrome.plan("Page.enable", "drop")
        opening = asyncio.create_task(browser.new_tab())
        await chrome.saw("Page.enable")
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        await chrome.saw("Target.closeTarget")
        assert browser.tabs == {}


async def test_a_popup_of_a_tab_is_closed_and_other_targets_are_left_alone() -> None:
    async with running() as (chrome, browser):
        tab = await browser.new_tab()
        for target_id, opener, kind in (
            ("a", tab.target_id, "page"),
            ("b", "stranger", "page"),
            ("c", tab.target_id, "worker"),
        ):
            chrome.event(
                "Target.targetCreated",
                {"targetInfo": {"targetId": target_id, "type": kind, "openerId": opener, "url": "http://x.example/"}},
            )
        await browser.connection.root.execute("A.round-trip")
        closed = [m["params"]["targetId"] for m in chrome.received if m["method"] == "Target.closeTarget"]
        assert closed == ["a"]
        assert tab.spoilt == "its page has opened a window"


async def test_a_crash_ends_its_own_tab_only() -> None:
    async with running() as (chrome, browser):
        one, two = await browser.new_tab(), await browser.new_tab()
        chrome.plan("A.one", "drop")
        waiting = one.session.send("A.one")
        await chrome.saw("A.one")
        chrome.event("Target.targetCrashed", {"targetId": one.target_id, "status": "crashed", "errorCode": 11})
        with pytest.raises(SessionClosed, match=r"the target is gone \(crashed"):
            await waiting
        assert await two.session.execute("A.two") == {}
        assert one.events.get_nowait().kind == "gone"
        await browser.close_tab(one)
        assert list(browser.tabs.values()) == [two]


async def test_a_target_that_goes_away_by_itself_is_forgotten() -> None:
    async with running() as (chrome, browser):
        tab = await browser.new_tab()
        chrome.event("Target.targetDestroyed", {"targetId": tab.target_id})
        await browser.connection.root.execute("A.round-trip")
        assert browser.tabs == {}
        assert isinstance(tab.session.closed, SessionClosed)
        await tab.close()
        await tab.close()


async def test_closing_a_tab_never_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running() as (chrome, browser):
        tab = await browser.new_tab()
        chrome.refuse("Target.closeTarget", "No target with given id found")
        await tab.close()
        assert browser.tabs == {}
        assert isinstance(tab.session.closed, SessionClosed)


async def test_the_end_of_the_browser_reaches_every_tab() -> None:
    async with running() as (chrome, browser):
        tabs = [await browser.new_tab() for _ in range(3)]
        chrome.plan("A.x", "drop")
        waiting = tabs[1].session.send("A.x")
        await chrome.saw("A.x")
        chrome.die()
        with pytest.raises(ConnectionClosed):
            await waiting
        assert browser.closed is not None
        assert {tab.events.get_nowait().kind for tab in tabs} == {"gone"}
        await asyncio.gather(*(tab.close() for tab in tabs))


# downloads


async def test_a_download_belongs_to_the_tab_of_its_frame(tmp_path: Path) -> None:
    async with running(tmp_path) as (chrome, browser):
        tab, other = await browser.new_tab(), await browser.new_tab()
        chrome.event("Page.frameAttached", {"frameId": "inner"}, tab.session.session_id)
        chrome.event("Browser.downloadWillBegin", began("g1", tab.target_id))
        chrome.event("Browser.downloadWillBegin", began("g2", "inner"))
        chrome.event(
            "Browser.downloadProgress", {"guid": "g1", "receivedBytes": 5, "totalBytes": 9, "state": "inProgress"}
        )
        await browser.connection.root.execute("A.round-trip")
        (first, main), (second, inner_is_main) = tab.events.get_nowait().data, tab.events.get_nowait().data
        assert (first.guid, main, second.guid, inner_is_main) == ("g1", True, "g2", False)
        assert (first.received, first.total, first.path) == (5, 9, str(tmp_path / "g1"))
        assert other.events.empty()
        chrome.event(
            "Browser.downloadProgress", {"guid": "g1", "receivedBytes": 9, "totalBytes": 9, "state": "completed"}
        )
        assert await first.wait() == "completed"
        assert list(browser.downloads) == ["g2"]
        await browser.close_tab(tab)
        assert await second.wait() == "canceled"
        assert (await chrome.saw("Browser.cancelDownload"))["params"] == {"guid": "g2"}


async def test_a_download_that_nobody_asked_for_is_cancelled(tmp_path: Path) -> None:
    async with running(tmp_path) as (chrome, browser):
        chrome.event("Browser.downloadWillBegin", began("stray", "no-such-frame"))
        assert (await chrome.saw("Browser.cancelDownload"))["params"] == {"guid": "stray"}
        chrome.event(
            "Browser.downloadProgress", {"guid": "stray", "receivedBytes": 1, "totalBytes": 1, "state": "completed"}
        )
        chrome.event("Browser.downloadProgress", {"guid": "never-began", "state": "completed"})
        await browser.connection.root.execute("A.round-trip")
        assert browser.downloads == {}


async def test_without_a_directory_no_download_is_let_through() -> None:
    async with running() as (chrome, browser):
        tab = await browser.new_tab()
        chrome.event("Browser.downloadWillBegin", began("g", tab.target_id))
        await chrome.saw("Browser.cancelDownload")
        assert tab.events.empty()
        assert chrome.count("Browser.setDownloadBehavior") == 0
