"""What was fetched lately, by URL and options: one small file each below the artifacts, which names a document.

An entry is replaced in one step and shares nothing with others, so that processes lose no entry to each other.  The
documents are the artifacts themselves, and an entry is worth nothing once its document is gone or was changed.
"""

from __future__ import annotations

import contextlib
import json
import os

from cdpfetch import artifacts, disk
from cdpfetch.errors import CdpFetchError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FOLDER = ".cache"
# Fields of a request on the wire that don't shape its result.
_SHAPELESS = frozenset({"id", "op", "url", "deadline", "digest", "share", "vouched", "requireKnown"})
# What these fields are when they are not given.
_DEFAULTS = {"format": "markdown", "extractor": "auto", "redirects": "follow", "engine": "browser"}
# Verdicts of documents that are what the URL stands for.
_GOOD = frozenset({"ok", "thin"})
_MAX_ENTRY = 65536
# Seconds that clocks may differ.
_SKEW = 5.0


def normal(href: str) -> str:
    """A canonical URL as the cache knows it: without a fragment, unless that is an application's route (``#/``)."""
    bare, _, fragment = href.partition("#")
    return href if fragment.startswith(("/", "!")) else bare


def key(href: str, fields: Mapping[str, Any], profile: str, source: str = "") -> str:
    """The name of the entry of a URL (canonical) that is fetched with these fields of the wire.

    ``profile`` is the profile's directory: what one login sees is not for another.  ``source`` is a forced fetcher.
    Only a digest is kept, so that no header and no query of a request is written down.
    """
    from hashlib import sha256

    shape = {name: value for name, value in fields.items() if name not in _SHAPELESS}
    shape = {name: value for name, value in shape.items() if value and value != _DEFAULTS.get(name)}
    identity = [normal(href), os.path.realpath(profile), source, shape]
    return sha256(json.dumps(identity, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def record(index_root: str, entry: str, document: Mapping[str, Any], now: float) -> None:
    """Remember a document under a key; a failure, or one that is not the page itself, is not.  Never raises.

    ``now`` is seconds since the epoch.
    """
    if not document.get("ok") or document.get("verdict") not in _GOOD or not document.get("fetch_id"):
        return
    folder = os.path.join(index_root, FOLDER)
    path = os.path.join(folder, entry)
    waiting = f"{path}.{os.getpid()}.{document['fetch_id']}.new"
    data = json.dumps({"fetch_id": document["fetch_id"], "time": now}).encode()
    with contextlib.suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with open(os.open(waiting, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.write(data)
        os.replace(waiting, path)


def find(index_root: str, entry: str, max_age: float, now: float) -> dict[str, Any] | None:
    """The document of a key when it is whole and at most ``max_age`` seconds old, with its age among its facts."""
    written = _read(os.path.join(index_root, FOLDER, entry))
    if written is None:
        return None
    fetch_id, when = written
    age = now - when
    if not -_SKEW <= age <= max_age:
        return None
    try:
        document = artifacts.load(index_root, fetch_id)
    except CdpFetchError:
        return None
    with disk.held(document["dir"]):
        if not document.get("ok") or not _is_whole(document):
            return None
        artifacts.touch(document)
    return {**document, "facts": [*document["facts"], f"cached {_words(max(0.0, age))} ago"]}


def tidy(index_root: str, max_age: float, now: float) -> None:
    """Remove entries that are older than ``max_age`` seconds, or whose document is gone."""
    folder = os.path.join(index_root, FOLDER)
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):
            written = _read(path)
            old = now - os.lstat(path).st_mtime > max_age
            if old or (written is not None and not _exists(index_root, written[0])):
                os.unlink(path)


def _exists(index_root: str, fetch_id: str) -> bool:
    try:
        artifacts.locate(index_root, fetch_id)
    except CdpFetchError:
        return False
    return True


def _read(path: str) -> tuple[str, float] | None:
    """``(fetch id, seconds since the epoch)`` of an entry, or None."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            written = json.loads(file.read(_MAX_ENTRY))
        return str(written["fetch_id"]), float(written["time"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _is_whole(document: Mapping[str, Any]) -> bool:
    """Whether all bodies of a document are there as they were written, as far as their sizes tell."""
    try:
        return all(os.stat(body["path"]).st_size == body["bytes"] for body in document["bodies"])
    except (OSError, TypeError, KeyError):
        return False


def _words(seconds: float) -> str:
    """An age for people: ``35 s``, ``12 min``, ``3 h``."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
