"""What fetches for a batch: the chain of fetchers, whose last is the daemon of this machine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Protocol, Self

from cdpfetch import asyncapi, calls, chain, config
from cdpfetch.batch.robots import Answer
from cdpfetch.config import Config
from cdpfetch.fetchers.contract import Call
from cdpfetch.httpclient import open_client
from cdpfetch.paths import Home
from cdpfetch.router import Router, Routing


class Engine(Protocol):
    """An async context manager that fetches."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def fetch(self, url: str, folder: str) -> dict[str, Any]:
        """The document of a URL, good or failed; what was saved of it stands in a folder of the batch."""
        ...


class ChainEngine:
    """Fetches along the chain, into a directory of this machine."""

    def __init__(self, root: str, home: Home, options: Mapping[str, Any]) -> None:
        """Raises CdpFetchError for options or settings that are wrong."""
        self._root = root
        plain, own = chain.split(options)
        calls.fetch_fields(home, {**plain, "output_dir": root})
        self._routing = Routing(own.get("source"))
        self._client = asyncapi.AsyncClient(home)
        self._router = Router(asyncapi.compose(self._client))
        self._call = Call(home, config.load(home), root, plain, os.environ, lambda request, event: None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    async def fetch(self, url: str, folder: str) -> dict[str, Any]:
        """See Engine."""
        call = self._call._replace(root=os.path.join(self._root, folder))
        return (await self._router.fetch([url], call, self._routing))[0]


class RobotsClient:
    """Fetches robots.txt by plain HTTP, behind the address policy of the settings."""

    def __init__(self, settings: Config, allow: tuple[str, ...] = ()) -> None:
        self._client = open_client(settings, timeout=10.0, max_bytes=1 << 22, allow=allow)

    async def get(self, url: str) -> Answer:
        """See ``robots.Get``."""
        from cdpfetch.batch.robots import MAX_BYTES

        response = await self._client.get(url)
        return Answer(response.status_code, response.content[:MAX_BYTES].decode("utf-8", "replace"))

    async def close(self) -> None:
        await asyncio.wait_for(self._client.aclose(), 10.0)
