"""The library's functions: one call, one result.  For several calls in a row, a Client saves the connecting."""

from __future__ import annotations

import os

from cdpfetch.client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, Unpack

    from cdpfetch.chain import ChainOptions
    from cdpfetch.document import Document, Outcome, Page
    from cdpfetch.extract import Extraction
    from cdpfetch.wire import Message


def fetch(
    url: str,
    *,
    home: str | None = None,
    on_status: Callable[[str, Message], None] | None = None,
    **options: Unpack[ChainOptions],
) -> Document:
    """Fetch one URL from the source that serves it; the last is the browser of ``home`` (default: this account's),
    by the daemon, which is started when there is none.

    Raises FetchError when the URL failed (its ``document`` names what was saved all the same), CdpFetchError when the
    call itself was wrong.  ``on_status(url, event)`` gets the progress.
    """
    outcome = fetch_many([url], home=home, on_status=on_status, **options)[0]
    if outcome.error is not None:
        raise outcome.error
    return outcome.document


def fetch_many(
    urls: Iterable[str],
    *,
    home: str | None = None,
    on_status: Callable[[str, Message], None] | None = None,
    **options: Unpack[ChainOptions],
) -> list[Outcome]:
    """Fetch URLs at once.  One outcome each, in order; a URL that failed raises nothing.

    Any number: a hundred are under way at once.
    """
    from cdpfetch.document import outcome_of

    return [outcome_of(data) for data in fetch_documents(list(urls), home=home, on_status=on_status, **options)]


def fetch_documents(
    urls: Sequence[str],
    *,
    home: str | None = None,
    on_status: Callable[[str, Message], None] | None = None,
    on_document: Callable[[int, dict[str, Any]], None] | None = None,
    **options: Unpack[ChainOptions],
) -> list[dict[str, Any]]:
    """Fetch URLs as plain document dicts, in order; see ``Client.fetch_documents`` for the callbacks.

    What only the daemon can be concerned with goes straight to it, without loading what the chain needs.
    """
    from cdpfetch import chain

    plain, own = chain.split(options)
    with Client(home) as client:
        if not chain.needed(urls, own, client.home, os.environ):
            shared = {"share": True, **plain}  # with other processes that fetch the same at the moment
            return client.fetch_documents(list(urls), on_status=on_status, on_document=on_document, **shared)
        from cdpfetch import asyncapi

        return asyncapi.fetch_documents(client.home, urls, on_status, on_document, options)


def read(
    fetch_id: str,
    *,
    format: str = "markdown",  # noqa: A002 - the public name
    offset: int | None = None,
    limit: int | None = None,
    section: str | None = None,
    find: str | None = None,
    home: str | None = None,
) -> Page:
    """One page of a fetched document, from disk, without a daemon; see ``cdpfetch.reading.read``."""
    with Client(home) as client:
        return client.read(fetch_id, format=format, offset=offset, limit=limit, section=section, find=find)


def open_browser(url: str | None = None, *, wait: bool = False, home: str | None = None) -> dict[str, Any]:
    """Open the visible browser window on the shared profile; while it is open nothing is fetched.

    ``wait``: return when the user has closed it.
    """
    with Client(home) as client:
        return client.open_browser(url, wait=wait)


def close_browser(*, home: str | None = None) -> dict[str, Any]:
    """Close the visible browser window."""
    with Client(home) as client:
        return client.close_browser()


def extract_html(html: str, url: str = "", *, extractor: str = "auto") -> str:
    """The Markdown of a page's HTML, in this process; empty when nothing is visible."""
    from cdpfetch import extract

    return extract.extract_html(html, url, extractor=extractor)


def extract_file(
    path: str | os.PathLike[str], *, content_type: str | None = None, url: str = "", extractor: str = "auto"
) -> Extraction:
    """The readable content of a file of any kind, in this process."""
    from cdpfetch import extract

    return extract.extract_file(os.fspath(path), content_type=content_type, url=url, extractor=extractor)
