"""Which sites count as signed in, what is written of them, and what is told."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from cdpfetch.daemon.sessions import Sessions, site_of
from cdpfetch.errors import InvalidRequest

SECRET = "s3cr3t-value"


class FakeBrowser:
    """Has cookies, and notes commands."""

    def __init__(self, *cookies: dict[str, Any]) -> None:
        self.cookies = [{"value": SECRET, "path": "/", "secure": False, "httpOnly": True, **one} for one in cookies]
        self.commands: list[tuple[str, Any]] = []
        self.connection = self.root = self.session = self

    async def execute(self, method: str, params: Any = None) -> dict[str, Any]:
        self.commands.append((method, params))
        if method == "Network.deleteCookies":
            self.cookies = [
                one for one in self.cookies if (one["name"], one["domain"]) != (params["name"], params["domain"])
            ]
        if method == "Storage.clearCookies":
            self.cookies = []
        return {"cookies": self.cookies}

    async def new_tab(self) -> FakeBrowser:
        return self

    async def close(self) -> None:
        self.commands.append(("close", None))


def cookie(domain: str, name: str = "sid", **more: Any) -> dict[str, Any]:
    return {"domain": domain, "name": name, "session": True, "expires": -1, **more}


@pytest.mark.parametrize(
    ("host", "site"),
    [
        ("login.example.co.uk", "example.co.uk"),
        ("Example.COM.", "example.com"),
        ("a.b.github.io", "b.github.io"),
        ("github.io", "github.io"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "::1"),
        ("localhost", "localhost"),
        ("quay.corp.internal", "corp.internal"),
        ("xn--bcher-kva.example.de", "example.de"),
    ],
)
def test_the_site_of_a_host(host: str, site: str) -> None:
    assert site_of(host) == site


async def test_recording_writes_names_only(tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"
    sessions = Sessions(str(path))
    assert not sessions.knows("www.example.com")
    past = cookie("old.example.net", session=False, expires=time.time() - 5)
    browser = FakeBrowser(cookie(".example.com"), cookie("login.example.com"), cookie("127.0.0.1"), past)
    assert await sessions.record(browser) == {"example.com", "127.0.0.1"}  # type: ignore[arg-type]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert SECRET not in path.read_text()
    for again in (sessions, Sessions(str(path))):
        assert again.knows("www.example.com")
        assert again.knows("127.0.0.1")
        assert not again.knows("example.net")
        assert not again.knows("notexample.com")


async def test_a_listing_tells_no_value(tmp_path: Path) -> None:
    sessions = Sessions(str(tmp_path / "sessions.json"))
    browser = FakeBrowser(
        cookie(".example.com", sourceScheme="Secure", sourcePort=443),
        cookie(
            "b.example.com", "theme", session=False, expires=4102444800.0, sourceScheme="NonSecure", sourcePort=8080
        ),
    )
    await sessions.record(browser)  # type: ignore[arg-type]
    browser.cookies.append({**browser.cookies[0], "domain": "later.example.org"})
    first, second = await sessions.listed(browser)  # type: ignore[arg-type]
    assert SECRET not in json.dumps([first, second])
    assert (first["site"], first["recorded"]) == ("example.com", True)
    assert first["origins"] == ["https://example.com", "http://b.example.com:8080"]
    assert [(one["name"], one["expires"]) for one in first["cookies"]] == [
        ("sid", None),
        ("theme", "2100-01-01T00:00:00+00:00"),
    ]
    assert (second["site"], second["recorded"]) == ("example.org", False)


async def test_clearing_one_site_leaves_the_others(tmp_path: Path) -> None:
    sessions = Sessions(str(tmp_path / "sessions.json"))
    browser: Any = FakeBrowser(cookie(".example.com"), cookie("a.example.org"))
    await sessions.record(browser)
    with pytest.raises(InvalidRequest, match=r"no sessions of example\.net"):
        await sessions.clear(browser, "example.net")
    with pytest.raises(InvalidRequest, match="not a site"):
        await sessions.clear(browser, "ftp://x")
    assert await sessions.clear(browser, "https://www.example.com/login") == {"sites": ["example.com"], "cookies": 1}
    assert ("Storage.clearDataForOrigin", {"origin": "http://example.com", "storageTypes": "all"}) in browser.commands
    assert browser.commands[-1] == ("close", None)
    assert sessions.sites == {"example.org"}
    assert await sessions.clear(browser, None) == {"sites": ["example.org"], "cookies": 1}
    assert browser.cookies == []
    assert Sessions(str(tmp_path / "sessions.json")).sites == frozenset()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"sites": 5}', "\x00"])
def test_a_file_that_cannot_be_read_counts_as_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "sessions.json"
    path.write_text(text)
    assert Sessions(str(path)).sites == frozenset()


async def test_what_the_window_has_visited_stays_recorded_until_it_is_cleared(tmp_path: Path) -> None:
    sessions = Sessions(str(tmp_path / "sessions.json"))
    browser = FakeBrowser(cookie(".example.com"))
    shown = {"example.org": {"https://app.example.org"}}
    assert await sessions.record(browser, shown) == {"example.com", "example.org"}  # type: ignore[arg-type]
    browser.cookies.clear()
    assert await sessions.record(browser) == {"example.org"}  # type: ignore[arg-type]
    again = Sessions(str(tmp_path / "sessions.json"))
    assert again.knows("www.example.org")
    listed = await again.listed(browser)  # type: ignore[arg-type]
    assert listed == [{"site": "example.org", "recorded": True, "origins": ["https://app.example.org"], "cookies": []}]
    assert await again.clear(browser, "example.org") == {"sites": ["example.org"], "cookies": 0}  # type: ignore[arg-type]
    assert (
        "Storage.clearDataForOrigin",
        {"origin": "https://app.example.org", "storageTypes": "all"},
    ) in browser.commands
    assert await again.record(browser) == frozenset()  # type: ignore[arg-type]


async def test_a_wall_that_was_passed_makes_no_site_of_the_profile(tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"
    sessions = Sessions(str(path))
    wall = cookie(".shop.example", "cf_clearance", session=False, expires=time.time() + 99, sameSite="None")
    host = cookie("www.shop.example", "__cf", secure=True, sourceScheme="Secure", sourcePort=8443)
    browser = FakeBrowser(wall, host, cookie("bank.example"))
    assert await sessions.clearances(browser) == []  # type: ignore[arg-type]
    await sessions.clear_wall(browser, "shop.example")  # type: ignore[arg-type]
    assert sessions.sites == frozenset()
    for again in (sessions, Sessions(str(path))):
        first, second = await again.clearances(browser)  # type: ignore[arg-type]
        assert (first["name"], first["domain"], first["value"]) == ("cf_clearance", ".shop.example", SECRET)
        assert first["expires"] == wall["expires"]
        assert (second["name"], second["url"]) == ("__cf", "https://www.shop.example:8443/")
        assert "domain" not in second
        assert "expires" not in second
    assert SECRET not in path.read_text()
    # The next window of the user's own changes nothing, unless they sign in there or go there.
    assert await sessions.record(browser) == {"bank.example"}  # type: ignore[arg-type]
    assert len(await sessions.clearances(browser)) == 2  # type: ignore[arg-type]
    browser.cookies.append({**cookie("shop.example", "sid"), "value": SECRET, "path": "/"})
    assert await sessions.record(browser) == {"bank.example", "shop.example"}  # type: ignore[arg-type]
    assert await sessions.clearances(browser) == []  # type: ignore[arg-type]


async def test_a_wall_of_a_site_that_is_visited_later_or_has_no_cookie(tmp_path: Path) -> None:
    sessions = Sessions(str(tmp_path / "sessions.json"))
    browser = FakeBrowser(cookie("shop.example"))
    await sessions.clear_wall(browser, "none.example")  # type: ignore[arg-type]
    assert await sessions.clearances(browser) == []  # type: ignore[arg-type]
    await sessions.clear_wall(browser, "shop.example")  # type: ignore[arg-type]
    assert await sessions.record(browser, {"shop.example": ["https://shop.example"]}) == {"shop.example"}  # type: ignore[arg-type]
    await sessions.clear_wall(browser, "shop.example")  # type: ignore[arg-type]
    assert await sessions.clearances(browser) == []  # type: ignore[arg-type]
