"""One job of a worker: from a job's fields to files in its ``out_dir`` and an answer."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from cdpfetch.extract import sanitising, still
from cdpfetch.extract.files import extract_file
from cdpfetch.extract.html import extract_page
from cdpfetch.extract.result import text_body
from cdpfetch.plaintext import plain_text

if TYPE_CHECKING:
    from cdpfetch.extract.result import Extraction

_WARM_PAGE = """<!doctype html><html><head><title>Warm</title></head><body><nav><a href="/">Home</a></nav>
<main><h1>Warm</h1><p>One paragraph of plain prose, long enough to be taken as content, with a <a href="a">link</a>.</p>
<pre><code class="language-c">int main;</code></pre><ul><li>one</li><li>two</li></ul>
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table></main></body></html>"""


def warm() -> None:
    """Import and run everything once, so that the first job is as fast as the next."""
    extract_page(_WARM_PAGE, "http://localhost/")
    import kreuzberg  # noqa: F401

    # There may be no wheel of pdfium for this system.
    with contextlib.suppress(ImportError):
        from cdpfetch.extract import pdf  # noqa: F401


def run_job(job: dict[str, Any]) -> dict[str, Any]:
    """Run one job: ``op`` (page|file), ``path``, ``url``, ``out_dir`` and, optionally, ``content_type``, ``charset``,
    ``extractor``, ``visible_chars`` and ``format`` (``text`` makes plain text of Markdown, too); or the op ``still``,
    which only looks (still.observe).

    Raises ValueError for a job that can't be understood, OSError for files that can't be read or written.
    """
    if job.get("op") == "still":
        return still.observe(job["path"], job.get("charset"), job["out_dir"])
    found = sanitising.sanitise(extract(job))
    if job.get("format") == "text" and found.content is not None and found.content.role == "content":
        found = found._replace(others=(*found.others, text_body(plain_text(found.content.text))))
    return found.save(job["out_dir"])


def extract(job: dict[str, Any]) -> Extraction:
    op, path, url = job.get("op"), job["path"], job.get("url") or ""
    extractor = job.get("extractor") or "auto"
    if op == "page":
        with open(path, encoding="utf-8", errors="replace") as f:
            html = f.read()
        return extract_page(html, url, extractor=extractor, visible_chars=job.get("visible_chars"))
    if op == "file":
        return extract_file(
            path, content_type=job.get("content_type"), charset=job.get("charset"), url=url, extractor=extractor
        )
    raise ValueError(f"unknown op {op!r} for {os.path.basename(path)}")
