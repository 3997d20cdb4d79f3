"""Hosted services that are down, slow or lying, before the real browser: every URL is answered all the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fake_hosted
import pytest
from daemons import Daemon, daemon
from fake_http import Seen, answer, serving
from fetching import Deliver, call_of
from testsite import Site

from cdpfetch import paths
from cdpfetch.config import Config, Fetch, Jina, Parallel
from cdpfetch.document import fetch_error
from cdpfetch.fetchers.contract import Call, Request
from cdpfetch.fetchers.jina import JinaFetcher
from cdpfetch.fetchers.parallel import ParallelFetcher
from cdpfetch.router import Router, Routing


class Browser:
    """The last of the chain: a daemon in this process."""

    name = "local"

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon

    def can_fetch(self, request: Request, call: Call) -> bool:
        return True

    async def fetch(self, requests: Sequence[Request], call: Call, deliver: Deliver) -> None:
        async def one(request: Request) -> None:
            document = await self._daemon.fetch(request.url)
            deliver(request, document if document["ok"] else fetch_error(document))

        await asyncio.gather(*map(one, requests))


def lying(seen: Seen) -> bytes:
    """A wall and an empty text for what was asked, and a text for what was not."""
    if seen.method == "GET":
        return fake_hosted.reader("Verify you are human", "Warning: Target URL returned error 403: Forbidden")
    urls = json.loads(seen.body)["urls"]
    results = [{"url": url, "title": "Access Denied", "excerpts": [], "full_content": "You can't"} for url in urls]
    results.append({"url": "http://evil.test/", "title": "Other", "excerpts": [], "full_content": "Other text"})
    return answer(body=json.dumps({"extract_id": "", "session_id": "", "results": results, "errors": []}).encode())


@pytest.mark.parametrize("kind", ["outage", "slow", "lying"])
async def test_every_url_is_answered_by_the_browser(
    chrome: str, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cdpfetch.router._SHARE_MAX", 1.0)
    told: Any = lying if kind == "lying" else fake_hosted.sick(kind)
    urls = [f"http://other.test/page?word=w{number}" for number in range(4)] + ["http://mail.test/page?word=mine"]
    with Site() as mail, Site() as other:
        async with daemon(tmp_path, mail, other) as d, serving(told) as service:
            config = Config(
                fetch=Fetch(profile_sites=("mail.test",)),
                parallel=Parallel("k", service.url),
                jina=Jina(True, None, service.url),
            )
            chain = Router([ParallelFetcher(d.names), JinaFetcher(d.names), Browser(d)])
            home = paths.Home(str(tmp_path / "home"))
            documents = await chain.fetch(urls, call_of(home, config), Routing())
    assert [(document["ok"], document["source"]) for document in documents] == [(True, "local")] * 5
    assert [document["title"] for document in documents] == [f"About w{number}" for number in range(4)] + ["About mine"]
    trails = [[attempt["source"] for attempt in document["attempts"]] for document in documents]
    assert trails == [["parallel", "jina"]] * 4 + [[]]
    assert not any(b"mail.test" in seen.raw for seen in service.seen)
