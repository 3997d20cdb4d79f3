"""A search from a call to files on disk: checked, shared out, asked, without duplicates, written down."""

from __future__ import annotations

import hashlib
import os
import time
from typing import Any, NamedTuple

from cdpfetch import artifacts, config, project
from cdpfetch.outline import excerpt, outline
from cdpfetch.search import report
from cdpfetch.search.contract import Found, Provider, Request
from cdpfetch.search.providers import open_provider
from cdpfetch.search.requests import parse, shares

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from cdpfetch.paths import Home

# What a report's document says of where it is from, since no URL was fetched.
_ADDRESS = "search:"


class SearchResult(NamedTuple):
    """What a search gave: ``text`` is the report; ``data`` is what ``--json`` prints, ``metadata.json`` holds more."""

    text: str
    data: dict[str, Any]

    @property
    def urls(self) -> list[str]:
        """The addresses of the results, in order."""
        return [result["url"] for result in self.data["results"]]


async def run(
    home: Home,
    call: Mapping[str, Any],
    *,
    settings: config.Config | None = None,
    environ: Mapping[str, str] | None = None,
    output_dir: str | None = None,
) -> SearchResult:
    """Run one call, such as ``{"search_query": [{"q": "..."}], "response_length": "short"}``.

    The report, the raw answer and the metadata are one directory below ``output_dir`` (default: the home's
    artifacts), to be read by its ``fetch_id``.  Raises CdpFetchError; cancelling ends all requests.
    """
    environ = os.environ if environ is None else environ
    settings = project.load(home, environ) if settings is None else settings
    provider = open_provider(settings, environ)
    request = parse(call, provider.name, provider.commands)
    began = time.time()
    found = await provider.search(request, shares(request))
    found = found._replace(items=report.unique(found.items))
    text = report.render(request, found, provider.name)
    document = _document(request, found, provider, text, began)
    saved = _save(home, settings, document, text, found.raw, output_dir)
    return SearchResult(text, _public(saved))


def _document(request: Request, found: Found, provider: Provider, text: str, began: float) -> dict[str, Any]:
    count = len(found.items)
    facts = [f"{count} result{'' if count == 1 else 's'}", provider.name, *([found.model] if found.model else [])]
    return {
        **artifacts.new_document(_ADDRESS + request.words[:500]),
        "ok": True,
        "kind": "search.report",
        "source": provider.name,
        "title": f"Search: {request.words[:200]}",
        "facts": facts,
        "excerpt": excerpt(text),
        "outline": outline(text),
        "content_type": "text/markdown",
        "bytes": len(found.raw.encode("utf-8", "surrogatepass")),
        "sha256": hashlib.sha256(found.raw.encode("utf-8", "surrogatepass")).hexdigest(),
        "timings": {"total": round((time.time() - began) * 1000, 1)},
        "search": {
            "pipeline": provider.name,
            "provider": provider.name.partition("+")[0],
            "model": found.model,
            "ids": list(found.ids),
            "usage": list(found.usage),
            "response_length": request.response_length,
            "queries": [query._asdict() for query in (*request.queries, *request.images)],
            "results": [item.to_json() for item in found.items],
            "report_sha256": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        },
    }


def _save(
    home: Home, settings: config.Config, document: dict[str, Any], text: str, raw: str, output_dir: str | None
) -> dict[str, Any]:
    root = os.path.abspath(os.path.expanduser(output_dir)) if output_dir else home.artifacts
    floor = int(settings.artifacts.min_free_mb * 1_000_000)
    with artifacts.Draft(root, artifacts.new_fetch_id(f"search://{document['title'][8:]}"), floor) as draft:
        draft.write("report.md", "content", text, "text/markdown; charset=utf-8")
        draft.write("raw-search.txt", "source", raw, "text/plain; charset=utf-8")
        return draft.commit(document, index_root=home.artifacts)


def _public(saved: dict[str, Any]) -> dict[str, Any]:
    search = saved["search"]
    return {
        **{name: search[name] for name in ("pipeline", "provider", "model", "ids", "usage", "response_length")},
        "results": search["results"],
        "report_path": next(body["path"] for body in saved["bodies"] if body["role"] == "content"),
        "fetch_id": saved["fetch_id"],
        "dir": saved["dir"],
        "bodies": saved["bodies"],
    }
