"""Visits of single pages in a browser of the tests, below the daemon."""

from __future__ import annotations

from typing import Any

from cdpfetch.cdp.browser import Browser
from cdpfetch.cdp.capture import Capture
from cdpfetch.cdp.landing import Landing, ResponseHead, Route
from cdpfetch.cdp.lifecycle import Limits
from cdpfetch.cdp.navigation import Navigation
from cdpfetch.daemon import routing


class OpenRouter:
    """A router that lets everything pass, and notes what it was asked."""

    def __init__(self, max_bytes: int = 100_000_000) -> None:
        self.max_bytes = max_bytes
        self.judged: list[str] = []
        self.redirects: list[tuple[int, str]] = []
        self.received: list[int] = []

    async def judge(self, url: str) -> None:
        self.judged.append(url)

    def redirected(self, head: ResponseHead, location: str) -> None:
        self.redirects.append((head.status, location))

    def route(self, head: ResponseHead) -> Route:
        return routing.route(head, self.max_bytes)

    def patience(self, head: ResponseHead | None, capture: Capture) -> float:
        return 0.0

    def progress(self, received: int, total: int) -> None:
        self.received.append(received)
        if received > self.max_bytes:
            raise routing.too_large(received, self.max_bytes, "received")


async def visit(
    browser: Browser, url: str, router: Any = None, limits: Limits | None = None, **options: Any
) -> Landing:
    """Go to ``url`` in a tab of its own and close the tab."""
    tab = await browser.new_tab()
    try:
        return await Navigation(tab, router or OpenRouter(), limits or Limits(), **options).run(url)
    finally:
        await tab.close()
