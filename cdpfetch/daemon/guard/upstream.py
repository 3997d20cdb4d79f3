"""An upstream proxy: which targets go through it, and how it is asked to connect."""

from __future__ import annotations

import asyncio
import functools
import re
import ssl
from collections.abc import Mapping
from typing import NamedTuple, Protocol, cast

from ada_url import URL

from cdpfetch import addresses, certificates, noproxy
from cdpfetch.daemon.guard.dialler import Dialler
from cdpfetch.daemon.guard.dialogues import CREDENTIALS, HINT, Dialogue, HttpConnect, SocksConnect
from cdpfetch.errors import CdpFetchError, ConfigError
from cdpfetch.resolver import Resolver
from cdpfetch.urls import Url

# Seconds that the proxy has to open a connection.
TIMEOUT = 15.0
_PORTS = {"http": 80, "https": 443, "socks5": 1080}


class Opened(NamedTuple):
    """A connection through the proxy: its transport reads nothing yet; ``rest`` came with the proxy's answer."""

    transport: asyncio.Transport
    rest: bytes


class Unreachable(CdpFetchError):
    """A proxy could not be reached, or broke off: another one may do."""


class Ways(Protocol):
    """What knows how targets are reached."""

    @property
    def label(self) -> str:
        """For ``status``."""

    async def ways(self, target: Url) -> tuple[Upstream | None, ...]:
        """What to try, in this order; None is the direct way.  Raises CdpFetchError."""

    def gone(self, way: Upstream) -> None:
        """A proxy could not be reached."""

    async def close(self) -> None:
        """Nobody asks any more."""


class Upstream:
    """A proxy.  ``credentials`` is ``user:password`` or None; ``bypass`` are entries of ``NO_PROXY``; ``ca_bundle`` is
    that of the settings.
    """

    def __init__(
        self,
        scheme: str,
        host: str,
        port: int,
        credentials: str | None = None,
        bypass: tuple[str, ...] = (),
        *,
        ca_bundle: str | None = None,
    ) -> None:
        self.scheme = scheme
        self.host = host
        self.port = port
        self._credentials = credentials
        self._bypass = bypass
        self._ca_bundle = ca_bundle
        self.label = f"{host}:{port}"

    @classmethod
    def of(cls, setting: str | None, environ: Mapping[str, str], ca_bundle: str | None = None) -> Upstream | None:
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
            raise ConfigError("browser.proxy is not a URL", "http://host:port") from None
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
        bypass = noproxy.entries(environ.get("NO_PROXY") or environ.get("no_proxy"))
        return cls(scheme, parsed.hostname.strip("[]"), port, credentials_of(environ), bypass, ca_bundle=ca_bundle)

    def covers(self, target: Url) -> bool:
        """Whether a target goes through the proxy: all do but those of ``NO_PROXY``."""
        return not any(noproxy.matches(entry, target) for entry in self._bypass)

    async def ways(self, target: Url) -> tuple[Upstream | None, ...]:
        """This proxy, or the direct way."""
        return (self if self.covers(target) else None,)

    def gone(self, way: Upstream) -> None:
        """There is no other."""

    async def close(self) -> None:
        """There is nothing to close."""

    @functools.cached_property
    def _context(self) -> ssl.SSLContext:
        return certificates.context(self._ca_bundle)

    async def open(self, target: Url, resolver: Resolver, dialler: Dialler) -> Opened:
        """A connection to a target.  Raises CdpFetchError (Unreachable where the proxy itself is)."""
        literal = addresses.parse(self.host)
        try:
            found = [str(literal)] if literal is not None else await resolver.resolve(self.host)
            dialled = await dialler.dial(f"the proxy {self.host}", found, self.port)
        except CdpFetchError as error:
            raise Unreachable(error.code, error.reason, HINT) from error
        dialogue: Dialogue = (SocksConnect if self.scheme == "socks5" else HttpConnect)(target, self._credentials)
        loop = asyncio.get_running_loop()
        context = self._context if self.scheme == "https" else None
        name = self.host if context is not None else None
        talk = _Talk(dialogue)
        try:
            async with asyncio.timeout(TIMEOUT):
                transport, _ = await loop.create_connection(
                    lambda: talk, sock=dialled.sock, ssl=context, server_hostname=name
                )
                await talk.over
        except TimeoutError:
            talk.abort()
            late = f"the proxy {self.host} did not answer within {TIMEOUT:g} s"
            raise Unreachable("timeout", late, HINT) from None
        except BaseException as error:
            talk.abort()
            if isinstance(error, OSError):
                broken = f"the proxy {self.host} broke off: {error}"
                raise Unreachable("connection_failed", broken, HINT) from error
            raise
        return Opened(transport, dialogue.rest)

    def __repr__(self) -> str:
        return f"<Upstream {self.scheme}://{self.host}:{self.port}>"


def credentials_of(environ: Mapping[str, str]) -> str | None:
    """``user:password`` for proxies, from the environment.  Raises ConfigError."""
    credentials = environ.get(CREDENTIALS) or None
    if credentials is not None and any(char < " " for char in credentials):
        raise ConfigError(f"{CREDENTIALS} has control characters", "user:password")
    return credentials


class _Talk(asyncio.Protocol):
    """Carries a dialogue over a connection; ``over`` is done when the tunnel stands."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        self._transport: asyncio.Transport | None = None
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._dialogue.start())

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
