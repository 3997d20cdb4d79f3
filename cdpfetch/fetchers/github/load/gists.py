"""Gists: with all files, or one file raw."""

from __future__ import annotations

from typing import Any

from cdpfetch.errors import CdpFetchError
from cdpfetch.fetchers.github import fields
from cdpfetch.fetchers.github.load.bodies import Stored, keep, keep_saved
from cdpfetch.fetchers.github.load.threads import MAX_COMMENTS, NOTHING
from cdpfetch.fetchers.github.markdown import Rendered
from cdpfetch.fetchers.github.render import files as render_files
from cdpfetch.fetchers.github.render import gists as render
from cdpfetch.fetchers.github.work import Work

# Files that are fetched apart, since the answer holds only their first megabyte.
_MAX_LONG = 10

Json = dict[str, Any]


async def gist(work: Work) -> Rendered:
    """``gist.github.com/OWNER/ID``, also at a revision."""
    data = await work.api.record("/gists/" + "/".join(work.shape.rest))
    files = _files(data)
    texts: list[tuple[Json, str]] = []
    longer = 0
    for item in files:
        longer += fields.flag(item, "truncated")
        if fields.flag(item, "truncated") and longer > _MAX_LONG:
            work.warnings.append(("truncated", f"{fields.text(item, 'filename')[:100]} is left out"))
            continue
        stored = await _keep(work, item, beside=True)
        if stored.known.text is not None:
            texts.append((item, stored.known.text))
    if fields.flag(data, "truncated"):
        work.warnings.append(("truncated", f"GitHub lists only {len(files)} of the gist's files"))
    asked = work.api.listing(f"/gists/{work.shape.rest[0]}/comments", MAX_COMMENTS)
    if not fields.number(data, "comments"):
        asked.close()
        return render.gist(data, texts, [])
    comments = await work.optional(asked, NOTHING, "its comments")
    return render.gist(data, texts, comments.items)


async def file(work: Work) -> Rendered:
    """A raw file of a gist; the first one where none is named."""
    number, revision, name = work.shape.rest
    data = await work.api.record(f"/gists/{number}" + (f"/{revision}" if revision else ""))
    files = _files(data)
    found = next((item for item in files if name in ("", fields.text(item, "filename"))), None)
    if found is None:
        names = ", ".join(fields.text(item, "filename") for item in files[:10]) or "none"
        raise CdpFetchError("http_error", f"the gist has no file {name[:100]}", f"its files: {names[:400]}")
    stored = await _keep(work, found)
    url = fields.text(data, "html_url")
    place = render_files.Place(f"{fields.login(data, 'owner')}/{number}", revision, fields.text(found, "filename"), url)
    return render_files.file(place, stored.known, stored.size, stored.sha256, stored.head)


def _files(data: Json) -> list[Json]:
    return [item for item in fields.record(data, "files").values() if isinstance(item, dict)]


async def _keep(work: Work, item: Json, *, beside: bool = False) -> Stored:
    """A file of a gist as a body: from the answer where that holds it whole as text, else from its own address."""
    name = fields.text(item, "filename") or "file"
    text, size = fields.text(item, "content"), fields.number(item, "size")
    data = text.encode("utf-8", "surrogatepass")
    if not fields.flag(item, "truncated") and len(data) == size:
        return keep(work, name, data, beside=beside)
    url = fields.text(item, "raw_url")
    if not work.api.hosts.is_own(url):
        work.warnings.append(("truncated", f"{name[:100]} is not whole: its address is no file of this GitHub"))
        return keep(work, name, data, beside=beside)
    return keep_saved(work, name, await work.save(url, name, "*/*"), beside=beside)
