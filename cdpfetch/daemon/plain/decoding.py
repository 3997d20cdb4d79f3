"""Content codings, undone in steps of bounded size: what unpacks to a thousand times its size is stopped in time."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

# What is asked for; anything else that comes is refused.
ACCEPTED = "gzip, deflate"
# Bytes of one step at most.
STEP = 1 << 18


class BadCoding(ValueError):
    """A body that is not coded as its headers say."""


class Decoder:
    """Undoes one coding: ``gzip``, ``deflate`` (with its zlib header or without), or none.

    Raises BadCoding for others, and for codings of codings.
    """

    def __init__(self, coding: str | None) -> None:
        self._name = (coding or "").strip().lower().removeprefix("x-")
        if self._name not in ("", "identity", "gzip", "deflate"):
            raise BadCoding(f"the server uses the content encoding {self._name[:100]!r}, which was not asked for")
        self._zlib = _inflater(self._name) if self._name in ("gzip", "deflate") else None
        self._begun = False

    @property
    def whole(self) -> bool:
        """Whether what was fed so far may be all."""
        return self._zlib is None or not self._begun or self._zlib.eof

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The decoded bytes of ``data``, in pieces of at most ``STEP`` (uncoded data in one).  Raises BadCoding."""
        if self._zlib is None:
            yield data
            return
        while data and not (self._zlib.eof and not self._next_member(data)):
            try:
                piece = self._zlib.decompress(data, STEP)
            except zlib.error as error:
                piece = self._raw(data, error)
            self._begun = True
            data = self._zlib.unused_data if self._zlib.eof else self._zlib.unconsumed_tail
            if piece:
                yield piece
            if len(piece) == STEP and not data:
                yield from self._pending()

    def _pending(self) -> Iterator[bytes]:
        """What the last step left inside."""
        while self._zlib is not None and not self._zlib.eof and (piece := self._zlib.decompress(b"", STEP)):
            yield piece

    def _next_member(self, data: bytes) -> bool:
        """Begin the next part of a gzip body of several; anything else behind the end is ignored."""
        if self._name != "gzip" or not data.startswith(b"\x1f\x8b"):
            return False
        self._zlib = _inflater("gzip")
        return True

    def _raw(self, data: bytes, error: zlib.error) -> bytes:
        """Some servers send deflate without its header."""
        if self._begun or self._name != "deflate":
            raise BadCoding(f"the body could not be decoded as its Content-Encoding ({self._name}) says") from error
        self._zlib = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            return self._zlib.decompress(data, STEP)
        except zlib.error:
            raise BadCoding("the body could not be decoded as its Content-Encoding (deflate) says") from error


def _inflater(name: str) -> zlib._Decompress:
    return zlib.decompressobj(16 + zlib.MAX_WBITS if name == "gzip" else zlib.MAX_WBITS)
