"""What the tests of GitHub share: one call of the fetcher, and what it delivered."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from fake_github import Github

from cdpfetch.config import Config
from cdpfetch.config import Github as Settings
from cdpfetch.errors import CdpFetchError
from cdpfetch.fetchers.contract import Call, Request
from cdpfetch.fetchers.github import GithubFetcher
from cdpfetch.paths import Home


class Caller:
    """Fetches URLs of a fake; ``environ`` is what the call sees, without a ``gh``."""

    def __init__(self, root: Path) -> None:
        self.home = Home(str(root / "home"))
        self.root = str(root / "out")
        self.environ: dict[str, str] = {"PATH": str(root)}
        self.config = Config()
        self.events: list[dict[str, Any]] = []

    def call(self, hub: Github, **options: Any) -> Call:
        settings = Settings(token=self.config.github.token, api_url=hub.api)
        config = self.config._replace(github=settings)
        return Call(
            self.home, config, self.root, options, self.environ, lambda _request, event: self.events.append(event)
        )

    async def many(self, hub: Github, urls: list[str], **options: Any) -> list[Any]:
        """A document or an error for each URL, in order; each was delivered once, and claimed before."""
        call, fetcher = self.call(hub, **options), GithubFetcher()
        requests = [Request(url, url) for url in urls]
        assert [url for url, request in zip(urls, requests, strict=True) if not fetcher.can_fetch(request, call)] == []
        got: list[tuple[Request, Any]] = []
        await fetcher.fetch(requests, call, lambda request, outcome: got.append((request, outcome)))
        # After an answer that was cut short the HTTP library closes its generators one by one, in turns of the loop.
        for _ in range(100):
            await asyncio.sleep(0)
        assert sorted(id(request) for request, _ in got) == sorted(map(id, requests))
        return [next(outcome for request, outcome in got if request is wanted) for wanted in requests]

    async def document(self, hub: Github, path: str, **options: Any) -> dict[str, Any]:
        """The document of a page of the fake's."""
        (outcome,) = await self.many(hub, [hub.url + path], **options)
        assert not isinstance(outcome, CdpFetchError), outcome
        return outcome

    async def error(self, hub: Github, path: str, **options: Any) -> CdpFetchError:
        """The error of a page of the fake's."""
        (outcome,) = await self.many(hub, [hub.url + path], **options)
        assert isinstance(outcome, CdpFetchError), outcome
        return outcome


@pytest.fixture
def caller(tmp_path: Path) -> Caller:
    return Caller(tmp_path)
