"""Feeds (RSS 0.9 to 2.0, RDF, Atom, JSON Feed) as entries with links and dates."""

from __future__ import annotations

import html
import json
from typing import Any, NamedTuple
from urllib.parse import urljoin

import lxml.etree

from cdpfetch.extract import convert
from cdpfetch.extract.dom import Element
from cdpfetch.extract.xmltext import local_name

MAX_ENTRIES = 2000
_CONTENT = ("encoded", "content", "description", "summary")
_DATES = ("pubdate", "published", "updated", "date", "issued", "modified")
_ATOM_CONTENT = "{http://www.w3.org/2005/Atom}content"


class Entry(NamedTuple):
    """One entry; ``body`` is Markdown."""

    title: str
    link: str
    date: str
    author: str
    body: str


class Feed(NamedTuple):
    """A feed's own title, link and description, and its entries."""

    title: str
    link: str
    description: str
    entries: list[Entry]

    def markdown(self) -> str:
        """The feed as a document with one section an entry."""
        lines = [f"# {_link(self.title or 'Feed', self.link)}", ""]
        if self.description:
            lines += [self.description, ""]
        for entry in self.entries[:MAX_ENTRIES]:
            lines += [f"## {_link(entry.title or entry.link or 'Untitled', entry.link)}", ""]
            if about := " · ".join(part for part in (entry.date, entry.author) if part):
                lines += [about, ""]
            if entry.body:
                lines += [entry.body, ""]
        return "\n".join(lines).rstrip() + "\n"


def _link(text: str, target: str) -> str:
    text = " ".join(text.split())
    for char in "\\[]":
        text = text.replace(char, "\\" + char)
    return f"[{text}](<{target}>)" if " " in target or ")" in target else f"[{text}]({target})" if target else text


def is_feed(root: Element) -> bool:
    """Whether an XML document's root element is a feed's."""
    name = local_name(root)
    return name in ("rss", "feed") or (name == "rdf" and any(local_name(child) == "channel" for child in root))


def read(root: Element, url: str = "") -> Feed:
    """The feed below ``root``; links are made absolute against ``url``."""
    channel = next((child for child in root if local_name(child) == "channel"), root)
    holders = [root] if channel is root else [channel, root]
    items = [child for holder in holders for child in holder if local_name(child) in ("item", "entry")]
    return Feed(
        title=_text(channel, ("title",)),
        link=_href(channel, url),
        description=_plain(_text(channel, ("description", "subtitle", "tagline"))),
        entries=[_entry(item, url) for item in items[:MAX_ENTRIES]],
    )


def _entry(item: Element, url: str) -> Entry:
    return Entry(
        title=_plain(_text(item, ("title",))),
        link=_href(item, url),
        date=_text(item, _DATES),
        author=_author(item),
        body=_body(item, url),
    )


def _all_text(element: Element) -> str:
    """An element's text; references to entities that were not resolved are read as HTML's."""
    parts = []
    for node in element.iter():
        if isinstance(node.tag, str):
            parts.append(node.text or "")
        elif node.tag is lxml.etree.Entity:
            parts.append(html.unescape(node.text or ""))
        if node is not element:
            parts.append(node.tail or "")
    return "".join(parts)


def _text(parent: Element, names: tuple[str, ...]) -> str:
    for name in names:
        for child in parent:
            if local_name(child) == name and (value := " ".join(_all_text(child).split())):
                return value
    return ""


def _plain(text: str) -> str:
    """A title may hold HTML: its text alone."""
    return " ".join(convert.fragment(text).split()) if "<" in text or "&" in text else text


def _href(parent: Element, url: str) -> str:
    candidates = []
    for child in parent:
        if local_name(child) != "link":
            continue
        target = child.get("href") or " ".join(_all_text(child).split())
        if target:
            candidates.append((child.get("rel") or "alternate", target))
    best = next((target for rel, target in candidates if rel == "alternate"), candidates[0][1] if candidates else "")
    if not best:
        guid = next((child for child in parent if local_name(child) == "guid"), None)
        text = _all_text(guid).strip() if guid is not None else ""
        best = text if text.startswith(("http://", "https://")) else ""
    return _absolute(url, best) if best else ""


def _absolute(url: str, link: str) -> str:
    try:
        return urljoin(url, link)
    except ValueError:
        return link


def _author(item: Element) -> str:
    for child in item:
        if local_name(child) in ("author", "creator"):
            name = _text(child, ("name",)) or " ".join(_all_text(child).split())
            if name:
                return name[:200]
    return ""


def _body(item: Element, url: str) -> str:
    for name in _CONTENT:
        for child in item:
            if local_name(child) != name or ("}" in str(child.tag) and "mrss" in str(child.tag)):
                continue
            if (child.tag == _ATOM_CONTENT and child.get("type") == "xhtml") or len(child):
                source = "".join(lxml.etree.tostring(part, encoding="unicode") for part in child)
            else:
                source = _all_text(child)
            if body := convert.fragment(source, url):
                return body
    return ""


def read_json(text: str, url: str = "") -> Feed | None:
    """A JSON Feed, or None when the text is something else."""
    if "jsonfeed.org" not in text[:2000]:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("items"), list):
        return None
    items = [item for item in value["items"][:MAX_ENTRIES] if isinstance(item, dict)]
    return Feed(
        _string(value, "title"),
        _absolute(url, _string(value, "home_page_url")),
        _string(value, "description"),
        [_json_entry(item, url) for item in items],
    )


def _json_entry(item: dict[str, Any], url: str) -> Entry:
    authors = item.get("authors") or [item.get("author")]
    first = authors[0] if isinstance(authors, list) and authors and isinstance(authors[0], dict) else {}
    body = convert.fragment(_string(item, "content_html"), url) if item.get("content_html") else ""
    return Entry(
        title=_string(item, "title"),
        link=_absolute(url, _string(item, "url") or _string(item, "external_url")),
        date=_string(item, "date_published") or _string(item, "date_modified"),
        author=_string(first, "name"),
        body=body or _string(item, "content_text") or _string(item, "summary"),
    )


def _string(value: dict[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""
