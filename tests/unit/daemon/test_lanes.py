"""Which lane an address is visited in, and where a page may lead."""

from __future__ import annotations

from typing import Any

import pytest

from cdpfetch.config import Config
from cdpfetch.daemon.app import App
from cdpfetch.daemon.lanes import ANONYMOUS, PROFILE, Lanes
from cdpfetch.errors import CdpFetchError, ConfigError
from cdpfetch.paths import Home
from cdpfetch.urls import parse_url


class Resolver:
    """Stands for the guard's; notes what it is asked."""

    def __init__(self, **names: list[str]) -> None:
        self.names = {name.replace("_", "."): found for name, found in names.items()}
        self.asked: list[str] = []

    async def resolve(self, host: str) -> list[str]:
        self.asked.append(host)
        if host not in self.names:
            raise CdpFetchError("dns_failed", f"{host} does not resolve")
        return self.names[host]


def lanes(*allow: str, sites: tuple[str, ...] = (), resolver: Any = None) -> Lanes:
    return Lanes(allow, ("denied.example",), sites, resolver or Resolver())


@pytest.mark.parametrize(
    ("url", "lane"),
    [
        ("https://www.example.com/", ANONYMOUS),
        ("http://127.0.0.1:8000/", PROFILE),
        ("http://localhost:8000/", PROFILE),
        ("https://wiki.corp.example/", PROFILE),
        ("https://mail.example.org/", PROFILE),
        ("https://example.org/", PROFILE),
        ("https://notexample.org/", ANONYMOUS),
        ("http://93.184.216.34/", ANONYMOUS),
    ],
)
async def test_the_lane_of_an_address(url: str, lane: str) -> None:
    chosen = lanes("127.0.0.1:8000", "localhost:8000", "*.corp.example", sites=("*.example.org",))
    assert await chosen.choose(chosen.parse(url)) == lane


async def test_a_name_in_an_allowed_range_is_the_users() -> None:
    resolver = Resolver(wiki_test=["10.1.2.3"], www_test=["93.184.216.34"])
    chosen = lanes("10.0.0.0/8", resolver=resolver)
    assert await chosen.choose(parse_url("http://wiki.test/")) == PROFILE
    assert await chosen.choose(parse_url("http://www.test/")) == ANONYMOUS
    assert await chosen.choose(parse_url("http://gone.test/")) == ANONYMOUS
    assert resolver.asked == ["wiki.test", "www.test", "gone.test"]


async def test_nothing_is_resolved_where_no_range_is_allowed() -> None:
    resolver = Resolver()
    await lanes("wiki.example", resolver=resolver).choose(parse_url("http://other.example/"))
    assert resolver.asked == []


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1/", "http://localhost/", "http://denied.example/", "http://x.example:22/"]
)
def test_what_is_forbidden_by_its_name_goes_nowhere(url: str) -> None:
    with pytest.raises(CdpFetchError) as caught:
        lanes("127.0.0.1:8000").parse(url)
    assert caught.value.code == "blocked_address"


def test_where_pages_may_lead() -> None:
    both = lanes("127.0.0.1:8000", "10.0.0.5", sites=("mail.example",))
    assert both.follow(parse_url("https://other.example/"), ANONYMOUS) == ANONYMOUS
    assert both.follow(parse_url("https://other.example/"), PROFILE) == ANONYMOUS, "no login comes along"
    assert both.follow(parse_url("https://mail.example/"), ANONYMOUS) == PROFILE, "as a link in a browser would"
    assert both.follow(parse_url("http://10.0.0.5/"), PROFILE) == PROFILE
    for internal in ("http://127.0.0.1:8000/reboot", "http://10.0.0.5/"):
        with pytest.raises(CdpFetchError, match="a page of another site leads to") as caught:
            both.follow(parse_url(internal), ANONYMOUS)
        assert caught.value.code == "blocked_address"


async def test_a_call_that_opens_more_has_a_lane_of_its_own() -> None:
    lane, judge = lanes("127.0.0.1:8000").extended("call-1", ["127.0.0.1:9000"])
    assert lane.name == "call-1"
    for port in (8000, 9000):
        url = judge.parse(f"http://127.0.0.1:{port}/")
        assert await judge.choose(url) == "call-1"
        assert lane.policy.judge_host(url).allowed
        assert judge.follow(url, "call-1") == "call-1"
    with pytest.raises(CdpFetchError):
        judge.parse("http://127.0.0.1:9001/")


def test_a_lane_apart_reaches_what_the_other_one_does() -> None:
    judge = lanes("127.0.0.1:8000")
    inside = parse_url("http://127.0.0.1:8000/")
    for like, allowed in ((PROFILE, True), (ANONYMOUS, False)):
        apart = judge.apart("call-1", like)
        (other,) = (lane for lane in judge.guarded() if lane.name == like)
        assert apart is not None
        assert apart == other._replace(name="call-1")
        assert apart.policy.judge_host(inside).allowed is allowed
        assert not apart.policy.judge_host(parse_url("http://denied.example/")).allowed
    assert judge.apart("call-2", "call-1") is None, "the lane of a call is its own already"


@pytest.mark.parametrize("site", ["", "a b", "https://x.example/", "x.example:80"])
def test_sites_are_host_names(site: str) -> None:
    with pytest.raises(ConfigError, match=r"fetch\.profile_sites"):
        lanes(sites=(site,))


def test_a_site_that_was_signed_in_to_is_visited_with_the_profile() -> None:
    signed_in: set[str] = set()
    judge = Lanes((), ("denied.example",), (), Resolver(), lambda host: host in signed_in)  # type: ignore[arg-type]
    url = parse_url("https://members.example.com/")
    assert judge.lane_of(url) == ANONYMOUS
    signed_in.add("members.example.com")
    assert judge.lane_of(url) == PROFILE
    assert judge.follow(url, ANONYMOUS) == PROFILE
    # It opens no address that is not public.
    signed_in.add("10.0.0.1")
    with pytest.raises(CdpFetchError, match=r"10\.0\.0\.1"):
        judge.parse("http://10.0.0.1/")


def test_a_connection_of_the_anonymous_lane_has_a_budget() -> None:
    found = {lane.name: lane for lane in Lanes((), (), connection_bytes=1000).guarded()}
    assert (found[ANONYMOUS].connection_bytes, found[PROFILE].connection_bytes) == (1000, None)
    app = App(Home("/nonexistent"), Config())
    (anonymous,) = [lane for lane in app.lanes.guarded() if lane.name == ANONYMOUS]
    assert anonymous.connection_bytes == 7 * Config().fetch.max_bytes
    every = [*app.lanes.guarded(), app.lanes.extended("call", ["10.0.0.1"])[0]]
    assert {lane.total_bytes for lane in every} == {16 << 20}
