"""Real Chrome behind the guard: what hostile pages try, told by listeners that are reached or not."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from guards import PUBLIC, Listener, World, world
from testsite import Site
from visits import visit
from waysout import HOSTS, WAYS, traps

from cdpfetch import addresses
from cdpfetch.cdp import flags
from cdpfetch.cdp.browser import Browser
from cdpfetch.cdp.landing import NavigationFailed
from cdpfetch.cdp.tab import Tab
from cdpfetch.daemon.guard import canary, chrome
from cdpfetch.daemon.guard.lane import Lane
from cdpfetch.errors import CdpFetchError
from cdpfetch.policy import Policy
from cdpfetch.urls import parse_url

pytestmark = pytest.mark.chrome

VECTORS = json.loads((Path(__file__).parents[1] / "fixtures" / "address_vectors.json").read_text(encoding="utf-8"))

Launch = Callable[..., contextlib.AbstractAsyncContextManager[Browser]]


@pytest.fixture
def launch(chrome: str, tmp_path: Path) -> Launch:
    """Starts a browser of the test's own, with further switches."""

    @contextlib.asynccontextmanager
    async def launched(*extra: str) -> AsyncIterator[Browser]:
        downloads = tmp_path / "downloads"
        downloads.mkdir(exist_ok=True)
        argv = flags.headless(
            chrome,
            str(tmp_path / "profile"),
            no_sandbox=os.geteuid() == 0,
            images=True,
            extra=extra,
            platform=sys.platform,
        )
        browser = await Browser.launch(argv, os.environ, str(downloads))
        try:
            yield browser
        finally:
            await browser.close()

    return launched


@contextlib.asynccontextmanager
async def guarded(
    launch: Launch, *allow: str, extra: tuple[str, ...] = (), **options: Any
) -> AsyncIterator[tuple[Browser, World]]:
    """A browser behind a guard of its own."""
    async with world(*allow, **options) as w, launch(*chrome.switches(w.guard.port("main")), *extra) as browser:
        yield browser, w


async def go(tab: Tab, url: str) -> str | None:
    """Navigate and wait for the answer to have come; the name of the error, if there is one."""
    answer = await tab.session.execute("Page.navigate", {"url": url})
    return answer.get("errorText")


async def until(condition: Callable[[], bool], seconds: float = 15.0) -> bool:
    """Wait for something to have happened; False when it has not."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not condition():
                await asyncio.sleep(0.02)
    return condition()


async def loose_tab(browser: Browser) -> Tab:
    """A tab whose requests nobody looks at."""
    tab = await browser.new_tab()
    await tab.session.execute("Fetch.disable")
    return tab


# What a browser behind the guard does not even try: UDP is off, and so are pings.  Speculation is its own business.
_NEVER_TRIED = {"webrtc_stun", "webrtc_turn_udp", "webtransport", "ping"}
_MAYBE = {"speculation"}
_POPUPS = "--disable-popup-blocking"


async def test_no_way_out_leads_to_a_private_port(launch: Launch, site: Site) -> None:
    with traps() as ways:
        async with guarded(launch, site.netloc, extra=(_POPUPS,)) as (browser, w):
            tab = await loose_tab(browser)
            assert await go(tab, site.url(ways.path)) is None

            def tried() -> set[str]:
                ports = {kind: trap.port for kind, trap in ways.by_kind.items()}
                return {kind for kind in WAYS if any(w.guard.fault("main", host, ports[kind]) for host in HOSTS)}

            await until(lambda: tried() >= set(WAYS) - _NEVER_TRIED - _MAYBE, 25.0)
            assert set(WAYS) - tried() - _MAYBE == _NEVER_TRIED
            assert ways.look() == set()
            # The page itself came, and nothing else was dialled.
            assert site.asked("/way/out") == 1
            assert set(w.network.dialled) == {("127.0.0.1", site.server_address[1])}
            await tab.close()
        assert ways.look() == set()


async def test_without_the_guard_all_ways_are_open(launch: Launch, site: Site) -> None:
    """The control: the page's ways are real ones."""
    with traps() as ways:
        async with launch(_POPUPS) as browser:
            tab = await loose_tab(browser)
            assert await go(tab, site.url(ways.path)) is None
            await until(lambda: set(WAYS) - ways.look() <= {"ping", *_MAYBE}, 25.0)
            assert set(WAYS) - ways.look() <= {"ping", *_MAYBE}
            await tab.close()


async def test_without_its_proxy_chrome_resolves_no_name(launch: Launch, site: Site) -> None:
    """The second lock, alone."""
    rules = [switch for switch in chrome.switches(1) if switch.startswith("--host-resolver-rules")]
    async with launch(*rules) as browser:
        tab = await loose_tab(browser)
        port = site.server_address[1]
        assert await go(tab, f"http://localhost:{port}/page") == "net::ERR_NAME_NOT_RESOLVED"
        assert await go(tab, f"http://quay.example:{port}/page") == "net::ERR_NAME_NOT_RESOLVED"
        assert site.asked("/page") == 0
        await tab.close()


async def test_rebinding_leads_to_a_refusal(launch: Launch, site: Site) -> None:
    async with Listener() as private, guarded(launch) as (browser, w):
        w.names.known["rebind.example"] = [PUBLIC]
        w.network.leads[PUBLIC] = site.server_address[1]
        tab = await loose_tab(browser)
        origin = f"http://rebind.example:{private.port}"
        assert await go(tab, f"{origin}/page") is None
        w.names.known["rebind.example"] = ["127.0.0.1"]
        w.guard.drop("main")  # Chrome may have made a connection in advance, to where the name was
        assert await go(tab, f"{origin}/page?again") == "net::ERR_SOCKS_CONNECTION_FAILED"
        fault = w.guard.fault("main", "rebind.example", private.port)
        assert fault is not None
        assert fault.reason == "rebind.example is at 127.0.0.1, which is loopback"
        assert set(w.network.addresses) == {PUBLIC}
        assert private.arrived == 0
        assert site.asked("/page") == 1
        await tab.close()


async def test_rebinding_between_two_connections_of_one_page(launch: Launch, site: Site) -> None:
    async with Listener() as private, guarded(launch) as (browser, w):
        w.names.known["rebind.example"] = [[PUBLIC], ["127.0.0.1"]]
        w.network.leads[PUBLIC] = site.server_address[1]
        tab = await loose_tab(browser)
        # Each connection asks again: from the second one on the name is this machine.
        for number in range(4):
            await go(tab, f"http://rebind.example:{private.port}/page?{number}")
        assert len(w.names.asked) >= 2
        assert set(w.network.addresses) == {PUBLIC}
        assert private.arrived == 0
        await tab.close()


async def test_a_refused_fetch_is_explained(launch: Launch, site: Site) -> None:
    async with guarded(launch, site.netloc) as (browser, w):
        w.names.known["inner.example"] = ["10.0.0.1"]
        assert (await visit(browser, site.url("/page"))).capture is not None
        with pytest.raises(NavigationFailed) as caught:
            await visit(browser, "http://inner.example/")
        assert caught.value.error == "net::ERR_SOCKS_CONNECTION_FAILED"
        error = w.guard.explain("main", "http://inner.example/")
        assert error is not None
        assert str(error).startswith("blocked_address: inner.example is at 10.0.0.1, which is private (RFC 1918)")
        with pytest.raises(NavigationFailed):
            await visit(browser, "http://no-such-name.example/")
        error = w.guard.explain("main", "http://no-such-name.example/")
        assert error is not None
        assert error.code == "dns_failed"


async def test_a_download_passes_the_guard(launch: Launch, site: Site) -> None:
    async with guarded(launch, site.netloc) as (browser, w):
        landing = await visit(browser, site.url("/blob?size=3000000"))
        assert landing.received == 3_000_000
        assert landing.path is not None
        os.unlink(landing.path)
        assert w.guard.status()["lanes"][0]["bytes"] > 3_000_000


async def test_a_context_is_a_lane_of_its_own(launch: Launch, site: Site) -> None:
    anonymous = Lane("anonymous", Policy())
    async with guarded(launch, site.netloc, more=(anonymous,)) as (browser, w):
        root = browser.connection.root
        created = await root.execute("Target.createBrowserContext", chrome.context(w.guard.port("anonymous")))
        context = {"browserContextId": created["browserContextId"]}
        target = await root.execute("Target.createTarget", {"url": "about:blank", **context})
        attached = await root.execute("Target.attachToTarget", {"targetId": target["targetId"], "flatten": True})
        session = browser.connection.attach(attached["sessionId"], target["targetId"])
        answer = await session.execute("Page.navigate", {"url": site.url("/page")})
        assert answer["errorText"] == "net::ERR_SOCKS_CONNECTION_FAILED"
        assert site.asked("/page") == 0
        fault = w.guard.fault("anonymous", "127.0.0.1", site.server_address[1])
        assert fault is not None
        assert fault.code == "blocked_address"
        await root.execute("Target.disposeBrowserContext", context)
        assert (await visit(browser, site.url("/page"))).capture is not None


async def test_without_the_guard_behind_it_chrome_goes_nowhere(launch: Launch, site: Site) -> None:
    async with guarded(launch, site.netloc) as (browser, w):
        await w.guard.close()
        with pytest.raises(NavigationFailed) as caught:
            await visit(browser, site.url("/page"))
        assert caught.value.error == "net::ERR_PROXY_CONNECTION_FAILED"
        assert site.asked("/page") == 0


async def test_the_canary_lives_and_its_tab_is_blank_afterwards(launch: Launch, site: Site) -> None:
    # Whatever is allowed: the proof's own port is not.
    async with guarded(launch, "127.0.0.0/8") as (browser, w):
        tab = await browser.new_tab()
        await canary.prove(w.guard, "main", tab)
        assert w.network.dialled == []
        assert tab.events.empty()
        assert await go(tab, "about:blank") is None
        await tab.close()


@pytest.mark.parametrize(
    "sabotage",
    ["--no-proxy-server", "--proxy-bypass-list=*", "--proxy-bypass-list=127.0.0.1", "--proxy-server=direct://"],
)
async def test_the_canary_dies_without_the_guard(launch: Launch, sabotage: str) -> None:
    async with guarded(launch, extra=(sabotage,)) as (browser, w):
        tab = await browser.new_tab()
        with pytest.raises(CdpFetchError, match="Chrome's traffic does not pass the guard: ") as caught:
            await canary.prove(w.guard, "main", tab)
        assert caught.value.code == "browser_failed"
        await tab.close()


_REDIRECTS = [
    "http://127.0.0.1:9999/",
    "http://[::ffff:7f00:1]/",
    "http://10.0.0.5.nip.io/",
    "//localhost:9999/",
    "\\\\127.0.0.1\\x",
    "http://user:secret@127.0.0.1/",
    "file:///etc/passwd",
    "chrome://version",
    "view-source:http://127.0.0.1/",
]


async def test_redirects_lead_nowhere_else(launch: Launch, site: Site) -> None:
    async with guarded(launch) as (browser, w):
        w.names.known = {"a.example": [PUBLIC], "10.0.0.5.nip.io": ["10.0.0.5"]}
        w.network.leads[PUBLIC] = site.server_address[1]
        tab = await loose_tab(browser)
        for number, target in enumerate(_REDIRECTS, 1):
            error = await go(tab, f"http://a.example/redirect-out?to={quote(target, safe='')}")
            assert (error or "").startswith("net::ERR_"), target
            assert site.asked("/redirect-out") == number
            assert set(w.network.addresses) == {PUBLIC}, target
        await tab.close()


def _representative() -> list[dict[str, Any]]:
    """Of every kind of vector some, and all that have an allow list or an answer of DNS that is not loopback."""
    found, seen = [], dict[str, int]()
    for vector in VECTORS:
        kind = vector["id"].rpartition("-")[0]
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= 5 or vector.get("allow"):
            found.append(vector)
    return found


async def test_hostile_urls_reach_only_what_is_allowed(launch: Launch, site: Site) -> None:
    wrong = []
    async with guarded(launch) as (browser, w):
        tab = await loose_tab(browser)
        for vector in _representative():
            await go(tab, "about:blank")
            w.guard.set_policy("main", Policy(vector.get("allow", [])))
            w.guard.drop("main")
            w.names.known = dict(vector.get("resolves", {}))
            w.network.dialled.clear()
            try:
                url = parse_url(vector["url"])
            except CdpFetchError:
                reached = False  # Chrome is not asked
            else:
                literal = addresses.parse(url.host)
                known = [address for answer in w.names.known.values() for address in answer]
                w.network.leads = dict.fromkeys([*known, str(literal)], site.server_address[1])
                await go(tab, url.href)
                if vector["expected"] == "allow" and not w.network.dialled:
                    await go(tab, url.href)  # the first one met a connection that was just dropped
                reached = bool(w.network.dialled)
            if reached != (vector["expected"] == "allow"):
                wrong.append(vector["id"])
        await tab.close()
    assert wrong == []
