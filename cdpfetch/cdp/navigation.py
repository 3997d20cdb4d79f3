"""Drives one tab from an address to something settled: a page ready to be captured, or a file on disk."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import uuid
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol

from cdpfetch.cdp.capture import Capture, CaptureLimits, capture
from cdpfetch.cdp.downloads import Download, receive_stream
from cdpfetch.cdp.errors import CallTimeout, CdpError, ProtocolError, SessionClosed
from cdpfetch.cdp.lifecycle import THIN, Lifecycle, Limits, Pulse
from cdpfetch.cdp.tab import Tab, TabEvent

log = logging.getLogger(__name__)

# Seconds that a page may take to answer a probe before its scripts are taken to hold the thread.
PROBE_TIMEOUT = 3.0
# Seconds without a byte before a download is given up.
STALL_TIMEOUT = 20.0
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
    """The decisions that are not this package's: which addresses may be asked, and what answers become."""

    async def judge(self, url: str) -> None:
        """Raise to stop before ``url`` is asked for."""

    def redirected(self, head: ResponseHead, location: str) -> None:
        """Raise to stop at a redirect."""

    def route(self, head: ResponseHead) -> Route:
        """Decide about the final answer of a chain; raise to stop there."""

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


class DownloadFailed(CdpError):
    """A download ended before its end."""

    def __init__(self, reason: str, head: ResponseHead) -> None:
        super().__init__(reason)
        self.reason = reason
        self.head = head


class Landing(NamedTuple):
    """Where a navigation ended: with a page (``capture``) or with a file (``path``)."""

    head: ResponseHead | None  # None when Chrome gave no response (service worker, about:)
    capture: Capture | None
    path: str | None
    received: int  # bytes of the file
    partial: tuple[str, ...]  # what is known to be missing, in words
    notes: tuple[tuple[str, str], ...]  # warnings: (code, message)
    times: dict[str, float]  # loop times: committed, settled, captured


class Navigation:
    """One visit of one tab.  ``run`` drives it; everything that happens comes through the tab's event queue."""

    def __init__(
        self,
        tab: Tab,
        router: Router,
        limits: Limits,
        capture_limits: CaptureLimits | None = None,
        *,
        wait_for: str | None = None,
        on_stage: Callable[[str], None] = lambda stage: None,
    ) -> None:
        self._tab = tab
        self._router = router
        self._limits = limits
        self._capture_limits = capture_limits or CaptureLimits()
        self._wait_for = wait_for
        self._on_stage = on_stage
        self._loop = asyncio.get_running_loop()
        self._life = Lifecycle(limits, self._loop.time())
        self._url = ""  # the last address that the main frame asked for
        self._head: ResponseHead | None = None  # of the document that is shown, or about to be
        self._page_head: ResponseHead | None = None  # of the document that is shown
        self._last_head: ResponseHead | None = None  # the last answer of all, redirects included
        self._loader: str | None = None  # the loader of the document that is shown
        self._document_errors: dict[str, str] = {}  # net errors of main-frame documents, by loader id
        self._expecting_file: ResponseHead | None = None  # set when an answer has been routed to a file
        self._force_file = False  # the same address again, this time as a file
        self._expanded = False  # whether the viewport has been made as tall as the page
        self._stopped_scripts = False
        self._notes: list[tuple[str, str]] = []
        self._times: dict[str, float] = {}

    async def run(self, url: str) -> Landing:
        """Go to ``url`` and stay until there is something to take.

        Raises NavigationFailed, NavigationTimeout, DownloadFailed, CdpError (the tab or the browser
        went away) and whatever the router raises.
        """
        self._url = url
        self._navigate(url)
        while True:
            landing = await self._step()
            if landing is not None:
                return landing

    @property
    def last_head(self) -> ResponseHead | None:
        """The last answer to a main-frame request, for a report of a navigation that failed."""
        return self._last_head

    @property
    def url(self) -> str:
        """The last address that the main frame asked for."""
        return self._url

    def _navigate(self, url: str) -> None:
        self._on_stage("navigating")
        self._life.navigation_started(self._loop.time())
        # The answer comes at the commit, which a silent server puts off for ever: the lifecycle has the limit.
        future = self._tab.session.send("Page.navigate", {"url": url}, timeout=self._limits.navigation + 60.0)
        future.add_done_callback(
            lambda done: None if done.cancelled() or done.exception() else self._tab.put("navigated", done.result())
        )

    async def _step(self) -> Landing | None:
        events = self._tab.events
        while not events.empty():
            landing = await self._handle(events.get_nowait())
            if landing is not None:
                return landing
        decision = self._life.decide(self._loop.time())
        if decision.action == "wait":
            try:
                async with asyncio.timeout_at(decision.until):
                    event = await events.get()
            except TimeoutError:
                return None
            return await self._handle(event)
        if decision.action == "probe":
            return await self._probe()
        if decision.action == "timeout":
            raise NavigationTimeout("page load", self._limits.navigation, self._url, self._head)
        return await self._take(decision.partial)

    # what happens in the main frame

    async def _handle(self, event: TabEvent) -> Landing | None:
        kind, data, now = event
        if kind == "paused":
            return await self._paused(data)
        if kind == "navigated":
            self._navigated(data)
        elif kind == "moving":
            self._life.navigation_started(now)
        elif kind == "stopped":
            if self._expecting_file is None:
                self._life.navigation_ended(now)
        elif kind == "committed":
            self._committed(data, now)
        elif kind == "parsed":
            self._life.parsed(now)
        elif kind == "loaded":
            self._life.loaded(now)
        elif kind == "download":
            return await self._download(*data)
        elif kind == "gone":
            raise data if isinstance(data, CdpError) else SessionClosed("closed")
        else:
            self._network(kind, data, now)
        return None

    def _network(self, kind: str, data: dict[str, Any], now: float) -> None:
        request_id = data["requestId"]
        if kind == "request":
            if data.get("frameId") == self._tab.target_id and data.get("type") == "Document":
                return  # main-frame documents are the navigation itself
            self._life.request_started(request_id, data.get("type", ""), data["request"]["url"], now)
            return
        if kind == "failed" and data.get("type") == "Document":
            self._document_errors[request_id] = str(data.get("errorText", "net::ERR_FAILED"))
        self._life.request_ended(request_id, now)

    def _navigated(self, answer: dict[str, Any]) -> None:
        """Chrome's answer to ``Page.navigate``."""
        error = answer.get("errorText")
        if error and self._expecting_file is None and not answer.get("isDownload"):
            raise NavigationFailed(error, self._url, self._head)

    def _committed(self, frame: dict[str, Any], now: float) -> None:
        loader = frame.get("loaderId", "")
        if frame.get("unreachableUrl"):
            error = self._document_errors.get(loader, "net::ERR_FAILED")
            raise NavigationFailed(error, str(frame["unreachableUrl"]), self._head)
        self._times.setdefault("committed", now)
        self._loader = loader
        self._page_head = self._head
        self._url = frame.get("url", self._url)
        self._expanded = False
        self._life.committed(now)
        self._on_stage("settling")

    async def _paused(self, event: dict[str, Any]) -> Landing | None:
        """A main-frame document at the request or the response stage: nothing goes on without a decision."""
        session, request_id, url = self._tab.session, event["requestId"], event["request"]["url"]
        if "responseErrorReason" in event:
            session.send("Fetch.continueResponse", {"requestId": request_id})
            return None
        if "responseStatusCode" not in event:
            self._url = url
            await self._router.judge(url)
            session.send("Fetch.continueRequest", {"requestId": request_id})
            return None
        headers = tuple((h["name"], h["value"]) for h in event.get("responseHeaders", ()))
        head = ResponseHead(url, int(event["responseStatusCode"]), headers, self._page_head is not None)
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
        if await self._keeps_page(head):
            session.send("Fetch.failRequest", {"requestId": request_id, "errorReason": "Aborted"})
            self._life.navigation_ended(self._loop.time())
            return None
        if route.action == "stream":
            return await self._stream(request_id, head, route.seconds)
        self._head = head
        self._expecting_file = head
        # Chrome saves an attachment by itself, and no byte of it crosses the pipe.  It refuses to save
        # the body of an error, so the status that it sees is a good one.
        kept = [{"name": n, "value": v} for n, v in headers if n.lower() != "content-disposition"]
        kept.append({"name": "Content-Disposition", "value": "attachment"})
        session.send(
            "Fetch.continueResponse",
            {"requestId": request_id, "responseCode": 200, "responsePhrase": "OK", "responseHeaders": kept},
        )
        return None

    async def _keeps_page(self, head: ResponseHead) -> bool:
        """Whether a page that turns to a file by itself is worth more than the file: it has text of its own."""
        if self._page_head is None:
            return False
        try:
            pulse = await self._pulse()
        except CdpError:
            return False
        if pulse is None or pulse.length < THIN:
            return False
        self._notes.append(("download_ignored", f"the page started a download by itself: {head.url}"))
        return True

    # pages

    async def _pulse(self) -> Pulse | None:
        answer = await self._tab.evaluate("cdpfetchAgent.pulse()", timeout=PROBE_TIMEOUT)
        if not isinstance(answer, dict):
            return None
        if answer["contentType"] not in PAGE_TYPES or answer["head"].startswith("%PDF-"):
            raise _NotAPage(answer["contentType"])
        pulse = Pulse(
            ready_state=answer["readyState"],
            scripted=answer["scripted"],
            still=answer["still"],
            length=answer["length"],
            waiting=answer["waiting"],
            refresh=answer["refresh"] if answer["refresh"] is not None else self._refresh_header(),
        )
        if pulse.scripted and not self._expanded and answer["height"] > answer["viewport"] * 1.2 > 0:
            self._expand(answer["height"])
        return pulse

    def _expand(self, height: int) -> None:
        """Make the viewport as tall as the page, so that sections that wait to be scrolled to load."""
        self._expanded = True
        metrics = {"width": 1280, "height": min(int(height), 12000), "deviceScaleFactor": 1, "mobile": False}
        self._tab.session.send("Emulation.setDeviceMetricsOverride", metrics, timeout=5.0)

    def _refresh_header(self) -> float | None:
        value = self._page_head.header("refresh") if self._page_head is not None else None
        if value is None:
            return None
        delay, _, target = value.replace(",", ";", 1).partition(";")
        try:
            seconds = float(delay.strip() or 0)
        except ValueError:
            return None
        if not target.strip():
            return None
        return max(0.0, seconds - (self._loop.time() - self._times.get("committed", self._loop.time())))

    async def _probe(self) -> Landing | None:
        was_expanded = self._expanded
        try:
            pulse = await self._pulse()
        except _NotAPage:
            self._take_as_file()
            return None
        except CallTimeout:
            return await self._unfreeze()
        except ProtocolError as error:
            # The document is being replaced; the events that say so are in the queue or on their way.
            log.debug("a probe failed: %s", error)
            await self._next_event(0.05)
            return None
        if pulse is not None:
            if self._wait_for and not await self._has(self._wait_for):
                pulse = pulse._replace(waiting=True)
            if self._expanded and not was_expanded:
                pulse = pulse._replace(still=0.0)  # what the taller viewport shows has yet to come
            self._life.pulsed(pulse, self._loop.time())
        return None

    async def _has(self, selector: str) -> bool:
        expression = f"!!document.querySelector({json.dumps(selector)})"
        return bool(await self._tab.evaluate(expression, timeout=PROBE_TIMEOUT))

    async def _unfreeze(self) -> Landing | None:
        """The page's scripts hold its thread: end them and take what there is."""
        if self._stopped_scripts:
            raise NavigationTimeout("reading the page (its scripts do not yield)", PROBE_TIMEOUT, self._url, self._head)
        self._stopped_scripts = True
        self._notes.append(("scripts_stopped", f"the page's scripts held it for {PROBE_TIMEOUT:g} s and were ended"))
        await self._tab.stop_scripts()
        return await self._take("its scripts were ended")

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
        self._navigate(self._url)

    async def _take(self, partial: str | None) -> Landing | None:
        now = self._loop.time()
        self._times["settled"] = now
        try:
            taken = await capture(self._tab, self._capture_limits)
        except CallTimeout:
            return await self._unfreeze()
        except ProtocolError as error:
            log.debug("a capture failed: %s", error)
            if self._life.navigations > 20:
                raise NavigationTimeout("capture (the page keeps navigating)", 0, self._url, self._head) from error
            await self._next_event(0.05)
            return None
        self._times["captured"] = self._loop.time()
        if taken.content_type not in PAGE_TYPES:
            self._take_as_file()
            return None
        body_error = self._document_errors.get(self._loader or "")
        if body_error is not None and taken.visible == 0:
            raise NavigationFailed(body_error, self._url, self._page_head)
        partials = [partial] if partial else []
        if body_error is not None:
            partials.append(f"the document broke off ({body_error})")
        if taken.truncated:
            partials.append(f"the page was cut at {taken.truncated}")
        if taken.unread_frames:
            self._notes.append(("frames_unread", f"{taken.unread_frames} frames could not be read"))
        return Landing(
            self._page_head, taken, None, 0, tuple(partials), tuple(self._notes), self._times
        )

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
            await self._receive(download, head)
        except BaseException:
            self._tab.browser.cancel_download(download)
            if download.path and os.path.exists(download.path):
                os.unlink(download.path)
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
        path = os.path.join(browser.download_dir, f"stream-{uuid.uuid4()}")
        try:
            received, whole = await receive_stream(self._tab.session, request_id, path, seconds, self._router.progress)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            raise
        self._times["captured"] = self._loop.time()
        partial = () if whole else (f"the answer has no end; these are its first {seconds:g} s ({received} bytes)",)
        return Landing(head, None, path, received, partial, tuple(self._notes), self._times)

    async def _receive(self, download: Download, head: ResponseHead) -> None:
        """Wait for the end of a download, as long as bytes keep coming and the router lets it go on."""
        moved = asyncio.Event()
        download.on_progress = moved.set
        self._tab.session.on_closed(lambda cause: moved.set())
        ended = asyncio.ensure_future(download.wait())
        ended.add_done_callback(lambda done: moved.set())
        seen, seen_at = download.received, self._loop.time()
        try:
            while not ended.done():
                self._router.progress(download.received, download.total)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout_at(seen_at + STALL_TIMEOUT):
                        await moved.wait()
                moved.clear()
                if self._tab.session.closed is not None:
                    raise self._tab.session.closed
                if download.received > seen:
                    seen, seen_at = download.received, self._loop.time()
                elif self._loop.time() >= seen_at + STALL_TIMEOUT:
                    raise NavigationTimeout(f"the download stalled after {seen} bytes and", STALL_TIMEOUT, head.url, head)
        finally:
            ended.cancel()
            download.on_progress = None
        self._router.progress(download.received, download.total)
        if await download.wait() != "completed":
            declared = head.header("content-length")
            of = f" of the declared {declared}" if declared else ""
            raise DownloadFailed(f"the connection was closed after {download.received} bytes{of}", head)

    def __repr__(self) -> str:
        return f"<Navigation to {self._url[:80]} {self._life!r}>"


class _NotAPage(CdpError):
    """Chrome shows the answer with a viewer of its own: it is a file."""
