"""What a page says about itself: title, author, dates, site, language, description, canonical link."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urljoin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cdpfetch.extract.dom import Element

_MAX_VALUE = 500
_MAX_JSON_LD = 2 << 20
_TEXT_KEYS = frozenset(("articleBody", "text", "description", "reviewBody", "abstract", "recipeInstructions"))
_MIN_TEXT = 40
_MAX_TEXTS = 100_000
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}:\d{2}))?")


class Metadata(NamedTuple):
    """Structured data of a page; every value is one line or None.

    Attributes:
        date: publication, ``modified`` the last change; ISO dates where they could be read.
        types: the JSON-LD types that describe the page (``NewsArticle``, ``Product`` ...).
        article_body: the text of the article in JSON-LD, for pages that show none.
        texts: longer texts in JSON-LD, of whatever it describes: bodies, descriptions, answers, reviews.
    """

    title: str | None = None
    author: str | None = None
    date: str | None = None
    modified: str | None = None
    site: str | None = None
    language: str | None = None
    description: str | None = None
    canonical: str | None = None
    image: str | None = None
    types: tuple[str, ...] = ()
    price: str | None = None
    article_body: str | None = None
    texts: tuple[str, ...] = ()

    def facts(self) -> tuple[str, ...]:
        """Short facts for the digest, most telling first."""
        facts = []
        if self.author:
            facts.append(f"by {self.author}")
        if self.date:
            facts.append(self.date[:10] if _DATE.match(self.date) else self.date)
        if self.site:
            facts.append(self.site)
        if self.price:
            facts.append(self.price)
        if self.language and not self.language.lower().startswith("en"):
            facts.append(f"language {self.language}")
        return tuple(facts)

    def to_dict(self) -> dict[str, Any]:
        """The known values, for metadata.json."""
        known = {key: value for key, value in self._asdict().items() if value and key not in ("article_body", "texts")}
        if "types" in known:
            known["types"] = list(self.types)
        return known


def read(root: Element, url: str = "") -> Metadata:
    """The metadata of a parsed page; call it before scripts are taken out.  Never raises for bad values."""
    metas = _metas(root)
    items = list(_json_ld(root))
    main = _main_item(items)
    title = _line(root.findtext(".//head/title") or root.findtext(".//title"))
    language = _line(root.get("lang") or root.get("xml:lang")) or _first(metas, "content-language", "og:locale")
    canonical = None
    for link in root.iterfind(".//link[@rel]"):
        if "canonical" in (link.get("rel") or "").lower().split() and link.get("href"):
            canonical = _absolute(url, link.get("href"))
            break
    return Metadata(
        title=title or _first(metas, "og:title", "twitter:title", "dc.title") or _heading(root),
        author=_author(main)
        or _person(_first(metas, "author", "article:author", "dc.creator", "parsely-author", "sailthru.author")),
        date=_date(main.get("datePublished"))
        or _date(
            _first(
                metas,
                "article:published_time",
                "date",
                "dc.date",
                "pubdate",
                "publishdate",
                "parsely-pub-date",
                "citation_publication_date",
            )
        )
        or _time_element(root),
        modified=_date(main.get("dateModified"))
        or _date(_first(metas, "article:modified_time", "og:updated_time", "last-modified")),
        site=_first(metas, "og:site_name", "application-name", "dc.publisher"),
        language=language,
        description=_first(metas, "description", "og:description", "twitter:description"),
        canonical=canonical,
        image=_absolute(url, _first(metas, "og:image", "twitter:image")),
        types=tuple(dict.fromkeys(kind for item in items for kind in _kinds(item)))[:8],
        price=_price(items),
        article_body=_body(items),
        texts=_texts(items),
    )


def _line(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    line = " ".join(value.split())
    return line[:_MAX_VALUE] or None


def _metas(root: Element) -> dict[str, str]:
    found: dict[str, str] = {}
    for meta in root.iter("meta"):
        name = meta.get("property") or meta.get("name") or meta.get("itemprop") or meta.get("http-equiv")
        value = _line(meta.get("content"))
        if name and value:
            found.setdefault(name.strip().lower(), value)
    return found


def _first(metas: dict[str, str], *names: str) -> str | None:
    for name in names:
        if name in metas:
            return metas[name]
    return None


def _heading(root: Element) -> str | None:
    for heading in root.iter("h1"):
        if line := _line("".join(heading.itertext())):
            return line
    return None


def _json_ld(root: Element) -> Iterator[dict[str, Any]]:
    """Every object of the page's JSON-LD, at the first two levels."""
    budget = _MAX_JSON_LD
    for script in root.iter("script"):
        if (script.get("type") or "").split(";")[0].strip().lower() != "application/ld+json":
            continue
        text = script.text or ""
        budget -= len(text)
        if budget < 0:
            return
        try:
            value = json.loads(text.strip().strip(";"), strict=False)
        except (ValueError, RecursionError):
            continue
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, dict):
                continue
            yield item
            graph = item.get("@graph")
            for part in graph if isinstance(graph, list) else []:
                if isinstance(part, dict):
                    yield part
            main = item.get("mainEntity")
            if isinstance(main, dict):
                yield main


def _kinds(item: dict[str, Any]) -> list[str]:
    kind = item.get("@type")
    kinds = kind if isinstance(kind, list) else [kind]
    return [name.rsplit("/", 1)[-1] for name in kinds if isinstance(name, str)]


_ARTICLES = ("article", "posting", "report", "recipe", "question", "howto", "product", "videoobject", "techarticle")


def _main_item(items: list[dict[str, Any]]) -> dict[str, Any]:
    """The item that describes the page's content."""
    for item in items:
        if any(kind.lower().endswith(_ARTICLES) for kind in _kinds(item)):
            return item
    return next((item for item in items if "datePublished" in item or "author" in item), {})


def _author(item: dict[str, Any]) -> str | None:
    authors = item.get("author")
    names = []
    for author in authors if isinstance(authors, list) else [authors]:
        name = author.get("name") if isinstance(author, dict) else author
        name = _person(_line(name if not isinstance(name, list) else ", ".join(map(str, name))))
        if name and name not in names:
            names.append(name)
    return ", ".join(names[:5]) or None


def _person(name: str | None) -> str | None:
    """A name, not an address."""
    return name if name and "://" not in name and len(name) <= 120 else None


def _date(value: Any) -> str | None:
    line = _line(value)
    if line is None:
        return None
    found = _DATE.search(line)
    if found is None:
        return line if len(line) <= 40 and any(char.isdigit() for char in line) else None
    day, clock = "-".join(found.group(1, 2, 3)), found.group(4)
    return f"{day}T{clock}" if clock and clock != "00:00" else day


def _time_element(root: Element) -> str | None:
    for time in root.iter("time"):
        if found := _date(time.get("datetime")):
            return found
    return None


def _price(items: list[dict[str, Any]]) -> str | None:
    for item in items:
        if "Product" not in _kinds(item):
            continue
        offers = item.get("offers")
        offer = offers[0] if isinstance(offers, list) and offers else offers
        if not isinstance(offer, dict):
            continue
        price = offer.get("price", offer.get("lowPrice"))
        if isinstance(price, (str, int, float)) and str(price).strip():
            return _line(f"{price} {offer.get('priceCurrency') or ''}")
    return None


def _body(items: list[dict[str, Any]]) -> str | None:
    bodies = [item[key] for item in items for key in ("articleBody", "text") if isinstance(item.get(key), str)]
    return max(bodies, key=len, default="").strip() or None


def _texts(items: list[dict[str, Any]]) -> tuple[str, ...]:
    """The longer texts of the items and of what they hold, each once, up to a limit in all."""
    found: dict[str, None] = {}
    budget = _MAX_TEXTS
    stack: list[Any] = list(reversed(items))
    while stack and budget > 0:
        value = stack.pop()
        if isinstance(value, list):
            stack += reversed(value)
        elif isinstance(value, dict):
            for key, inner in value.items():
                if isinstance(inner, str):
                    if key in _TEXT_KEYS and len(inner) >= _MIN_TEXT and inner not in found:
                        found[inner[:budget]] = None
                        budget -= len(inner)
                else:
                    stack.append(inner)
    return tuple(found)


def _absolute(url: str, link: str | None) -> str | None:
    if not link:
        return None
    try:
        return urljoin(url, link.strip())
    except ValueError:
        return None
