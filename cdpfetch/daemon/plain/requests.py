"""What is sent: the headers of Chrome's own request for a document, with those of the visit in them.  Pure."""

from __future__ import annotations

import sys

from cdpfetch.cdp.answers import origin
from cdpfetch.cdp.flags import user_agent
from cdpfetch.cdp.landing import Visit
from cdpfetch.daemon.plain.decoding import ACCEPTED
from cdpfetch.urls import Url

_ACCEPT = (
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,"
    "application/signed-exchange;v=b3;q=0.7"
)
# Announced where there is no Chrome to ask.
_VERSION = "156"
_PORTS = {"http": 80, "https": 443}


def headers(url: Url, visit: Visit, home: str, version: str | None, locale: str | None) -> list[tuple[str, str]]:
    """The request's headers, in order.

    The visit's own headers go to the origin ``home`` alone; ``version`` is the installed Chrome's.
    """
    host = f"[{url.host}]" if ":" in url.host else url.host
    base = {
        "Host": host if url.port == _PORTS[url.scheme] else f"{host}:{url.port}",
        "Connection": "keep-alive",
        "Upgrade-Insecure-Requests": "1",
        "User-Agent": user_agent(version or _VERSION, sys.platform),
        "Accept": visit.accept or _ACCEPT,
        "Accept-Encoding": ACCEPTED,
        "Accept-Language": visit.accept_language or languages(locale),
    }
    given = dict(visit.headers) if origin(url.href) == home else {}
    # Bodies are undone as they were asked for; a coding of the caller's choice could not be.
    replaced = {name.lower() for name in given} - {"accept-encoding"}
    kept = [(name, value) for name, value in base.items() if name.lower() not in replaced]
    return kept + [(name, value) for name, value in given.items() if name.lower() in replaced]


def languages(locale: str | None) -> str:
    """The Accept-Language that Chrome sends for ``browser.locale`` (``"de-AT"`` -> ``"de-AT,de;q=0.9"``)."""
    tag = (locale or "en-US").strip()
    base = tag.partition("-")[0]
    return tag if base == tag else f"{tag},{base};q=0.9"


def target(url: Url) -> bytes:
    """The request target, byte for byte as the URL standard has it: path and query, without the fragment."""
    rest = url.href.partition("://")[2].partition("#")[0]
    slash = rest.find("/")
    return rest[slash:].encode("ascii") if slash >= 0 else b"/"
