"""An issue, its comments and what refers to it."""

from __future__ import annotations

from typing import Any

from cdpfetch.fetchers.github.api import Listing, together
from cdpfetch.fetchers.github.markdown import Rendered
from cdpfetch.fetchers.github.render import threads as render
from cdpfetch.fetchers.github.work import Work

MAX_COMMENTS = 200
MAX_EVENTS = 300
NOTHING = Listing([], False)


async def issue(work: Work, data: dict[str, Any]) -> Rendered:
    """An issue that has been read itself."""
    path = f"{work.repo}/issues/{work.shape.number}"
    comments, events = await together(
        work.api.listing(f"{path}/comments", MAX_COMMENTS) if data.get("comments") else _none(),
        work.optional(work.api.listing(f"{path}/timeline", MAX_EVENTS), NOTHING, "what refers to it", may_lack=True),
    )
    notes = (("truncated", f"only the first {len(comments.items)} comments are shown"),) if comments.more else ()
    return render.issue(data, comments.items, events.items, work.shape.name, notes)


async def _none() -> Listing:
    return NOTHING
