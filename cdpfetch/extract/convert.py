"""HTML to Markdown, whole: repairs and conversion, without a judgement on what is content."""

from __future__ import annotations

from cdpfetch.extract import dom, markdown
from cdpfetch.extract.dom import Element, Node
from cdpfetch.extract.repair import (
    admonitions,
    chrome,
    clean,
    code,
    footnotes,
    layout,
    math,
    media,
    signatures,
    tabs,
)


def prepare(root: Element) -> Node:
    """The repaired tree of a parsed page."""
    body = dom.build(root)
    nodes = list(body.walk())
    media.repair(nodes)
    math.repair(nodes)
    code.repair(nodes)
    signatures.repair(nodes)
    admonitions.repair(nodes)
    tabs.repair(nodes)
    clean.clean(body, nodes)
    footnotes.mark(body)
    layout.repair(nodes)
    chrome.repair(list(body.walk()))
    return body


def base(root: Element, url: str) -> str:
    """The address against which the links of a page are relative."""
    from urllib.parse import urljoin

    for element in root.iter("base"):
        if href := (element.get("href") or "").strip():
            try:
                return str(urljoin(url, href))
            except ValueError:
                return url
    return url


def fragment(html: str, url: str = "") -> str:
    """The Markdown of a piece of HTML, without a final line break."""
    root = dom.parse(html)
    return markdown.render(prepare(root), base(root, url)).strip() if root is not None else ""
