"""The library's search function."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

from cdpfetch.errors import InvalidRequest
from cdpfetch.paths import Home, find_home
from cdpfetch.search.running import SearchResult, run

Queries = str | Sequence[str] | Mapping[str, Any] | None


class SearchOptions(TypedDict, total=False):
    """The options of a search."""

    domains: Sequence[str]
    recency: int | None
    response_length: str | None
    commands: Mapping[str, Any] | None
    output_dir: str | None


def search(queries: Queries, *, home: Home | str | None = None, **options: Unpack[SearchOptions]) -> SearchResult:
    """Search the web by the provider that the settings choose.

    Args:
        queries: words, several of them, or a whole call: ``{"search_query": [{"q", "domains", "recency"}], ...}``.
        home: whose settings and artifacts; default: this account's.

    Options:
        domains: only results from these.
        recency: greatest age of results, in days.
        response_length: ``short``, ``medium`` (default) or ``long``: 5, 10 or 15 results for the whole call.
        commands: further commands that the provider has, such as ``{"weather": [{"location": "Oslo"}]}``.
        output_dir: where the report goes; default: the home's artifacts.

    Raises CdpFetchError: ``config_error`` (no provider, no key), ``invalid_request`` (a command that the provider
    lacks), ``auth_required``, ``http_error``, ``timeout``, ``download_failed``, ``too_large`` and their like.
    """
    return asyncio.run(asearch(queries, home=home, **options))


async def asearch(
    queries: Queries,
    *,
    home: Home | str | None = None,
    environ: Mapping[str, str] | None = None,
    **options: Unpack[SearchOptions],
) -> SearchResult:
    """``search`` for coroutines; ``environ`` is where settings and keys are looked up first (default: ours)."""
    where = home if isinstance(home, Home) else Home(home) if home else find_home()
    call = call_of(
        queries,
        domains=options.get("domains", ()),
        recency=options.get("recency"),
        response_length=options.get("response_length"),
        commands=options.get("commands"),
    )
    return await run(where, call, output_dir=options.get("output_dir"), environ=environ)


def call_of(
    queries: Queries,
    *,
    domains: Sequence[str] = (),
    recency: int | None = None,
    response_length: str | None = None,
    commands: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A call out of a query, several, or a whole call; ``commands`` are added to it.  Raises InvalidRequest."""
    if isinstance(queries, Mapping):
        return {**queries, **(commands or {})}
    words = [queries] if isinstance(queries, str) else list(queries or ())
    if not all(isinstance(one, str) for one in words):
        raise InvalidRequest("a query is no text", "give a string, a list of them, or a mapping of commands")
    call: dict[str, Any] = dict(commands or {})
    if words:
        restrictions = {"domains": list(domains) or None, "recency": recency}
        given = {name: value for name, value in restrictions.items() if value is not None}
        call["search_query"] = [{"q": one, **given} for one in words]
    if response_length is not None:
        call["response_length"] = response_length
    return call
