"""robots.txt."""

from __future__ import annotations

import asyncio

import pytest

from cdpfetch.batch.robots import Answer, Robots
from cdpfetch.errors import CdpFetchError
from cdpfetch.urls import parse_url

FILE = "User-agent: *\nDisallow: /private\nCrawl-delay: 3\n\nUser-agent: other\nDisallow: /\n"


class Site:
    """Answers, and counts."""

    def __init__(self, answer: Answer | CdpFetchError) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def get(self, url: str) -> Answer:
        self.asked.append(url)
        await asyncio.sleep(0)
        if isinstance(self.answer, CdpFetchError):
            raise self.answer
        return self.answer


def test_a_file_is_fetched_once_for_an_origin() -> None:
    site = Site(Answer(200, FILE))

    async def work() -> None:
        robots = Robots(site.get)
        both = await asyncio.gather(*(robots.rules(parse_url(f"https://a.example/{n}"), 0.0) for n in range(3)))
        assert all(one is both[0] for one in both)
        assert (both[0].allows("https://a.example/x"), both[0].allows("https://a.example/private/x")) == (True, False)
        assert both[0].delay == 3.0
        await robots.rules(parse_url("https://a.example/9"), 86_399.0)
        assert site.asked == ["https://a.example/robots.txt"]
        await robots.rules(parse_url("https://a.example/9"), 86_401.0)
        await robots.rules(parse_url("https://a.example:8443/"), 0.0)
        assert site.asked[1:] == ["https://a.example/robots.txt", "https://a.example:8443/robots.txt"]
        await robots.close()

    asyncio.run(work())


@pytest.mark.parametrize("answer", [Answer(404, "Disallow: /"), CdpFetchError("dns_failed", "no such host")])
def test_without_a_file_all_is_permitted(answer: Answer | CdpFetchError) -> None:
    async def work() -> None:
        rules = await Robots(Site(answer).get).rules(parse_url("https://a.example/private"), 0.0)
        assert rules.allows("https://a.example/private")
        assert rules.delay == 0.0

    asyncio.run(work())


def test_a_server_that_fails_permits_nothing() -> None:
    async def work() -> None:
        with pytest.raises(CdpFetchError, match="answers HTTP 503"):
            await Robots(Site(Answer(503, "")).get).rules(parse_url("https://a.example/"), 0.0)

    asyncio.run(work())
