"""Patches: those that belong to a document, cut, and those that are asked for, whole."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from cdpfetch.delivery import human_bytes
from cdpfetch.errors import CdpFetchError
from cdpfetch.extract.result import first_line
from cdpfetch.fetchers.github.failures import RateLimited
from cdpfetch.fetchers.github.markdown import Attachment, Rendered, count, line
from cdpfetch.fetchers.github.render import changes
from cdpfetch.fetchers.github.work import Work, escaped

DIFF = "application/vnd.github.diff"
PATCH = "application/vnd.github.patch"
# Bytes of a patch that are looked at.
_MAX_TEXT = 16 << 20


async def patch_of(work: Work, path: str, files: Sequence[dict[str, Any]]) -> tuple[Attachment | None, list[str]]:
    """The unified diff at a path of the API, and sentences on what it lacks.

    GitHub refuses one of more than 300 files or 20,000 lines (406): then it is put together from the files.
    """
    limits: list[str] = []
    try:
        data, whole = await work.api.head(path, DIFF, changes.MAX_PATCH)
    except RateLimited:
        raise
    except CdpFetchError as error:
        text, missing = changes.from_files(files)
        data, whole = text.encode("utf-8", "surrogatepass"), True
        limits.append(f"{changes.PATCH_NAME} is put together from the listed files ({error.reason})")
        if missing:
            limits.append(
                f"{changes.PATCH_NAME} lacks the lines of {count(len(missing), 'file')} (binary or too large)"
            )
    if not whole or len(data) > changes.MAX_PATCH:
        data = changes.cut(data + b"\n" if not whole else data, changes.MAX_PATCH)
        limits.append(f"{changes.PATCH_NAME} holds the first {human_bytes(len(data))} of a longer patch")
    if not data:
        return None, limits
    return Attachment(changes.PATCH_NAME, "source", changes.PATCH_TYPE, data), limits


async def patch(work: Work) -> Rendered:
    """``.diff`` and ``.patch`` of a pull request, a commit or a comparison, as GitHub gives them."""
    shape = work.shape
    kind = shape.rest[0]
    if kind == "pull":
        path, named, page = f"/pulls/{shape.number}", f"#{shape.number}", f"pull/{shape.number}"
    elif kind == "commit":
        path, named, page = f"/commits/{escaped(shape.rest[1])}", f"@{shape.rest[1][:12]}", f"commit/{shape.rest[1]}"
    else:
        base, _, head = shape.rest[1:]
        base = base or await default_branch(work)
        path, named, page = (
            f"/compare/{escaped(base)}...{escaped(head)}",
            f": {base}...{head}",
            f"compare/{base}...{head}",
        )
    name = f"{shape.name.replace('/', '-')}-{page.rpartition('/')[2]}.{shape.suffix}"
    accept = DIFF if shape.suffix == "diff" else PATCH
    saved = await work.save(work.api.hosts.api + work.repo + path, name, accept)
    work.draft.add(saved.path, "source", changes.PATCH_TYPE)
    text = _text(saved.path)
    work.warn_of_invisible(os.path.basename(saved.path), text)
    return Rendered(
        "github.patch",
        line(f"{shape.name}{named} ({shape.suffix})"),
        f"{work.page}/{page}.{shape.suffix}",
        None,
        facts=(human_bytes(saved.size),),
        content_type=changes.PATCH_TYPE,
        size=saved.size,
        sha256=saved.sha256,
        excerpt=first_line(text),
    )


def _text(path: str) -> str:
    with open(path, "rb") as file:
        return file.read(_MAX_TEXT).decode("utf-8", "replace")


async def default_branch(work: Work) -> str:
    """The branch that is meant where none is named."""
    data = await work.api.record(work.repo)
    branch = data.get("default_branch")
    return branch if isinstance(branch, str) and branch else "HEAD"
