"""A visit without a browser: redirects judged one by one, a body within its limits, a page looked at by a worker."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import BinaryIO, NamedTuple

from ada_url import URL

from cdpfetch import disk, paths
from cdpfetch.cdp.answers import origin, refresh_delay, shortfall
from cdpfetch.cdp.capture import Capture, Signals
from cdpfetch.cdp.landing import (
    PAGE_TYPES,
    DownloadFailed,
    Landing,
    NavigationTimeout,
    PageTooLarge,
    ResponseHead,
    Route,
)
from cdpfetch.cdp.landing import Visit as Manner
from cdpfetch.cdp.lifecycle import Limits
from cdpfetch.daemon.assembly import NEEDS_SCRIPTS
from cdpfetch.daemon.guard.guard import Guard
from cdpfetch.daemon.plain import requests
from cdpfetch.daemon.plain.connections import Answer, BrokenOff, Connections
from cdpfetch.daemon.plain.decoding import BadCoding, Decoder
from cdpfetch.daemon.routing import FetchRouter, charset, essence
from cdpfetch.daemon.threads import in_thread
from cdpfetch.errors import CdpFetchError
from cdpfetch.extract.pool import ExtractionFailed, ExtractPool
from cdpfetch.extract.sniff import HEADER, signature, text_kind
from cdpfetch.urls import Url, parse_url

# Redirects of one visit; Chrome follows as many.
MAX_REDIRECTS = 20
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Characters of an address that a server leads to, as for the browser.
_MAX_URL = 1 << 16
# Of the time that is left, looking at a page may take so much.
_LOOK_SHARE = 0.5


class PlainEngine:
    """What all visits share.  ``folder`` is a directory of its own; ``version`` tells the installed Chrome's."""

    def __init__(
        self,
        guard: Guard,
        pool: ExtractPool,
        folder: str,
        version: Callable[[], Awaitable[str | None]],
        locale: str | None = None,
        ca_bundle: str | None = None,
    ) -> None:
        self.guard = guard
        self.connections = Connections(guard, ca_bundle)
        self.pool = pool
        self.folder = folder
        self.version = version
        self.locale = locale

    def sweep(self) -> None:
        """Remove what an earlier daemon has left.  Blocks; raises CdpFetchError or OSError."""
        paths.ensure_private_dir(os.path.dirname(self.folder))
        paths.ensure_private_dir(self.folder)
        for entry in os.scandir(self.folder):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)


class Body(NamedTuple):
    """A body on disk: bytes as decoded, and what is missing, in words (None: nothing)."""

    path: str
    size: int
    missing: str | None


class PlainVisit:
    """One visit.  ``run`` goes; ``last_head`` and ``url`` tell of one that failed."""

    def __init__(
        self,
        engine: PlainEngine,
        limits: Limits,
        manner: Manner,
        on_stage: Callable[[str], None] = lambda stage: None,
    ) -> None:
        self._engine = engine
        self._limits = limits
        self._manner = manner
        self._on_stage = on_stage
        self._home = ""  # the origin that was asked for, which alone gets the visit's own headers
        self._left = MAX_REDIRECTS  # redirects that may still be followed
        self._times: dict[str, float] = {}
        self.last_head: ResponseHead | None = None
        self.url = ""

    async def run(self, url: Url, lane: str, router: FetchRouter) -> Landing:
        """Follow the redirects of ``url`` within a lane, and take what is at their end.

        Raises what the router raises (LaneLeft: go on with ``run`` there), NavigationTimeout, PageTooLarge,
        DownloadFailed and CdpFetchError.
        """
        self._home = self._home or origin(url.href)
        version = await self._engine.version()
        self._on_stage("navigating")
        while True:
            self.url = url.href
            await router.judge(url.href)
            sent = requests.headers(url, self._manner, self._home, version, self._engine.locale)
            async with self._answer(url, lane, sent) as answer:
                location = self._redirect(answer.head)
                if location is None:
                    return await self._take(answer, router)
                router.redirected(answer.head, location)
            url = self._follow(answer.head, location)

    @contextlib.asynccontextmanager
    async def _answer(self, url: Url, lane: str, sent: list[tuple[str, str]]) -> AsyncIterator[Answer]:
        getting = self._engine.connections.get(url, lane, sent, insecure=self._manner.insecure)
        async with contextlib.AsyncExitStack() as stack:
            # What comes is counted here, too; the lane must only be allowed to carry it.
            stack.enter_context(self._engine.guard.visit(lane, self._limits.page_bytes or 0))
            loop = asyncio.get_running_loop()
            limit = self._limits.navigation
            try:
                async with asyncio.timeout_at(min(loop.time() + limit, self._limits.end)):
                    answer = await stack.enter_async_context(getting)
            except TimeoutError:
                raise NavigationTimeout("page load", limit, url.href, self.last_head) from None
            self.last_head = answer.head
            yield answer

    def discard(self, landing: Landing) -> None:
        """Remove the file of a landing that nobody wants."""
        if landing.path is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(landing.path)

    def _redirect(self, head: ResponseHead) -> str | None:
        return head.header("location") if head.status in _REDIRECTS else None

    def _follow(self, head: ResponseHead, location: str) -> Url:
        """Where a redirect leads.  Raises CdpFetchError."""
        self._left -= 1
        if self._left < 0:
            raise CdpFetchError(
                "too_many_redirects", f"more than {MAX_REDIRECTS} redirects, the last to {location[:200]}"
            )
        try:
            resolved = URL(location, head.url).href
        except ValueError:
            reason = f"{head.url} redirects ({head.status}) to what is no address: {location[:200]!r}"
            raise CdpFetchError("invalid_url", reason) from None
        fragment = head.url.partition("#")[2]
        if fragment and "#" not in resolved:
            resolved += f"#{fragment}"
        return parse_url(resolved, max_length=_MAX_URL)

    async def _take(self, answer: Answer, router: FetchRouter) -> Landing:
        """The page or file of an answer."""
        loop = asyncio.get_running_loop()
        head = answer.head
        self._times["committed"] = loop.time()
        route = router.route(head)
        body = await self._receive(answer, route, router)
        self._times["settled"] = loop.time()
        try:
            if route.action == "render" and await in_thread(_is_page, essence(head.header("content-type")), body.path):
                return await self._page(head, body)
            if body.missing is not None and route.action != "stream":
                raise DownloadFailed(body.missing, head)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(body.path)
            raise
        partial = () if body.missing is None else (body.missing,)
        self._times["captured"] = loop.time()
        return Landing(head, None, body.path, body.size, partial, (), self._times, served_by="http")

    async def _receive(self, answer: Answer, route: Route, router: FetchRouter) -> Body:
        path = os.path.join(self._engine.folder, uuid.uuid4().hex)
        reception = _Reception(answer, self._limits, route, router)
        try:
            with _new_file(path) as file:
                await reception.run(file)
        except BaseException as error:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            if isinstance(error, BadCoding):
                raise DownloadFailed(str(error), answer.head) from error
            raise
        return Body(path, reception.size, reception.missing)

    async def _page(self, head: ResponseHead, body: Body) -> Landing:
        """The landing of a page; its file is gone afterwards."""
        with _folder(self._engine.folder) as folder:
            label = charset(head.header("content-type"))
            job = {"op": "still", "path": body.path, "out_dir": folder, "charset": label}
            seconds = self._limits.end - asyncio.get_running_loop().time()
            try:
                seen = await self._engine.pool.run(job, max(0.2, seconds * _LOOK_SHARE))
            except ExtractionFailed as error:
                raise CdpFetchError("no_content", f"the page could not be read: {error.reason}", error.hint) from error
            html = await in_thread(_take_page, os.path.join(folder, "page.html"), body.path)
        self._times["captured"] = asyncio.get_running_loop().time()
        notes = [(note["code"], note["message"]) for note in seen["notes"]]
        shell = seen["shell"]
        if shell is None and (delay := refresh_delay(head)) is not None:
            shell = f"the page leads on to another address after {delay:g} s"
        if shell is not None:
            notes.append((NEEDS_SCRIPTS, f"{shell}; a browser may show more: --engine browser"))
        signals = {**seen["signals"], "walls": tuple(seen["signals"].get("walls", ()))}
        taken = Capture(
            html=html,
            visible=seen["visible"],
            url=head.url,
            title=seen["title"],
            content_type=essence(head.header("content-type")) or "text/html",
            charset=seen["charset"],
            charset_declared=True,  # it was found out with care; nothing is to be repaired
            lang=seen["lang"],
            truncated=None,
            unread_frames=0,
            signals=Signals(**signals),
        )
        partial = () if body.missing is None else (body.missing,)
        return Landing(head, taken, None, 0, partial, tuple(notes), self._times, served_by="http")


class _Reception:
    """Takes one body: ``size`` bytes as decoded, ``missing`` says what did not come."""

    def __init__(self, answer: Answer, limits: Limits, route: Route, router: FetchRouter) -> None:
        self._answer = answer
        self._limits = limits
        self._route = route
        self._router = router
        self.size = 0
        self.missing: str | None = None

    async def run(self, file: BinaryIO) -> None:
        """Write the decoded body.

        Raises BadCoding, PageTooLarge, NavigationTimeout, and what the router's ``progress`` raises.
        """
        loop = asyncio.get_running_loop()
        head, stream = self._answer.head, self._route.action == "stream"
        end = min(self._limits.end, loop.time() + self._route.seconds) if stream else self._limits.end
        decoder = Decoder(head.header("content-encoding"))
        try:
            async with asyncio.timeout_at(end), contextlib.aclosing(self._answer.parts()) as parts:
                async for part in parts:
                    for piece in decoder.feed(part):
                        self._count(len(piece))
                        file.write(piece)
                        await asyncio.sleep(0)
        except TimeoutError:
            self._late(stream)
        except BrokenOff as broken:
            self.missing = f"the document broke off: {broken}{shortfall(head, self.size)}"
        if self.missing is None and not decoder.whole:
            self.missing = f"the document broke off: its {head.header('content-encoding')} data has no end"

    def _count(self, more: int) -> None:
        self.size += more
        limit = self._limits.document_bytes
        if self._route.action == "render" and limit is not None and self.size > limit:
            raise PageTooLarge(limit, self._answer.head)
        declared = (self._answer.head.header("content-length") or "").strip()
        coded = self._answer.head.header("content-encoding")
        self._router.progress(self.size, int(declared) if declared.isdigit() and not coded else 0)

    def _late(self, stream: bool) -> None:
        if stream:
            seconds = self._route.seconds
            self.missing = f"the answer has no end; these are its first {seconds:g} s ({self.size} bytes)"
        elif self.size == 0:
            raise NavigationTimeout("the body", self._limits.navigation, self._answer.head.url, self._answer.head)
        else:
            self.missing = f"the time was over{shortfall(self._answer.head, self.size)}"


def _new_file(path: str) -> BinaryIO:
    return open(path, "xb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o600))


@contextlib.contextmanager
def _folder(place: str) -> Iterator[str]:
    """A new directory in ``place``, gone afterwards: in one call when it was left empty, as it is but for failures."""
    path = tempfile.mkdtemp(dir=place)
    try:
        yield path
    finally:
        try:
            os.rmdir(path)
        except OSError:
            shutil.rmtree(path, ignore_errors=True)


def _take_page(path: str, source: str) -> str:
    """The page that a worker has made of a body; both files are gone afterwards."""
    with open(disk.open_regular(path), encoding="utf-8", errors="replace", newline="") as file:
        html = file.read()
    os.unlink(path)
    os.unlink(source)
    return html


def _is_page(kind: str | None, path: str) -> bool:
    """Whether a body is to be shown as a page: by its type, or without one by its beginning."""
    with open(path, "rb") as file:
        beginning = file.read(HEADER)
    if kind is None:
        return text_kind(beginning) == "text/html"
    return kind in PAGE_TYPES and signature(beginning) is None
