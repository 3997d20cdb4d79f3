"""Capturing against a scripted Chrome: frames in their places, what can't be read, and the bounds."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fake_chrome import FakeChrome, Refusal

from cdpfetch.cdp.browser import Browser
from cdpfetch.cdp.capture import CaptureLimits, capture
from cdpfetch.cdp.connection import Connection
from cdpfetch.cdp.errors import CallTimeout, CdpError, ProtocolError
from cdpfetch.cdp.tab import Tab
from cdpfetch.cdp.transport import PipeTransport

TOP = {
    "html": "<p>top</p>",
    "visible": 3,
    "url": "http://x.example/",
    "title": "Top",
    "contentType": "text/html",
    "charset": "UTF-8",
    "declared": True,
    "signals": None,
    "lang": "en",
    "truncated": None,
    "frames": 0,
    "suspects": 0,
}


class Documents:
    """The documents of a page by frame id, each with the ids of its own frames in order."""

    def __init__(self, chrome: FakeChrome, top: str) -> None:
        self.pages: dict[str, Any] = {}
        self.inner: dict[str, list[str | None]] = {}
        self._contexts: list[str] = []
        self._top = top
        chrome.answer("Page.createIsolatedWorld", self._world)
        chrome.answer("Runtime.evaluate", self._evaluate)
        chrome.answer("DOM.describeNode", self._describe)

    def put(self, frame: str | None, *inner: str | None, **changes: Any) -> None:
        frame = frame or self._top
        marks = "".join(f"\0{index}\0" for index in range(len(inner)))
        html = f"<p>{'top' if frame == self._top else frame}</p>{marks}"
        self.pages[frame] = {**TOP, "html": html, "frames": len(inner), **changes}
        self.inner[frame] = list(inner)

    def _world(self, params: dict[str, Any]) -> dict[str, Any]:
        self._contexts.append(params["frameId"])
        return {"executionContextId": len(self._contexts)}

    def _evaluate(self, params: dict[str, Any]) -> dict[str, Any]:
        frame = self._contexts[params["contextId"] - 1]
        asked = re.search(r"cdpfetchAgent\.frame\((\d+)\)", params["expression"])
        if asked:
            return {"result": {"type": "object", "objectId": json.dumps([frame, int(asked[1])])}}
        page = self.pages[frame]
        if isinstance(page, Exception):
            raise page
        return {"result": {"type": "object", "value": page}}

    def _describe(self, params: dict[str, Any]) -> dict[str, Any]:
        frame, index = json.loads(params["objectId"])
        inner = self.inner[frame][index]
        return {"node": {} if inner is None else {"frameId": inner}}


@asynccontextmanager
async def page() -> AsyncIterator[tuple[Tab, Documents, FakeChrome]]:
    chrome, ours = await FakeChrome.open()
    browser = Browser(Connection(await PipeTransport.open(ours)), None)
    tab = await browser.new_tab()
    try:
        yield tab, Documents(chrome, tab.target_id), chrome
    finally:
        await browser.close()
        chrome.die()
        await chrome.gone


async def test_a_page_without_frames_is_one_command() -> None:
    async with page() as (tab, documents, chrome):
        documents.put(None)
        taken = await capture(tab, CaptureLimits())
        assert (taken.html, taken.visible, taken.title, taken.unread_frames) == ("<p>top</p>", 3, "Top", 0)
        assert chrome.count("Runtime.evaluate") == 1


async def test_frames_stand_in_their_places() -> None:
    async with page() as (tab, documents, _):
        documents.put(None, "one", "two")
        documents.put("one", "deep")
        documents.put("deep")
        documents.put("two")
        taken = await capture(tab, CaptureLimits())
        assert taken.html == "<p>top</p><p>one</p><p>deep</p><p>two</p>"
        assert (taken.visible, taken.unread_frames) == (12, 0)


async def test_a_frame_that_can_not_be_read_costs_only_itself() -> None:
    async with page() as (tab, documents, _):
        documents.put(None, "gone", None, "two")
        documents.pages["gone"] = Refusal("Frame was detached")
        documents.put("two")
        taken = await capture(tab, CaptureLimits())
        assert taken.html == "<p>top</p><p>two</p>"
        assert taken.unread_frames == 2


async def test_frames_in_frames_without_end_are_bounded() -> None:
    async with page() as (tab, documents, _):
        documents.put(None, "loop")
        documents.put("loop", "loop")
        taken = await capture(tab, CaptureLimits(frame_depth=3))
        assert taken.html == "<p>top</p>" + "<p>loop</p>" * 3
        assert taken.unread_frames == 1


async def test_many_frames_are_bounded() -> None:
    async with page() as (tab, documents, _):
        documents.put(None, *["same"] * 12)
        documents.put("same")
        taken = await capture(tab, CaptureLimits(frames=5))
        assert taken.html.count("<p>same</p>") == 5
        assert taken.unread_frames == 7


async def test_a_document_that_is_no_object_is_an_error() -> None:
    async with page() as (tab, documents, _):
        documents.pages[tab.target_id] = "text"
        with pytest.raises(CdpError, match="could not be serialized"):
            await capture(tab, CaptureLimits())


async def test_a_document_that_is_replaced_is_said() -> None:
    async with page() as (tab, documents, _):
        documents.pages[tab.target_id] = Refusal("Inspected target navigated or closed")
        with pytest.raises(ProtocolError, match="navigated or closed"):
            await capture(tab, CaptureLimits())


async def test_a_script_that_throws_is_an_error_with_its_words() -> None:
    async with page() as (tab, _, chrome):
        chrome.answer(
            "Runtime.evaluate",
            {"result": {}, "exceptionDetails": {"text": "Uncaught", "exception": {"description": "TypeError: no"}}},
        )
        with pytest.raises(ProtocolError, match="TypeError: no"):
            await tab.evaluate("1", timeout=1.0)


async def test_a_page_that_holds_its_thread_is_noticed() -> None:
    async with page() as (tab, documents, chrome):
        documents.put(None)
        chrome.plan("Runtime.evaluate", "drop")
        with pytest.raises(CallTimeout):
            await tab.evaluate("1", timeout=0.05)
        # The next question is asked all the same.
        assert await tab.evaluate("1", timeout=1.0) == documents.pages[tab.target_id]
