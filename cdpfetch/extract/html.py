"""A page's HTML becomes Markdown: the seam between the front doors and the extractors."""

from __future__ import annotations

from cdpfetch.extract import extractors
from cdpfetch.extract.result import RECOVERED, Extraction, content_body, readable, warning

# Under this share of the visible text the reader is told.
LOW_COVERAGE = 0.15
# A page that shows fewer characters than this has shown next to nothing, and one with so many more text than that
# has it elsewhere: for visitors without scripts, or hidden until a script has run.
_SHOWN = 200
_MUCH = 600


def extract_html(html: str, url: str = "", *, extractor: str = "auto") -> str:
    """The Markdown of a page's content; an empty string when nothing is visible.

    ``url`` is the page's address, against which links are made absolute.  ``extractor`` is ``auto``, ``trafilatura``,
    ``readability``, ``raw`` or the name of an entry point in the group ``cdpfetch.extractors``; InvalidRequest names
    the known ones for any other.
    """
    return extractors.find(extractor)(html, url).markdown


def extract_page(html: str, url: str = "", *, extractor: str = "auto", visible_chars: int | None = None) -> Extraction:
    """A page's content with title, facts, outline and coverage.

    ``html`` is text already: its meta charset is never looked at.  ``visible_chars`` is what the browser showed
    (characters of visible text without white space), where known.  Raises InvalidRequest for an unknown ``extractor``.
    """
    page = extractors.find(extractor)(html, url)
    meta = page.metadata
    visible = max(visible_chars or 0, page.visible_chars)
    notes = list(page.warnings)
    if not page.markdown.strip():
        return Extraction(None, title=meta.title, facts=meta.facts(), warnings=tuple(notes), meta=meta.to_dict())
    if visible_chars is not None and visible_chars < _SHOWN and page.text_chars >= _MUCH:
        said = (
            f"the browser showed {visible_chars} characters; this is what the page holds for visitors without scripts"
        )
        notes.append(warning(RECOVERED, said))
    coverage = min(1.0, page.text_chars / visible) if visible else None
    if coverage is not None and coverage < LOW_COVERAGE and visible - page.text_chars > 1000:
        notes.append(
            warning("low_coverage", f"the content holds {coverage:.0%} of the page's visible text; see page.html")
        )
    return readable(
        content_body(page.markdown),
        title=meta.title,
        facts=meta.facts(),
        coverage=None if coverage is None else round(coverage, 3),
        warnings=tuple(notes),
        meta={**meta.to_dict(), "extractor": page.extractor},
    )
