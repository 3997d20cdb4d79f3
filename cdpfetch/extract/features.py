"""What the block model sees of a block: numbers on its words, its place in the tree and on the page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from math import log2
from typing import NamedTuple
from urllib.parse import urlsplit

from cdpfetch.extract import blocks, said, sections, twins, witness
from cdpfetch.extract.dom import Node
from cdpfetch.extract.metadata import Metadata
from cdpfetch.extract.segment import Block

# Words of class names, ids and roles, by what they tell; the feature is the distance to the nearest ancestor with one.
_GROUPS = {
    "nav": r"nav|menu|topbar|(?:^|[\W_])tabs?(?:$|[\W_])",
    "footer": r"foot",
    "header": r"header|masthead|top-?bar",
    "sidebar": r"side-?bar|aside|(?:^|[\W_])(?:rail|secondary|widget)|right-?col|left-?col|sidenav",
    "comment": r"comment|disqus|respon(?:d|se)",
    "related": r"relat|recommend|similar|also-|more-(?:stories|from|articles|posts|news|like)|suggest|read-?next|"
    r"up-?next|trending|popular|most-|latest|recirc",
    "modal": r"modal|popup|pop-up|overlay|dialog|lightbox|drawer|toast|tooltip|popover",
    "subscribe": r"newsletter|subscri|sign-?up|paywall|donat|optin|mailing",
    "meta": r"meta|byline|dateline|info-?bar|post-?info",
    "date": r"(?:^|[\W_])(?:date|time|datetime|timestamp)|publish|posted",
    "content": r"content|(?:^|[\W_])(?:body|text|copy|prose|rte)|rich-?text|markdown|wysiwyg",
    "article": r"article|story|(?:^|[\W_])(?:post|entry|blog|news)",
    "main": r"(?:^|[\W_])(?:main|primary|page)(?:$|[\W_])|maincontent",
    "forum": r"thread|(?:^|[\W_])topic(?:$|[\W_])|message|post-?(?:body|content|text)|postbody|repl(?:y|ies)|"
    r"answer|question|discussion|cooked",
    "desc": r"desc|summary|intro|(?:^|[\W_])(?:lead|lede|dek)|excerpt|abstract|standfirst|subtitle|subhead",
    "review": r"review|rating|(?:^|[\W_])stars?(?:$|[\W_])|testimonial",
    "button": r"btn|button|(?:^|[\W_])cta|action",
    "filter": r"filter|facet|(?:^|[\W_])sort|refine|toolbar|control|dropdown|option",
    "form": r"form(?!at)|field|input",
    "legal": r"copyright|legal|disclaimer|terms|licen[sc]e",
    "hidden": r"hidden|hide|collaps|invisible",
    "title": r"title|headline|heading|(?:^|[\W_])h[1-6](?:$|[\W_])",
    "faq": r"faq|accordion",
    "list": r"list|grid|items|feed|archive|loop",
}
_GROUP_PATTERNS = [re.compile(pattern) for pattern in _GROUPS.values()]
_ANY_GROUP = re.compile("|".join(_GROUPS.values()))
_TAGS = tuple("nav header footer aside main article section form ul li blockquote a p".split())
_TAG_INDEX = {tag: index for index, tag in enumerate(_TAGS)} | {"ol": _TAGS.index("ul")}
_ROLES = {
    "navigation": "nav",
    "banner": "header",
    "contentinfo": "footer",
    "complementary": "aside",
    "main": "main",
    "article": "article",
    "form": "form",
}
_FAR = 15
_LEVELS = (0, 1, 2, 3, 4, 6)
_LONG_WORDS = 15

_PHRASES = {
    "login": r"log ?in|sign ?in|sign ?up|register|subscribe|newsletter|create (?:an )?account|your email",
    "related": r"related|recommended|you (?:may|might) (?:also )?like|also (?:like|bought|viewed)|similar|more from|"
    r"popular|trending|most read|latest|up next|read next|recent|featured",
    "comments": r"\bcomments?\b|leave a reply|\breply\b|\breplies\b|join the (?:discussion|conversation)",
    "ago": r"\bago\b|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d|"
    r"\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}|\d{4}-\d\d-\d\d",
    "contents": r"table of contents|on this page|contents|in this article|jump to|references|external links|see also",
    "rating": r"stars?\b|rating|reviews?\b|helpful|verified",
}
_PHRASE_PATTERNS = [re.compile(pattern) for pattern in _PHRASES.values()]
_ANY_PHRASE = re.compile("|".join(_PHRASES.values()))
_PAGE_TYPES = {
    "product": ("product", "productgroup", "offer"),
    "forum": ("discussionforumposting", "qapage", "question", "comment", "answer"),
    "article": ("article", "newsarticle", "blogposting", "reportagenewsarticle", "techarticle", "recipe", "review"),
    "list": ("itemlist", "collectionpage", "searchresultspage", "breadcrumblist"),
    "faq": ("faqpage", "howto", "service", "localbusiness", "organization"),
}


def _names() -> list[str]:
    names = [f"class_{name}" for name in _GROUPS] + [f"tag_{name}" for name in _TAGS]
    names += ["words", "chars", "link_density", "word_length", "ends", "heading", "whole"]
    names += ["title_share", "is_title", "repeats"]
    names += [f"says_{name}" for name in _PHRASES]
    names += ["index", "before", "from_h1", "after_h1", "from_end", "from_heading", "heading_level"]
    names += [f"under_{name}" for name in _PHRASES]
    names += [f"{what}_{level}" for level in _LEVELS for what in ("share", "density", "long")] + ["twins"]
    names += ["words_around", "density_around", "long_around", "long_before", "long_after"]
    names += ["page_blocks", "page_density", "page_long", "page_articles", "page_main", "page_h1", "page_li"]
    names += ["url_depth", "url_slug"] + [f"page_{name}" for name in _PAGE_TYPES]
    return [*names, *witness.NAMES, *twins.NAMES, *sections.NAMES, *said.NAMES]


NAMES = _names()
# Attributes besides class and id whose words say what an element is.
_LABELS = ("role", "itemprop", "data-testid", "data-test-id", "data-component", "data-type", "aria-label")


class _Stat:
    """Sums over the blocks below one element."""

    __slots__ = ("chars", "links", "long")

    def __init__(self) -> None:
        self.chars = self.links = self.long = 0


class _Local(NamedTuple):
    """What is known of a block by itself."""

    words: float
    density: float
    heading: int
    long: bool
    chars: int


class Features:
    """The feature rows of a page.

    Args:
        found: its blocks in order.
        meta: what the page says about itself.
        url: its address.
    """

    def __init__(self, found: list[Block], meta: Metadata, url: str) -> None:
        self._blocks = found
        self._meta = meta
        self.kinds = twins.kinds(found)
        self._title = frozenset(_tokens(meta.title or ""))
        self._marks: dict[tuple[str, str], tuple[int, ...]] = {}
        self._signatures: dict[Node, Counter[tuple[str, str]]] = {}
        self._paths: dict[Node, list[float]] = {}
        self._stats: dict[Node, _Stat] = {}
        self._level_rows: dict[Node, tuple[float, ...]] = {}
        self._local = [self._measure(block) for block in found]
        self._repeats = Counter(block.text for block in found)
        self._count()
        self._page = self._page_row(meta, url)
        self._votes = witness.Votes(
            found, {node: min(1.0, stat.links / max(1, stat.chars)) for node, stat in self._stats.items()}
        )

    def rows(self) -> list[list[float]]:
        """One row a block, in the order of `NAMES`."""
        self._prepare_order()
        kin = twins.rows(self._blocks, self.kinds)
        below = sections.rows(self._blocks, [local.heading > 0 for local in self._local])
        witnesses = said.rows(self._blocks, self._meta)
        own = [self._row(index) for index in range(len(self._blocks))]
        return [[*a, *b, *c, *d] for a, b, c, d in zip(own, kin, below, witnesses, strict=True)]

    # ------------------------------------------------------------------ sums
    @staticmethod
    def _measure(block: Block) -> _Local:
        chars = max(1, len(block.text))
        density = min(1.0, block.link_chars / chars)
        heading = _heading(block.node)
        return _Local(log2(1 + block.words), density, heading, block.words >= _LONG_WORDS and density < 0.5, chars)

    def _count(self) -> None:
        for block, local in zip(self._blocks, self._local, strict=True):
            node: Node | None = block.node
            while node is not None:
                stat = self._stats.get(node)
                if stat is None:
                    stat = self._stats[node] = _Stat()
                stat.chars += local.chars
                stat.links += block.link_chars
                if local.long:
                    stat.long += local.chars
                node = node.parent

    def _prepare_order(self) -> None:
        """Running sums and the last heading before each block."""
        self._before: list[int] = []
        self._last_heading: list[int] = []
        self._long_before: list[int] = []
        chars = long = 0
        heading = -1
        self._h1 = next((i for i, local in enumerate(self._local) if local.heading == 1), -1)
        for index, local in enumerate(self._local):
            self._before.append(chars)
            self._long_before.append(long)
            self._last_heading.append(heading)
            chars += local.chars
            long += local.chars if local.long else 0
            if local.heading:
                heading = index
        self._total, self._total_long = max(1, chars), max(1, long)
        self._says = [_phrases(block.text) for block in self._blocks]

    # ------------------------------------------------------------------ one row
    def _row(self, index: int) -> list[float]:
        block, local = self._blocks[index], self._local[index]
        row = list(self._path(block.node))
        row += self._words(block, local)
        row += self._says[index]
        row += self._place(index)
        row += self._levels(block)
        row += self._around(index)
        return row + self._page + self._votes.row(block)

    def _path(self, node: Node) -> list[float]:
        """Distances to the nearest ancestor of each group and tag; shared by the blocks of one element."""
        known = self._paths.get(node)
        if known is not None:
            return known
        if node.parent is not None:
            row = [value + 1 if value < _FAR else value for value in self._path(node.parent)]
        else:
            row = [float(_FAR)] * (len(_GROUPS) + len(_TAGS))
        for mark in self._mark(node):
            row[mark] = 0.0
        self._paths[node] = row
        return row

    def _mark(self, node: Node) -> tuple[int, ...]:
        role = node.get("role")
        key = (node.tag, _labels(node) if node.attrs else "")
        known = self._marks.get(key)
        if known is None:
            found = {mark for word in key[1].split() for mark in _word_marks(word)}
            if "-" in node.tag:
                found.update(_word_marks(node.tag))
            found.update(
                len(_GROUPS) + _TAG_INDEX[tag] for tag in (node.tag, _ROLES.get(role, "")) if tag in _TAG_INDEX
            )
            known = self._marks[key] = tuple(found)
        return known

    def _words(self, block: Block, local: _Local) -> Iterable[float]:
        text = block.text
        tokens = _tokens(text[:300])
        in_title = sum([token in self._title for token in tokens]) / max(1, len(tokens)) if self._title else 0.0
        return (
            local.words,
            log2(1 + local.chars),
            local.density,
            local.chars / max(1, block.words),
            text[-1:] in '.!?。！？…:"”',
            local.heading,
            block.first < 0 and (1 if block.node.tag == "pre" else 2),
            in_title,
            in_title == 1.0 and len(tokens) >= min(3, len(self._title)),
            min(self._repeats[text], 10),
        )

    def _place(self, index: int) -> list[float]:
        count = len(self._blocks)
        last = self._last_heading[index]
        return [
            index / count,
            self._before[index] / self._total,
            (index - self._h1) / count if self._h1 >= 0 else -2,
            -1 if self._h1 < 0 else index >= self._h1,
            min(count - index, 100),
            min(index - last, 50) if last >= 0 else 60,
            self._local[last].heading if last >= 0 else 0,
            *(self._says[last] if last >= 0 else _SILENT),
        ]

    def _levels(self, block: Block) -> list[float]:
        chain = [block.node, *block.node.ancestors()]
        last = len(chain) - 1
        row: list[float] = []
        for level in _LEVELS:
            row += self._level(chain[min(last, level)])
        return [*row, self._twins(block.node)]

    def _level(self, node: Node) -> tuple[float, ...]:
        """The sums below one element, as features; shared by all blocks in it."""
        known = self._level_rows.get(node)
        if known is None:
            stat = self._stats[node]
            chars = max(1, stat.chars)
            density = min(1.0, stat.links / chars)
            share = stat.chars / self._total
            known = (share, density, stat.long / chars)
            self._level_rows[node] = known
        return known

    def _twins(self, node: Node) -> float:
        """How many siblings look the same (a card among cards), as a logarithm."""
        parent = node.parent
        if parent is None:
            return 0.0
        counts = self._signatures.get(parent)
        if counts is None:
            counts = Counter((kid.tag, kid.get("class")) for kid in parent.kids if isinstance(kid, Node))
            self._signatures[parent] = counts
        return log2(counts[node.tag, node.get("class")])

    def _around(self, index: int) -> list[float]:
        local = self._local[index]
        around = self._local[max(0, index - 5) : index + 6]
        chars = sum([near.chars for near in around])
        before = self._long_before[index]
        after = self._total_long - before - (local.chars if local.long else 0)
        return [
            sum([near.words for near in around]) / len(around),
            sum([near.density * near.chars for near in around]) / chars,
            sum([near.chars for near in around if near.long]) / chars,
            before / self._total_long,
            after / self._total_long,
        ]

    # ------------------------------------------------------------------ page
    def _page_row(self, meta: Metadata, url: str) -> list[float]:
        count = max(1, len(self._blocks))
        chars = max(1, sum(local.chars for local in self._local))
        tags = Counter(node.tag for node in self._stats)
        kinds = {kind.lower() for kind in meta.types}
        path = urlsplit(url).path.strip("/") if "://" in url else ""
        slug = path.rpartition("/")[2]
        return [
            log2(count),
            sum(block.link_chars for block in self._blocks) / chars,
            sum(local.chars for local in self._local if local.long) / chars,
            min(tags["article"], 20),
            tags["main"] > 0,
            sum(local.heading == 1 for local in self._local),
            tags["li"] / count,
            path.count("/") + 1 if path else 0,
            slug.count("-") + slug.count("_"),
            *(not kinds.isdisjoint(wanted) for wanted in _PAGE_TYPES.values()),
        ]


_SILENT = [0.0] * len(_PHRASES)


@lru_cache(20_000)
def _word_marks(word: str) -> tuple[int, ...]:
    """The groups that one class name, id or role belongs to; the same few thousand come again and again."""
    if len(word) > 80 or not _ANY_GROUP.search(word):
        return ()
    return tuple(index for index, pattern in enumerate(_GROUP_PATTERNS) if pattern.search(word))


def _labels(node: Node) -> str:
    """The words by which an element says what it is."""
    attrs = node.attrs
    words = [node.classes, *[attrs[name].lower() for name in _LABELS if name in attrs]]
    if "itemtype" in attrs:
        words.append(attrs["itemtype"].rstrip("/").rpartition("/")[2].lower())
    return " ".join(words)


def _tokens(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _phrases(text: str) -> list[float]:
    """Which phrases a short block holds; long prose may hold any of them."""
    if len(text) > 200:
        return _SILENT
    lowered = text.lower()
    if not _ANY_PHRASE.search(lowered):
        return _SILENT
    return [1.0 if pattern.search(lowered) else 0.0 for pattern in _PHRASE_PATTERNS]


def _heading(node: Node) -> int:
    """The level of the heading that a block is (in), or 0."""
    for _ in range(3):
        if node.tag in blocks.HEADINGS:
            return blocks.HEADINGS[node.tag]
        if node.parent is None:
            return 0
        node = node.parent
    return 0
