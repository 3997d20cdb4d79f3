"""Changed files, patches cut where a file or a line ends, and patches put together from their files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cdpfetch.fetchers.github import fields
from cdpfetch.fetchers.github.markdown import code, count, joined, table

# What a document holds at most: files in the table, and bytes of a patch.
MAX_FILES = 300
MAX_PATCH = 400_000
PATCH_NAME = "diff.patch"
PATCH_TYPE = "text/x-diff"

Json = dict[str, Any]


def section(files: Sequence[Json], total: int) -> str:
    """The table of changed files (REST shape ``diff-entry``)."""
    if not files:
        return ""
    rows = [
        (code(_name(item)), fields.text(item, "status"), _lines(item, "additions", "+"), _lines(item, "deletions", "-"))
        for item in files
    ]
    parts = [f"## Changed files ({total:,})", table(("File", "Status", "Added", "Removed"), rows)]
    if total > len(files):
        parts.append(f"*The first {len(files)} of {count(total, 'file')} are listed.*")
    return joined(parts)


def _name(item: Json) -> str:
    before = fields.text(item, "previous_filename")
    name = fields.text(item, "filename")
    return f"{before} → {name}" if before and before != name else name


def _lines(item: Json, key: str, sign: str) -> str:
    amount = fields.number(item, key)
    return f"{sign}{amount:,}" if amount else ""


def cut(patch: bytes, limit: int = MAX_PATCH) -> bytes:
    """The first ``limit`` bytes of a patch at most, ending where a file ends, else where a line does."""
    if len(patch) <= limit:
        return patch
    head = patch[:limit]
    file = head.rfind(b"\ndiff --git ")
    if file > 0:
        return head[: file + 1]
    end = head.rfind(b"\n")
    return head[: end + 1] if end >= 0 else head.decode("utf-8", "ignore").encode()


def from_files(files: Sequence[Json]) -> tuple[str, list[str]]:
    """A patch out of the ``patch`` fields of files, and the names of those that have none (binary, or too large)."""
    parts: list[str] = []
    missing: list[str] = []
    for item in files:
        name = fields.text(item, "filename").replace("\n", " ")
        before = fields.text(item, "previous_filename").replace("\n", " ") or name
        status, patch = fields.text(item, "status"), fields.text(item, "patch")
        parts.append(f"diff --git a/{before} b/{name}\n{_modes(status, before, name)}")
        if patch:
            old = "/dev/null" if status == "added" else f"a/{before}"
            new = "/dev/null" if status == "removed" else f"b/{name}"
            parts.append(f"--- {old}\n+++ {new}\n{patch}" + ("" if patch.endswith("\n") else "\n"))
        elif fields.number(item, "changes") or status not in ("renamed", "copied"):
            missing.append(name)
    return "".join(parts), missing


def _modes(status: str, before: str, name: str) -> str:
    if status == "added":
        return "new file mode 100644\n"
    if status == "removed":
        return "deleted file mode 100644\n"
    return f"rename from {before}\nrename to {name}\n" if status == "renamed" else ""
