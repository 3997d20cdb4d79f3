"""Drives one tab from an address to something settled: a page ready to be captured, or a file on disk."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from cdpfetch.cdp.answers import as_attachment, origin, refresh_delay, request_headers, shortfall
from cdpfetch.cdp.capture import Capture, CaptureLimits, capture
from cdpfetch.cdp.downloads import Download, receive, receive_stream
from cdpfetch.cdp.errors import CallTimeout, CdpError, ProtocolError, SessionClosed
from cdpfetch.cdp.landing import (
    PAGE_TYPES,
    DownloadFailed,
    Landing,
    NavigationFailed,
    NavigationTimeout,
    NotAPage,
    PageTooLarge,
    ResponseHead,
    Route,
    Router,
    Visit,
)
from cdpfetch.cdp.lifecycle import THIN, Lifecycle, Limits
from cdpfetch.cdp.screenshot import take_screenshot
from cdpfetch.cdp.tab import Tab, TabEvent
from cdpfetch.cdp.witness import PROBE_TIMEOUT, Witness

if TYPE_CHECKING:
    from cdp_use.cdp.fetch.events import RequestPausedEvent
    from cdp_use.cdp.page.commands import NavigateReturns
    from cdp_use.cdp.page.types import Frame

log = logging.getLogger(__name__)

# Seconds that must be left for a second try of a page that showed nothing.
WITHOUT_SCRIPTS_TIME = 3.0
# Seconds between looks at a page that may be replaced by another.
PATIENCE_STEP = 0.5

T = TypeVar("T")


class Navigation:
    """One visit of one tab.  ``run`` drives it; everything that happens comes through the tab's event queue."""

    def __init__(
        self,
        tab: Tab,
        router: Router,
        limits: Limits,
        capture_limits: CaptureLimits | None = None,
        *,
        visit: Visit = Visit(),  # noqa: B008 - immutable
        on_stage: Callable[[str], None] = lambda stage: None,
        plain: str = "",
    ) -> None:
        self._tab = tab
        self._router = router
        self._limits = limits
        self._capture_limits = capture_limits or CaptureLimits()
        self._visit = visit
        self._witness = Witness(tab, self._capture_limits, visit.wait_for)
        self._origin = ""  # of the address that was asked for, set by run
        self._on_stage = on_stage
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()  # when run was called
        self._life = Lifecycle(limits, self._started)
        self._url = ""  # the last address that the main frame asked for
        self._shown = ""  # the address of the document that is shown
        self._head: ResponseHead | None = None  # of the document that is shown, or about to be
        self._page_head: ResponseHead | None = None  # of the document that is shown
        self._last_head: ResponseHead | None = None  # the last answer of all, redirects included
        self._loader: str | None = None  # the loader of the document that is shown
        self._body_bytes = 0  # bytes of that document that have come
        self._document_errors: dict[str, str] = {}  # net errors of main-frame documents, by loader id
        self._expecting_file: ResponseHead | None = None  # set when an answer has been routed to a file
        self._force_file = False  # the same address again, this time as a file
        self._surplus: str | None = None  # set when all that was loaded is more than the page may load
        # Why the page is asked for (a second time) with scripts switched off: given, or set by _try_without_scripts.
        self._without_scripts = plain
        self._stopped_scripts = bool(plain)
        self._held: tuple[Capture, str] | None = None  # what it showed the first time, and why that is not all of it
        self._asked = ""  # the loader of the document that was asked for last
        self._ended = ""  # the loader of the last document whose bytes have all come
        self._patience_end: float | None = None  # loop time until which a bot wall may clear, once one was met
        self._notes: list[tuple[str, str]] = []
        self._times: dict[str, float] = {}

    async def run(self, url: str) -> Landing:
        """Go to ``url`` and stay until there is something to take.

        Raises NavigationFailed, NavigationTimeout, PageTooLarge, DownloadFailed, CdpError (the tab or the browser
        went away) and whatever the router raises.
        """
        self._url = url
        self._started = self._loop.time()
        self._origin = origin(url)
        self._tab.budget = self._limits.page_bytes
        if self._visit.insecure:
            self._tab.spoil("it takes every certificate")
            await self._tab.session.execute("Security.setIgnoreCertificateErrors", {"ignore": True})
        if self._without_scripts:
            self._tab.go_plain(unstyled=False)
        self._navigate(url)
        while True:
            try:
                landing = await self._step()
            except (NavigationFailed, NavigationTimeout, PageTooLarge):
                if self._held is None:
                    raise
                return await self._conclude(*self._held)
            if landing is not None:
                return landing

    @property
    def last_head(self) -> ResponseHead | None:
        """The last answer to a main-frame request, for a report of a navigation that failed."""
        return self._last_head

    @property
    def led_on(self) -> bool:
        """Whether a page was shown that has asked for another document by itself."""
        return bool(self._shown) and self._url != self._shown and not self._stopped_scripts

    @property
    def url(self) -> str:
        """The last address that the main frame asked for."""
        return self._url

    def _navigate(self, url: str) -> None:
        self._on_stage("navigating")
        self._life.navigation_started(self._loop.time())
        # The answer comes at the commit, which a silent server puts off for ever: the lifecycle has the limit.
        future = self._tab.session.send("Page.navigate", {"url": url}, timeout=self._limits.navigation + 60.0)
        future.add_done_callback(self._navigate_done)

    def _navigate_done(self, done: asyncio.Future[dict[str, Any]]) -> None:
        if done.cancelled():
            return
        error = done.exception()
        if error is None:
            self._tab.put("navigated", done.result())
        elif isinstance(error, ProtocolError):
            self._tab.put("gone", error)  # Chrome would not even try

    async def _step(self) -> Landing | None:
        events = self._tab.events
        while not events.empty():
            landing = await self._handle(events.get_nowait())
            if landing is not None:
                return landing
        if self._surplus is not None and self._loader is not None:
            return await self._take(self._surplus)
        decision = self._life.decide(self._loop.time())
        if decision.action == "wait":
            try:
                async with asyncio.timeout_at(decision.until):
                    event = await events.get()
            except TimeoutError:
                return None
            return await self._handle(event)
        if decision.action == "probe":
            return await self._probe(max(0.0, decision.until - self._loop.time()))
        if decision.action == "timeout":
            # The deadline of the whole call may have come before the limit of a navigation.
            took = min(round(self._loop.time() - self._started, 1), self._limits.navigation)
            raise NavigationTimeout("page load", took, self._url, self._head)
        return await self._take(decision.partial)

    # what happens in the main frame

    async def _handle(self, event: TabEvent) -> Landing | None:
        kind, data, now = event
        if kind == "paused":
            return await self._paused(data)
        if kind == "download":
            return await self._download(*data)
        if kind == "gone":
            raise data if isinstance(data, CdpError) else SessionClosed("closed")
        if kind == "surplus":
            self._surplus = self._surplus or str(data)
            self._tab.session.send("Page.stopLoading")
            return None
        if kind in ("request", "data", "finished", "failed", "cached"):
            self._network(kind, data, now)
        else:
            self._lived(kind, data, now)
        return None

    def _lived(self, kind: str, data: Any, now: float) -> None:
        """A step in the life of the main frame's document."""
        if kind == "navigated":
            self._navigated(data)
        elif kind == "moving":
            self._life.navigation_started(now)
        elif kind == "stopped" and self._expecting_file is None:
            self._life.navigation_ended(now)
        elif kind == "committed":
            self._committed(data, now)
        elif kind == "parsed":
            self._life.parsed(now)
        elif kind == "loaded":
            self._life.loaded(now)
        elif kind == "channel":
            self._life.channel_opened()

    def _network(self, kind: str, data: dict[str, Any], now: float) -> None:
        request_id = data["requestId"]
        if kind == "data":
            if request_id == self._loader:
                self._body_bytes += int(data.get("dataLength", 0))
                limit = self._limits.document_bytes
                if limit is not None and self._body_bytes > limit:
                    raise PageTooLarge(limit, self._head)
            return
        if kind == "request":
            if data.get("frameId") == self._tab.target_id and data.get("type") == "Document":
                self._asked = request_id
                return  # main-frame documents are the navigation itself
            self._life.request_started(request_id, data.get("type", ""), data["request"]["url"], now)
            return
        if kind == "failed" and data.get("type") == "Document":
            self._document_errors[request_id] = str(data.get("errorText", "net::ERR_FAILED"))
            if request_id == self._loader:
                self._life.loaded(now)  # no more of it will come, and not always an event either
        elif kind == "finished" and request_id in (self._loader, self._asked):
            self._ended = request_id
            if request_id == self._loader:
                self._life.body_ended()
        self._life.request_ended(request_id, now)

    def _navigated(self, answer: NavigateReturns) -> None:
        """Chrome's answer to ``Page.navigate``."""
        error = answer.get("errorText")
        if error and self._expecting_file is None and not answer.get("isDownload"):
            raise NavigationFailed(error, self._url, self._head)

    def _committed(self, frame: Frame, now: float) -> None:
        loader = frame.get("loaderId", "")
        if frame.get("unreachableUrl"):
            error = self._document_errors.get(loader, "net::ERR_FAILED")
            raise NavigationFailed(error, str(frame["unreachableUrl"]), self._head)
        self._times.setdefault("committed", now)
        self._loader = loader
        self._body_bytes = 0
        self._page_head = self._head
        self._url = self._shown = frame.get("url", self._url)
        self._witness.new_document()
        self._life.committed(now)
        if loader == self._ended:
            self._life.body_ended()
        if loader in self._document_errors:
            self._life.loaded(now)
        self._on_stage("settling")

    async def _paused(self, event: RequestPausedEvent) -> Landing | None:
        """A main-frame document at the request or the response stage: nothing goes on without a decision."""
        session, request_id, url = self._tab.session, event["requestId"], event["request"]["url"]
        if "responseErrorReason" in event:
            session.send("Fetch.continueResponse", {"requestId": request_id})
            return None
        if "responseStatusCode" not in event:
            self._url = url
            await self._router.judge(url)
            session.send(
                "Fetch.continueRequest",
                {"requestId": request_id, **request_headers(event["request"], self._visit, self._origin)},
            )
            return None
        fields = tuple((field["name"], field["value"]) for field in event.get("responseHeaders", ()))
        head = ResponseHead(url, int(event["responseStatusCode"]), fields, self._page_head is not None)
        self._last_head = head
        location = head.header("location")
        if 300 <= head.status < 400 and head.status != 304 and location is not None:
            self._router.redirected(head, location)
            session.send("Fetch.continueResponse", {"requestId": request_id})
            return None
        route = Route("download") if self._force_file else self._router.route(head)
        if route.action == "render":
            self._head = head
            session.send("Fetch.continueResponse", {"requestId": request_id})
            return None
        if self._keeps_page(head):
            session.send("Fetch.failRequest", {"requestId": request_id, "errorReason": "Aborted"})
            self._life.navigation_ended(self._loop.time())
            return None
        if route.action == "stream":
            return await self._stream(request_id, head, route.seconds)
        self._head = head
        self._expecting_file = head
        session.send("Fetch.continueResponse", {"requestId": request_id, **as_attachment(head)})
        return None

    def _keeps_page(self, head: ResponseHead) -> bool:
        """Whether a page that turns to a file by itself is worth more than the file: it has text of its own.

        What the page said last has to do: while one of its requests is held here it may not answer.
        """
        if self._page_head is None or self._life.text_length < THIN:
            return False
        self._notes.append(("download_ignored", f"the page started a download by itself: {head.url}"))
        return True

    # pages

    async def _probe(self, rest: float) -> Landing | None:
        try:
            pulse = await self._interruptible(self._witness.pulse(rest))
        except NotAPage:
            self._take_as_file()
            return None
        except CallTimeout:
            return await self._unfreeze()
        except ProtocolError as error:
            # The document is being replaced; the events that say so are in the queue or on their way.
            log.debug("a probe failed: %s", error)
            await self._next_event(0.05)
            return None
        if pulse is None:
            return None
        if pulse.refresh is None:
            pulse = pulse._replace(refresh=self._refresh())
        self._life.pulsed(pulse, self._loop.time())
        return None

    def _refresh(self) -> float | None:
        """Seconds until the refresh that a header has announced, or None."""
        delay = refresh_delay(self._page_head)
        now = self._loop.time()
        return None if delay is None else max(0.0, delay - (now - self._times.get("committed", now)))

    async def _unfreeze(self) -> Landing | None:
        """The page's scripts hold its thread: end them and take what there is."""
        if self._stopped_scripts:
            raise NavigationTimeout("reading the page (its scripts do not yield)", PROBE_TIMEOUT, self._url, self._head)
        self._stopped_scripts = True
        self._notes.append(("scripts_stopped", f"the page's scripts held it for {PROBE_TIMEOUT:g} s and were ended"))
        await self._tab.stop_scripts()
        return await self._take("its scripts were ended")

    async def _interruptible(self, question: Coroutine[Any, Any, T]) -> T | None:
        """The page's answer, or None when something happens in the main frame that must be seen to first.

        A page whose next document is held by us may not answer until we let it go on.
        """
        asked = asyncio.ensure_future(question)
        self._tab.on_urgent = asked.cancel
        if self._tab.urgent():
            asked.cancel()
        try:
            await asyncio.wait({asked})
        finally:
            self._tab.on_urgent = None
            asked.cancel()
        return None if asked.cancelled() else asked.result()

    async def _next_event(self, seconds: float) -> None:
        """Let the queue speak, but not for ever."""
        try:
            async with asyncio.timeout(seconds):
                event = await self._tab.events.get()
        except TimeoutError:
            return
        self._tab.events.put_nowait(event) if event.kind == "gone" else await self._handle(event)

    def _take_as_file(self) -> None:
        """What came is no page, whatever its headers said: ask again and save it."""
        if self._force_file:
            raise NavigationFailed("net::ERR_INVALID_RESPONSE", self._url, self._head)
        self._force_file = True
        self._page_head = None
        self._tab.spoil("it goes past service workers")
        # A service worker's answer comes by no response that could be routed; the server has it, too.
        self._tab.session.send("Network.setBypassServiceWorker", {"bypass": True})
        self._navigate(self._url)

    async def _take(self, partial: str | None) -> Landing | None:
        now = self._loop.time()
        self._times["settled"] = now
        try:
            taken = await self._interruptible(capture(self._tab, self._capture_limits, self._taken()))
        except CallTimeout:
            return await self._unfreeze()
        except ProtocolError as error:
            log.debug("a capture failed: %s", error)
            if self._life.navigations > 20:
                raise NavigationTimeout("capture (the page keeps navigating)", 0, self._url, self._head) from error
            await self._next_event(0.05)
            return None
        if taken is None:
            return None
        self._times["captured"] = self._loop.time()
        if taken.content_type not in PAGE_TYPES:
            self._take_as_file()
            return None
        if await self._waits_for_another(taken):
            return None
        if partial and (taken.visible == 0 or self._life.held_up) and self._try_without_scripts(taken, partial):
            return None
        return await self._conclude(taken, partial)

    def _taken(self) -> dict[str, Any] | None:
        """The capture that came with the last pulse, unless something has happened since."""
        return None if self._life.stale else self._witness.taken

    def _try_without_scripts(self, taken: Capture, partial: str) -> bool:
        """Ask again for a page that its scripts keep back because they do not come, and let none of them run.

        What the server itself has written is better than nothing, or than its first part; once, and where there is
        time for it.
        """
        if self._stopped_scripts or self._limits.end - self._loop.time() < WITHOUT_SCRIPTS_TIME:
            return False
        self._stopped_scripts = True
        self._without_scripts = (
            "scripts that do not come held up the document, which was read without them"
            if taken.visible
            else "the page showed nothing until its time was over, and was read without its scripts"
        )
        self._held = (taken, partial) if taken.visible else None
        # A style sheet holds up what stands behind it like a script.
        self._tab.go_plain(unstyled=self._life.lacks_styles)
        self._navigate(self._url)
        return True

    async def _waits_for_another(self, taken: Capture) -> bool:
        """Whether this page is one that may be replaced, and there is time left to see that; waits a moment."""
        patience = self._router.patience(self._page_head, taken)
        if patience <= 0:
            return False
        if self._patience_end is None:
            self._patience_end = min(self._loop.time() + patience, self._limits.end - PATIENCE_STEP)
            self._on_stage("challenge")
        if self._loop.time() >= self._patience_end:
            return False
        await self._next_event(PATIENCE_STEP)
        return True

    async def _conclude(self, taken: Capture, partial: str | None) -> Landing:
        """The landing on a page that has been captured, with what is known to be missing."""
        if self._held is not None and self._held[0].visible >= taken.visible:
            # What scripts had made by then is more than the server's own text.
            (taken, partial), self._without_scripts = self._held, ""
        body_error = self._document_errors.get(self._loader or "")
        if body_error is not None and taken.visible == 0:
            raise NavigationFailed(body_error, self._url, self._page_head)
        partials = [partial] if partial else []
        if self._without_scripts:
            partials.append(self._without_scripts)
        if body_error is not None:
            partials.append(f"the document broke off ({body_error}){shortfall(self._page_head, self._body_bytes)}")
        if self._witness.unmatched:
            partials.append(f"nothing matched {self._visit.wait_for}")
        if taken.truncated:
            partials.append(f"the page was cut at {taken.truncated}")
        if taken.unread_frames:
            self._notes.append(("frames_unread", f"{taken.unread_frames} frames could not be read"))
        picture = await take_screenshot(self._tab) if self._visit.screenshot else None
        if self._visit.screenshot and picture is None:
            self._notes.append(("no_screenshot", "no picture of the page could be taken"))
        self._tab.settled = not partials and picture is None
        return Landing(self._page_head, taken, None, 0, tuple(partials), tuple(self._notes), self._times, picture)

    # files

    async def _download(self, download: Download, main_frame: bool) -> Landing | None:
        """A download of this tab has begun; the one that was asked for is waited for, others are stopped."""
        head = self._expecting_file
        if head is None and main_frame and self._page_head is None:
            # Chrome decided by itself: a missing or an unknown type.
            head = self._head or ResponseHead(download.url, 200, (), False)
        if head is None or not main_frame:
            self._tab.browser.cancel_download(download)
            self._notes.append(("download_ignored", f"the page started a download by itself: {download.url}"))
            return None
        self._on_stage("downloading")
        self._times["committed"] = self._times["settled"] = self._loop.time()
        try:
            await receive(download, head, self._tab.session, self._router.progress, self._router.max_bytes)
        except BaseException:
            self._tab.browser.cancel_download(download)
            download.remove()
            raise
        self._times["captured"] = self._loop.time()
        return Landing(head, None, download.path, download.received, (), tuple(self._notes), self._times)

    async def _stream(self, request_id: str, head: ResponseHead, seconds: float) -> Landing:
        """Take what comes of an endless body within ``seconds``."""
        browser = self._tab.browser
        if browser.download_dir is None:
            raise DownloadFailed("there is no directory for downloads", head)
        self._on_stage("downloading")
        self._expecting_file = self._head = head
        self._times["committed"] = self._times["settled"] = self._loop.time()
        path, received, whole = await receive_stream(
            self._tab.session, request_id, browser.download_dir, seconds, self._router.progress
        )
        self._times["captured"] = self._loop.time()
        partial = () if whole else (f"the answer has no end; these are its first {seconds:g} s ({received} bytes)",)
        return Landing(head, None, path, received, partial, tuple(self._notes), self._times)

    def __repr__(self) -> str:
        return f"<Navigation to {self._url[:80]} {self._life!r}>"
