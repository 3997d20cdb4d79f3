"""Brave: ``GET /res/v1/web/search`` and ``/res/v1/images/search`` (https://api-dashboard.search.brave.com)."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from cdpfetch.httpanswers import texts
from cdpfetch.search.contract import Found, Item, Query, Request, Setup
from cdpfetch.search.http import Answer, Part, Service, each, entries, found_in, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

BASE_URL = "https://api.search.brave.com"
# The service marks the words that were found.
_MARKS = re.compile(r"</?strong>")


class Brave:
    """Searches by Brave."""

    name = "brave"
    commands = frozenset({"search_query", "image_query"})

    def __init__(self, setup: Setup) -> None:
        base = setup.config.search.base_url or BASE_URL
        self._service = Service(setup, "Brave", base, {"x-subscription-token": setup.key or ""})
        self._turn = asyncio.Lock()

    async def search(self, request: Request, shares: Sequence[int]) -> Found:
        """One request for each query, one after the other: the service allows few a second."""
        kinds = [("web", query) for query in request.queries] + [("images", query) for query in request.images]
        asked = enumerate(zip(kinds, shares, strict=True))
        parts, warnings = await each(
            [(query.q, self._ask(kind, query, share, place)) for place, ((kind, query), share) in asked]
        )
        return found_in(parts, warnings)

    async def _ask(self, kind: str, query: Query, share: int, place: int) -> Part:
        async with self._turn:
            answer = await self._service.get(f"/res/v1/{kind}/search", _parameters(kind, query, share))
        return Part(answer, (_pages if kind == "web" else _pictures)(answer, place, share))


def _parameters(kind: str, query: Query, share: int) -> dict[str, Any]:
    words = query.q
    if query.domains:
        words += " " + " OR ".join(f"site:{domain}" for domain in query.domains)
    found: dict[str, Any] = {"q": words, "count": min(share, 20)}
    if kind == "web" and query.recency:
        today = datetime.now(UTC).date()
        found["freshness"] = f"{today - timedelta(days=query.recency)}to{today}"
    return found


def _pages(answer: Answer, place: int, share: int) -> list[Item]:
    if "web" not in answer.data:
        return []  # nothing was found
    return [
        Item(
            id=text_of(entry, "url"),
            url=text_of(entry, "url"),
            title=_plain(text_of(entry, "title")),
            text="\n\n".join(
                _plain(part) for part in texts([entry.get("description"), *texts(entry.get("extra_snippets"))])
            ),
            published=text_of(entry, "page_age") or None,
            query=place,
        )
        for entry in entries(answer, "Brave", "web", "results")[:share]
    ]


def _pictures(answer: Answer, place: int, share: int) -> list[Item]:
    found = []
    for entry in entries(answer, "Brave", "results")[:share]:
        properties = entry.get("properties")
        image = text_of(properties, "url") if isinstance(properties, dict) else ""
        url = text_of(entry, "url")
        found.append(Item(url, url, _plain(text_of(entry, "title")), query=place, image=image or None))
    return found


def _plain(text: str) -> str:
    import html

    return html.unescape(_MARKS.sub("", text))
