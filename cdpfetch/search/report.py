"""A search as text: the results under their queries, for people and for agents.  Pure."""

from __future__ import annotations

from cdpfetch.delivery import one_line
from cdpfetch.invisible import clean
from cdpfetch.search.contract import Found, Item, Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_TEXT = 4000


def unique(items: Sequence[Item]) -> tuple[Item, ...]:
    """The results without those whose URL came before, in any query; a URL that is none is left out."""
    from cdpfetch.cache import normal
    from cdpfetch.errors import CdpFetchError
    from cdpfetch.urls import parse_url

    found: dict[str, Item] = {}
    for item in items:
        try:
            href = normal(parse_url(item.url).href)
        except CdpFetchError:
            continue
        found.setdefault(href.removesuffix("/"), item)
    return tuple(found.values())


def render(request: Request, found: Found, provider: str) -> str:
    """The report as Markdown; one that the provider wrote itself stays as it is, less what nobody sees."""
    if found.report is not None:
        return clean(found.report)[0].rstrip() + "\n"
    queries = [*(query.q for query in request.queries), *(f"{query.q} (images)" for query in request.images)]
    lines = [f"# Search: {one_line(request.words, 200)}", ""]
    number = 0
    for place, query in enumerate(queries):
        mine = [item for item in found.items if item.query == place]
        if len(queries) > 1:
            lines += [f"## {one_line(query, 200)}", ""]
        if not mine:
            lines += ["No results.", ""]
        for item in mine:
            number += 1
            lines += _entry(number, item)
    lines += [f"Note: {one_line(warning)}" for warning in found.warnings]
    lines.append(f"{number} result{'' if number == 1 else 's'} from {provider}.")
    return clean("\n".join(lines))[0] + "\n"


def _entry(number: int, item: Item) -> list[str]:
    title = one_line(item.title or item.url, 300)
    facts = " · ".join(one_line(fact, 200) for fact in (item.published, item.author) if fact)
    lines = [f"{number}. {title}", f"   {one_line(item.url, 2048)}"]
    if item.id and item.id != item.url:
        lines.append(f"   id: {one_line(item.id, 300)}")
    if item.image:
        lines.append(f"   image: {one_line(item.image, 2048)}")
    if facts:
        lines.append(f"   {facts}")
    text = item.text.strip()
    if text:
        cut = text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT].rstrip() + "…"
        lines += ["", *(f"   {line}".rstrip() for line in cut.splitlines())]
    return [*lines, ""]
