"""What a list of issues asks for, from the page's query to the search API's parameters.  Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

MAX_ITEMS = 100
# Items of a page of the web, which a page number counts in.
_WEB_PAGE = 25
_DEFAULTS = {"issues": "is:issue is:open", "pulls": "is:pr is:open"}
_KINDS = {"issues": "is:issue", "pulls": "is:pr"}
_TERM = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
_SORTS = frozenset(
    "comments created updated interactions reactions reactions-+1 reactions--1 reactions-smile "
    "reactions-thinking_face reactions-heart reactions-tada".split()
)


class Search(NamedTuple):
    """A search: ``query`` as the page shows it, ``params`` for the API, ``skipped`` items of pages before."""

    query: str
    params: dict[str, str]
    skipped: int


def search_of(kind: str, name: str, query: Mapping[str, str]) -> Search:
    """The search of ``issues`` or ``pulls`` of a repository.

    Without ``q`` it is the page's own: open ones, the newest first.  ``sort:created-desc`` in a query becomes the
    API's ``sort`` and ``order``; a query that says nothing of issue or pull request is one of its page's kind; another
    repository than this one can't be named.
    """
    shown = " ".join(query.get("q", "").split()) or _DEFAULTS[kind]
    terms = [term for term in _TERM.findall(shown) if not _is_place(term)]
    sorts = [term for term in terms if term.lower().startswith("sort:")]
    kept = [term for term in terms if term not in sorts]
    if not any(_names_kind(term) for term in kept):
        kept.insert(0, _KINDS[kind])
    sort, order = _order(sorts[-1] if sorts else "sort:created-desc")
    params = {"q": " ".join([f"repo:{name}", *kept])}
    if sort:
        params |= {"sort": sort, "order": order}
    page = query.get("page", "")
    if page.isascii() and page.isdigit() and 1 < int(page[:6]) <= 40:
        return Search(shown, {**params, "per_page": str(_WEB_PAGE), "page": page}, (int(page) - 1) * _WEB_PAGE)
    return Search(shown, {**params, "per_page": str(MAX_ITEMS)}, 0)


def _is_place(term: str) -> bool:
    return term.lower().startswith(("repo:", "org:", "user:"))


def _names_kind(term: str) -> bool:
    return term.lower() in ("is:issue", "is:pr", "is:pull-request", "type:issue", "type:pr")


def _order(term: str) -> tuple[str, str]:
    """``sort`` and ``order`` of the API; empty for the best match and for what it does not know."""
    word = term[5:].strip('"').lower()
    order = "asc" if word.endswith("-asc") else "desc"
    word = word.removesuffix("-asc").removesuffix("-desc")
    return (word, order) if word in _SORTS else ("", order)
