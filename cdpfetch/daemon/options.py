"""The options of a fetch as a request names them, checked, with the settings' values for the rest.  Pure."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from cdpfetch.cdp.landing import Visit
from cdpfetch.config import Config
from cdpfetch.errors import CdpFetchError, InvalidRequest
from cdpfetch.urls import parse_url

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]{0,4096}")
# Headers that belong to the browser: they would break the request, or let it lie about itself.
_FORBIDDEN = re.compile(
    r"(host|connection|content-length|transfer-encoding|upgrade|te|trailer|expect|keep-alive|cookie|sec-.*|proxy-.*)",
    re.IGNORECASE,
)
# What is sent for documents where a server may answer in Markdown: it is preferred, and anything will do.
_ACCEPT_MARKDOWN = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, */*;q=0.8"
_LANGUAGES = re.compile(r"[A-Za-z0-9*;=.,\- ]{1,200}")


class FetchOptions(NamedTuple):
    """The options of one ``fetch`` request."""

    url: str
    directory: str
    deadline: float  # seconds for everything
    extractor: str | None = None
    format: str = "markdown"
    redirects: str = "follow"
    keep_page: bool = False
    allow: tuple[str, ...] = ()
    engine: str = "browser"
    visit: Visit = Visit()

    @classmethod
    def parse(cls, message: dict[str, Any], config: Config) -> FetchOptions:
        """From a request that ``wire.check_request`` has accepted; raises InvalidRequest for bad values."""
        deadline = float(message.get("deadline", config.fetch.deadline))
        if not 0.1 <= deadline <= 3600:
            raise InvalidRequest(f"deadline is {deadline:g} s", "allowed: 0.1 to 3600 seconds")
        allow = message.get("allow", [])
        if not all(isinstance(entry, str) for entry in allow):
            raise InvalidRequest("allow must be a list of strings")
        engine = check_engine(message)
        language = message.get("acceptLanguage")
        if language is not None and not _LANGUAGES.fullmatch(language):
            raise InvalidRequest(f"acceptLanguage is {language!r}", "give language tags, as in: de,en;q=0.5")
        return cls(
            url=message["url"],
            directory=message["downloadDir"],
            deadline=deadline,
            extractor=message.get("extractor"),
            format=message.get("format", "markdown"),
            redirects=message.get("redirects", "follow"),
            keep_page=message.get("keepPage", False),
            allow=tuple(allow),
            engine=engine,
            visit=Visit(
                wait_for=message.get("waitFor"),
                headers=check_headers(message.get("headers", {})),
                accept_language=language,
                accept=_ACCEPT_MARKDOWN if config.fetch.accept_markdown else None,
                insecure=message.get("insecure", False),
                screenshot=message.get("screenshot", False),
            ),
        )


def canonical(url: str) -> str:
    """An address in the form that all its spellings share, its fragment included; what is no address stays as it is."""
    try:
        return parse_url(url).href
    except CdpFetchError:
        return url


def check_engine(message: dict[str, Any]) -> str:
    """The engine that can do what is asked for; raises InvalidRequest when the one that is named can't."""
    engine: str = message.get("engine", "browser")
    needed = [name for name in ("waitFor", "screenshot") if message.get(name)]
    if engine == "http" and needed:
        raise InvalidRequest(f"{needed[0]} needs a browser", "leave it out, or use the engine auto or browser")
    return "browser" if needed else engine


def check_headers(headers: dict[Any, Any]) -> tuple[tuple[str, str], ...]:
    """The extra request headers when each may be sent; raises InvalidRequest, naming the one that may not."""
    for name, value in headers.items():
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise InvalidRequest(f"{name!r} is not a header name")
        if _FORBIDDEN.fullmatch(name):
            raise InvalidRequest(f"the header {name} is the browser's own", "leave it out")
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise InvalidRequest(f"the value of the header {name} has characters that a header can't have")
    return tuple(headers.items())
