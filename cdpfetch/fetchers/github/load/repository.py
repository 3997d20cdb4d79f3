"""A repository's front page, and the READMEs of folders."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

from cdpfetch.errors import CdpFetchError
from cdpfetch.extract import charset
from cdpfetch.fetchers.github import fields
from cdpfetch.fetchers.github.api import RAW, together
from cdpfetch.fetchers.github.failures import NotFound
from cdpfetch.fetchers.github.markdown import Rendered
from cdpfetch.fetchers.github.render import repository as render
from cdpfetch.fetchers.github.work import Work, escaped

MAX_README = 4 << 20

Json = dict[str, Any]


async def repository(work: Work) -> Rendered:
    """``/OWNER/REPO``."""
    data, entries, readme = await together(
        work.api.record(work.repo), _root(work), _missing_is_none(work, f"{work.repo}/readme")
    )
    if fields.text(data, "full_name").count("/") != 1:
        raise CdpFetchError("http_error", "GitHub's answer for the repository has an unknown shape")
    branch = escaped(fields.text(data, "default_branch") or "HEAD")
    base = f"{fields.text(data, 'html_url') or work.page}/blob/{branch}"
    found = await _text(work, readme) if readme else None
    return render.repository(data, entries, found, base)


async def _root(work: Work) -> Any:
    data = await _missing_is_none(work, f"{work.repo}/contents/")
    return [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []


async def _missing_is_none(work: Work, path: str, params: dict[str, str] | None = None) -> Any:
    """The answer at a path, or None where there is nothing: an empty repository, one without README."""
    try:
        return await work.api.get(path, params)
    except NotFound:
        return None


async def readme_in(work: Work, entries: Sequence[Json], ref: str, path: str) -> tuple[str, str] | None:
    """The README of a folder, where its entries have one, as (name, text)."""
    if not any(fields.text(item, "name").lower().startswith("readme") for item in entries):
        return None
    address = f"{work.repo}/readme" + (f"/{escaped(path)}" if path else "")
    asked = _missing_is_none(work, address, {"ref": ref} if ref else None)
    data = await work.optional(asked, None, "its README")
    return await _text(work, data) if data else None


async def _text(work: Work, data: Any) -> tuple[str, str] | None:
    """The README (REST shape ``content-file``) as (name, text)."""
    name = fields.text(data, "name") or "README"
    content = fields.text(data, "content")
    if not content and fields.number(data, "size"):
        path = f"{work.repo}/contents/{escaped(fields.text(data, 'path') or name)}"
        raw, whole = await work.api.head(path, RAW, MAX_README)
        if not whole:
            work.warnings.append(("truncated", f"only the first {MAX_README >> 20} MiB of {name} are shown"))
        return name, charset.decode(raw).text
    try:
        return name, charset.decode(base64.b64decode("".join(content.split()), validate=True)).text
    except (binascii.Error, ValueError):
        work.warnings.append(("incomplete", f"{name} could not be decoded"))
        return None
