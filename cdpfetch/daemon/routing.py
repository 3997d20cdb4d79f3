"""What becomes of an answer: rendered as a page, saved as a file, or refused."""

from __future__ import annotations

from collections.abc import Callable

from ada_url import URL

from cdpfetch.cdp.capture import Capture
from cdpfetch.cdp.landing import PAGE_TYPES, ResponseHead, Route
from cdpfetch.daemon.lanes import Lanes
from cdpfetch.daemon.verdicts import wall_of
from cdpfetch.errors import CdpFetchError
from cdpfetch.urls import Url, parse_url, same_host

# Types whose bodies are meant to go on for ever, and how many seconds of them are taken.
_ENDLESS = {
    "application/x-ndjson": 10.0,
    "application/ndjson": 10.0,
    "application/jsonl": 10.0,
    "application/stream+json": 10.0,
    "text/event-stream": 10.0,
    "multipart/x-mixed-replace": 4.0,
}
_NO_BODY = (204, 205)
# Characters of an address that a server leads to: sign-in services carry kilobytes of state in them.
MAX_REDIRECT = 1 << 16


def essence(content_type: str | None) -> str | None:
    """Type and subtype of a Content-Type value in lower case, or None when it names none."""
    if content_type is None:
        return None
    # Of several values the first with a slash counts; parameters and odd quotes are of no interest here.
    for value in content_type.split(","):
        kind = value.partition(";")[0].strip().strip("\"'").lower()
        if kind.count("/") == 1 and " " not in kind:
            return kind
    return None


def charset(content_type: str | None) -> str | None:
    """The charset parameter of a Content-Type value, or None."""
    for parameter in (content_type or "").split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip("\"'").strip() or None
    return None


def is_attachment(disposition: str | None) -> bool:
    """Whether a Content-Disposition value says that the body is to be saved."""
    kind = (disposition or "").partition(";")[0].strip().lower()
    return bool(kind) and kind != "inline" and "=" not in kind


def declared_length(head: ResponseHead) -> int | None:
    """The body's length in bytes where the headers tell it: not for coded bodies, whose files are longer."""
    value = head.header("content-length")
    if value is None or not value.strip().isdigit() or head.header("content-encoding"):
        return None
    return int(value)


def route(head: ResponseHead, max_bytes: int) -> Route:
    """Decide by status and headers alone.

    Raises CdpFetchError: ``empty_response`` for statuses that have no body, ``too_large`` when the declared
    length is over ``max_bytes``.
    """
    if head.status in _NO_BODY:
        raise CdpFetchError("empty_response", f"the server answered {head.status}: there is no content to fetch")
    raw_length = (head.header("content-length") or "").strip()
    if raw_length.isdigit() and int(raw_length) > max_bytes:
        raise too_large(int(raw_length), max_bytes, "declared")
    kind = essence(head.header("content-type"))
    if kind in _ENDLESS and declared_length(head) is None:
        return Route("stream", _ENDLESS[kind])
    if is_attachment(head.header("content-disposition")):
        return Route("download")
    # Without a type Chrome looks at the bytes; a body that turns out to be no page is then asked for as a file.
    return Route("render" if kind is None or kind in PAGE_TYPES else "download")


def too_large(size: int, max_bytes: int, how: str) -> CdpFetchError:
    """The error for a body over the cap; ``how`` says how its size is known."""
    return CdpFetchError(
        "too_large",
        f"{how} size {size:,} bytes exceeds the limit of {max_bytes:,} bytes",
        f"raise the limit: cdpfetch config set fetch.max_bytes {max(size, max_bytes)}",
    )


class RedirectStopped(Exception):
    """A redirect to another host was met, and only those of the same host were to be followed."""

    def __init__(self, status: int, url: str, target: str) -> None:
        super().__init__(f"{url} redirects ({status}) to another host: {target}")
        self.status = status
        self.url = url
        self.target = target


class LaneLeft(Exception):
    """The page leads to an address of another lane, where the visit is to be taken up again."""

    def __init__(self, url: Url, lane: str) -> None:
        super().__init__(f"{url.href} belongs to the lane {lane}")
        self.url = url
        self.lane = lane


class FetchRouter:
    """The decisions for one visit in one lane (cdp's Router).

    ``origin`` is the address that the user has named, ``start`` the one that this visit begins with.
    ``patience``: seconds that a bot wall is given to clear by itself.
    """

    def __init__(
        self,
        lanes: Lanes,
        lane: str,
        origin: Url,
        start: Url,
        *,
        max_bytes: int,
        redirects: str = "follow",
        patience: float = 0.0,
        on_progress: Callable[[int, int], None] = lambda received, total: None,
    ) -> None:
        self._lanes = lanes
        self._lane = lane
        self._origin = origin
        self._start = start
        self.max_bytes = max_bytes
        self._same_host = redirects == "same-host"
        self._patience = patience
        self._on_progress = on_progress

    async def judge(self, url: str) -> None:
        """Raises CdpFetchError; RedirectStopped when the page itself leads to another host; LaneLeft."""
        judged = self._lanes.parse(url, max_length=MAX_REDIRECT)
        if self._same_host and not same_host(self._origin, judged):
            raise RedirectStopped(200, self._origin.href, judged.href)
        if (judged.host, judged.port) == (self._start.host, self._start.port):
            return
        lane = self._lanes.follow(judged, self._lane)
        if lane != self._lane:
            raise LaneLeft(judged, lane)

    def redirected(self, head: ResponseHead, location: str) -> None:
        """Chrome follows the redirect; each new address comes to ``judge`` before it is asked for."""
        try:
            resolved = URL(location, head.url)
        except ValueError:
            return  # Chrome will say what is wrong with it
        if resolved.protocol not in ("http:", "https:"):
            raise CdpFetchError(
                "unsupported_scheme",
                f"{head.url} redirects ({head.status}) to a {resolved.protocol} address",
                "only http and https are fetched",
            )
        if not self._same_host:
            return
        target = parse_url(resolved.href, max_length=MAX_REDIRECT)
        if not same_host(self._origin, target):
            raise RedirectStopped(head.status, self._origin.href, target.href)

    def route(self, head: ResponseHead) -> Route:
        return route(head, self.max_bytes)

    def patience(self, head: ResponseHead | None, capture: Capture) -> float:
        return self._patience if wall_of(head, capture) is not None else 0.0

    def progress(self, received: int, total: int) -> None:
        if max(received, total) > self.max_bytes:
            raise too_large(max(received, total), self.max_bytes, "received" if received >= total else "declared")
        self._on_progress(received, total)
