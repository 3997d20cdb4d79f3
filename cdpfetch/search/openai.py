"""OpenAI's own search: one ``POST /alpha/search`` for a whole call, and the report that comes back as it is."""

from __future__ import annotations

import re
import secrets
from typing import Any

from cdpfetch.errors import CdpFetchError, ConfigError
from cdpfetch.search.contract import Found, Item, Query, Request, Setup
from cdpfetch.search.http import Answer, Service, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

BASE_URL = "https://api.openai.com/v1"
# How much of each page the service looks at, by the length of the whole.
_CONTEXT = {"short": "low", "medium": "medium", "long": "high"}
# Where a result begins in the report: its source's id, as in [turn0search3], alone or before its title.
_SOURCE = re.compile(r"^[ \t>*#-]*(?:\d+[.)][ \t]*)?[\[【(]?(turn\d+[a-z]+\d+)[\]】)]?:?", re.MULTILINE)
_URL = re.compile(r"https?://[^\s<>\"'`\])}】]+")


class OpenAI:
    """Searches by OpenAI; every command goes out as it was given."""

    name = "openai"
    commands = frozenset("search_query image_query open click find screenshot finance weather sports time".split())

    def __init__(self, setup: Setup) -> None:
        settings = setup.config.search
        if not settings.model:
            raise ConfigError("search.model is not set, and openai needs one", "cdpfetch config set search.model NAME")
        self.model = settings.model
        base = settings.base_url or BASE_URL
        self._service = Service(setup, "OpenAI", base, {"authorization": f"Bearer {setup.key}"} if setup.key else {})

    async def search(self, request: Request, shares: Sequence[int]) -> Found:
        """One request, never repeated: a search costs."""
        body = _body(request, self.model)
        answer = await self._service.post("/alpha/search", body)
        report = text_of(answer.data, "output")
        if not report:
            raise CdpFetchError("download_failed", "OpenAI's answer has no output", "try again")
        return Found(
            items=tuple(items_of(answer)),
            raw=answer.text,
            report=report,
            model=text_of(answer.data, "model") or self.model,
            ids=tuple(filter(None, (text_of(answer.data, "id"), body["id"]))),
            usage=(answer.data["usage"],) if answer.data.get("usage") else (),
        )


def _body(request: Request, model: str) -> dict[str, Any]:
    commands: dict[str, Any] = {name: [dict(entry) for entry in entries] for name, entries in request.commands.items()}
    if request.queries:
        commands["search_query"] = [_query(query) for query in request.queries]
    if request.images:
        commands["image_query"] = [_query(query) for query in request.images]
    commands["response_length"] = request.response_length
    settings = {"search_context_size": _CONTEXT[request.response_length], "allowed_callers": ["direct"]}
    return {
        "id": f"cdpfetch-{secrets.token_hex(8)}",
        "model": model,
        "input": request.words,
        "commands": commands,
        "settings": settings,
    }


def _query(query: Query) -> dict[str, Any]:
    found: dict[str, Any] = {"q": query.q}
    if query.recency:
        found["recency"] = query.recency
    if query.domains:
        found["domains"] = list(query.domains)
    return found


def items_of(answer: Answer) -> list[Item]:
    """The results of an answer: its list of them where it has one, otherwise the parts of its report by source id."""
    listed = answer.data.get("results")
    if isinstance(listed, list) and listed:
        found = [_listed(entry) for entry in listed if isinstance(entry, dict)]
        return [item for item in found if item.url]
    return split(text_of(answer.data, "output"))


def _listed(entry: dict[str, Any]) -> Item:
    url = text_of(entry, "url", "link")
    return Item(
        id=text_of(entry, "ref_id", "id") or url,
        url=url,
        title=text_of(entry, "title"),
        text=text_of(entry, "text", "snippet", "content"),
        published=text_of(entry, "published", "published_at", "date") or None,
    )


def split(report: str) -> list[Item]:
    """The parts of a report that begin with a source's id and name a URL, in their order, each source once."""
    starts = list(_SOURCE.finditer(report))
    found: dict[str, Item] = {}
    ends = [*(start.start() for start in starts[1:]), len(report)]
    for start, end in zip(starts, ends, strict=False):
        part = report[start.end() : end].strip()
        address = _URL.search(part)
        if address is None or start[1] in found:
            continue
        url = address[0].rstrip(".,;:!?")
        title = part.partition("\n")[0].replace(address[0], "").strip(" \t*#[]()-|:\u2013\u2014")
        found[start[1]] = Item(start[1], url, title[:300], part)
    return list(found.values())
