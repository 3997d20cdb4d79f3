"""An upstream proxy: which targets go through it, and how it is asked to connect."""

from __future__ import annotations

import asyncio
import base64
import functools
import ipaddress
import re
import ssl
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from ada_url import URL

from cdpfetch import addresses
from cdpfetch.daemon.guard.dialler import Dialler
from cdpfetch.daemon.guard.resolver import Resolver
from cdpfetch.errors import CdpFetchError, ConfigError
from cdpfetch.urls import Url

CREDENTIALS = "CDPFETCH_PROXY_AUTH"
"""The environment variable with ``user:password`` for the proxy: settings hold no secrets of it."""
# Seconds that the proxy has to open a connection.
TIMEOUT = 15.0
_PORTS = {"http": 80, "https": 443, "socks5": 1080}
_MAX_ANSWER = 16384
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})(?: ([^\r\n]*))?\r?\n")
_HINT = "check browser.proxy: cdpfetch config get browser.proxy"
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
                raise _failed("the proxy's answer has no end")
            return b""
        status = _STATUS.match(head + b"\r\n")
        if status is None:
            raise _failed(f"the proxy does not speak HTTP: {head[:60]!r}")
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
        return CdpFetchError("connection_failed", f"the proxy does not connect to {self._where}: {said}", _HINT)


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
        raise _failed("the proxy does not speak SOCKS5")

    def _let_in(self) -> bytes:
        answer = self._take(2)
        if answer is None:
            return b""
        if answer[1] != 0:
            raise CdpFetchError("connection_failed", "the proxy refuses the user name and password", f"see {CREDENTIALS}")
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
            raise _failed("the proxy does not speak SOCKS5")
        if buffer[1] != 0:
            words = _SOCKS_WORDS.get(buffer[1], f"error {buffer[1]}")
            raise _failed(f"the proxy does not connect to {self._target.host}:{self._target.port}: {words}")
        size = {1: 10, 3: 7 + buffer[4], 4: 22}.get(buffer[3])
        if size is None:
            raise _failed("the proxy does not speak SOCKS5")
        if self._take(size) is not None:
            self.done, self.rest, self._buffer = True, self._buffer, b""
        return b""


class Opened(NamedTuple):
    """A connection through the proxy: its transport reads nothing yet; ``rest`` came with the proxy's answer."""

    transport: asyncio.Transport
    rest: bytes


class Upstream:
    """The proxy of ``browser.proxy``.  ``credentials`` is ``user:password`` or None."""

    def __init__(
        self, scheme: str, host: str, port: int, credentials: str | None = None, bypass: tuple[str, ...] = ()
    ) -> None:
        self.scheme = scheme
        self.host = host
        self.port = port
        self._credentials = credentials
        self._bypass = tuple(entry.strip().lower() for entry in bypass if entry.strip())

    @classmethod
    def of(cls, setting: str | None, environ: Mapping[str, str]) -> Upstream | None:
        """The proxy that a setting and the environment (credentials, ``NO_PROXY``) describe; None without one.

        Raises ConfigError.
        """
        if not setting:
            return None
        try:
            # A scheme that the standard does not know has no default port and keeps its host as it is written.
            scheme, mark, rest = setting.partition("://")
            parsed = URL(f"http://{rest}")
        except ValueError:
            raise ConfigError(f"browser.proxy is {setting!r}, which is not a URL", "http://host:port") from None
        scheme = scheme.lower()
        if not mark or scheme not in _PORTS or not parsed.hostname:
            raise ConfigError(
                f"browser.proxy has the scheme {scheme!r}", "allowed: " + ", ".join(f"{name}://" for name in _PORTS)
            )
        if parsed.username or parsed.password:
            raise ConfigError(
                "browser.proxy carries a user name or a password", f"put user:password into {CREDENTIALS} instead"
            )
        written_port = re.search(r":(\d+)/*$", rest)
        port = int(written_port[1]) if written_port else _PORTS[scheme]
        credentials = environ.get(CREDENTIALS) or None
        if credentials is not None and any(char < " " for char in credentials):
            raise ConfigError(f"{CREDENTIALS} has control characters", "user:password")
        bypass = (environ.get("NO_PROXY") or environ.get("no_proxy") or "").split(",")
        return cls(scheme, parsed.hostname.strip("[]"), port, credentials, tuple(bypass))

    def covers(self, target: Url) -> bool:
        """Whether a target goes through the proxy: all do but those of ``NO_PROXY``."""
        return not any(_matches(entry, target) for entry in self._bypass)

    @functools.cached_property
    def _context(self) -> ssl.SSLContext:
        """The system's certificate authorities, or those of ``SSL_CERT_FILE``."""
        return ssl.create_default_context()

    async def open(self, target: Url, resolver: Resolver, dialler: Dialler) -> Opened:
        """A connection to a target.  Raises CdpFetchError."""
        literal = addresses.parse(self.host)
        found = [str(literal)] if literal is not None else await resolver.resolve(self.host)
        try:
            dialled = await dialler.dial(f"the proxy {self.host}", found, self.port)
        except CdpFetchError as error:
            raise CdpFetchError(error.code, error.reason, _HINT) from error
        dialogue: Dialogue = (SocksConnect if self.scheme == "socks5" else HttpConnect)(target, self._credentials)
        loop = asyncio.get_running_loop()
        tls = {"ssl": self._context, "server_hostname": self.host} if self.scheme == "https" else {}
        talk = _Talk(dialogue)
        try:
            async with asyncio.timeout(TIMEOUT):
                transport, _ = await loop.create_connection(lambda: talk, sock=dialled.sock, **tls)
                await talk.over
        except TimeoutError:
            talk.abort()
            raise CdpFetchError("timeout", f"the proxy {self.host} did not answer within {TIMEOUT:g} s", _HINT) from None
        except BaseException as error:
            talk.abort()
            if isinstance(error, OSError):
                raise _failed(f"the proxy {self.host} broke off: {error}") from error
            raise
        return Opened(transport, dialogue.rest)

    def __repr__(self) -> str:
        return f"<Upstream {self.scheme}://{self.host}:{self.port}>"


class _Talk(asyncio.Protocol):
    """Carries a dialogue over a connection; ``over`` is done when the tunnel stands."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        self._transport: asyncio.Transport | None = None
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._dialogue.start())

    def data_received(self, data: bytes) -> None:
        if self.over.done() or self._transport is None:
            return
        try:
            self._transport.write(self._dialogue.feed(data))
        except CdpFetchError as error:
            self.over.set_exception(error)
            return
        if self._dialogue.done:
            self._transport.pause_reading()
            self.over.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.over.done():
            self.over.set_exception(exc or ConnectionResetError("the connection was closed"))

    def abort(self) -> None:
        """Give it up; nobody asks for the outcome any more."""
        if self._transport is not None:
            self._transport.abort()
        if not self.over.done():
            self.over.cancel()
        elif not self.over.cancelled():
            self.over.exception()


def _matches(entry: str, target: Url) -> bool:
    """Whether an entry of NO_PROXY covers a target: ``*``, a name and all below it, an address, a CIDR; with a port."""
    if entry == "*":
        return True
    host, _, port = entry.rpartition(":") if re.fullmatch(r"[^:]+:\d+|\[.*\]:\d+", entry) else (entry, "", "")
    if port and int(port) != target.port:
        return False
    literal = addresses.parse(target.host)
    if literal is None:
        name = host.removeprefix("*").removeprefix(".")
        return target.host == name or target.host.endswith("." + name)
    try:
        return literal in ipaddress.ip_network(host.strip("[]"), strict=False)
    except ValueError:
        return False


def _failed(reason: str) -> CdpFetchError:
    return CdpFetchError("connection_failed", reason, _HINT)
