"""What the pipeline of a search and a provider owe each other."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cdpfetch.config import Config

LENGTHS = {"short": 5, "medium": 10, "long": 15}
"""``response_length`` -> the results of a whole call."""


class Query(NamedTuple):
    """One query: ``domains`` restrict it (none: everywhere), ``recency`` is its greatest age in days."""

    q: str
    domains: tuple[str, ...] = ()
    recency: int | None = None


class Request(NamedTuple):
    """One call, checked: ``commands`` are those other than queries, as they were given."""

    queries: tuple[Query, ...]
    images: tuple[Query, ...]
    commands: Mapping[str, Sequence[Mapping[str, Any]]]
    response_length: str

    @property
    def words(self) -> str:
        """What the call is about, in one line."""
        asked = [query.q for query in (*self.queries, *self.images)]
        return "; ".join(asked or sorted(self.commands))


class Item(NamedTuple):
    """One result: ``id`` is the provider's own where it has one; ``query`` is the place of its query in the call."""

    id: str
    url: str
    title: str
    text: str = ""
    published: str | None = None
    author: str | None = None
    query: int = 0
    image: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The result as users see it."""
        return {name: value for name, value in self._asdict().items() if value is not None}


class Found(NamedTuple):
    """What a provider returned: ``raw`` as it came; ``report`` where the provider writes one itself."""

    items: tuple[Item, ...]
    raw: str
    report: str | None = None
    model: str | None = None
    ids: tuple[str, ...] = ()
    usage: tuple[Any, ...] = ()
    warnings: tuple[str, ...] = ()


class Provider(Protocol):
    """A search service.  ``commands`` are those it has, ``search_query`` being a list of queries."""

    name: str
    commands: frozenset[str]

    async def search(self, request: Request, shares: Sequence[int]) -> Found:
        """Run a call; ``shares`` are the results that each query (then each image query) may have.

        Raises CdpFetchError; cancelling ends every request.
        """
        ...


class Setup(NamedTuple):
    """What a provider is made of: all settings, its key, and where further keys are looked up."""

    config: Config
    key: str | None
    environ: Mapping[str, str]
