"""Extraction: a page's HTML or a document's bytes become what an agent reads.

The only package that imports trafilatura, lxml, kreuzberg and html-to-markdown.  It knows nothing of browsers: the
daemon hands files to a pool of worker processes, the library calls the same functions in its own process.

``extract_page`` and ``extract_file`` give an `Extraction`; ``extract_html`` gives only the Markdown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cdpfetch.extract.files import extract_file
    from cdpfetch.extract.html import extract_html, extract_page
    from cdpfetch.extract.pool import ExtractionFailed, ExtractPool
    from cdpfetch.extract.result import Extraction

_HOMES = {
    "extract_html": "html",
    "extract_page": "html",
    "extract_file": "files",
    "ExtractPool": "pool",
    "ExtractionFailed": "pool",
    "Extraction": "result",
}

__all__ = ["ExtractPool", "Extraction", "ExtractionFailed", "extract_file", "extract_html", "extract_page"]


def __getattr__(name: str) -> Any:
    # Lazy, so that the daemon can import the pool without the parsers, which live in the workers.
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{home}"), name)
