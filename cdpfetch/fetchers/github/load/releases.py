"""Releases and their assets."""

from __future__ import annotations

from cdpfetch.delivery import human_bytes
from cdpfetch.errors import CdpFetchError
from cdpfetch.fetchers.github import fields
from cdpfetch.fetchers.github.markdown import Rendered
from cdpfetch.fetchers.github.render import releases as render
from cdpfetch.fetchers.github.work import Work, escaped

MAX_RELEASES = 100


def _address(work: Work, tag: str) -> str:
    return f"{work.repo}/releases/" + (f"tags/{escaped(tag)}" if tag else "latest")


async def releases(work: Work) -> Rendered:
    """``/releases``."""
    listing = await work.api.listing(f"{work.repo}/releases", MAX_RELEASES)
    return render.releases(listing.items, listing.more, work.shape.name, f"{work.page}/releases")


async def release(work: Work) -> Rendered:
    """``/releases/tag/TAG`` and ``/releases/latest``."""
    tag = work.shape.rest[0] if work.shape.rest else ""
    return render.release(await work.api.record(_address(work, tag)), work.shape.name)


async def asset(work: Work) -> Rendered:
    """``/releases/download/TAG/NAME``: the file, by its number, so that a private one is served too."""
    tag, name = work.shape.rest
    data = await work.api.record(_address(work, tag))
    tag = fields.text(data, "tag_name") or tag
    assets = fields.records(data, "assets")
    found = next((item for item in assets if fields.text(item, "name") == name), None)
    if found is None:
        names = ", ".join(fields.text(item, "name") for item in assets[:10]) or "none"
        raise CdpFetchError("http_error", f"release {tag} has no asset {name[:100]}", f"its assets: {names[:400]}")
    size = fields.number(found, "size")
    if size > work.max_bytes:
        reason = f"{name} has {human_bytes(size)}, over the limit of {human_bytes(work.max_bytes)}"
        raise CdpFetchError("too_large", reason, "raise fetch.max_bytes")
    address = f"{work.api.hosts.api}{work.repo}/releases/assets/{fields.number(found, 'id')}"
    saved = await work.save(address, name)
    digest = fields.text(found, "digest")
    if digest.startswith("sha256:") and digest[7:].lower() != saved.sha256:
        reason = f"{name} has the SHA-256 {saved.sha256}, GitHub names {digest[7:80]}"
        raise CdpFetchError("download_failed", reason, "fetch it again")
    rendered = render.asset(found, work.shape.name, tag, saved.size, saved.sha256)
    work.draft.add(saved.path, "original", rendered.content_type)
    return rendered
