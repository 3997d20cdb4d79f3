"""The ways that a proxy auto-config script names for a target."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
from collections.abc import Mapping

from ada_url import URL

from cdpfetch import addresses
from cdpfetch.daemon.guard.pac.process import Resolve, ScriptFailed, ScriptProcess
from cdpfetch.daemon.guard.pac.source import read
from cdpfetch.daemon.guard.upstream import Upstream, credentials_of
from cdpfetch.daemon.threads import in_thread
from cdpfetch.errors import CdpFetchError, ConfigError
from cdpfetch.urls import Url

log = logging.getLogger(__name__)

# Seconds after which the script is read again, and for which one that can't be read is not tried again.
KEEP = 3600.0
RETRY = 10.0
# Seconds for which a proxy that could not be reached is tried last.
AVOID = 60.0
HINT = "check browser.proxy_pac: cdpfetch config get browser.proxy_pac"
_KINDS = {"PROXY": "http", "HTTP": "http", "HTTPS": "https", "SOCKS": "socks5", "SOCKS5": "socks5"}
_PORTS = {"http": 80, "https": 443, "socks5": 1080}
_MAX_WAYS = 8


class Pac:
    """The script of ``browser.proxy_pac`` (a URL or a path), as what the guard asks for ways."""

    def __init__(self, place: str, credentials: str | None, ca_bundle: str | None, resolve: Resolve) -> None:
        self._place = place
        self._credentials = credentials
        self._ca_bundle = ca_bundle
        self._process = ScriptProcess(resolve)
        self._script = ""
        self._fault: str | None = None  # why there is no script
        self._due = 0.0  # loop time when it is read again
        self._reading = asyncio.Lock()
        self._avoid: dict[tuple[str, str, int], float] = {}  # proxies that could not be reached -> loop time of the end

    @classmethod
    def of(cls, setting: str, environ: Mapping[str, str], ca_bundle: str | None, resolve: Resolve) -> Pac:
        """Raises ConfigError where the package that runs scripts is not installed."""
        if importlib.util.find_spec("dukpy") is None:
            raise ConfigError(
                "browser.proxy_pac is set, and the package that runs such scripts is not installed",
                "pip install 'cdpfetch[pac]', then: cdpfetch restart",
            )
        return cls(setting, credentials_of(environ), ca_bundle, resolve)

    @property
    def label(self) -> str:
        """For ``status``: without what a URL may carry besides its place."""
        return f"PAC {self._place.partition('?')[0].rpartition('@')[2]}"

    async def ways(self, target: Url) -> tuple[Upstream | None, ...]:
        """What to try, in order; None is the direct way.  Raises CdpFetchError (``connection_failed``)."""
        if _stays_here(target):
            return (None,)
        script = await self._read()
        try:
            answer = await self._process.ask(script, target.href, target.host)
        except ScriptFailed as error:
            reason = f"the script of browser.proxy_pac failed for {target.host}: {error}"
            raise CdpFetchError("connection_failed", reason, HINT) from None
        now = asyncio.get_running_loop().time()
        found = [self._way(one) for one in parse(answer)]
        # Who could not be reached a moment ago comes after the others.
        return tuple(sorted(found, key=lambda way: way is not None and self._avoid.get(_key(way), 0.0) > now))

    def gone(self, way: Upstream) -> None:
        """A proxy could not be reached."""
        self._avoid[_key(way)] = asyncio.get_running_loop().time() + AVOID
        while len(self._avoid) > 256:
            del self._avoid[next(iter(self._avoid))]

    async def close(self) -> None:
        """End the script's process; idempotent."""
        await self._process.close()

    def _way(self, one: tuple[str, str, int] | None) -> Upstream | None:
        if one is None:
            return None
        scheme, host, port = one
        return Upstream(scheme, host, port, self._credentials, ca_bundle=self._ca_bundle)

    async def _read(self) -> str:
        async with self._reading:
            now = asyncio.get_running_loop().time()
            if now >= self._due:
                try:
                    self._script = await in_thread(read, self._place, self._ca_bundle)
                    self._fault, self._due = None, now + KEEP
                except (OSError, ValueError) as error:
                    self._fault, self._due = str(error) or type(error).__name__, now + RETRY
                    log.warning("%s can't be read: %s", self.label, error)
            if self._fault is not None and not self._script:
                reason = f"the script of browser.proxy_pac can't be read: {self._fault}"
                raise CdpFetchError("connection_failed", reason, HINT)
            return self._script

    def __repr__(self) -> str:
        return f"<Pac {self.label}>"


def parse(answer: str) -> list[tuple[str, str, int] | None]:
    """The ways in a script's answer, each once: (scheme, host, port), or None for the direct one.

    An empty answer is the direct way, as in browsers.  Raises CdpFetchError where nothing in it can be used.
    """
    found: list[tuple[str, str, int] | None] = []
    for part in answer.split(";")[: 4 * _MAX_WAYS]:
        kind, _, where = part.strip().partition(" ")
        if kind.upper() == "DIRECT" and not where.strip():
            found.append(None)
        elif kind.upper() in _KINDS:
            way = _proxy(_KINDS[kind.upper()], where.strip())
            found += [way] if way is not None else []
    if not found and answer.strip():
        reason = f"the script of browser.proxy_pac says {answer[:100]!r}, which names no proxy that can be used"
        raise CdpFetchError("connection_failed", reason, HINT)
    return list(dict.fromkeys(found))[:_MAX_WAYS] or [None]


def _proxy(scheme: str, where: str) -> tuple[str, str, int] | None:
    try:
        parsed = URL(f"ws://{where}/")
        host = parsed.hostname.strip("[]")
        if not host or parsed.username or parsed.password or parsed.pathname != "/":
            return None
        port = where.rpartition(":")[2]
        return scheme, host, int(port) if port.isdigit() and "]" not in port else _PORTS[scheme]
    except ValueError:
        return None


def _stays_here(target: Url) -> bool:
    """Whether no proxy could help: this machine, by its address or by the names that every browser knows."""
    literal = addresses.parse(target.host)
    if literal is not None:
        return addresses.classify(literal).kind in (addresses.LOOPBACK, addresses.UNSPECIFIED)
    return target.host.split(".")[-1] in ("localhost", "invalid")


def _key(way: Upstream) -> tuple[str, str, int]:
    return way.scheme, way.host, way.port
