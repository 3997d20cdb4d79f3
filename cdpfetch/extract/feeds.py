"""Feeds (RSS 0.9 to 2.0, RDF, Atom, JSON Feed) as entries with links and dates."""

from __future__ import annotations

import html
import json
import re
from typing import Any, NamedTuple
from urllib.parse import urljoin

import lxml.etree

from cdpfetch.extract import convert, dom, inline
from cdpfetch.extract.dom import Element
from cdpfetch.extract.xmltext import local_name

MAX_ENTRIES = 2000
_CONTENT = ("encoded", "content", "description", "summary")
_DATES = ("pubdate", "published", "updated", "date", "issued", "modified")
_ATOM_CONTENT = "{http://www.w3.org/2005/Atom}content"


class Entry(NamedTuple):
    """One entry; ``body`` is Markdown, ``media`` the types and addresses of what it encloses."""

    title: str
    link: str
    date: str
    author: str
    body: str
    media: tuple[tuple[str, str], ...] = ()


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
            if entry.media:
                lines += [" · ".join(_link(kind or "Enclosure", target) for kind, target in entry.media), ""]
        return "\n".join(lines).rstrip() + "\n"


def _link(text: str, target: str) -> str:
    text = re.sub(r"(?<!\\)([\[\]])", r"\\\1", inline.escape(" ".join(text.split())))
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
    url = _based(root, _based(channel, url) if channel is not root else url)
    home = _href(channel, url)
    if not url.startswith(("http://", "https://")):
        # A file that was found somewhere says itself where it is from.
        url = home
    return Feed(
        title=_plain(_text(channel, ("title",))),
        link=home,
        description=" ".join(convert.fragment(_text(channel, ("description", "subtitle", "tagline")), url).split()),
        entries=[_entry(item, url) for item in items[:MAX_ENTRIES]],
    )


def _based(element: Element, url: str) -> str:
    base = element.get("{http://www.w3.org/XML/1998/namespace}base")
    return _absolute(url, base) if base else url


def _media(item: Element, url: str) -> tuple[tuple[str, str], ...]:
    """What an entry encloses: an episode's sound, a film."""
    length = _text(item, ("duration",))
    found: dict[str, str] = {}
    for child in item:
        name = local_name(child)
        if name == "enclosure" or (name == "link" and child.get("rel") == "enclosure"):
            target = child.get("url") or child.get("href") or ""
            if target:
                kind = ", ".join(part for part in (child.get("type") or "", length) if part)
                found.setdefault(_absolute(url, target), kind)
    return tuple((kind, target) for target, kind in list(found.items())[:20])


def _entry(item: Element, url: str) -> Entry:
    url = _based(item, url)
    return Entry(
        title=_plain(_text(item, ("title",))),
        link=_href(item, url),
        date=_text(item, _DATES),
        author=_author(item),
        body=_body(item, url),
        media=_media(item, url),
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
    return dom.fragment(text).line() if "<" in text or "&" in text else text


def _href(parent: Element, url: str) -> str:
    candidates = []
    for child in parent:
        if local_name(child) != "link":
            continue
        target = child.get("href") or " ".join(_all_text(child).split())
        if target:
            candidates.append((child.get("rel") or "alternate", target))
    candidates = [pair for pair in candidates if pair[0] not in ("enclosure", "self", "edit", "hub")] or candidates[:1]
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
    if not url.startswith(("http://", "https://")):
        url = _string(value, "feed_url") or _string(value, "home_page_url")
    return Feed(
        _string(value, "title"),
        _absolute(url, _string(value, "home_page_url")),
        _string(value, "description"),
        [_json_entry(item, url) for item in items],
    )


def _json_entry(item: dict[str, Any], url: str) -> Entry:
    authors = item.get("authors") or [item.get("author")]
    names = [_string(one, "name") for one in authors if isinstance(one, dict)] if isinstance(authors, list) else []
    enclosed = item.get("attachments")
    media = tuple(
        (_string(one, "mime_type"), _absolute(url, _string(one, "url")))
        for one in (enclosed if isinstance(enclosed, list) else [])[:20]
        if isinstance(one, dict) and one.get("url")
    )
    body = convert.fragment(_string(item, "content_html"), url) if item.get("content_html") else ""
    return Entry(
        title=_string(item, "title"),
        link=_absolute(url, link) if (link := _string(item, "url") or _string(item, "external_url")) else "",
        date=_string(item, "date_published") or _string(item, "date_modified"),
        author=", ".join(filter(None, names))[:200],
        body=body or _string(item, "content_text") or _string(item, "summary"),
        media=media,
    )


def _string(value: dict[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""
