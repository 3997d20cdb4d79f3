"""The content that a page carries as data but does not show: articles in JSON-LD, the state of known frameworks.

Used only when nothing is visible: what a visitor sees comes first, always.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from cdpfetch.extract.dom import Element

MAX_JSON = 8 << 20
_MAX_DEPTH = 40
_MIN_CHARS = 80
# Keys under which frameworks keep running text: Discourse, WordPress, headless shops and blogs.
_KEYS = frozenset(("cooked", "content", "contenthtml", "body", "bodyhtml", "html", "articlebody", "text", "rendered"))
_STATES = ("__NEXT_DATA__", "__NUXT_DATA__", "data-preloaded", "__APOLLO_STATE__", "__INITIAL_STATE__", "ng-state")
# A script that sets a framework's state to a literal, or to what a string literal holds.
_ASSIGNED = re.compile(
    r"__(?:INITIAL|PRELOADED|APOLLO|APP)_(?:STATE|DATA)__\"?\]?\s*=\s*(?:JSON\.parse\(\s*)?(?=[{\[\"])|__NUXT__\s*=\s*(?=\{)"
)
_DECODER = json.JSONDecoder()


def find(root: Element) -> str:
    """The running texts (HTML or plain) of a page's embedded state, in order, as HTML; an empty string without."""
    found: dict[str, None] = {}
    for source in _sources(root):
        if len(source) > MAX_JSON:
            continue
        for text in _texts(_loaded(source), 0):
            found.setdefault(text)
    return "\n".join(text if "<" in text else f"<p>{text}</p>" for text in found)


def _sources(root: Element) -> Iterator[str]:
    for element in root.iter("script"):
        kind = (element.get("type") or "").lower()
        if not element.text:
            continue
        if element.get("id") in _STATES or kind == "application/json":
            yield element.text
        elif found := _ASSIGNED.search(element.text):
            yield element.text[found.end() :]
    for element in root.xpath("//*[@data-preloaded]"):
        yield element.get("data-preloaded")


def _loaded(text: str) -> Any:
    try:
        # A statement may follow the value that a script assigns.
        return _DECODER.raw_decode(text.lstrip())[0]
    except (ValueError, RecursionError):
        return None


def _texts(value: Any, depth: int, key: str = "") -> Iterator[str]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _texts(item, depth + 1, str(name).replace("_", "").lower())
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, depth + 1, key)
    elif isinstance(value, str):
        if value[:1] in "{[" and len(value) > _MIN_CHARS:
            # State within state, as a string.
            yield from _texts(_loaded(value), depth + 1, key)
        elif key in _KEYS and len(value) >= _MIN_CHARS and value.count(" ") > 10:
            yield value
