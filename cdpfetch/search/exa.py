"""Exa: ``POST /search`` with highlights that are about the query (https://docs.exa.ai/reference/search)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from cdpfetch.httpanswers import texts
from cdpfetch.search.contract import Found, Item, Query, Request, Setup
from cdpfetch.search.http import Answer, Part, Service, each, entries, found_in, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

BASE_URL = "https://api.exa.ai"
HIGHLIGHT_CHARACTERS = 1200


class Exa:
    """Searches by Exa; no model is asked."""

    name = "exa"
    commands = frozenset({"search_query"})

    def __init__(self, setup: Setup) -> None:
        base = setup.config.search.base_url or BASE_URL
        self._service = Service(setup, "Exa", base, {"x-api-key": setup.key or ""})

    async def search(self, request: Request, shares: Sequence[int]) -> Found:
        """One request for each query, at once."""
        asked = enumerate(zip(request.queries, shares, strict=True))
        parts, warnings = await each([(query.q, self._ask(query, share, place)) for place, (query, share) in asked])
        return found_in(parts, warnings, ids="requestId", usage="costDollars")

    async def _ask(self, query: Query, share: int, place: int) -> Part:
        answer = await self._service.post("/search", _body(query, share))
        return Part(answer, _items(answer, place))


def _body(query: Query, share: int) -> dict[str, Any]:
    highlights = {"query": query.q, "maxCharacters": HIGHLIGHT_CHARACTERS}
    body: dict[str, Any] = {"query": query.q, "numResults": share, "contents": {"highlights": highlights}}
    if query.domains:
        body["includeDomains"] = list(query.domains)
    if query.recency:
        since = datetime.now(UTC) - timedelta(days=query.recency)
        body["startPublishedDate"] = since.strftime("%Y-%m-%dT00:00:00.000Z")
    return body


def _items(answer: Answer, place: int) -> list[Item]:
    return [
        Item(
            id=text_of(entry, "id") or text_of(entry, "url"),
            url=text_of(entry, "url"),
            title=text_of(entry, "title"),
            text="\n\n".join(texts(entry.get("highlights"))),
            published=text_of(entry, "publishedDate") or None,
            author=text_of(entry, "author") or None,
            query=place,
        )
        for entry in entries(answer, "Exa", "results")
    ]
