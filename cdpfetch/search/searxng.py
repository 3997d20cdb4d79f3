"""SearXNG: ``GET /search?format=json`` on an instance of one's own, without a key (https://docs.searxng.org).

The instance must have ``json`` among its ``search.formats``.
"""

from __future__ import annotations

from typing import Any

from cdpfetch.errors import CdpFetchError, ConfigError
from cdpfetch.search.contract import Found, Item, Query, Request, Setup
from cdpfetch.search.http import Answer, Part, Service, each, entries, found_in, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Greatest age in days -> what the instance calls it.
_RANGES = ((1, "day"), (7, "week"), (31, "month"), (366, "year"))


class Searxng:
    """Searches by an instance; its address may be private, since the settings name it."""

    name = "searxng"
    commands = frozenset({"search_query", "image_query"})

    def __init__(self, setup: Setup) -> None:
        base = setup.config.search.base_url
        if not base:
            hint = "cdpfetch config set search.base_url http://127.0.0.1:8888"
            raise ConfigError("search.base_url is not set, and searxng is an instance of your own", hint)
        self._service = Service(setup, "SearXNG", base, {"authorization": f"Bearer {setup.key}"} if setup.key else {})

    async def search(self, request: Request, shares: Sequence[int]) -> Found:
        """One request for each query, at once."""
        kinds = [("general", query) for query in request.queries] + [("images", query) for query in request.images]
        asked = enumerate(zip(kinds, shares, strict=True))
        parts, warnings = await each(
            [(query.q, self._ask(kind, query, share, place)) for place, ((kind, query), share) in asked]
        )
        return found_in(parts, warnings)

    async def _ask(self, kind: str, query: Query, share: int, place: int) -> Part:
        try:
            answer = await self._service.get("/search", _parameters(kind, query))
        except CdpFetchError as error:
            if error.code == "auth_required":
                hint = "add json to search.formats in its settings.yml, or set search.api_key"
                raise CdpFetchError(error.code, error.reason, hint) from error
            raise
        return Part(answer, _items(answer, place)[:share])


def _parameters(kind: str, query: Query) -> dict[str, Any]:
    words = query.q
    if query.domains:
        words += " " + " OR ".join(f"site:{domain}" for domain in query.domains)
    found = {"q": words, "format": "json", "categories": kind}
    if query.recency:
        found["time_range"] = next((name for days, name in _RANGES if query.recency <= days), "year")
    return found


def _items(answer: Answer, place: int) -> list[Item]:
    return [
        Item(
            id=text_of(entry, "url"),
            url=text_of(entry, "url"),
            title=text_of(entry, "title"),
            text=text_of(entry, "content"),
            published=text_of(entry, "publishedDate") or None,
            query=place,
            image=text_of(entry, "img_src") or None,
        )
        for entry in entries(answer, "SearXNG", "results")
    ]
