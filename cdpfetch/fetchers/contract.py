"""What the router and a fetcher owe each other.

A fetcher is a backend for one source.  It says without I/O whether it takes a URL, and fetches a batch of URLs,
delivering each result as soon as it is there.  What it did not deliver when it returned, or raised, has failed.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from cdpfetch.config import Config
    from cdpfetch.errors import CdpFetchError
    from cdpfetch.paths import Home
    from cdpfetch.wire import Message

# Options that only the user's own browser can do; with one of them set, the router asks no other fetcher.
LOCAL_ONLY = frozenset({"engine", "headers", "insecure", "keep_page", "screenshot", "wait_for"})


class Request(NamedTuple):
    """One URL of a call.

    ``url`` is what the caller wrote, and what the document will say; ``href`` is its canonical form by the URL
    standard, which is what a fetcher works with.
    """

    url: str
    href: str


class Call(NamedTuple):
    """What all requests of one call share.

    ``options`` are those of ``cdpfetch.calls.FETCH_OPTIONS`` that are set, and ``objective`` (str: what the content
    is wanted for) and ``fresh`` (bool: no caches of others either); ``options["deadline"]`` (seconds) is what the
    fetcher may take.  ``root`` is the directory below which the documents go; ``environ`` is where keys are looked
    up first; ``on_status`` gets progress as the wire has it.
    """

    home: Home
    config: Config
    root: str
    options: Mapping[str, Any]
    environ: Mapping[str, str]
    on_status: Callable[[Request, Message], None]


class Fetcher(Protocol):
    """A backend.  ``name`` is the ``source`` of its documents and attempts."""

    name: str

    def can_fetch(self, request: Request, call: Call) -> bool:
        """Whether it takes this URL in this call (False without a key that it needs): cheap, and without I/O."""
        ...

    async def fetch(
        self,
        requests: Sequence[Request],
        call: Call,
        deliver: Callable[[Request, dict[str, Any] | CdpFetchError], None],
    ) -> None:
        """Fetch the requests at once, and deliver each one's document or error, in any order, once.

        A document is one that is committed to disk (``cdpfetch.artifacts.Draft``), with ``ok`` true; what was saved
        of a failure goes along with it (``FetchError.document``).  An exception fails what was not delivered;
        cancelling ends all requests under way.
        """
        ...
