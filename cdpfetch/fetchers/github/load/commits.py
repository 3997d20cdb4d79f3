"""One commit, the commits of a branch and path, and comparisons."""

from __future__ import annotations

from typing import Any

from cdpfetch.errors import CdpFetchError
from cdpfetch.fetchers.github import fields
from cdpfetch.fetchers.github.api import Listing
from cdpfetch.fetchers.github.failures import NotFound
from cdpfetch.fetchers.github.load.patches import default_branch, patch_of
from cdpfetch.fetchers.github.load.refs import splits
from cdpfetch.fetchers.github.markdown import Rendered
from cdpfetch.fetchers.github.render import changes
from cdpfetch.fetchers.github.render import commits as render
from cdpfetch.fetchers.github.work import Work, escaped

MAX_COMMITS = 100


async def commit(work: Work) -> Rendered:
    """``/commit/SHA``, and one of a pull request."""
    path = f"{work.repo}/commits/{escaped(work.shape.rest[0])}"
    data, more = await _with_files(work, path)
    patch, limits = await patch_of(work, path, fields.records(data, "files"))
    return render.commit(data, work.shape.name, patch, [*_of_files(data, more), *limits])


async def _with_files(work: Work, path: str) -> tuple[dict[str, Any], bool]:
    """A commit or comparison with its first 300 files, and whether there are more."""
    page = await work.api.page(path, {"per_page": 100})
    if not isinstance(page.data, dict):
        raise CdpFetchError("http_error", "GitHub's answer has an unknown shape")
    data, following = page.data, page.following
    files = fields.records(data, "files")
    while following and len(files) < changes.MAX_FILES:
        page = await work.api.page(following)
        added = fields.records(page.data, "files")
        files += added
        following = page.following if added else None
    return {**data, "files": files[: changes.MAX_FILES]}, bool(following) or len(files) > changes.MAX_FILES


def _of_files(data: dict[str, Any], more: bool) -> list[str]:
    return [f"only the first {len(fields.records(data, 'files'))} changed files are listed"] if more else []


async def commits(work: Work) -> Rendered:
    """``/commits``, ``/commits/BRANCH`` and ``/commits/BRANCH/PATH``, whose border is found by asking."""
    rest = work.shape.rest
    listing, ref, path = await _first_found(work) if rest else (await _commits(work, "", ""), "", "")
    older = None
    if listing.more:
        about = f", of {(listing.last - 1) * MAX_COMMITS:,} and more" if listing.last > 1 else ""
        older = f"only the newest {len(listing.items)} commits are listed{about}"
    url = "/".join([work.page, "commits", *([escaped("/".join(rest))] if rest else [])])
    return render.commits(listing.items, name=work.shape.name, ref=ref, path=path, url=url, older=older)


async def _first_found(work: Work) -> tuple[Listing, str, str]:
    """The commits for the first split into ref and path that has any."""
    failure: CdpFetchError | None = None
    empty: tuple[Listing, str, str] | None = None
    for ref, path in splits(work.shape.rest, bare=True):
        try:
            listing = await _commits(work, ref, path)
        except NotFound as error:
            failure = failure or error
            continue
        if listing.items:
            return listing, ref, path
        empty = empty or (listing, ref, path)
    if empty is not None:
        return empty
    raise failure or CdpFetchError("http_error", "GitHub knows no such branch")


async def _commits(work: Work, ref: str, path: str) -> Listing:
    params = {**work.shape.query, **({"sha": ref} if ref else {}), **({"path": path} if path else {})}
    return await work.api.listing(f"{work.repo}/commits", MAX_COMMITS, params)


async def compare(work: Work) -> Rendered:
    """``/compare/BASE...HEAD``; without a base, from the default branch."""
    base, dots, head = work.shape.rest
    base = base or await default_branch(work)
    path = f"{work.repo}/compare/{escaped(base)}...{escaped(head)}"
    data, more = await _with_files(work, path)
    if dots == "..":
        work.warnings.append(("three_dots", "GitHub's API compares with the merge base, as three dots do"))
    patch, limits = await patch_of(work, path, fields.records(data, "files"))
    return render.compare(data, work.shape.name, (base, head), patch, [*_of_files(data, more), *limits])
