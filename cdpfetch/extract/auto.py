"""The default extractor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cdpfetch.extract import dom, metadata
from cdpfetch.extract.extractors import PageText
from cdpfetch.extract.metadata import Metadata

if TYPE_CHECKING:
    from cdpfetch.extract.dom import Element

_UNSEEN = ("script", "style", "noscript", "template", "head")


def survey(html: str) -> tuple[Element | None, int]:
    """The tree and the number of its visible characters."""
    root = dom.parse(html)
    if root is None:
        return None, 0
    body = root.find("body")
    return root, len(" ".join((body if body is not None else root).xpath("string()").split()))


def extract(html: str, url: str) -> PageText:
    """The page's content."""
    import trafilatura

    root, visible = survey(html)
    if root is None:
        return PageText("", Metadata(), 0, 0)
    text = trafilatura.extract(
        html,
        url=url or None,
        output_format="markdown",
        include_formatting=True,
        include_links=True,
        include_images=True,
    )
    if not text:
        return extract_body(html, url)
    return PageText(text + "\n", metadata.read(root, url), visible, min(visible, len(text)))


def extract_body(html: str, url: str) -> PageText:
    """The whole body."""
    from html_to_markdown import convert

    root, visible = survey(html)
    if root is None:
        return PageText("", Metadata(), 0, 0, (), "raw")
    meta = metadata.read(root, url)
    text = convert(html).content or ""
    return PageText(text.strip() + "\n" if text.strip() else "", meta, visible, visible, (), "raw")
