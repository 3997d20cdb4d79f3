"""A file of somebody's as a body: exact, and beside it what may be read where that differs."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from cdpfetch.fetchers.github.render.files import Nature, nature
from cdpfetch.fetchers.github.work import Saved, Work
from cdpfetch.invisible import clean

# A file up to this size (bytes) is looked at as a whole.
_MAX_TEXT = 16 << 20
_HEAD = 1024


class Stored(NamedTuple):
    """A file whose body is written: what it is, its size and SHA-256, and its first bytes."""

    known: Nature
    size: int
    sha256: str
    head: bytes


def keep(work: Work, name: str, data: bytes, *, beside: bool = False) -> Stored:
    """Write bytes as a body of this name; ``beside`` the content of its document, of which there is one."""
    known = _placed(nature(name, data, True), beside)
    altered = _readable(work, name, known)
    work.draft.write(name, "original" if altered else known.role, data, known.content_type)
    return Stored(known, len(data), hashlib.sha256(data).hexdigest(), data[:_HEAD])


def keep_saved(work: Work, name: str, saved: Saved, *, beside: bool = False) -> Stored:
    """Make a file that was streamed to disk a body."""
    with open(saved.path, "rb") as body:
        data = body.read(_MAX_TEXT)
    known = _placed(nature(name, data, saved.size <= _MAX_TEXT), beside)
    altered = _readable(work, name, known)
    work.draft.add(saved.path, "original" if altered else known.role, known.content_type)
    return Stored(known, saved.size, saved.sha256, data[:_HEAD])


def _placed(known: Nature, beside: bool) -> Nature:
    return known._replace(role="source") if beside and known.role == "content" else known


def _readable(work: Work, name: str, known: Nature) -> bool:
    """Write what may be read where it is not the file's bytes; whether there was a need."""
    if known.text is None:
        return False
    if known.role == "content":
        text, removed = clean(known.text)
        if not removed and known.exact:
            return False
        if removed:
            message = f"{removed} invisible character{'s were' if removed > 1 else ' was'} removed from content.md"
            work.warnings.append(("invisible_characters", message))
        work.draft.write("content.md", "content", text, "text/markdown")
        return True
    work.warn_of_invisible(name, known.text)
    if not known.exact:
        work.draft.write("text.txt", "text", known.text, "text/plain")
    return not known.exact
