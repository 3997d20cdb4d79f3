"""Requests to a search service: one try each, and an answer that is JSON or an error that says what was seen."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from cdpfetch.delivery import one_line
from cdpfetch.errors import CdpFetchError
from cdpfetch.httpanswers import json_object, message
from cdpfetch.search.contract import Found

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    import httpx

    from cdpfetch.search.contract import Item, Setup

SECONDS = 60.0
"""For one request to a service."""
MAX_ANSWER = 16 << 20


class Answer(NamedTuple):
    """The JSON object of a response, and its text as it came."""

    data: dict[str, Any]
    text: str


class Service:
    """One service: its name for errors, its address, and the headers that hold its key."""

    def __init__(self, setup: Setup, name: str, base_url: str, secrets: Mapping[str, str]) -> None:
        self._setup = setup
        self._name = name
        self._base_url = base_url.rstrip("/")
        self._secrets = secrets

    async def post(self, path: str, body: Mapping[str, Any]) -> Answer:
        """Send JSON.  Raises CdpFetchError."""
        return await self._send("POST", path, {"json": body})

    async def get(self, path: str, parameters: Mapping[str, Any]) -> Answer:
        """Ask with a query string.  Raises CdpFetchError."""
        return await self._send("GET", path, {"params": parameters})

    async def _send(self, method: str, path: str, options: dict[str, Any]) -> Answer:
        from cdpfetch.httpclient import open_client  # loads httpx

        client = open_client(
            self._setup.config,
            base_url=self._base_url,
            headers={"accept": "application/json"},
            secrets=self._secrets,
            timeout=SECONDS,
            max_bytes=MAX_ANSWER,
            environ=self._setup.environ,
        )
        try:
            async with client, asyncio.timeout(SECONDS):
                # A redirect would tell the query to whoever it names.
                response = await client.request(method, self._base_url + path, follow_redirects=False, **options)
        except TimeoutError:
            raise CdpFetchError("timeout", f"{self._name} did not answer within {SECONDS:g} s", "try again") from None
        return self._read(response)

    def _read(self, response: httpx.Response) -> Answer:
        if response.status_code != 200:
            raise self._refused(response)
        data = json_object(response)
        if data is None:
            seen = one_line(response.text[:2000], 120)
            raise CdpFetchError("download_failed", f"{self._name} sent no JSON object: {seen!r}", "try again")
        return Answer(data, response.text)

    def _refused(self, response: httpx.Response) -> CdpFetchError:
        status = response.status_code
        said = f": {words}" if (words := message(response)) else ""
        if status in (401, 403):
            hint = "set search.api_key: cdpfetch config set search.api_key KEY"
            return CdpFetchError("auth_required", f"{self._name} refuses the key (HTTP {status}){said}", hint)
        if status == 429:
            later = response.headers.get("retry-after")
            hint = f"search again later (Retry-After: {one_line(later, 60)})" if later else "search again later"
            return CdpFetchError("http_error", f"{self._name} is asked too often (HTTP 429){said}", hint)
        if 300 <= status < 400:
            return CdpFetchError("http_error", f"{self._name} redirects (HTTP {status})", "check search.base_url")
        hint = "check search.base_url and search.model" if status < 500 else "try again later"
        return CdpFetchError("http_error", f"{self._name} answers HTTP {status}{said}", hint)


class Part(NamedTuple):
    """What one query gave."""

    answer: Answer
    items: list[Item]


async def each(asked: Sequence[tuple[str, Awaitable[Part]]]) -> tuple[list[Part], tuple[str, ...]]:
    """What several queries at once gave, in their order, and a warning for each that failed.

    Raises the first's CdpFetchError when all failed.
    """

    async def one(request: Awaitable[Part]) -> Part | CdpFetchError:
        try:
            return await request
        except CdpFetchError as error:
            return error

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(request)) for _, request in asked]
    good: list[Part] = []
    failed: list[tuple[str, CdpFetchError]] = []
    for (words, _), task in zip(asked, tasks, strict=True):
        found = task.result()
        if isinstance(found, Part):
            good.append(found)
        else:
            failed.append((words, found))
    if failed and not good:
        raise failed[0][1]
    return good, tuple(f"the query {words!r} failed: {error.code}: {error.reason}" for words, error in failed)


def found_in(parts: Sequence[Part], warnings: tuple[str, ...], *, ids: str = "", usage: str = "") -> Found:
    """The parts of a call as one; ``ids`` and ``usage`` name the fields of an answer that hold those."""
    return Found(
        items=tuple(item for part in parts for item in part.items),
        raw="\n".join(part.answer.text for part in parts),
        ids=tuple(filter(None, (text_of(part.answer.data, ids) for part in parts))),
        usage=tuple(part.answer.data[usage] for part in parts if part.answer.data.get(usage)),
        warnings=warnings,
    )


def entries(answer: Answer, service: str, *path: str) -> list[dict[str, Any]]:
    """The objects of the list at a path of an answer.  Raises CdpFetchError when there is no list."""
    value: Any = answer.data
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    if not isinstance(value, list):
        seen = one_line(answer.text[:2000], 120)
        raise CdpFetchError("download_failed", f"{service}'s answer has no {'.'.join(path)}: {seen!r}", "try again")
    return [entry for entry in value if isinstance(entry, dict)]


def text_of(entry: Mapping[str, Any], *names: str) -> str:
    """The first of these fields that is a text with something in it, or an empty one."""
    for name in names:
        value = entry.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""
