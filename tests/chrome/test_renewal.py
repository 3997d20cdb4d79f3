"""Tabs that serve several fetches, in the real browser: nothing of one page is there for the next."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from daemons import Daemon, daemon
from testsite import Site

from cdpfetch.daemon import parking, tabpool


@pytest.fixture
def sites(chrome: str) -> Any:
    with Site() as mail, Site() as other:
        yield mail, other


@asynccontextmanager
async def serving(tmp_path: Path, sites: tuple[Site, Site]) -> AsyncIterator[tuple[Daemon, Callable[[], list[str]]]]:
    """A daemon, and the ids of the tabs that its fetches have had so far."""
    async with daemon(tmp_path, *sites) as d:
        had: list[str] = []
        take = d.app.tabs._take

        async def taking(*args: Any) -> Any:
            tab = await take(*args)
            had.append(tab.target_id)
            return tab

        d.app.tabs._take = taking  # type: ignore[method-assign]
        yield d, lambda: had


def shown(document: dict[str, Any]) -> str:
    """What the page says it found."""
    found = re.search(r"found (.*)\.", Path(document["dir"], "content.md").read_text())
    assert found is not None
    return found[1].replace("\\", "")


@pytest.mark.parametrize("host", ["mail.test", "other.test"])
async def test_nothing_stays_in_a_tab_that_serves_again(tmp_path: Path, sites: tuple[Site, Site], host: str) -> None:
    async with serving(tmp_path, sites) as (d, had):
        found = [shown(await d.fetch(f"http://{host}/leaves?n={number}")) for number in range(6)]
        assert len(set(had())) < 6, "tabs have served again"
        assert set(found) == {found[0]}
        assert found[0].startswith("name , stored , history 2, entries 1, referrer , ")


async def test_what_a_page_stores_on_its_own_way_stays(tmp_path: Path, sites: tuple[Site, Site]) -> None:
    async with serving(tmp_path, sites) as (d, had):
        for _ in range(4):
            document = await d.fetch("http://other.test/two-steps")
            assert shown(document) == "the ticket of step one"
        assert len(set(had())) < 4


@pytest.mark.parametrize(
    "path",
    [
        "/embeds?url=http://mail.test/page",
        "/dialog",
        "/weapon/workers",
        "/redirect-out?to=http://mail.test/page",
        "/file.pdf",
        "/status/404",
        "/script-redirect?to=http://mail.test/page",
    ],
)
async def test_a_tab_that_something_may_stay_in_serves_once(
    tmp_path: Path, sites: tuple[Site, Site], path: str
) -> None:
    async with serving(tmp_path, sites) as (d, had):
        await d.fetch(f"http://other.test{path}")
        last = had()[-1]
        had().clear()
        for _ in range(4):
            assert (await d.fetch("http://other.test/page"))["ok"]
        is_page = path == "/status/404"  # an error page is a page like any other
        assert (last in had()) == is_page
        assert len(set(had())) < 4


async def test_used_tabs_do_not_wait_for_ever(
    tmp_path: Path, sites: tuple[Site, Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parking, "PARKED_MAX", 0.1)
    monkeypatch.setattr(tabpool, "PARKED_MAX", 0.1)
    async with serving(tmp_path, sites) as (d, had):
        assert (await d.fetch("http://other.test/page"))["ok"]
        browser = d.app.supervisor.browser
        assert browser is not None
        gone = asyncio.Event()
        browser.tabs[had()[0]].session.on_closed(lambda cause: gone.set())
        await gone.wait()
        assert (await d.fetch("http://other.test/page"))["ok"]
        assert len(set(had())) == 2
