"""``network.https_upgrade``: what is tried by https first, and when http is taken after all."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from cdpfetch.cdp.landing import Landing, NavigationFailed, NavigationTimeout
from cdpfetch.config import Config, NetworkAccess
from cdpfetch.daemon import fetch as fetching
from cdpfetch.daemon.fetch import FetchService
from cdpfetch.daemon.lanes import ANONYMOUS, PROFILE
from cdpfetch.errors import CdpFetchError
from cdpfetch.urls import parse_url, upgraded

LANDING = Landing(None, None, None, 0, (), (), {})
HANGS = "hangs"


@pytest.mark.parametrize(
    ("url", "secure"),
    [
        ("http://a.example/x?y=1#z", "https://a.example/x?y=1#z"),
        ("http://a.example:80/", "https://a.example/"),
        ("http://a.example:8080/", None),
        ("https://a.example/", None),
    ],
)
def test_only_plain_http_on_its_own_port_is_upgraded(url: str, secure: str | None) -> None:
    found = upgraded(parse_url(url))
    assert (found.href if found else None) == secure


async def go(
    fault: Exception | str | None, url: str = "http://a.example/", lane: str = ANONYMOUS, *, on: bool = True
) -> tuple[list[str], str | None]:
    """The addresses that are visited when https has a fault, and the fact."""
    service = object.__new__(FetchService)
    service._config = Config(network=NetworkAccess(https_upgrade=on))
    visited: list[str] = []

    async def visit(one: Any, clock: Any, started: Any) -> Landing:
        visited.append(one.url.href)
        if one.url.scheme == "https" and isinstance(fault, Exception):
            raise fault
        if one.url.scheme == "https" and fault is HANGS:
            await asyncio.Event().wait()
        return LANDING

    service._visit = visit  # type: ignore[method-assign]
    end = time.monotonic() + 2.0
    wanted = fetching._Visit(None, lane, parse_url(url), None, end, None)  # type: ignore[arg-type]
    landing, fact = await service._visit_safely(wanted, None, [])  # type: ignore[arg-type]
    assert landing is LANDING
    return visited, fact


async def test_https_is_taken_where_it_works() -> None:
    assert await go(None) == (["https://a.example/"], "upgraded to https")


@pytest.mark.parametrize(
    ("url", "lane", "on"),
    [
        ("http://a.example/", ANONYMOUS, False),
        ("http://a.example/", PROFILE, True),
        ("http://a.example:81/", ANONYMOUS, True),
    ],
)
async def test_what_is_not_to_be_upgraded_is_not(url: str, lane: str, on: bool) -> None:
    assert await go(None, url, lane, on=on) == ([url], None)


@pytest.mark.parametrize(
    "fault",
    [
        NavigationFailed("net::ERR_CONNECTION_REFUSED", "https://a.example/"),
        NavigationFailed("net::ERR_CERT_COMMON_NAME_INVALID", "https://a.example/"),
        NavigationTimeout("page load", 15.0, "https://a.example/"),
        CdpFetchError("connection_failed", "refused"),
        HANGS,
    ],
)
async def test_http_is_taken_where_https_fails(fault: Exception | str) -> None:
    visited, fact = await go(fault)
    assert visited == ["https://a.example/", "http://a.example/"]
    assert fact is not None and fact.startswith("fetched by http, since https failed: ")


@pytest.mark.parametrize("code", ["blocked_address", "too_large", "disk_full"])
async def test_another_fault_is_the_answer(code: str) -> None:
    with pytest.raises(CdpFetchError) as caught:
        await go(CdpFetchError(code, "so it is"))
    assert caught.value.code == code
