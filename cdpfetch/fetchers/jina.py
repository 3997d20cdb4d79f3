"""Jina's reader: a hosted service that turns a URL (pages and PDFs) into Markdown; off unless ``[jina] enabled``.

https://github.com/jina-ai/reader: ``GET https://r.jina.ai/URL``, with a key or, at a lower rate, without.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import Any

from cdpfetch.errors import CdpFetchError
from cdpfetch.fetchers import hosted
from cdpfetch.fetchers.contract import Call, Request
from cdpfetch.fetchers.hosted import Content
from cdpfetch.httpanswers import json_object
from cdpfetch.resolver import Resolve

BASE_URL = "https://r.jina.ai"
KEY_VARIABLE = "JINA_API_KEY"
_AT_ONCE = 8
_MARK = "Markdown Content:"
_HEADERS = ("Title", "URL Source", "Published Time", "Warning", "Number of Pages")
_TARGET_ERROR = re.compile(r"Target URL returned error (\d{3})(?::\s*(.*))?")
_KEY_HINT = f"a key raises the limit: {KEY_VARIABLE}, or cdpfetch config set jina.api_key"

Deliver = Callable[[Request, "dict[str, Any] | CdpFetchError"], None]


class JinaFetcher:
    """Fetches by Jina's reader.  ``lookup`` stands for the system's resolver in tests."""

    name = "jina"

    def __init__(self, lookup: Resolve | None = None) -> None:
        self._lookup = lookup

    def can_fetch(self, request: Request, call: Call) -> bool:
        """Where the settings enable it, and what may be told to others."""
        return self.objection(request, call) is None

    def objection(self, request: Request, call: Call) -> str | None:
        """Why it does not take a URL, or None."""
        return hosted.refusal(request, call) if call.config.jina.enabled else "jina.enabled is false"

    async def fetch(self, requests: Sequence[Request], call: Call, deliver: Deliver) -> None:
        """See the contract."""
        public = await hosted.only_public(requests, call, deliver, self._lookup)
        key = hosted.api_key(call, KEY_VARIABLE, call.config.jina.api_key)
        secrets = {"authorization": f"Bearer {key}"} if key else {}
        window = asyncio.Semaphore(_AT_ONCE)
        base = (call.config.jina.base_url or BASE_URL).rstrip("/")

        async def one(client: Any, request: Request) -> None:
            async with window:
                try:
                    content = await self._read(client, f"{base}/{request.href}", call)
                    deliver(request, await hosted.write(request, call, self.name, content))
                except CdpFetchError as error:
                    deliver(request, error)

        async with hosted.open_service(call, base, secrets) as client, asyncio.TaskGroup() as group:
            for request in public:
                group.create_task(one(client, request))

    async def _read(self, client: Any, url: str, call: Call) -> Content:
        # DNT: neither keep nor track what was asked for; X-Timeout: seconds for the page to load.
        headers = {"accept": "text/plain", "dnt": "1", "x-timeout": str(_whole(call.options.get("deadline")))}
        if call.options.get("fresh"):
            headers["x-no-cache"] = "true"
        response = await client.get(url, headers=headers)
        if response.status_code != 200:
            answer = json_object(response) or {}
            message = str(answer.get("readableMessage") or answer.get("message") or "")
            retry = response.headers.get("retry-after")
            raise hosted.service_error("Jina", response.status_code, message, retry, _KEY_HINT)
        return parse(response.content.decode("utf-8", "replace"))


def parse(text: str) -> Content:
    """The content of a reader's answer, whose lines of metadata end at ``Markdown Content:``.

    Raises CdpFetchError: ``http_error`` where the reader says that the page itself was an error, ``download_failed``
    for an answer without that mark.
    """
    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    head, mark, body = text.partition(f"\n{_MARK}")
    if not mark or not head.startswith(tuple(f"{name}:" for name in _HEADERS)):
        raise CdpFetchError("download_failed", f"Jina's answer has no line {_MARK!r}")
    fields: dict[str, list[str]] = {}
    for line in head.split("\n"):
        name, colon, value = line.partition(":")
        if colon and name in _HEADERS and value.strip():
            fields.setdefault(name, []).append(value.strip())
    warnings = fields.get("Warning", [])
    for warning in warnings:
        told = _TARGET_ERROR.search(warning)
        if told:
            raise CdpFetchError("http_error", f"the page answered {told[1]} {told[2] or ''}".rstrip())
    facts = [f"published {value}" for value in fields.get("Published Time", [])[:1]]
    facts += [f"{value} pages" for value in fields.get("Number of Pages", [])[:1] if value.isdigit()]
    return Content(
        body.lstrip("\n"),
        next(iter(fields.get("Title", [])), None),
        link=next(iter(fields.get("URL Source", [])), None),
        facts=tuple(facts),
        warnings=tuple(warnings),
    )


def _whole(seconds: Any) -> int:
    """Seconds as the header wants them."""
    return max(1, min(180, int(seconds or 20)))
