"""A pull request with all that belongs to it, read at once."""

from __future__ import annotations

from typing import Any

from cdpfetch.fetchers.github.api import Listing, together
from cdpfetch.fetchers.github.load.patches import patch_of
from cdpfetch.fetchers.github.load.threads import MAX_COMMENTS, MAX_EVENTS, NOTHING
from cdpfetch.fetchers.github.markdown import Rendered, count
from cdpfetch.fetchers.github.render import changes
from cdpfetch.fetchers.github.render import pulls as render
from cdpfetch.fetchers.github.work import Work

MAX_REVIEWS = 100
MAX_INLINE = 200


async def pull(work: Work, issue: dict[str, Any] | None = None) -> Rendered:
    """``/pull/N``; ``issue`` is what is known of it as an issue."""
    number = work.shape.number
    path, thread = f"{work.repo}/pulls/{number}", f"{work.repo}/issues/{number}"
    data, known = await together(
        work.api.record(path),
        work.optional(work.api.record(thread), {}, "its reactions", may_lack=True) if issue is None else _given(issue),
    )
    comments, reviews, inline, files, events = await together(
        work.api.listing(f"{thread}/comments", MAX_COMMENTS),
        work.optional(work.api.listing(f"{path}/reviews", MAX_REVIEWS), NOTHING, "its reviews"),
        work.optional(work.api.listing(f"{path}/comments", MAX_INLINE), NOTHING, "its inline comments"),
        work.optional(work.api.listing(f"{path}/files", changes.MAX_FILES), NOTHING, "its files"),
        work.optional(work.api.listing(f"{thread}/timeline", MAX_EVENTS), NOTHING, "what refers to it", may_lack=True),
    )
    patch, cut = await patch_of(work, path, files.items)
    parts = render.Parts(known, comments.items, reviews.items, inline.items, files.items, events.items)
    limits = [
        *_limit(comments, "comment"),
        *_limit(reviews, "review"),
        *_limit(inline, "inline comment"),
        *_limit(files, "changed file"),
        *cut,
    ]
    return render.pull(data, parts, work.shape.name, patch, limits)


def _limit(listing: Listing, noun: str) -> list[str]:
    return [f"only the first {count(len(listing.items), noun)} are shown"] if listing.more else []


async def _given(data: dict[str, Any]) -> dict[str, Any]:
    return data
