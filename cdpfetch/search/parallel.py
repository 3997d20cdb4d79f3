"""Parallel: ``POST /v1/search`` (https://docs.parallel.ai/api-reference/search)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from cdpfetch.httpanswers import objects, texts
from cdpfetch.search.contract import Found, Item, Query, Request, Setup
from cdpfetch.search.http import Answer, Part, Service, each, entries, found_in, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

BASE_URL = "https://api.parallel.ai"


class Parallel:
    """Searches by Parallel: each query is its own search, since each has its own share of the results."""

    name = "parallel"
    commands = frozenset({"search_query"})

    def __init__(self, setup: Setup) -> None:
        base = setup.config.search.base_url or BASE_URL
        self._service = Service(setup, "Parallel", base, {"x-api-key": setup.key or ""})

    async def search(self, request: Request, shares: Sequence[int]) -> Found:
        """One request for each query, at once."""
        asked = enumerate(zip(request.queries, shares, strict=True))
        parts, warnings = await each([(query.q, self._ask(query, share, place)) for place, (query, share) in asked])
        told = tuple(
            text_of(warning, "message")
            for part in parts
            for warning in objects(part.answer.data.get("warnings"))
            if text_of(warning, "message")
        )
        return found_in(parts, (*warnings, *told), ids="search_id", usage="usage")

    async def _ask(self, query: Query, share: int, place: int) -> Part:
        answer = await self._service.post("/v1/search", _body(query, share))
        return Part(answer, _items(answer, place))


def _body(query: Query, share: int) -> dict[str, Any]:
    settings: dict[str, Any] = {"max_results": share}
    policy: dict[str, Any] = {}
    if query.domains:
        policy["include_domains"] = list(query.domains)
    if query.recency:
        policy["after_date"] = (datetime.now(UTC) - timedelta(days=query.recency)).date().isoformat()
    if policy:
        settings["source_policy"] = policy
    return {"objective": query.q, "search_queries": [query.q[:200]], "advanced_settings": settings}


def _items(answer: Answer, place: int) -> list[Item]:
    return [
        Item(
            id=text_of(entry, "url"),
            url=text_of(entry, "url"),
            title=text_of(entry, "title"),
            text="\n\n".join(texts(entry.get("excerpts"))),
            published=text_of(entry, "publish_date") or None,
            query=place,
        )
        for entry in entries(answer, "Parallel", "results")
    ]
