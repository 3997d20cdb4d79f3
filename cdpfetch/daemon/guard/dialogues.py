"""What is said to an upstream proxy before it carries a connection: CONNECT of HTTP and of SOCKS5; pure."""

from __future__ import annotations

import base64
import re
from typing import Protocol

from cdpfetch import addresses
from cdpfetch.errors import CdpFetchError
from cdpfetch.urls import Url

CREDENTIALS = "CDPFETCH_PROXY_AUTH"
"""The environment variable with ``user:password`` for the proxy: settings hold no secrets of it."""
_MAX_ANSWER = 16384
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})(?: ([^\r\n]*))?\r?\n")
HINT = "check browser.proxy, or what browser.proxy_pac says: cdpfetch config show"
_SOCKS_WORDS = {
    1: "a general failure",
    2: "not allowed by its rules",
    3: "the network can't be reached",
    4: "the host can't be reached",
    5: "the connection was refused",
    6: "it took too long",
    7: "CONNECT is not supported",
    8: "this kind of address is not supported",
}


class Dialogue(Protocol):
    """What is said to a proxy for one connection; pure."""

    done: bool
    rest: bytes  # what came behind the proxy's answer

    def start(self) -> bytes:
        """The first words."""

    def feed(self, data: bytes) -> bytes:
        """The next words; raises CdpFetchError when the proxy refuses."""


class HttpConnect:
    """The CONNECT method of HTTP."""

    def __init__(self, target: Url, credentials: str | None) -> None:
        host = f"[{target.host}]" if ":" in target.host else target.host
        self._where = f"{host}:{target.port}"
        self._credentials = credentials
        self._buffer = b""
        self.done = False
        self.rest = b""

    def start(self) -> bytes:
        lines = [f"CONNECT {self._where} HTTP/1.1", f"Host: {self._where}"]
        if self._credentials is not None:
            lines.append("Proxy-Authorization: Basic " + base64.b64encode(self._credentials.encode()).decode())
        return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")

    def feed(self, data: bytes) -> bytes:
        self._buffer += data
        head, mark, rest = self._buffer.partition(b"\r\n\r\n")
        if not mark:
            if len(self._buffer) > _MAX_ANSWER:
                raise failed("the proxy's answer has no end")
            return b""
        status = _STATUS.match(head + b"\r\n")
        if status is None:
            raise failed(f"the proxy does not speak HTTP: {head[:60]!r}")
        if status[1][:1] == b"1":
            self._buffer = rest
            return self.feed(b"")
        if status[1][:1] != b"2":
            raise self._refused(int(status[1]), (status[2] or b"").decode("latin-1").strip()[:100])
        self.done, self.rest = True, rest
        return b""

    def _refused(self, status: int, words: str) -> CdpFetchError:
        said = f"{status} {words}".strip()
        if status == 407:
            return CdpFetchError(
                "connection_failed",
                f"the proxy asks for a user name and a password ({said})",
                f"put user:password into the environment variable {CREDENTIALS}, then: cdpfetch restart",
            )
        return CdpFetchError("connection_failed", f"the proxy does not connect to {self._where}: {said}", HINT)


class SocksConnect:
    """CONNECT of SOCKS5, by name."""

    def __init__(self, target: Url, credentials: str | None) -> None:
        self._target = target
        user, _, password = (credentials or "").partition(":")
        self._login = None if credentials is None else (user.encode()[:255], password.encode()[:255])
        self._buffer = b""
        self._step = self._chosen
        self.done = False
        self.rest = b""

    def start(self) -> bytes:
        return b"\x05\x01\x00" if self._login is None else b"\x05\x02\x00\x02"

    def feed(self, data: bytes) -> bytes:
        self._buffer += data
        answer = b""
        while not self.done:
            size = len(self._buffer)
            answer += self._step()
            if len(self._buffer) == size and not self.done:
                break
        return answer

    def _take(self, size: int) -> bytes | None:
        if len(self._buffer) < size:
            return None
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    def _chosen(self) -> bytes:
        chosen = self._take(2)
        if chosen is None:
            return b""
        if chosen == b"\x05\x00":
            return self._ask()
        if chosen == b"\x05\x02" and self._login is not None:
            self._step = self._let_in
            user, password = self._login
            return b"\x01" + bytes((len(user),)) + user + bytes((len(password),)) + password
        if chosen == b"\x05\xff":
            raise CdpFetchError(
                "connection_failed",
                "the proxy asks for a user name and a password, or refuses the one given",
                f"put user:password into the environment variable {CREDENTIALS}, then: cdpfetch restart",
            )
        raise failed("the proxy does not speak SOCKS5")

    def _let_in(self) -> bytes:
        answer = self._take(2)
        if answer is None:
            return b""
        if answer[1] != 0:
            refused = "the proxy refuses the user name and password"
            raise CdpFetchError("connection_failed", refused, f"they are in the environment variable {CREDENTIALS}")
        return self._ask()

    def _ask(self) -> bytes:
        self._step = self._answered
        literal = addresses.parse(self._target.host)
        if literal is not None:
            where = bytes((1 if literal.version == 4 else 4,)) + literal.packed
        else:
            where = bytes((3, len(self._target.host))) + self._target.host.encode("ascii")
        return b"\x05\x01\x00" + where + self._target.port.to_bytes(2, "big")

    def _answered(self) -> bytes:
        buffer = self._buffer
        if len(buffer) < 5:
            return b""
        if buffer[:1] != b"\x05":
            raise failed("the proxy does not speak SOCKS5")
        if buffer[1] != 0:
            words = _SOCKS_WORDS.get(buffer[1], f"error {buffer[1]}")
            raise failed(f"the proxy does not connect to {self._target.host}:{self._target.port}: {words}")
        size = {1: 10, 3: 7 + buffer[4], 4: 22}.get(buffer[3])
        if size is None:
            raise failed("the proxy does not speak SOCKS5")
        if self._take(size) is not None:
            self.done, self.rest, self._buffer = True, self._buffer, b""
        return b""


def failed(reason: str) -> CdpFetchError:
    """The error for a proxy that does not do what it is there for."""
    return CdpFetchError("connection_failed", reason, HINT)
