"""The vocabulary of a navigation: what a server answered, what becomes of it, where it ended, how it failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from cdpfetch.cdp.errors import CdpError

if TYPE_CHECKING:
    from cdpfetch.cdp.capture import Capture

# Document types that are rendered as pages.
PAGE_TYPES = frozenset({"text/html", "application/xhtml+xml"})


class ResponseHead(NamedTuple):
    """Status and headers of one answer to a main-frame request."""

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]  # in order, names as sent
    client_side: bool  # whether the page itself asked for it, after a first document

    def header(self, name: str) -> str | None:
        """The value of a header, joined when it came more than once; None when absent."""
        wanted = name.lower()
        values = [value for key, value in self.headers if key.lower() == wanted]
        return ", ".join(values) if values else None


class Route(NamedTuple):
    """What is to become of an answer: a rendered page, a file that Chrome downloads, or the first
    ``seconds`` of a body that has no end of its own.
    """

    action: Literal["render", "download", "stream"]
    seconds: float = 0.0


class Router(Protocol):
    """The decisions that are not this package's: which addresses may be asked, and what answers become.

    ``max_bytes`` is what a download may have.
    """

    max_bytes: int

    async def judge(self, url: str) -> None:
        """Raise to stop before ``url`` is asked for."""

    def redirected(self, head: ResponseHead, location: str) -> None:
        """Raise to stop at a redirect."""

    def route(self, head: ResponseHead) -> Route:
        """Decide about the final answer of a chain; raise to stop there."""

    def patience(self, head: ResponseHead | None, capture: Capture) -> float:
        """Seconds that a page may take to turn into another one: for a bot wall that may clear by itself, else 0."""

    def progress(self, received: int, total: int) -> None:
        """Note how far a download is (total 0: unknown); raise to stop it."""


class NavigationFailed(CdpError):
    """Chrome could not get the document: ``error`` is its ``net::ERR_`` name, ``url`` the last address."""

    def __init__(self, error: str, url: str, head: ResponseHead | None = None) -> None:
        super().__init__(f"{error} at {url}")
        self.error = error
        self.url = url
        self.head = head


class NavigationTimeout(CdpError):
    """Nothing came in time: ``phase`` says what was waited for."""

    def __init__(self, phase: str, seconds: float, url: str, head: ResponseHead | None = None) -> None:
        super().__init__(f"{phase} timed out after {seconds:g} s")
        self.phase = phase
        self.seconds = seconds
        self.url = url
        self.head = head


class PageTooLarge(CdpError):
    """A document that unpacks to more than ``limit`` bytes."""

    def __init__(self, limit: int, head: ResponseHead | None) -> None:
        super().__init__(f"the page's HTML unpacks to more than the limit of {limit:,} bytes")
        self.head = head


class DownloadFailed(CdpError):
    """A download ended before its end."""

    def __init__(self, reason: str, head: ResponseHead) -> None:
        super().__init__(reason)
        self.reason = reason
        self.head = head


class Visit(NamedTuple):
    """How an address is to be visited.

    ``headers`` go to the origin that was asked for, and to no other; ``accept_language`` goes with every document.
    """

    wait_for: str | None = None  # CSS selector: until something matches it the page counts as waiting
    headers: tuple[tuple[str, str], ...] = ()
    accept_language: str | None = None
    accept: str | None = None  # the Accept header of documents, where it is not to be the browser's own
    insecure: bool = False  # accept certificates that don't verify
    screenshot: bool = False


class Landing(NamedTuple):
    """Where a navigation ended: with a page (``capture``) or with a file (``path``)."""

    head: ResponseHead | None  # None when Chrome gave no response (service worker, about:)
    capture: Capture | None
    path: str | None
    received: int  # bytes of the file
    partial: tuple[str, ...]  # what is known to be missing, in words
    notes: tuple[tuple[str, str], ...]  # warnings: (code, message)
    times: dict[str, float]  # loop times: committed, settled, captured
    screenshot: bytes | None = None  # PNG of the whole page, where one was asked for
    served_by: Literal["browser", "http"] = "browser"  # the engine that went there


class BadSelector(CdpError):
    """What was to be waited for is no CSS selector."""


class NotAPage(CdpError):
    """Chrome shows the answer with a viewer of its own: it is a file, whatever its headers said."""
