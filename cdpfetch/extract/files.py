"""A file's bytes become readable text: sniff, decode, dispatch."""

from __future__ import annotations

import os

from cdpfetch.extract import charset as charsets
from cdpfetch.extract.html import extract_page
from cdpfetch.extract.result import Extraction, readable, text_body


def extract_file(
    path: str | os.PathLike[str],
    *,
    content_type: str | None = None,
    charset: str | None = None,
    url: str = "",
    extractor: str = "auto",
) -> Extraction:
    """What can be read in the file at ``path``."""
    with open(path, "rb") as f:
        data = f.read()
    essence = (content_type or "").split(";")[0].strip().lower()
    if essence in ("text/html", "application/xhtml+xml"):
        return extract_page(
            charsets.decode(data, charset, hint=charsets.html_hint(data)).text, url, extractor=extractor
        )
    if essence.startswith("text/") or essence.endswith(("json", "xml", "javascript")):
        return readable(text_body(charsets.decode(data, charset).text))
    return _document(path, essence)


def _document(path: str | os.PathLike[str], essence: str) -> Extraction:
    import kreuzberg

    from cdpfetch.extract.result import content_body, warning

    try:
        result = kreuzberg.extract_file_sync(os.fspath(path), essence or None)
    except kreuzberg.KreuzbergError as error:
        return Extraction(None, warnings=(warning("extraction_failed", str(error)[:300]),))
    return readable(content_body(result.content)) if result.content.strip() else Extraction(None)
