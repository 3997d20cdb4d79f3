"""The extractors by name, and the entry point group through which others join."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from cdpfetch.errors import InvalidRequest
from cdpfetch.extract import metadata
from cdpfetch.extract.metadata import Metadata

GROUP = "cdpfetch.extractors"


class PageText(NamedTuple):
    """What an extractor makes of one page.

    Attributes:
        markdown: the content; empty only when nothing is visible.
        metadata: what the page says about itself.
        visible_chars: characters (no white space) that a visitor could see, by the markup alone.
        text_chars: characters of the page's text that the content holds.
        warnings: ``{"code", "message"}``.
        extractor: its name.
    """

    markdown: str
    metadata: Metadata
    visible_chars: int
    text_chars: int
    warnings: tuple[dict[str, str], ...] = ()
    extractor: str = "auto"


Extractor = Callable[[str, str], PageText]
# What an entry point gives: HTML and address to Markdown.
Plain = Callable[[str, str], str]


def names() -> list[str]:
    """The known extractors."""
    return sorted({*_BUILT_IN, *_entry_points()})


def find(name: str) -> Extractor:
    """The extractor called ``name``.  Raises InvalidRequest, naming the known ones."""
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    if name in _entry_points():
        return _plugin(name)
    raise InvalidRequest(f"unknown extractor {name!r}", "known extractors: " + ", ".join(names()))


def _auto(html: str, url: str) -> PageText:
    from cdpfetch.extract.auto import extract

    return extract(html, url)


def _raw(html: str, url: str) -> PageText:
    from cdpfetch.extract.auto import extract_body

    return extract_body(html, url)


def _trafilatura(html: str, url: str) -> PageText:
    import trafilatura

    markdown = trafilatura.extract(
        html,
        url=url or None,
        output_format="markdown",
        include_formatting=True,
        include_links=True,
        include_images=True,
        include_tables=True,
    )
    return completed(markdown or "", html, url, "trafilatura")


def _readability(html: str, url: str) -> PageText:
    import logging

    import readability

    from cdpfetch.extract import convert

    # It logs tracebacks of pages that it can't parse, and reports them besides.
    logging.getLogger("readability").setLevel(logging.CRITICAL)
    try:
        summary = readability.Document(html, url=url or None).summary(html_partial=True) if html.strip() else ""
    except readability.readability.Unparseable:
        summary = ""
    return completed(convert.fragment(summary, url), html, url, "readability")


def completed(markdown: str, html: str, url: str, extractor: str) -> PageText:
    """A page's text by a foreign extractor, with our metadata; the whole body when it found nothing."""
    from cdpfetch.extract import auto
    from cdpfetch.extract.result import warning

    if not markdown.strip():
        page = auto.extract_body(html, url)
        note = warning("fallback_extraction", f"{extractor} found no content; this is the whole page")
        return page._replace(warnings=(*page.warnings, note))
    root, visible = auto.survey(html)
    meta = metadata.read(root, url) if root is not None else Metadata()
    return PageText(markdown.strip() + "\n", meta, visible, min(visible, len(markdown)), (), extractor)


@cache
def _entry_points() -> dict[str, object]:
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=GROUP)}


@cache
def _plugin(name: str) -> Extractor:
    plain: Plain = _entry_points()[name].load()  # type: ignore[attr-defined]

    def extract(html: str, url: str) -> PageText:
        return completed(plain(html, url), html, url, name)

    return extract


_BUILT_IN: dict[str, Extractor] = {
    "auto": _auto,
    "raw": _raw,
    "readability": _readability,
    "trafilatura": _trafilatura,
}
