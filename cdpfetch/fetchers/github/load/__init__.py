"""The requests behind each shape, one module for each family: what they bring is rendered by ``render``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from cdpfetch.fetchers.github.load import (
    commits,
    contents,
    discussions,
    gists,
    lists,
    numbered,
    patches,
    pulls,
    releases,
    repository,
    runs,
)
from cdpfetch.fetchers.github.markdown import Rendered
from cdpfetch.fetchers.github.work import Work

# Kind of a shape -> its loader.
LOADERS: dict[str, Callable[[Work], Awaitable[Rendered]]] = {
    "asset": releases.asset,
    "branches": lists.branches,
    "commit": commits.commit,
    "commits": commits.commits,
    "compare": commits.compare,
    "contents": contents.contents,
    "discussion": discussions.discussion,
    "file": contents.file,
    "gist": gists.gist,
    "gist_file": gists.file,
    "issue": numbered.issue,
    "issues": lists.search,
    "patch": patches.patch,
    "pull": pulls.pull,
    "pulls": lists.search,
    "release": releases.release,
    "releases": releases.releases,
    "repository": repository.repository,
    "run": runs.run,
    "tags": lists.tags,
    "tree": contents.tree,
}
