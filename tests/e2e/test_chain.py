"""The chain with a real daemon and browser: what stays here, what comes from disk, and what is fetched once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import fake_hosted
import pytest
from commands import Command
from fake_http import Fake, serving
from testsite import Site


@pytest.fixture
def service() -> Iterator[Fake]:
    """A hosted service in good health, in a loop of its own."""
    started: list[Fake] = []
    ready, end = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with serving(fake_hosted.parallel()) as fake:
            started.append(fake)
            ready.set()
            await end.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait(10)
    yield started[0]
    loop.call_soon_threadsafe(end.set)
    thread.join(10)
    loop.close()


def visits(site: Site, part: str) -> int:
    """How often an address with this part was asked for."""
    return sum(part in path for _, path, _ in list(site.requests))


def test_a_private_address_is_told_to_no_service(command: Command, site: Site, service: Fake) -> None:
    config = Path(command.home.config)
    before = config.read_text()
    parallel = f'[parallel]\napi_key = "s3cret"\nbase_url = "{service.url}"\n'
    command.configure(f'{before}{parallel}[jina]\nenabled = true\nbase_url = "{service.url}"\n')
    try:
        ended = command("fetch", "--json", site.url("/page"), site.url("/missing"))
    finally:
        command.configure(before)
    page, missing = ended.documents
    assert (page["source"], page["ok"], page["attempts"]) == ("local", True, [])
    assert (missing["error"]["code"], [one["source"] for one in missing["attempts"]]) == ("http_error", ["local"])
    assert service.seen == []
    assert "s3cret" not in ended.out + ended.err + Path(command.home.log).read_text()


def test_a_second_fetch_within_the_age_asks_no_server(command: Command, site: Site) -> None:
    url = site.url("/page?word=cached")
    (first,) = command("fetch", "--json", url).documents
    ended = command("fetch", "--json", "--max-age", "600", url + "#part", url)
    assert [document["fetch_id"] for document in ended.documents] == [first["fetch_id"]] * 2
    assert [document["url"] for document in ended.documents] == [url + "#part", url]
    assert ended.documents[0]["facts"][-1].startswith("cached ")
    assert visits(site, "word=cached") == 1
    assert "   cached " in command("fetch", "--max-age", "600", url).out
    (fresh,) = command("fetch", "--json", "--max-age", "600", "--fresh", url).documents
    (other,) = command("fetch", "--json", "--max-age", "600", "--format", "text", url).documents
    assert len({document["fetch_id"] for document in (first, fresh, other)}) == 3


def test_a_failure_is_never_taken_from_disk(command: Command, site: Site) -> None:
    url = site.url("/missing?cache")
    command("fetch", "--max-age", "600", url)
    assert command("fetch", "--max-age", "600", url).status == 1
    assert visits(site, "/missing?cache") == 2


def test_urls_that_are_one_are_visited_once(command: Command, site: Site) -> None:
    url = site.url("/page?word=once")
    ended = command("fetch", "--json", url, url + "#a", url)
    assert [document["url"] for document in ended.documents] == [url, url + "#a", url]
    assert visits(site, "word=once") == 1
