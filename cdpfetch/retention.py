"""What may be listed and removed of the documents on disk: complete ones of our own naming, oldest first.

Documents that were put elsewhere (``-o DIR``) belong to the user: only their pointers are tidied.
"""

from __future__ import annotations

import json
import os
import stat

from cdpfetch import cache
from cdpfetch.artifacts import INCOMING, METADATA, REFERENCE, TRASH, is_fetch_id, read_reference, remove_tree
from cdpfetch.disk import held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DAY = 86400.0
_MEGABYTE = 1_000_000


def list_documents(index_root: str) -> list[dict[str, Any]]:
    """The complete documents, newest first.

    Each is ``{"fetch_id", "url", "title", "ok", "dir", "bytes" (on disk), "time" (seconds since the epoch),
    "elsewhere" (bool: written with -o)}``.  An index that does not exist holds none.
    """
    found: list[dict[str, Any]] = []
    for name in _names(index_root):
        elsewhere = name.endswith(REFERENCE)
        fetch_id = name.removesuffix(REFERENCE)
        directory = os.path.join(index_root, name)
        if elsewhere:
            directory = read_reference(directory) or ""
        entry = _entry(fetch_id, directory) if is_fetch_id(fetch_id) and directory else None
        if entry:
            found.append({**entry, "elsewhere": elsewhere})
    return sorted(found, key=lambda entry: (-entry["time"], entry["fetch_id"]))


def prune(
    index_root: str, max_age_days: float, max_total_mb: float, now: float, *, spare: float = 0.0
) -> dict[str, Any]:
    """Remove documents older than ``max_age_days``, then the oldest until at most ``max_total_mb`` (10^6 bytes) remain.

    What somebody reads stays, and what is younger than ``spare`` seconds.  Leftovers of crashes go when they are older
    than a day, pointers and entries of the cache when what they name is gone.
    Returns ``{"removed": [fetch ids], "kept": int, "freed_bytes": int, "total_bytes": int}``.
    """
    documents = [entry for entry in list_documents(index_root) if not entry["elsewhere"]]
    total = sum(entry["bytes"] for entry in documents)
    removed: list[str] = []
    freed = 0
    for entry in reversed(documents):
        too_old = now - entry["time"] > max_age_days * DAY
        if (not too_old and total - freed <= max_total_mb * _MEGABYTE) or now - entry["time"] < spare:
            break
        if _remove(index_root, entry["fetch_id"]):
            removed.append(entry["fetch_id"])
            freed += entry["bytes"]
    _tidy(index_root, now)
    cache.tidy(index_root, max_age_days * DAY, now)
    return {
        "removed": removed,
        "kept": len(documents) - len(removed),
        "freed_bytes": freed,
        "total_bytes": total - freed,
    }


def _names(index_root: str) -> list[str]:
    try:
        return os.listdir(index_root)
    except OSError:
        return []


def _entry(fetch_id: str, directory: str) -> dict[str, Any] | None:
    """One document's line of the list, or None when the directory is not a complete document of that id."""
    path = os.path.join(directory, METADATA)
    try:
        if stat.S_ISLNK(os.lstat(directory).st_mode):
            return None
        when = os.lstat(path).st_mtime
        with open(path, "rb") as file:
            document = json.load(file)
        if document["fetch_id"] != fetch_id:
            return None
        size = sum(os.lstat(os.path.join(directory, name)).st_size for name in os.listdir(directory))
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return {
        "fetch_id": fetch_id,
        "url": document.get("url"),
        "title": document.get("title"),
        "ok": bool(document.get("ok")),
        "dir": directory,
        "bytes": size,
        "time": when,
    }


def _remove(index_root: str, fetch_id: str) -> bool:
    """Take a document away in one step, so that nobody sees half of it, and then delete it."""
    trash = os.path.join(index_root, TRASH + fetch_id)
    place = os.path.join(index_root, fetch_id)
    with held(place, alone=True) as mine:
        if not mine:
            return False
        try:
            os.rename(place, trash)
        except OSError:
            return False
    remove_tree(trash)
    return True


def _tidy(index_root: str, now: float) -> None:
    for name in _names(index_root):
        path = os.path.join(index_root, name)
        try:
            info = os.lstat(path)
            if name.startswith(TRASH) and stat.S_ISDIR(info.st_mode):
                remove_tree(path)
            elif now - info.st_mtime <= DAY:
                continue
            elif name.startswith(INCOMING):
                if stat.S_ISDIR(info.st_mode):
                    remove_tree(path)
                else:
                    os.unlink(path)
            elif name.endswith(REFERENCE) and is_fetch_id(name.removesuffix(REFERENCE)):
                target = read_reference(path)
                if target is None or not os.path.exists(os.path.join(target, METADATA)):
                    os.unlink(path)
        except OSError:
            continue
