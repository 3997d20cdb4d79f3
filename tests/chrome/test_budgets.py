"""What pages and files may weigh, in the real browser: decoded bytes, all that a page loads, files on disk."""

from __future__ import annotations

import asyncio
import os

import pytest
from testsite import Site
from visits import OpenRouter, visit

from cdpfetch.cdp.browser import Browser
from cdpfetch.cdp.landing import PageTooLarge
from cdpfetch.cdp.lifecycle import Limits
from cdpfetch.errors import CdpFetchError

BUDGET = 5_000_000


async def test_a_decompression_bomb_is_given_up_long_before_its_end(browser: Browser, site: Site) -> None:
    loop = asyncio.get_running_loop()
    started = loop.time()
    with pytest.raises(PageTooLarge, match="more than the limit of 5,000,000 bytes"):
        await visit(browser, site.url("/bomb?mb=400"), limits=Limits(document_bytes=BUDGET))
    assert loop.time() - started < 15
    # The browser is as good as before.
    landing = await visit(browser, site.url("/gzip"), limits=Limits(document_bytes=BUDGET))
    assert landing.capture is not None and "Packed" in landing.capture.html


async def test_a_page_that_loads_for_ever_is_taken_as_it_is(browser: Browser, site: Site) -> None:
    limits = Limits(settle=30.0, document_bytes=BUDGET, page_bytes=BUDGET)
    landing = await visit(browser, site.url("/greedy"), limits=limits)
    assert landing.capture is not None and "Greedy" in landing.capture.html
    assert landing.partial == ("it loads more than 5,000,000 bytes; loading was stopped",)
    assert len(site.requests) < 60


async def test_an_endless_download_ends_near_its_limit_and_leaves_nothing(browser: Browser, site: Site) -> None:
    router = OpenRouter(BUDGET)
    url = site.url("/blob?size=500000000&declared=none&rate=50000000")
    with pytest.raises(CdpFetchError) as caught:
        await visit(browser, url, router)
    assert caught.value.code == "too_large"
    assert router.received[-1] < 4 * BUDGET
    assert browser.download_dir is not None
    assert os.listdir(browser.download_dir) == []
