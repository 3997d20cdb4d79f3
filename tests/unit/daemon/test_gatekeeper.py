"""Judging what a name resolves to, with a resolver that says what the test wants."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from cdpfetch.daemon import gatekeeper
from cdpfetch.daemon.gatekeeper import Gatekeeper, resolve
from cdpfetch.errors import CdpFetchError
from cdpfetch.policy import Policy


class Resolver:
    """Stands for the system's; notes what it is asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: dict[str, list[str]] = {}
        self.asked: list[str] = []
        self.hangs = False
        monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", self._getaddrinfo)

    async def _getaddrinfo(self, host: str, port: int, **options: Any) -> list[Any]:
        self.asked.append(host)
        if self.hangs:
            await asyncio.get_running_loop().create_future()
        if host not in self.names:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in self.names[host]]


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Resolver:
    return Resolver(monkeypatch)


async def blocked(keeper: Gatekeeper, url: str) -> CdpFetchError:
    with pytest.raises(CdpFetchError) as caught:
        await keeper.judge(url)
    assert caught.value.code == "blocked_address"
    return caught.value


async def test_a_public_name_passes(resolver: Resolver) -> None:
    resolver.names["x.example"] = ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"]
    assert (await Gatekeeper(Policy()).judge("x.example/a")).href == "https://x.example/a"


async def test_one_private_address_among_public_ones_refuses(resolver: Resolver) -> None:
    resolver.names["x.example"] = ["93.184.216.34", "10.0.0.1"]
    error = await blocked(Gatekeeper(Policy()), "https://x.example/")
    assert error.reason == "x.example is at 10.0.0.1, which is private (RFC 1918)"
    assert error.hint is not None
    assert "--allow x.example:443" in error.hint


async def test_an_allowed_name_may_be_private_and_not_this_machine(resolver: Resolver) -> None:
    keeper = Gatekeeper(Policy(["wiki.example"]))
    resolver.names["wiki.example"] = ["10.0.0.1"]
    assert (await keeper.judge("http://wiki.example/")).host == "wiki.example"
    resolver.names["wiki.example"] = ["127.0.0.1"]
    await blocked(keeper, "http://wiki.example/")


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1/", "http://2130706433/", "http://localhost/", "http://a.localhost/", "http://x.example:22/"],
)
async def test_what_is_refused_by_its_name_is_not_resolved(url: str, resolver: Resolver) -> None:
    await blocked(Gatekeeper(Policy()), url)
    assert resolver.asked == []


async def test_an_address_is_not_resolved(resolver: Resolver) -> None:
    await Gatekeeper(Policy()).judge("http://93.184.216.34/")
    assert resolver.asked == []


async def test_localhost_is_this_machine_whatever_dns_says(resolver: Resolver) -> None:
    keeper = Gatekeeper(Policy(["127.0.0.1:81", "*.localhost"]))
    assert (await keeper.judge("http://localhost:81/")).host == "localhost"
    assert (await keeper.judge("http://app.localhost/")).host == "app.localhost"
    await blocked(keeper, "http://localhost:82/")
    assert resolver.asked == []


async def test_a_name_that_does_not_resolve_is_said(resolver: Resolver) -> None:
    with pytest.raises(CdpFetchError, match=r"no\.example does not resolve: Name or service not known") as caught:
        await Gatekeeper(Policy()).judge("https://no.example/")
    assert caught.value.code == "dns_failed"


async def test_a_resolver_that_says_nothing_is_given_up(resolver: Resolver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gatekeeper, "RESOLVE_TIMEOUT", 0.05)
    resolver.hangs = True
    with pytest.raises(CdpFetchError, match=r"slow.example did not resolve within 0\.05 s"):
        await resolve("slow.example", 80)


async def test_an_address_is_listed_once(resolver: Resolver) -> None:
    resolver.names["x.example"] = ["1.1.1.1", "1.0.0.1", "1.1.1.1"]
    assert await resolve("x.example", 80) == ["1.1.1.1", "1.0.0.1"]
