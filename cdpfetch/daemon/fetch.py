"""One fetch from request to document: judge, lease a tab, navigate, and hand what came to the assembler."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Hashable
from typing import Any, NamedTuple

from cdpfetch import artifacts, disk
from cdpfetch.cdp.answers import origin
from cdpfetch.cdp.errors import CdpError
from cdpfetch.cdp.landing import DownloadFailed, Landing, NavigationFailed, NavigationTimeout
from cdpfetch.cdp.lifecycle import Limits
from cdpfetch.cdp.navigation import Navigation
from cdpfetch.cdp.tab import Tab
from cdpfetch.config import Config
from cdpfetch.daemon import faults, verdicts
from cdpfetch.daemon.assembly import Assembler
from cdpfetch.daemon.guard.guard import Guard
from cdpfetch.daemon.guard.lane import Lane
from cdpfetch.daemon.lanes import ANONYMOUS, PROFILE, Lanes
from cdpfetch.daemon.options import FetchOptions
from cdpfetch.daemon.plain.visit import PlainEngine, PlainVisit
from cdpfetch.daemon.plain.way import Way, shared
from cdpfetch.daemon.routing import MAX_REDIRECT, FetchRouter, LaneLeft, RedirectStopped, essence
from cdpfetch.daemon.sessions import Sessions
from cdpfetch.daemon.supervisor import Supervisor
from cdpfetch.daemon.tabpool import TabPool
from cdpfetch.daemon.walls import Met, Walls
from cdpfetch.errors import CdpFetchError
from cdpfetch.urls import Url, upgraded

log = logging.getLogger(__name__)

# Of the whole deadline, the part that is kept for capture, extraction and writing.
_RESERVE = 0.15
_RESERVE_MAX = 5.0
# All that a page loads may be so many times what a document may be.
_PAGE_SHARE = 2
# All that comes through a lane for one visit, on the wire and both ways: its page, by whatever means, and a file.
LANE_SHARE = _PAGE_SHARE + 1
# How often redirects may lead from one lane to another.
_LANE_CHANGES = 4
# How the network fails: of https, for http to be tried instead; where a page leads on, for the page to be read itself.
_UNREACHABLE = frozenset({"connection_failed", "tls_failed", "timeout", "dns_failed"})
# What Chrome says when the guard refuses or can't connect.
_GUARDED_ERRORS = (
    "net::ERR_SOCKS_",
    "net::ERR_PROXY_",
    "net::ERR_TIMED_OUT",
    "net::ERR_CONNECTION_",
    "net::ERR_EMPTY_RESPONSE",
    "net::ERR_INCOMPLETE_",
    "net::ERR_CONTENT_LENGTH_",
    "net::ERR_HTTP2_",
)

Emit = Callable[..., None]
_Failed = NavigationFailed | NavigationTimeout | DownloadFailed


class _Visit(NamedTuple):
    """What stays the same while a visit goes from lane to lane."""

    lanes: Lanes
    lane: str  # the first one
    url: Url  # the address that the user has named
    options: FetchOptions
    end: float  # loop time of the deadline
    emit: Emit


class _Trail:
    """What a fetch has tried: its visits, the last one last, and the attempts that were recovered from."""

    def __init__(self) -> None:
        self.visits: list[Navigation | PlainVisit] = []
        self.attempts: list[dict[str, Any]] = []


class FetchFailed(Exception):
    """A fetch that failed: the error, and its document (with what was saved all the same)."""

    def __init__(self, error: CdpFetchError, document: dict[str, Any]) -> None:
        super().__init__(str(error))
        self.error = error
        self.document = document


class FetchService:
    """Turns URLs into documents."""

    def __init__(
        self,
        config: Config,
        supervisor: Supervisor,
        guard: Guard,
        lanes: Lanes,
        tabs: TabPool,
        assembler: Assembler,
        plain: PlainEngine,
        walls: Walls,
        sessions: Sessions,
    ) -> None:
        self._config = config
        self._walls = walls
        self._sessions = sessions
        self._guard = guard
        self._lanes = lanes
        self._calls = 0  # lanes made for single calls so far, by which they are named
        self._supervisor = supervisor
        self._tabs = tabs
        self._assembler = assembler
        self._plain = plain
        self.served = 0  # fetches that have ended, one way or the other

    async def fetch(self, options: FetchOptions, client: Hashable, emit: Emit) -> dict[str, Any]:
        """The document of one URL.

        ``emit(stage, **fields)`` reports progress.  Raises FetchFailed; CancelledError passes.
        """
        clock = _Clock()
        document = artifacts.new_document(options.url)
        trail = _Trail()
        try:
            document = await self._fetch(options, client, emit, clock, trail)
        except TimeoutError:
            error = CdpFetchError(
                "timeout", f"page load timed out after {options.deadline:g} s", "give it longer: --deadline SECONDS"
            )
            self._fail(options, document, error, trail, clock)
            raise FetchFailed(error, document) from None
        except (CdpFetchError, CdpError, OSError) as fault:
            error = (
                artifacts.write_error(options.directory, fault)
                if isinstance(fault, OSError)
                else faults.public_error(fault)
            )
            self._fail(options, document, error, trail, clock, faults.head_of(fault))
            raise FetchFailed(error, document) from fault
        finally:
            self.served += 1
            log.info("fetch %s: %s in %d ms", options.url, _outcome(document), clock.total() * 1000)
        document["timings"] = clock.timings()
        if not document["ok"]:
            raise FetchFailed(CdpFetchError(**document["error"]), document)
        return document

    async def _fetch(
        self, options: FetchOptions, client: Hashable, emit: Emit, clock: _Clock, trail: _Trail
    ) -> dict[str, Any]:
        """The committed document; raises TimeoutError when the deadline, which begins with the place, is over."""
        self._require_space(options.directory)
        async with self._lanes_of(options) as lanes:
            url = lanes.parse(options.url)
            lane = await lanes.choose(url)
            loop = asyncio.get_running_loop()
            async with self._tabs.place(client, lambda: emit("queued")):
                emit("started", budgetSecs=round(options.deadline, 3))
                end = loop.time() + options.deadline
                visit = _Visit(lanes, lane, url, options, end, emit)
                try:
                    async with asyncio.timeout_at(end):
                        landing, facts = await self._past_wall(visit, clock, trail)
                except RedirectStopped as stopped:
                    return await self._assembler.redirect(options, stopped)
        clock.landed(landing)
        emit("extracting")
        warnings = list(self._supervisor.warnings) if self.served == 0 else []
        async with asyncio.timeout_at(end):
            document = await self._assembler.assemble(options, landing, warnings, end - loop.time())
        clock.mark("extract")
        document["facts"] += facts
        document["facts"] += ["fetched without a browser"] if landing.served_by == "http" else []
        document["attempts"] = trail.attempts + document["attempts"]
        document["timings"] = clock.timings()
        return await self._assembler.commit(document)

    def _require_space(self, directory: str) -> None:
        """Raises CdpFetchError (``disk_full``): too little is free there, or downloads under way take their quota."""
        limits = self._config.artifacts
        disk.require_space(directory, int(limits.min_free_mb * 1_000_000))
        browser = self._supervisor.browser
        under_way = sum(download.received for download in browser.downloads.values()) if browser is not None else 0
        quota = max(int(limits.max_total_mb * 1_000_000), self._config.fetch.max_bytes)
        if under_way > quota:
            raise CdpFetchError(
                "disk_full",
                f"the downloads under way hold {under_way:,} bytes; all documents together may hold {quota:,}",
                "fetch it again when they are done, or raise artifacts.max_total_mb",
            )

    @contextlib.asynccontextmanager
    async def _lanes_of(self, options: FetchOptions) -> AsyncIterator[Lanes]:
        """The lanes of the settings, or one of its own for a call that opens more than they do."""
        if not options.allow:
            yield self._lanes
            return
        lane, lanes = self._lanes.extended(self._new_name(), options.allow)
        async with self._opened(lane):
            yield lanes

    def _new_name(self) -> str:
        self._calls += 1
        return f"call-{self._calls}"

    @contextlib.asynccontextmanager
    async def _opened(self, lane: Lane) -> AsyncIterator[str]:
        """The name of a lane that lasts no longer than it is needed here."""
        await self._guard.open(lane)
        try:
            yield lane.name
        finally:
            self._tabs.end_lane(lane.name)
            await self._guard.close_lane(lane.name)

    @contextlib.asynccontextmanager
    async def _door(self, lane: str, visit: _Visit) -> AsyncIterator[str]:
        """The guard's lane for a part of a visit in ``lane``; one of its own, like it, where certificates don't count.

        Chrome keeps its connections, by context, and would use one whose certificate nobody has verified for others.
        """
        own = self._lanes.apart(self._new_name(), lane) if visit.options.visit.insecure else None
        if own is None:
            yield lane
            return
        async with self._opened(own) as name:
            yield name

    async def _past_wall(self, visit: _Visit, clock: _Clock, trail: _Trail) -> tuple[Landing, list[str]]:
        """The visit, and once more when it has ended at a bot wall that a visible window could pass."""
        landing, fact = await self._visit_safely(visit, clock, trail)
        facts = [fact] if fact else []
        if landing.served_by == "http" or verdicts.wall_at(landing) is None:
            return landing, facts
        visit.emit("challenge")
        address = landing.capture.url if landing.capture is not None else trail.visits[-1].url
        url = visit.lanes.parse(address, max_length=MAX_REDIRECT)
        lane = visit.lane if url.host == visit.url.host else visit.lanes.lane_of(url)
        met = Met(url, lane, landing.head.status if landing.head is not None else 0)
        failed = await self._walls.clear(met, visit.end)
        if failed is None:
            browsing = visit._replace(options=visit.options._replace(engine="browser"))
            landing, _ = await self._visit_safely(browsing, clock, trail)
            if verdicts.wall_at(landing) is None:
                return landing, [*facts, "passed a bot wall in a visible window"]
            failed = "nor after a visible window"
        note = ("challenge", f"the wall did not clear by itself, {failed}")
        return landing._replace(notes=(*landing.notes, note)), facts

    async def _visit_safely(self, visit: _Visit, clock: _Clock, trail: _Trail) -> tuple[Landing, str | None]:
        """The visit, by https first where that is wanted, and what is to be said of it."""
        secure = upgraded(visit.url) if self._config.network.https_upgrade and visit.lane == ANONYMOUS else None
        if secure is None:
            return await self._visit(visit, clock, trail), None
        # A server that only drops what comes to the other port must leave time for the one that was asked for.
        now = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout_at(now + (visit.end - now) / 2):
                return await self._visit(visit._replace(url=secure), clock, trail), "upgraded to https"
        except (NavigationFailed, NavigationTimeout, CdpFetchError, TimeoutError) as error:
            fault = CdpFetchError("timeout", "it took too long") if isinstance(error, TimeoutError) else error
            public = faults.public_error(fault)
            if public.code not in _UNREACHABLE or asyncio.get_running_loop().time() >= visit.end:
                raise
            log.info("%s is fetched by http: %s", visit.url.href, public)
            return await self._visit(visit, clock, trail), f"fetched by http, since https failed: {public.reason}"

    async def _visit(self, visit: _Visit, clock: _Clock, trail: _Trail) -> Landing:
        """Where the address leads, by the engine that is asked for."""
        if visit.options.engine == "browser":
            return await self._browse(visit, clock, trail)
        if not trail.visits:
            clock.mark("queue")
        limits, is_try = self._limits(visit), visit.options.engine == "auto"
        way = Way(
            self._plain,
            visit.lanes,
            lambda lane, url: self._router(visit, lane, url),
            shared(limits) if is_try else limits,
            _LANE_CHANGES,
        )
        plain = PlainVisit(self._plain, way.limits, visit.options.visit, visit.emit)
        trail.visits.append(plain)
        if not is_try:
            return await way.go(plain, visit.url)
        landing = await way.attempt(plain, visit.url, visit.lane, visit.options.url)
        if isinstance(landing, Landing):
            return landing
        trail.attempts += [landing] if landing else []
        return await self._browse(visit, clock, trail)

    async def _browse(self, visit: _Visit, clock: _Clock, trail: _Trail) -> Landing:
        """Where the address leads in the browser; once more when that was killed under the visit's hands.

        Nothing has been delivered then, and what is fetched is only read.
        """
        try:
            return await self._follow(visit, clock, trail)
        except (CdpFetchError, CdpError) as error:
            if not faults.is_lost(error):
                raise
            public = faults.public_error(error)
            log.info("%s is fetched once more: %s", visit.url.href, public)
            trail.attempts.append({"source": "local", "code": public.code, "reason": public.reason})
        return await self._follow(visit, clock, trail, again=True)

    async def _follow(self, visit: _Visit, clock: _Clock, trail: _Trail, again: bool = False) -> Landing:
        """Where the address leads in the browser, in whatever lanes its redirects belong to."""
        lane, url, plain, led_on = visit.lane, visit.url, "", False
        since = asyncio.get_running_loop().time()
        for _ in range(_LANE_CHANGES + 1):
            async with self._door(lane, visit) as door, self._tab(door, url, visit, again) as tab:
                if door != lane and lane == PROFILE:
                    await self._sessions.lend(tab, url.host)
                if not trail.visits:
                    clock.mark("queue")
                navigation = self._navigation(visit, lane, url, tab, plain)
                trail.visits.append(navigation)
                try:
                    return await navigation.run(url.href)
                except LaneLeft as left:
                    lane, url, led_on = left.lane, left.url, led_on or navigation.led_on
                except (NavigationFailed, NavigationTimeout, DownloadFailed) as failed:
                    explained = self._explain(door, failed, since)
                    if plain or not (led_on or navigation.led_on) or not _is_unreachable(explained or failed):
                        if explained is None:
                            raise
                        raise explained from failed
                    # The page itself is there: what it says before its script leaves for nowhere.
                    plain = f"the page led on to {navigation.url[:200]}, which failed; it was read without scripts"
                    lane, url = visit.lane, visit.url
        raise CdpFetchError("too_many_redirects", f"the redirects went to and fro between lanes {_LANE_CHANGES} times")

    @contextlib.asynccontextmanager
    async def _tab(self, lane: str, url: Url, visit: _Visit, fresh: bool) -> AsyncIterator[Tab]:
        """A tab of a lane, which carries so much more as long as the tab is used."""
        size = LANE_SHARE * self._config.fetch.max_bytes
        images = visit.options.visit.screenshot
        async with self._tabs.tab(lane, origin=origin(url.href), images=images, fresh=fresh) as tab:
            spent = f"more than {size:,} bytes came through its lane; loading was stopped"
            with self._guard.visit(lane, size, lambda: tab.exhaust(spent)):
                yield tab

    def _explain(self, lane: str, failed: _Failed, since: float) -> CdpFetchError | None:
        """What the guard knows: Chrome shows everything alike that the guard refuses or breaks off."""
        if isinstance(failed, NavigationFailed) and not failed.error.startswith(_GUARDED_ERRORS):
            return None
        # Chrome waits on where a download was broken off: that is a timeout.
        url = failed.head.url if isinstance(failed, DownloadFailed) else failed.url
        return self._guard.explain(lane, url, since)

    def _navigation(self, visit: _Visit, lane: str, url: Url, tab: Tab, plain: str) -> Navigation:
        """The visit of one tab that will be over, and captured, some time before the deadline."""
        options = visit.options
        router, limits = self._router(visit, lane, url), self._limits(visit)
        return Navigation(tab, router, limits, visit=options.visit, on_stage=visit.emit, plain=plain)

    def _router(self, visit: _Visit, lane: str, url: Url) -> FetchRouter:
        """The decisions for the part of a visit that begins with ``url`` in a lane."""

        def progress(received: int, total: int) -> None:
            self._require_space(self._supervisor.download_dir)
            visit.emit("downloading", receivedBytes=received, totalBytes=total or None)

        return FetchRouter(
            visit.lanes,
            lane,
            visit.url,
            url,
            max_bytes=self._config.fetch.max_bytes,
            redirects=visit.options.redirects,
            patience=self._config.challenge.headless_wait,
            on_progress=progress,
        )

    def _limits(self, visit: _Visit) -> Limits:
        settings = self._config.fetch
        return Limits(
            navigation=settings.navigation_timeout,
            settle=settings.settle_max,
            end=visit.end - min(_RESERVE_MAX, _RESERVE * visit.options.deadline),
            document_bytes=settings.max_bytes,
            page_bytes=_PAGE_SHARE * settings.max_bytes,
        )

    def _fail(
        self,
        options: FetchOptions,
        document: dict[str, Any],
        error: CdpFetchError,
        trail: _Trail,
        clock: _Clock,
        head: Any = None,
    ) -> None:
        """Say in a document that failed without bodies what is known."""
        if error.code == "auth_required" and error.hint is None:
            error.hint = f"sign in once: {verdicts.window_command(options.url)}"
        document["ok"] = False
        document["error"] = error.to_json()
        document["attempts"] = [*trail.attempts, {"source": "local", "code": error.code, "reason": error.reason}]
        document["timings"] = clock.timings()
        if trail.visits:
            head = head or trail.visits[-1].last_head
            document["link"] = trail.visits[-1].url or document["link"]
        if head is not None and document["status"] is None:
            document["status"] = head.status
            document["content_type"] = essence(head.header("content-type"))


class _Clock:
    """Milliseconds of the phases: queue, navigate, settle, capture, extract, total."""

    def __init__(self) -> None:
        self._start = self._last = time.monotonic()
        self._phases: dict[str, float] = {}

    def mark(self, phase: str) -> None:
        """The phase ends now."""
        now = time.monotonic()
        self._phases[phase] = now - self._last
        self._last = now

    def landed(self, landing: Landing) -> None:
        """Split what the navigation took by its own marks (loop times, which are this clock's)."""
        marks = landing.times
        for phase, mark in (("navigate", "committed"), ("settle", "settled"), ("capture", "captured")):
            moment = marks.get(mark, self._last)
            self._phases[phase] = max(0.0, moment - self._last)
            self._last = max(self._last, moment)

    def total(self) -> float:
        """Seconds so far."""
        return time.monotonic() - self._start

    def timings(self) -> dict[str, float]:
        """The document's ``timings``, in milliseconds."""
        return {name: round(seconds * 1000, 1) for name, seconds in {**self._phases, "total": self.total()}.items()}


def _is_unreachable(fault: CdpFetchError | _Failed) -> bool:
    """Whether a visit failed for the network, rather than for what may be visited."""
    return faults.public_error(fault).code in _UNREACHABLE


def _outcome(document: dict[str, Any]) -> str:
    error = document.get("error")
    return f"{error['code']} ({error['reason']})" if error else f"ok, {document.get('bytes')} bytes"
