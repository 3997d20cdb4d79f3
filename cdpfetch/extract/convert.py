"""HTML to Markdown, whole: no judgement on what is content."""

from __future__ import annotations


def fragment(html: str, url: str = "") -> str:
    """The Markdown of a piece of HTML, without a final line break."""
    from html_to_markdown import convert

    return (convert(html).content or "").strip()
