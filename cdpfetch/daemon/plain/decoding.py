"""Content codings, undone in steps of bounded size: what unpacks to a thousand times its size is stopped in time."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

# What is asked for; anything else that comes is refused.
ACCEPTED = "gzip, deflate"
# Bytes of one step at most.
STEP = 1 << 18
_GZIP = 16 + zlib.MAX_WBITS


class BadCoding(ValueError):
    """A body that is not coded as its headers say."""


class Decoder:
    """Undoes one coding: ``gzip``, ``deflate`` (with its zlib header or without), or none.

    Raises BadCoding for others, and for codings of codings.
    """

    def __init__(self, coding: str | None) -> None:
        self._begun = False  # whether any coded byte has come
        self._name = (coding or "").strip().lower().removeprefix("x-")
        if self._name not in ("", "identity", "gzip", "deflate"):
            raise BadCoding(f"the server uses the content encoding {self._name[:100]!r}, which was not asked for")
        # None for a body that is not coded, and for deflate until its first two bytes tell which kind it is.
        self._zlib = zlib.decompressobj(_GZIP) if self._name == "gzip" else None
        self._first = b""  # of deflate, until then

    @property
    def whole(self) -> bool:
        """Whether what was fed so far may be all."""
        return self._zlib.eof or not self._begun if self._zlib is not None else not self._first

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The decoded bytes of ``data``, in pieces of at most ``STEP`` (uncoded data in one).  Raises BadCoding."""
        if self._name == "deflate" and self._zlib is None:
            data = self._first = self._first + data
            if len(data) < 2:
                return
            self._zlib = zlib.decompressobj(_deflate_kind(data))
        if self._zlib is None:
            yield data
            return
        while data and not (self._zlib.eof and not self._next_member(data)):
            try:
                piece = self._zlib.decompress(data, STEP)
            except zlib.error as error:
                reason = f"the body could not be decoded as its Content-Encoding ({self._name}) says"
                raise BadCoding(reason) from error
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
        self._zlib = zlib.decompressobj(_GZIP)
        return True


def _deflate_kind(data: bytes) -> int:
    """The window bits for a deflate body: some servers send it without the header of zlib (RFC 1950, section 2.2)."""
    with_header = data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
    return zlib.MAX_WBITS if with_header else -zlib.MAX_WBITS
