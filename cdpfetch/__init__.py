"""cdpfetch: the web as files, fetched through the system Chrome.

    import cdpfetch

    document = cdpfetch.fetch("https://example.com/")
    print(document.title, document.dir)
    print(document.text())

Everything is loaded when it is first used: ``import cdpfetch`` costs next to nothing.
"""

from __future__ import annotations

from cdpfetch._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cdpfetch.api import close_browser, extract_file, extract_html, fetch, fetch_many, open_browser, read
    from cdpfetch.asyncapi import AsyncClient
    from cdpfetch.client import Client
    from cdpfetch.document import Document, Outcome, Page
    from cdpfetch.errors import CdpFetchError, ConfigError, DaemonUnavailable, FetchError, InvalidRequest
    from cdpfetch.search.calling import search

# Public name -> the module that has it.
_HOMES = {
    "AsyncClient": "asyncapi",
    "CdpFetchError": "errors",
    "Client": "client",
    "ConfigError": "errors",
    "DaemonUnavailable": "errors",
    "Document": "document",
    "FetchError": "errors",
    "InvalidRequest": "errors",
    "Outcome": "document",
    "Page": "document",
    "close_browser": "api",
    "extract_file": "api",
    "extract_html": "api",
    "fetch": "api",
    "fetch_many": "api",
    "open_browser": "api",
    "read": "api",
    "search": "search",
}

__all__ = [
    "AsyncClient",
    "CdpFetchError",
    "Client",
    "ConfigError",
    "DaemonUnavailable",
    "Document",
    "FetchError",
    "InvalidRequest",
    "Outcome",
    "Page",
    "__version__",
    "close_browser",
    "extract_file",
    "extract_html",
    "fetch",
    "fetch_many",
    "open_browser",
    "read",
    "search",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f"{__name__}.{home}")
    # The package ``search`` is itself what is called.
    value = getattr(module, name, module)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
