"""Lists of issues, pull requests, tags and branches."""

from __future__ import annotations

from typing import Any

from cdpfetch.fetchers.github import fields
from cdpfetch.fetchers.github.load.queries import search_of
from cdpfetch.fetchers.github.markdown import Rendered
from cdpfetch.fetchers.github.render import lists as render
from cdpfetch.fetchers.github.work import Work, escaped

MAX_REFS = 300


async def search(work: Work) -> Rendered:
    """``/issues`` and ``/pulls``, with ``?q=`` in GitHub's search syntax, by the search API."""
    shape = work.shape
    asked = search_of(shape.kind, shape.name, shape.query)
    data: dict[str, Any] = await work.api.record("/search/issues", asked.params)
    items, total = fields.records(data, "items"), fields.number(data, "total_count")
    notes: list[str] = []
    if total > len(items) + asked.skipped:
        first = asked.skipped + 1
        notes.append(f"only {first:,} to {asked.skipped + len(items):,} of {total:,} are listed")
    if fields.flag(data, "incomplete_results"):
        notes.append("GitHub's search ran out of time: results are missing")
    url = f"{work.page}/{shape.kind}" + (f"?q={escaped(shape.query['q'])}" if "q" in shape.query else "")
    return render.found(items, total, asked.query, kind=shape.kind, name=shape.name, url=url, notes=tuple(notes))


async def tags(work: Work) -> Rendered:
    """``/tags``."""
    listing = await work.api.listing(f"{work.repo}/tags", MAX_REFS)
    return render.tags(listing.items, listing.more, work.shape.name, f"{work.page}/tags")


async def branches(work: Work) -> Rendered:
    """``/branches``."""
    listing = await work.api.listing(f"{work.repo}/branches", MAX_REFS)
    return render.branches(listing.items, listing.more, work.shape.name, f"{work.page}/branches")
