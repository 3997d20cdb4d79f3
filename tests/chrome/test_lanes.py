"""Lanes in the real browser: whose cookies go where, and where pages may not lead, told by the servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import display
import pytest
from daemons import DEFAULTS, MAIL, OTHER, daemon
from testsite import Site, TlsSite

from cdpfetch import config
from cdpfetch.urls import parse_url

TLS = Path(__file__).parents[1] / "fixtures" / "tls"


@pytest.fixture
def sites(chrome: str) -> Any:
    with Site() as mail, Site() as other, Site() as internal:
        yield mail, other, internal


def cookies(site: Site, path: str) -> list[str | None]:
    """The Cookie headers of the requests for a path."""
    return [headers.get("Cookie") for _, asked, headers in site.requests if asked.partition("?")[0] == path]


async def test_the_profiles_cookies_stay_in_its_lane(tmp_path: Path, sites: tuple[Site, Site, Site]) -> None:
    mail, other, _ = sites
    async with daemon(tmp_path, mail, other) as d:
        assert (await d.fetch("http://mail.test/set-cookie?name=login"))["ok"]
        assert (await d.fetch("http://mail.test/headers"))["ok"]
        assert cookies(mail, "/headers") == ["login=1"], "the profile's site has its login"
        # A page of another site that has everything of the mail site in it.
        mail.requests.clear()
        assert (await d.fetch("http://other.test/embeds?url=http://mail.test/headers"))["ok"]
        assert cookies(mail, "/headers")
        assert set(cookies(mail, "/headers")) == {None}
        # What the anonymous lane sets does not come into the profile.
        assert (await d.fetch("http://other.test/set-cookie?name=tracking"))["ok"]
        mail.requests.clear()
        assert (await d.fetch("http://mail.test/embeds?url=http://other.test/headers"))["ok"]
        assert set(cookies(other, "/headers")) == {None}


async def test_a_redirect_to_another_site_goes_on_without_the_profile(
    tmp_path: Path, sites: tuple[Site, Site, Site]
) -> None:
    mail, other, _ = sites
    async with daemon(tmp_path, mail, other) as d:
        for path in ("/redirect-out?to=", "/script-redirect?to="):
            document = await d.fetch(f"http://mail.test{path}http://other.test/page?word=elsewhere")
            assert (document["ok"], document["link"]) == (True, "http://other.test/page?word=elsewhere")
        assert other.asked("/page") == 2
        back = await d.fetch("http://other.test/redirect-out?to=http://mail.test/page?word=home")
        assert (back["ok"], back["title"]) == (True, "About home")


async def test_a_public_page_never_reaches_what_is_allowed_inside(
    tmp_path: Path, sites: tuple[Site, Site, Site]
) -> None:
    mail, other, internal = sites
    async with daemon(tmp_path, mail, other, internal.netloc) as d:
        assert (await d.fetch(internal.url("/page")))["ok"], "the user may go there"
        internal.requests.clear()
        inside = internal.url("/secret")
        for path in (f"/embeds?url={inside}", f"/redirect-out?to={inside}", f"/script-redirect?to={inside}"):
            document = await d.fetch(f"http://other.test{path}")
            if not path.startswith("/embeds"):
                assert document["error"]["code"] == "blocked_address", document["error"]
                assert "a page of another site leads to" in document["error"]["reason"]
            else:
                assert document["ok"]
        # The icon of the page before may be asked for late; nothing else was.
        assert [path for _, path, _ in internal.requests if path != "/favicon.ico"] == []


async def test_a_call_may_open_more_for_itself(tmp_path: Path, sites: tuple[Site, Site, Site]) -> None:
    mail, other, internal = sites
    async with daemon(tmp_path, mail, other) as d:
        assert (await d.fetch(internal.url("/page")))["error"]["code"] == "blocked_address"
        assert (await d.fetch(internal.url("/page"), allow=[internal.netloc]))["ok"]
        assert (await d.fetch(internal.url("/page")))["error"]["code"] == "blocked_address"
        assert [lane["name"] for lane in d.app.guard.status()["lanes"]] == ["profile", "anonymous"]


async def test_what_the_guard_refuses_has_the_guards_reason(tmp_path: Path, sites: tuple[Site, Site, Site]) -> None:
    mail, other, _ = sites
    async with daemon(tmp_path, mail, other) as d:
        for url, code, words in (
            ("http://gone.test/", "dns_failed", "gone.test does not resolve"),
            ("http://other.test/redirect-out?to=http://gone.test/x", "dns_failed", "gone.test does not resolve"),
        ):
            document = await d.fetch(url)
            assert document["error"]["code"] == code
            assert words in document["error"]["reason"]
        d.app.guard.resolver._lookup.known["inside.test"] = ["10.1.2.3"]  # type: ignore[attr-defined]
        document = await d.fetch("http://inside.test/")
        assert document["error"]["code"] == "blocked_address"
        assert "inside.test is at 10.1.2.3, which is private" in document["error"]["reason"]
        d.app.guard.resolver._lookup.known["refusing.test"] = ["93.184.216.35"]  # type: ignore[attr-defined]
        assert (await d.fetch("http://refusing.test/"))["error"]["code"] == "connection_failed"


async def test_what_one_fetch_leaves_is_gone_for_the_next_context(
    tmp_path: Path, sites: tuple[Site, Site, Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cdpfetch.daemon.contexts.VISITS_MAX", 1)
    mail, other, _ = sites
    async with daemon(tmp_path, mail, other) as d:
        assert (await d.fetch("http://other.test/set-cookie?name=tracking"))["ok"]
        for _ in range(3):
            assert (await d.fetch("http://other.test/headers"))["ok"]
        assert set(cookies(other, "/headers")) == {None}


async def test_a_site_that_was_signed_in_to_moves_to_the_profile(
    tmp_path: Path, sites: tuple[Site, Site, Site]
) -> None:
    mail, other, _ = sites
    async with daemon(tmp_path, mail, other) as d:
        async with d.app.supervisor.use() as browser:
            kept = {"name": "login", "value": "2", "domain": ".other.test", "path": "/"}
            await browser.connection.root.execute("Storage.setCookies", {"cookies": [kept]})
        assert (await d.fetch("http://other.test/headers"))["ok"]
        assert cookies(other, "/headers") == [None], "not known yet"
        async with d.app.supervisor.use() as browser:
            assert await d.app.sessions.record(browser) == {"other.test"}
        assert (await d.fetch("http://other.test/headers"))["ok"]
        assert cookies(other, "/headers") == [None, "login=2"]
        async with d.app.supervisor.use() as browser:
            assert (await d.app.sessions.clear(browser, "www.other.test"))["cookies"] == 1
        assert (await d.fetch("http://other.test/headers"))["ok"]
        assert cookies(other, "/headers") == [None, "login=2", None]


@pytest.mark.timeout(150)
async def test_a_wall_passed_in_a_window_lets_an_anonymous_visit_in(
    tmp_path: Path, sites: tuple[Site, Site, Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cookie goes along, and nothing else changes: the site does not become one of the profile."""
    display.require()
    mail, other, internal = sites
    settings = config.Config(challenge=config.Challenge(headless_wait=0.5, headed_wait=20.0))
    wall = "http://other.test/wall?header=1&clears=0.1&for=window"
    with display.Display() as screen:
        monkeypatch.setenv("DISPLAY", screen.name)
        async with daemon(tmp_path, mail, other, internal.netloc, settings=settings) as d:
            assert (await d.fetch("http://mail.test/set-cookie?name=login"))["ok"]
            document = await d.fetch(wall)
            assert (document["ok"], document["title"]) == (True, "Behind"), document["warnings"]
            assert "passed a bot wall in a visible window" in document["facts"]
            assert d.app.sessions.sites == frozenset()
            assert d.app.lanes.lane_of(parse_url(wall)) == "anonymous"
            # Each later context gets it, too, and no other cookie.
            d.app.tabs.end_lane("anonymous")
            other.requests.clear()
            assert "passed a bot wall in a visible window" not in (await d.fetch(wall))["facts"]
            assert set(cookies(other, "/wall")) == {"passed=1"}
            mail.requests.clear()
            await d.fetch("http://other.test/embeds?url=http://mail.test/headers")
            assert set(cookies(mail, "/headers")) == {None}
            # A page that only pretends to be a wall reaches nothing inside by its window.
            await d.fetch(f"http://other.test/wall?header=1&embeds={internal.url('/secret')}")
            assert other.asked("/wall")
            assert not internal.requests


async def test_what_a_call_opened_is_closed_with_it(tmp_path: Path, sites: tuple[Site, Site, Site]) -> None:
    mail, other, internal = sites
    async with daemon(tmp_path, mail, other) as d:
        document = await d.fetch(internal.url("/greedy-worker"), allow=[internal.netloc])
        assert document["ok"], document
        assert [lane["name"] for lane in d.app.guard.status()["lanes"]] == ["profile", "anonymous"]
        # Its worker would go on asking for ever.
        asked = internal.asked("/blob")
        assert (await d.fetch("http://other.test/page"))["ok"]
        assert internal.asked("/blob") <= asked + 1
        assert all(lane["connections"] == 0 for lane in d.app.guard.status()["lanes"] if lane["name"] == "profile")


@pytest.mark.parametrize("host", ["mail.test", "other.test"])
async def test_a_certificate_that_counts_for_nothing_once_counts_the_next_time(
    tmp_path: Path, sites: tuple[Site, Site, Site], host: str
) -> None:
    mail, other, _ = sites
    with TlsSite(str(TLS / "cert.pem"), str(TLS / "key.pem")) as secure:
        async with daemon(tmp_path, mail, other) as d:
            d.network.ports[MAIL, 443] = d.network.ports[OTHER, 443] = secure.server_address[1]
            assert (await d.fetch(f"http://{host}/set-cookie?name=login"))["ok"]
            for _ in range(2):
                assert (await d.fetch(f"https://{host}/keeps", insecure=True))["ok"]
                # The connection of a moment ago still stands; nobody has verified its certificate.
                document = await d.fetch(f"https://{host}/keeps")
                assert document["error"]["code"] == "tls_failed", document
            assert (await d.fetch(f"https://{host}/headers", insecure=True))["ok"]
            lent = "login=1" if host == "mail.test" else None
            assert cookies(secure, "/headers") == [lent], "a login counts, and only that"
            assert [lane["name"] for lane in d.app.guard.status()["lanes"]] == ["profile", "anonymous"]


async def test_a_visit_that_takes_every_certificate_reaches_no_more_than_others(
    tmp_path: Path, sites: tuple[Site, Site, Site]
) -> None:
    mail, other, internal = sites
    async with daemon(tmp_path, mail, other, internal.netloc) as d:
        assert (await d.fetch("http://mail.test/set-cookie?name=login"))["ok"]
        inside = internal.url("/secret")
        assert (await d.fetch(f"http://other.test/embeds?url={inside}", insecure=True))["ok"]
        document = await d.fetch(f"http://other.test/redirect-out?to={inside}", insecure=True)
        assert document["error"]["code"] == "blocked_address", document
        assert internal.requests == []
        # From the profile to another site: that goes on without what was lent.
        document = await d.fetch("http://mail.test/redirect-out?to=http://other.test/headers", insecure=True)
        assert document["ok"], document
        assert cookies(mail, "/redirect-out") == ["login=1"]
        assert set(cookies(other, "/headers")) == {None}
        # What such a visit sets is not kept.
        assert (await d.fetch("http://mail.test/set-cookie?name=more", insecure=True))["ok"]
        assert (await d.fetch("http://mail.test/headers"))["ok"]
        assert cookies(mail, "/headers") == ["login=1"]


async def test_http_is_upgraded_where_the_server_speaks_tls(tmp_path: Path, sites: tuple[Site, Site, Site]) -> None:
    mail, other, _ = sites
    settings = DEFAULTS._replace(network=DEFAULTS.network._replace(https_upgrade=True))
    with TlsSite(str(TLS / "cert.pem"), str(TLS / "key.pem")) as secure:
        async with daemon(tmp_path, mail, other, settings=settings) as d:
            d.network.ports[OTHER, 443] = secure.server_address[1]
            document = await d.fetch("http://other.test/page", insecure=True)
            assert (document["ok"], document["link"]) == (True, "https://other.test/page"), document
            assert "upgraded to https" in document["facts"]
            assert (secure.asked("/page"), other.asked("/page")) == (1, 0)
            # A certificate that does not verify, and a port where nobody listens: http, and said so.
            for port, reason in ((secure.server_address[1], "authority"), (1, "refused")):
                d.network.ports[OTHER, 443] = port
                document = await d.fetch("http://other.test/page")
                assert (document["ok"], document["link"]) == (True, "http://other.test/page"), document
                (fact,) = [one for one in document["facts"] if one.startswith("fetched by http, since https failed: ")]
                assert reason in fact
            assert secure.asked("/page") == 1
