"""Files and folders of a repository: by page, raw, and by the contents API."""

from __future__ import annotations

import base64
import binascii
import contextlib
from typing import Any

from cdpfetch.delivery import human_bytes
from cdpfetch.errors import CdpFetchError
from cdpfetch.fetchers.github import fields
from cdpfetch.fetchers.github.api import RAW
from cdpfetch.fetchers.github.failures import NotFound
from cdpfetch.fetchers.github.hosts import origin_of
from cdpfetch.fetchers.github.load.bodies import keep, keep_saved
from cdpfetch.fetchers.github.load.refs import splits
from cdpfetch.fetchers.github.load.repository import readme_in
from cdpfetch.fetchers.github.markdown import Rendered
from cdpfetch.fetchers.github.render import files as render
from cdpfetch.fetchers.github.render import repository as folders
from cdpfetch.fetchers.github.work import Saved, Work, escaped

Json = dict[str, Any]


async def file(work: Work) -> Rendered:
    """``/blob/REF/PATH``, ``/raw/REF/PATH`` and the raw host's ``/REF/PATH``.

    Raw files come from the raw host, which knows where a ref ends and counts no request, where it is a host of its own.
    """
    hosts = work.api.hosts
    if work.shape.suffix == "raw" and origin_of(hosts.raw) != origin_of(hosts.web):
        with contextlib.suppress(NotFound):
            return await _raw(work, f"{hosts.raw}/{work.shape.name}/{escaped('/'.join(work.shape.rest))}")
    ref, path, data = await probe(work)
    return await present(work, ref, path, data)


async def _raw(work: Work, url: str) -> Rendered:
    ref, path = next(splits(work.shape.rest))
    name = path.rpartition("/")[2]
    stored = keep_saved(work, name, await work.save(url, name, "*/*"))
    place = render.Place(work.shape.name, ref, path, url)
    return render.file(place, stored.known, stored.size, stored.sha256, stored.head)


async def tree(work: Work) -> Rendered:
    """``/tree/REF`` and ``/tree/REF/PATH``."""
    ref, path, data = await probe(work, bare=True)
    return await present(work, ref, path, data)


async def contents(work: Work) -> Rendered:
    """The contents API's own address: a path, and the ref in its query."""
    ref, path = work.shape.query.get("ref", ""), "/".join(work.shape.rest)
    return await present(work, ref, path, await _ask(work, ref, path))


async def probe(work: Work, *, bare: bool = False) -> tuple[str, str, Any]:
    """``(ref, path, answer of the contents API)`` for the first split that GitHub knows."""
    failure: NotFound | None = None
    tried = 0
    for ref, path in splits(work.shape.rest, bare=bare):
        tried += 1
        try:
            return ref, path, await _ask(work, ref, path)
        except NotFound as error:
            failure = failure or error
    if failure is None:
        raise CdpFetchError("invalid_request", "the URL names no ref and path")
    where = "/".join(work.shape.rest)
    reason = f"GitHub answered 404 Not Found for {work.shape.name} at {where[:200]}"
    if tried > 1:
        reason += f", in each of {tried} ways to part it into ref and path"
    raise NotFound("http_error", reason, failure.hint)


async def _ask(work: Work, ref: str, path: str) -> Any:
    return await work.api.get(f"{work.repo}/contents/{escaped(path)}", {"ref": ref} if ref else None)


async def present(work: Work, ref: str, path: str, data: Any) -> Rendered:
    """The document of what the contents API answered: a folder's entries, or a file."""
    name = work.shape.name
    if isinstance(data, list):
        entries = [item for item in data if isinstance(item, dict)]
        url = f"{work.page}/tree/{escaped(ref or 'HEAD')}" + (f"/{escaped(path)}" if path else "")
        readme = await readme_in(work, entries, ref, path)
        return folders.tree(entries, name=name, ref=ref, path=path, url=url, readme=readme)
    if not isinstance(data, dict):
        raise CdpFetchError("http_error", "GitHub's answer for the file has an unknown shape")
    url = fields.text(data, "html_url") or f"{work.page}/blob/{escaped(ref or 'HEAD')}/{escaped(path)}"
    kind = fields.text(data, "type")
    if kind not in ("file", "symlink") or (kind == "symlink" and not data.get("content")):
        target = fields.text(data, "submodule_git_url") or fields.text(data, "target") or "somewhere else"
        raise CdpFetchError("no_content", f"{path} is a {kind or 'thing'} that leads to {target[:200]}", "fetch that")
    return await _file(work, render.Place(name, ref, path, url), data)


async def _file(work: Work, place: render.Place, data: Json) -> Rendered:
    """Write a file's body, and describe it."""
    name = place.path.rpartition("/")[2] or "file"
    size = fields.number(data, "size")
    if size > work.max_bytes:
        reason = f"{name} has {human_bytes(size)}, over the limit of {human_bytes(work.max_bytes)}"
        raise CdpFetchError("too_large", reason, "raise fetch.max_bytes")
    inside = _inside(data)
    if inside is not None:
        stored = keep(work, name, inside)
    else:
        stored = keep_saved(work, name, await _download(work, place, data, name))
    if stored.size == 0 and size:
        raise CdpFetchError("download_failed", f"GitHub sent nothing of a file of {human_bytes(size)}", "try again")
    return render.file(place, stored.known, stored.size, stored.sha256, stored.head)


def _inside(data: Json) -> bytes | None:
    """The bytes that the answer holds; None where it holds none (over 1 MB)."""
    content = fields.text(data, "content")
    if fields.text(data, "encoding") != "base64" or (not content and fields.number(data, "size")):
        return None
    try:
        return base64.b64decode("".join(content.split()), validate=True)
    except (binascii.Error, ValueError):
        return None


async def _download(work: Work, place: render.Place, data: Json, name: str) -> Saved:
    """A file of more than 1 MB, from the raw host, else as raw by the API (which has up to 100 MB)."""
    hosts = work.api.hosts
    given = fields.text(data, "download_url")
    ref = escaped(place.ref or "HEAD")
    url = given if hosts.is_own(given) else f"{hosts.raw}/{work.shape.name}/{ref}/{escaped(place.path)}"
    try:
        return await work.save(url, name, "*/*")
    except NotFound:
        path = f"{hosts.api}{work.repo}/contents/{escaped(place.path)}"
        return await work.save(path + (f"?ref={ref}" if place.ref else ""), name, RAW)
