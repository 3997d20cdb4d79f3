"""Parallel's extract API: a hosted service that turns up to 20 URLs a request into Markdown.

https://docs.parallel.ai/api-reference/extract (version 1, which replaced v1beta); off without a key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from cdpfetch.cache import normal
from cdpfetch.errors import CdpFetchError
from cdpfetch.fetchers import hosted
from cdpfetch.fetchers.contract import Call, Request
from cdpfetch.fetchers.hosted import Content
from cdpfetch.httpanswers import json_object, objects, texts
from cdpfetch.resolver import Resolve
from cdpfetch.urls import parse_url

BASE_URL = "https://api.parallel.ai"
KEY_VARIABLE = "PARALLEL_API_KEY"
MAX_URLS = 20
_MAX_OBJECTIVE = 5000
_KEY_HINT = f"check {KEY_VARIABLE}, or parallel.api_key: cdpfetch config get parallel.api_key"

Deliver = Callable[[Request, "dict[str, Any] | CdpFetchError"], None]


class ParallelFetcher:
    """Fetches by Parallel.  ``lookup`` stands for the system's resolver in tests."""

    name = "parallel"

    def __init__(self, lookup: Resolve | None = None) -> None:
        self._lookup = lookup

    def can_fetch(self, request: Request, call: Call) -> bool:
        """With a key, and what may be told to others."""
        return self.objection(request, call) is None

    def objection(self, request: Request, call: Call) -> str | None:
        """Why it does not take a URL, or None."""
        return hosted.refusal(request, call) if _key(call) else f"there is no key ({KEY_VARIABLE}, parallel.api_key)"

    async def fetch(self, requests: Sequence[Request], call: Call, deliver: Deliver) -> None:
        """See the contract."""
        public = await hosted.only_public(requests, call, deliver, self._lookup)
        parts = [public[start : start + MAX_URLS] for start in range(0, len(public), MAX_URLS)]
        async with (
            hosted.open_service(
                call, call.config.parallel.base_url or BASE_URL, {"x-api-key": _key(call) or ""}
            ) as client,
            asyncio.TaskGroup() as group,
        ):
            for part in parts:
                group.create_task(self._part(client, part, call, deliver))

    async def _part(self, client: Any, part: Sequence[Request], call: Call, deliver: Deliver) -> None:
        """One request to the service; what it does not answer for is told as its error."""
        try:
            answer = await self._ask(client, [request.href for request in part], call)
        except CdpFetchError as error:
            for request in part:
                deliver(request, error)
            return
        found = {_same(result.get("url")): result for result in objects(answer.get("results"))}
        failed = {_same(error.get("url")): error for error in objects(answer.get("errors"))}
        for request in part:
            own = _same(request.href)
            try:
                if own not in found:
                    raise _failure(failed.get(own))
                deliver(request, await hosted.write(request, call, self.name, _content(found[own], call)))
            except CdpFetchError as error:
                deliver(request, error)

    async def _ask(self, client: Any, urls: list[str], call: Call) -> dict[str, Any]:
        body: dict[str, Any] = {"urls": urls, "advanced_settings": {"full_content": True}}
        objective = call.options.get("objective")
        if objective:
            body["objective"] = objective[:_MAX_OBJECTIVE]
        response = await client.post("/v1/extract", json=body)
        answer = json_object(response)
        if response.status_code != 200:
            error = answer.get("error") if answer else None
            message = str(error.get("message", "")) if isinstance(error, dict) else ""
            retry = response.headers.get("retry-after")
            raise hosted.service_error("Parallel", response.status_code, message, retry, _KEY_HINT)
        if answer is None:
            raise CdpFetchError("download_failed", "Parallel's answer is not the JSON that it documents")
        return answer


def _key(call: Call) -> str | None:
    return hosted.api_key(call, KEY_VARIABLE, call.config.parallel.api_key)


def _content(result: dict[str, Any], call: Call) -> Content:
    """What a result holds: the whole text, and the highlights for the objective where there is one.

    Raises CdpFetchError (``no_content``) for one without a text.
    """
    excerpts = tuple(part for part in texts(result.get("excerpts")) if part.strip())
    text = result.get("full_content")
    highlights = excerpts if call.options.get("objective") else ()
    warnings: tuple[str, ...] = ()
    if not isinstance(text, str) or not text.strip():
        if not highlights:
            raise CdpFetchError("no_content", "Parallel returned no full content")
        text, highlights = "\n\n---\n\n".join(excerpts), ()
        warnings = ("only the passages for the objective were returned",)
    date, title = result.get("publish_date"), result.get("title")
    return Content(
        text,
        title if isinstance(title, str) else None,
        facts=(f"published {date}",) if isinstance(date, str) and date else (),
        highlights=highlights,
        warnings=warnings,
    )


def _failure(error: dict[str, Any] | None) -> CdpFetchError:
    """What the service says of a URL that it could not extract."""
    if error is None:
        return CdpFetchError("no_content", "Parallel returned no result for this URL")
    kind = " ".join(str(error.get("error_type") or "an error").split())[:100]
    status = error.get("http_status_code")
    if isinstance(status, int):
        return CdpFetchError("http_error", f"Parallel reports {kind} (HTTP {status})")
    return CdpFetchError("download_failed", f"Parallel reports {kind}")


def _same(url: Any) -> str | None:
    """What two spellings of a URL have in common."""
    try:
        return normal(parse_url(url).href) if isinstance(url, str) else None
    except CdpFetchError:
        return None
