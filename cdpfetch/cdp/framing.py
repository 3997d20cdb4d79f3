"""NUL framing of the debugging pipe: bytes in, whole messages out, no I/O."""

from __future__ import annotations

from collections.abc import Iterator


class NulFramer:
    """Cuts a byte stream at its NUL bytes.

    The scan goes on where the last one ended, so that a message of any length is
    searched once, however many chunks it comes in.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()  # bytes of the unfinished message, set by feed()
        self._scanned = 0  # how many of them are known to hold no NUL, set by feed()

    def feed(self, data: bytes | bytearray | memoryview) -> Iterator[bytes]:
        """Take the next chunk and yield each message that it completes, without its NUL."""
        buffer = self._buffer
        buffer += data
        start = 0
        end = buffer.find(0, self._scanned)
        while end >= 0:
            yield bytes(memoryview(buffer)[start:end])
            start = end + 1
            end = buffer.find(0, start)
        if start:
            del buffer[:start]
        self._scanned = len(buffer)

    @property
    def pending(self) -> int:
        """Bytes of the message that has not ended yet."""
        return len(self._buffer)
