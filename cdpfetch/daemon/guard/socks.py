"""The server's side of SOCKS5 (RFC 1928), as far as a browser speaks it; pure: bytes in, answers and a request out."""

from __future__ import annotations

import ipaddress
from typing import NamedTuple

# Reply codes of RFC 1928, section 6.
GENERAL_FAILURE = 1
NOT_ALLOWED = 2
HOST_UNREACHABLE = 4
REFUSED = 5
COMMAND_UNSUPPORTED = 7
ADDRESS_UNSUPPORTED = 8

_VERSION = 5
_NO_AUTHENTICATION = 0
_CONNECT = 1
_IPV4, _DOMAIN, _IPV6 = 1, 3, 4
_NOBODY_FITS = b"\x05\xff"


class Request(NamedTuple):
    """Where a client wants to go: ``host`` as it was sent (a name, or an address without brackets)."""

    host: str
    port: int


class Negotiation:
    """One client's greeting and request.  ``feed`` bytes as they come; send what it returns.

    Afterwards ``request`` is set, ``failed`` says why there is none, or more bytes are needed.  Nothing accumulates: a
    greeting is decided by its first 257 bytes, a request by 262.
    """

    def __init__(self) -> None:
        self.request: Request | None = None
        self.failed: str | None = None
        self.rest = b""  # what the client sent after its request; belongs to the connection
        self._buffer = b""
        self._greeted = False

    def feed(self, data: bytes) -> bytes:
        """Take what the client sent; the answer to send now (may be empty)."""
        if self.failed is not None:
            return b""
        if self.request is not None:
            self.rest += data
            return b""
        self._buffer += data
        answer = b"" if self._greeted else self._greeting()
        return answer + self._request() if self._greeted else answer

    def _greeting(self) -> bytes:
        buffer = self._buffer
        if buffer[:1] not in (b"", b"\x05"):
            self.failed = f"version {buffer[0]} of SOCKS, or not SOCKS at all"
            return b""
        if len(buffer) < 2 or len(buffer) < 2 + buffer[1]:
            return b""
        methods, self._buffer = buffer[2 : 2 + buffer[1]], buffer[2 + buffer[1] :]
        if _NO_AUTHENTICATION not in methods:
            self.failed = "the client offers no method without authentication"
            return _NOBODY_FITS
        self._greeted = True
        return bytes((_VERSION, _NO_AUTHENTICATION))

    def _request(self) -> bytes:
        buffer = self._buffer
        if buffer[:1] not in (b"", b"\x05"):
            self.failed = f"a request of version {buffer[0]}"
            return reply(GENERAL_FAILURE)
        if len(buffer) < 5:
            return b""
        if buffer[1] != _CONNECT:
            self.failed = f"the command {buffer[1]}, which is not CONNECT"
            return reply(COMMAND_UNSUPPORTED)
        start, size = _span(buffer)
        if size == 0:
            self.failed = f"an address of type {buffer[3]}, or an empty name"
            return reply(ADDRESS_UNSUPPORTED)
        end = start + size + 2
        if len(buffer) < end:
            return b""
        return self._take(buffer, start, size)

    def _take(self, buffer: bytes, start: int, size: int) -> bytes:
        try:
            host = _host(buffer[3], buffer[start : start + size])
        except UnicodeDecodeError:
            self.failed = "a name that is not ASCII"
            return reply(ADDRESS_UNSUPPORTED)
        end = start + size
        self.request = Request(host, int.from_bytes(buffer[end : end + 2], "big"))
        self.rest, self._buffer = buffer[end + 2 :], b""
        return b""


def reply(code: int) -> bytes:
    """The answer to a request; the bound address is not told."""
    return bytes((_VERSION, code, 0, _IPV4)) + b"\0" * 6


SUCCEEDED = reply(0)

# What a client of ours says: that it needs no authentication; and what it hears.
GREETING = bytes((_VERSION, 1, _NO_AUTHENTICATION))
GREETED = bytes((_VERSION, _NO_AUTHENTICATION))


def request(host: str, port: int) -> bytes:
    """A client's request for a connection to a name or an address (without brackets), which is sent as a name."""
    name = host.encode("ascii")
    return bytes((_VERSION, _CONNECT, 0, _DOMAIN, len(name))) + name + port.to_bytes(2, "big")


def _span(buffer: bytes) -> tuple[int, int]:
    """Where the address of a request starts, and its size: 0 for a type that is unknown or a name of no length."""
    kind = buffer[3]
    if kind == _DOMAIN:
        return 5, buffer[4]
    return 4, {_IPV4: 4, _IPV6: 16}.get(kind, 0)


def _host(kind: int, packed: bytes) -> str:
    return packed.decode("ascii") if kind == _DOMAIN else str(ipaddress.ip_address(packed))
