"""Calls as agents write them: checked against what the provider has, and shared out over their queries.  Pure."""

from __future__ import annotations

from typing import Any

from cdpfetch.errors import InvalidRequest
from cdpfetch.search.contract import LENGTHS, Query, Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_QUERIES = 10
_TEXT: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 2000}
_WHOLE: dict[str, Any] = {"type": "integer", "minimum": 0}
# Command -> the fields of one entry; those that must be there are in _REQUIRED.
FIELDS: dict[str, dict[str, Any]] = {
    "search_query": {
        "q": _TEXT,
        "domains": {"type": "array", "items": _TEXT, "maxItems": 50},
        "recency": {"type": "integer", "minimum": 1, "description": "days"},
    },
    "image_query": {
        "q": _TEXT,
        "domains": {"type": "array", "items": _TEXT, "maxItems": 50},
        "recency": {"type": "integer", "minimum": 1},
    },
    "open": {"ref_id": _TEXT, "lineno": _WHOLE},
    "click": {"ref_id": _TEXT, "id": _WHOLE},
    "find": {"ref_id": _TEXT, "pattern": _TEXT},
    "screenshot": {"ref_id": _TEXT, "pageno": _WHOLE},
    "finance": {"ticker": _TEXT, "type": {"enum": ["equity", "fund", "crypto", "index"]}, "market": _TEXT},
    "weather": {"location": _TEXT, "start": _TEXT, "duration": _WHOLE},
    "sports": {
        "fn": {"enum": ["schedule", "standings"]},
        "league": _TEXT,
        "team": _TEXT,
        "opponent": _TEXT,
        "date_from": _TEXT,
        "date_to": _TEXT,
        "num_games": _WHOLE,
        "locale": _TEXT,
    },
    "time": {"utc_offset": _TEXT},
}
_REQUIRED = {
    "search_query": ["q"],
    "image_query": ["q"],
    "open": ["ref_id"],
    "click": ["ref_id", "id"],
    "find": ["ref_id", "pattern"],
    "screenshot": ["ref_id", "pageno"],
    "finance": ["ticker", "type"],
    "weather": ["location"],
    "sports": ["fn", "league"],
    "time": ["utc_offset"],
}


def schema(commands: Iterable[str]) -> dict[str, Any]:
    """The JSON Schema of a call to a provider that has these commands."""
    properties = {name: _list_of(name) for name in FIELDS if name in set(commands)}
    properties["response_length"] = {"enum": list(LENGTHS)}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _list_of(name: str) -> dict[str, Any]:
    entry = {
        "type": "object",
        "properties": FIELDS[name],
        "required": _REQUIRED[name],
        "additionalProperties": False,
    }
    return {"type": "array", "items": entry, "maxItems": MAX_QUERIES}


def parse(given: Mapping[str, Any], provider: str, commands: frozenset[str]) -> Request:
    """A call to a provider.

    Raises InvalidRequest, naming the provider and the command for one that it lacks: nothing is turned into another.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    asked = {name: value for name, value in given.items() if value is not None}
    missing = [name for name in asked if name in FIELDS and name not in commands]
    if missing:
        has = ", ".join(name for name in FIELDS if name in commands)
        raise InvalidRequest(f"{provider} has no {', '.join(missing)}", f"it has: {has}")
    wrong = best_match(Draft202012Validator(schema(commands)).iter_errors(asked))
    if wrong is not None:
        where = ".".join(str(part) for part in wrong.absolute_path)
        raise InvalidRequest(f"{where + ': ' if where else ''}{wrong.message[:300]}", "see the description of a call")
    request = Request(
        queries=_queries(asked.get("search_query", ())),
        images=_queries(asked.get("image_query", ())),
        commands={name: asked[name] for name in FIELDS if asked.get(name) and not name.endswith("_query")},
        response_length=asked.get("response_length", "medium"),
    )
    if not (request.queries or request.images or request.commands):
        raise InvalidRequest("the search holds no command", 'give {"search_query": [{"q": "..."}]}')
    return request


def _queries(entries: Iterable[Mapping[str, Any]]) -> tuple[Query, ...]:
    found = []
    for entry in entries:
        words = " ".join(entry["q"].split())
        if not words:
            raise InvalidRequest("a query is empty", "give the words to search for")
        domains = tuple(dict.fromkeys(_domain(domain) for domain in entry.get("domains") or ()))
        found.append(Query(words, domains, entry.get("recency")))
    return tuple(found)


def _domain(text: str) -> str:
    """``example.com`` out of however a site is named."""
    host = text.strip().lower().partition("://")[2] or text.strip().lower()
    host = host.partition("/")[0].removeprefix("*.").strip(".")
    if not host or " " in host:
        raise InvalidRequest(f"{text!r} is no domain", "as in: example.com")
    return host


def shares(request: Request) -> list[int]:
    """The results of each query, then of each image query: those of the call shared out, the first getting the rest.

    Each gets at least one.
    """
    count = len(request.queries) + len(request.images)
    if not count:
        return []
    each, rest = divmod(LENGTHS[request.response_length], count)
    return [max(1, each + (place < rest)) for place in range(count)]
