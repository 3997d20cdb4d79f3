"""The input of a batch: a stream of lines, each a URL or a JSON object with ``url`` and, if wanted, ``id``.

It is read in blocks of whole lines.  A block's length and digest are kept, so that a later run knows whether it reads
the same input, and goes on behind what it knows; lines that were appended since are new.
"""

from __future__ import annotations

import hashlib
import json
import os
import select
import stat
from collections.abc import Iterator
from typing import Any, NamedTuple

from cdpfetch import cache
from cdpfetch.errors import CdpFetchError, InvalidRequest
from cdpfetch.urls import parse_url

_CHUNK = 1 << 18
# A line that is longer is no URL; its pieces are recorded as invalid.
_MAX_LINE = 1 << 20
_SHOWN = 300


class Entry(NamedTuple):
    """One line.  ``error`` says why it is not a URL that can be fetched; ``key`` is the same for URLs that are one."""

    url: str
    name: str | None  # the line's own ``id``
    host: str
    key: bytes
    line: int  # from 1
    error: CdpFetchError | None


class Block(NamedTuple):
    """Whole lines of the input, as they stand there."""

    data: bytes
    digest: bytes

    @classmethod
    def of(cls, data: bytes) -> Block:
        return cls(data, hashlib.sha256(data).digest())

    def entries(self, first_line: int) -> Iterator[Entry]:
        """Its lines but for blank ones and those that begin with ``#``."""
        for number, line in enumerate(self.data.splitlines(), first_line):
            text = line.decode("utf-8", "replace").strip().lstrip("\ufeff")
            if text and not text.startswith("#"):
                yield entry(text, number)

    @property
    def lines(self) -> int:
        return len(self.data.splitlines())


def entry(text: str, line: int) -> Entry:
    """The entry of a line that is not blank."""
    try:
        url, name = _parts(text)
        parsed = parse_url(url)
    except CdpFetchError as error:
        shown = text[:_SHOWN]
        return Entry(shown, None, "", _key(f"invalid {text}"), line, error)
    return Entry(url, name, f"{parsed.host}:{parsed.port}", _key(cache.normal(parsed.href)), line, None)


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _parts(text: str) -> tuple[str, str | None]:
    """URL and id of a line.  Raises CdpFetchError (``invalid_url``)."""
    if not text.startswith("{"):
        return text, None
    try:
        data: Any = json.loads(text)
    except ValueError:
        raise CdpFetchError(
            "invalid_url", "the line is no JSON object", 'write {"url": "https://...", "id": "..."}'
        ) from None
    url, name = data.get("url"), data.get("id")
    if not isinstance(url, str):
        raise CdpFetchError("invalid_url", "the JSON object has no text under url", 'write {"url": "https://..."}')
    if name is not None and not isinstance(name, (str, int)):
        raise CdpFetchError("invalid_url", f"the id is a {type(name).__name__}", "give a text or a whole number")
    return url.strip(), None if name is None else str(name)


class Source:
    """Reads blocks from a file or a pipe; it owns the descriptor."""

    def __init__(self, path: str) -> None:
        """``-`` is standard input.  Raises InvalidRequest."""
        try:
            self._fd = os.dup(0) if path == "-" else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise InvalidRequest(f"cannot read {path}: {error.strerror}", "give a file, or - for input") from error
        info = os.fstat(self._fd)
        # Bytes that it has in all; None for a pipe.
        self.size = info.st_size if stat.S_ISREG(info.st_mode) else None
        self.path = path
        self._rest = b""
        self.ended = False  # everything was read

    def close(self) -> None:
        """Safe to call again."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def skip(self, length: int, digest: bytes) -> None:
        """Pass over a block that is known.  Raises InvalidRequest when the input has another there.  Blocks."""
        data = b""
        while len(data) < length:
            part = os.read(self._fd, length - len(data))
            if not part:
                break
            data += part
        if hashlib.sha256(data).digest() != digest:
            raise InvalidRequest(
                f"{self.path} is not the input that this batch was begun with",
                "give the same input (lines may be appended), or another -o DIR",
            )

    def next(self, seconds: float) -> Block | None:
        """The next block; None when nothing came within ``seconds``, or at the end (see ``ended``).  Blocks."""
        ready, _, _ = select.select([self._fd], [], [], seconds)
        if not ready:
            return None
        part = os.read(self._fd, _CHUNK)
        data = self._rest + part
        if not part:
            self.ended = True
        cut = len(data) if not part or len(data) > _MAX_LINE else data.rfind(b"\n") + 1
        self._rest = data[cut:]
        return Block.of(data[:cut]) if cut else None
