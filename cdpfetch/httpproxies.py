"""Which proxy a request of the client's side goes through, by ``browser.proxy`` or the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import httpx

from cdpfetch import noproxy
from cdpfetch.errors import ConfigError
from cdpfetch.judge import target_of
from cdpfetch.urls import Url

# ``user:password`` of ``browser.proxy``: settings hold no secrets of it.
PROXY_CREDENTIALS = "CDPFETCH_PROXY_AUTH"
_SCHEMES = ("http", "https", "socks5", "socks5h")


class Origin(NamedTuple):
    """Where a connection leads."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: Url) -> Origin:
        return cls(url.scheme, url.host, url.port)

    @property
    def entry(self) -> str:
        """As an allow list names it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Proxies:
    """Which proxy a request goes through: ``browser.proxy``, else what the environment names, less ``NO_PROXY``."""

    def __init__(self, setting: str | None, environ: Mapping[str, str]) -> None:
        # As urllib has it: lower case wins.
        found = {name.lower(): value for name, value in environ.items() if value}
        found |= {name: value for name, value in environ.items() if value}
        self._by_scheme = {scheme: found.get(f"{scheme}_proxy", "") for scheme in ("http", "https", "all")}
        self._bypass = noproxy.entries(found.get("no_proxy"))
        self._auth = environ.get(PROXY_CREDENTIALS) or None
        self._setting = setting

    def of(self, origin: Origin) -> httpx.Proxy | None:
        """The proxy of an origin, or None.  Raises ConfigError for one that can't be used."""
        target = target_of(origin.host, origin.port)
        if any(noproxy.matches(entry, target) for entry in self._bypass):
            return None
        if self._setting:
            user, _, password = (self._auth or "").partition(":")
            return _proxy(self._setting, "browser.proxy", (user, password) if self._auth else None)
        url = self._by_scheme.get(origin.scheme) or self._by_scheme["all"]
        return _proxy(url if "://" in url else f"http://{url}", f"{origin.scheme.upper()}_PROXY", None) if url else None


def _proxy(url: str, name: str, auth: tuple[str, str] | None) -> httpx.Proxy:
    scheme = url.partition("://")[0].lower()
    try:
        if scheme not in _SCHEMES:
            raise ValueError(f"the scheme {scheme!r}")
        return httpx.Proxy(url, auth=auth)
    except (ValueError, httpx.InvalidURL):
        raise ConfigError(f"{name} names no proxy that can be used", "http://host:port or socks5://host:port") from None
