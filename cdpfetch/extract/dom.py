"""HTML text to a tree that is safe to walk: UTF-8 whatever the page declares, bounded in depth."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import lxml.etree
import lxml.html

# An lxml element; its class has no complete type stubs.
Element = Any

# Deeper elements are dissolved into their ancestor at this depth: recursion, ours and the converter's, stays bounded.
MAX_DEPTH = 200
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]{0,500}\?>")
# What XML 1.0 can't hold, and so neither can the tree.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_KEPT_TAGS = frozenset(
    ("html", "head", "body", "title", "p", "pre", "script", "style", "table", "tr", "td", "th", "li")
)


def parse(html: str) -> Element | None:
    """The root element of ``html``, or None when there is nothing in it.  Never raises for bad markup."""
    html = _FORBIDDEN.sub("", _XML_DECLARATION.sub("", html, count=1))
    html = _SURROGATES.sub("\ufffd", html)
    if not html.strip():
        return None
    root = _parse(html)
    if root is not None and _too_deep(root):
        root = _parse(flatten(html))
    return root


def _parse(html: str) -> Element | None:
    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True, remove_pis=True)
    try:
        return lxml.html.document_fromstring(html.encode("utf-8"), parser=parser)
    except (lxml.etree.ParserError, lxml.etree.XMLSyntaxError, ValueError, AssertionError):
        return None


def _too_deep(root: Element) -> bool:
    """Whether an element is nested deeper than ``MAX_DEPTH``; linear, iterative."""
    depth = 0
    for event, _ in lxml.etree.iterwalk(root, events=("start", "end")):
        if event == "start":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        else:
            depth -= 1
    return False


class _Flattener(HTMLParser):
    """Copies markup and leaves out the tags below a depth; text always stays."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.out: list[str] = []
        # For each open element: its tag and whether its tags were written.
        self._open: list[tuple[str, bool]] = []
        self._written = 0
        # How many elements of each tag are open, so that a stray end tag costs no search.
        self._counts: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        text = self.get_starttag_text() or ""
        if tag in _VOID:
            self.out.append(text)
            return
        limit = MAX_DEPTH // 2 if tag not in _KEPT_TAGS else MAX_DEPTH * 3 // 4
        write = self._written < limit
        self._open.append((tag, write))
        self._counts[tag] = self._counts.get(tag, 0) + 1
        if write:
            self._written += 1
            self.out.append(text)
        else:
            self.out.append(" ")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if not self._counts.get(tag):
            return
        while self._open:
            name, written = self._open.pop()
            self._counts[name] -= 1
            if written:
                self._written -= 1
                self.out.append(f"</{name}>")
            else:
                self.out.append(" ")
            if name == tag:
                return

    def handle_data(self, data: str) -> None:
        self.out.append(data)

    def handle_entityref(self, name: str) -> None:
        self.out.append(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.out.append(f"&#{name};")


def flatten(html: str) -> str:
    """``html`` with the tags below a depth left out and every word kept."""
    flattener = _Flattener()
    flattener.feed(html)
    flattener.close()
    return "".join(flattener.out)
