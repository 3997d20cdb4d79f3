"""Requests to GitHub: REST with its pages, GraphQL, and files as streams; each answer is bounded.

The token is the client's secret (see ``cdpfetch.httpclient``), so that no redirect to another host carries it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from collections.abc import AsyncIterator, Coroutine, Mapping
from typing import Any, NamedTuple, TypeVar

import httpx

from cdpfetch import httpclient
from cdpfetch.errors import CdpFetchError
from cdpfetch.fetchers.github import fields
from cdpfetch.fetchers.github.failures import TOKEN_HINT, RateLimited, error_of
from cdpfetch.fetchers.github.hosts import Hosts, origin_of

JSON = "application/vnd.github+json"
RAW = "application/vnd.github.raw+json"
OCTETS = "application/octet-stream"
VERSION = "2022-11-28"
PER_PAGE = 100
# Bytes of one JSON answer (a page of a hundred comments of 64 KiB is a quarter of it), and of an error's.
MAX_JSON = 32 << 20
_MAX_ERROR = 1 << 16
_ALL = 1 << 60
_PAGE = re.compile(r"[?&]page=(\d{1,9})(?:&|$)")

T = TypeVar("T")


class Shared(NamedTuple):
    """What the requests of one call share: client, hosts, where the token is from, and how many run at once."""

    http: httpclient.Client
    hosts: Hosts
    token: str | None
    gate: asyncio.Semaphore
    limited: list[RateLimited]  # set by the first answer that says so


class Page(NamedTuple):
    """One answer: its JSON, the next page's address and the last page's number (0: unknown)."""

    data: Any
    following: str | None
    last: int


class Listing(NamedTuple):
    """The items of several pages; ``more`` is whether there are others; ``last`` is the last page's number or 0."""

    items: list[dict[str, Any]]
    more: bool
    last: int = 0


class Api:
    """The requests for one URL; ``received`` counts the bytes of its answers."""

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self.hosts = shared.hosts
        self.received = 0

    async def get(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        """The JSON at a path of the API.  Raises CdpFetchError."""
        return (await self.page(path, params)).data

    async def record(self, path: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """An object at a path of the API.  Raises CdpFetchError, also for JSON that is none."""
        data = await self.get(path, params)
        if not isinstance(data, dict):
            raise _unexpected(path, data)
        return data

    async def page(self, path: str, params: Mapping[str, Any] | None = None) -> Page:
        """One page at a path, or at an address that GitHub gave."""
        url = path if path.startswith(("http://", "https://")) else self.hosts.api + path
        async with self.open(url, params=params) as response:
            data = await self._json(response)
            links = response.links
        following = links.get("next", {}).get("url")
        if following is not None and origin_of(following) != origin_of(self.hosts.api):
            following = None
        return Page(data, following, _page_number(links.get("last", {}).get("url")))

    async def listing(
        self, path: str, limit: int, params: Mapping[str, Any] | None = None, key: str | None = None
    ) -> Listing:
        """Up to ``limit`` items of a list (below ``key`` where it is given), its pages fetched at once."""
        asked = {**(params or {}), "per_page": min(PER_PAGE, limit)}
        first = await self.page(path, asked)
        pages = [first]
        wanted = -(-limit // PER_PAGE)
        if first.following and first.last:
            numbers = range(2, min(first.last, wanted) + 1)
            pages += await together(*(self.page(path, {**asked, "page": number}) for number in numbers))
        while pages[-1].following and not first.last and len(pages) < wanted:
            pages.append(await self.page(pages[-1].following))
        items = [item for page in pages for item in _items(page.data, key, path)]
        more = len(items) > limit or (pages[-1].following is not None and len(pages) >= wanted)
        return Listing(items[:limit], more, first.last)

    async def graphql(self, query: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        """The ``data`` of a GraphQL answer.  Raises CdpFetchError: ``auth_required`` without a token."""
        if self.shared.token is None:
            raise CdpFetchError("auth_required", "GitHub shows discussions to its API only with a token", TOKEN_HINT)
        body = {"query": query, "variables": dict(variables)}
        async with self.open(self.hosts.graphql, body=body) as response:
            answer = await self._json(response)
        problems = [fields.text(item, "message") for item in fields.records(answer, "errors")]
        if problems and any(fields.text(item, "type") == "RATE_LIMITED" for item in fields.records(answer, "errors")):
            headers = {**dict(response.headers), "x-ratelimit-remaining": "0"}
            raise self._refused(403, headers, problems[0], "GraphQL")
        if problems:
            raise CdpFetchError("http_error", f"GitHub answered: {problems[0][:200]}")
        return fields.record(answer, "data")

    async def head(self, path: str, accept: str, limit: int) -> tuple[bytes, bool]:
        """The first ``limit`` bytes at a path, and whether that is all."""
        data = bytearray()
        async with (
            self.open(self.hosts.api + path, accept=accept) as response,
            contextlib.aclosing(httpclient.iter_limited(response, _ALL)) as chunks,
        ):
            async for chunk in chunks:
                data += chunk
                if len(data) > limit:
                    break
        self.received += min(len(data), limit)
        return bytes(data[:limit]), len(data) <= limit

    @contextlib.asynccontextmanager
    async def open(
        self,
        url: str,
        *,
        accept: str = JSON,
        params: Mapping[str, Any] | None = None,
        body: dict[str, Any] | None = None,
    ) -> AsyncIterator[httpx.Response]:
        """A response of 2xx, to be streamed; redirects are followed.  Raises CdpFetchError."""
        headers = {"accept": accept}
        if url.startswith(self.hosts.api):
            headers["x-github-api-version"] = VERSION
        if accept != JSON:
            headers["accept-encoding"] = "identity"  # a file's bytes and their number are what is told
        http = self.shared.http
        async with self.shared.gate:
            if self.shared.limited:
                raise self.shared.limited[0]
            try:
                request = http.build_request("POST" if body else "GET", url, params=params, json=body, headers=headers)
            except (httpx.InvalidURL, ValueError):
                raise CdpFetchError("http_error", "GitHub's answer names an address that is none") from None
            response = await http.send(request, stream=True)
            try:
                if response.status_code >= 300:
                    raise await self._error(response)
                yield response
            finally:
                await response.aclose()

    async def _json(self, response: httpx.Response) -> Any:
        data = await httpclient.read_limited(response, MAX_JSON)
        self.received += len(data)
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            kind = response.headers.get("content-type", "no content type")
            raise CdpFetchError(
                "http_error",
                f"{response.request.url.host} answered {len(data)} bytes ({kind[:80]}) that are no JSON",
                "check github.api_url, or what stands between",
            ) from None

    async def _error(self, response: httpx.Response) -> CdpFetchError:
        message = ""
        with contextlib.suppress(CdpFetchError, ValueError, RecursionError):
            message = fields.text(json.loads(await httpclient.read_limited(response, _MAX_ERROR)), "message")
        return self._refused(response.status_code, response.headers, message, response.request.url.path)

    def _refused(self, status: int, headers: Mapping[str, str], message: str, what: str) -> CdpFetchError:
        error = error_of(status, headers, message, what=what, token=self.shared.token, now=time.time())
        if isinstance(error, RateLimited):
            self.shared.limited.append(error)
        return error


async def together(*work: Coroutine[Any, Any, T]) -> list[T]:
    """The results of coroutines that run at once; the first failure cancels the others, and is raised."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _items(data: Any, key: str | None, path: str) -> list[dict[str, Any]]:
    found = data.get(key) if key is not None and isinstance(data, dict) else data
    if not isinstance(found, list):
        raise _unexpected(path, data)
    return [item for item in found if isinstance(item, dict)]


def _unexpected(path: str, data: Any) -> CdpFetchError:
    kind = type(data).__name__
    return CdpFetchError("http_error", f"GitHub's answer for {path[:200]} is a JSON {kind} of an unknown shape")


def _page_number(url: str | None) -> int:
    if url is None:
        return 0
    found = _PAGE.search(url)
    return int(found[1]) if found else 0
