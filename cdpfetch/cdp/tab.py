"""One tab: its session, its frames, and the stream of things that happen to its main frame."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

from cdpfetch.cdp.connection import Handler, Session
from cdpfetch.cdp.downloads import Download
from cdpfetch.cdp.errors import CallTimeout, CdpError, ProtocolError

if TYPE_CHECKING:
    from cdp_use.cdp.fetch.events import RequestPausedEvent
    from cdp_use.cdp.network.events import DataReceivedEvent
    from cdp_use.cdp.page.events import (
        FrameAttachedEvent,
        FrameDetachedEvent,
        FrameNavigatedEvent,
        FrameStartedNavigatingEvent,
        JavascriptDialogOpeningEvent,
    )
    from cdp_use.cdp.page.types import Frame
    from cdp_use.cdp.target.events import AttachedToTargetEvent

    from cdpfetch.cdp.browser import Browser

log = logging.getLogger(__name__)

WORLD = "cdpfetch"
_AGENT_PARTS = ("shadow", "observer", "consent", "signals", "serializer", "images", "agent")
# Frames in processes of their own and workers come to us by themselves, from the page and from such frames alike.
_AUTO_ATTACH = {
    "autoAttach": True,
    "waitForDebuggerOnStart": False,
    "flatten": True,
    "filter": [{"type": "iframe"}, {"type": "worker"}, {"exclude": True}],
}
# Dialogs that a page may show before its scripts are stopped.
MAX_DIALOGS = 10
# What waits for a decision on its way: every document, when it is asked for and when it is answered.
_INTERCEPTED = [{"resourceType": "Document", "requestStage": stage} for stage in ("Request", "Response")]
_STYLES = {"resourceType": "Stylesheet", "requestStage": "Request"}
# Events of the main frame after which the page's answer to a question is no longer of use, or will not come.
_URGENT = frozenset({"paused", "moving", "committed", "download", "gone"})
_NO_AGENT = "cdpfetch: no agent"


@functools.cache
def agent_source() -> str:
    """The script that cdpfetch keeps in an isolated world of every document.

    The page's own scripts can neither see nor change it.
    """
    folder = resources.files("cdpfetch.cdp").joinpath("agent")
    parts = "\n".join(folder.joinpath(f"{name}.js").read_text("utf-8") for name in _AGENT_PARTS)
    return "(() => {\n'use strict';\nif (globalThis.cdpfetchAgent) return;\n" + parts + "\n})();"


class TabEvent(NamedTuple):
    """Something that happened to the main frame: ``kind`` and CDP's parameters (or our own object)."""

    kind: str
    data: Any
    time: float  # of the event loop


class _EventQueue(asyncio.Queue[TabEvent]):
    """The queue of a tab's events, which can be looked into."""

    def has(self, kinds: frozenset[str]) -> bool:
        """Whether an event of one of these kinds waits."""
        return any(event.kind in kinds for event in self._queue)  # type: ignore[attr-defined]


class Tab:
    """A page target.  Its ``events`` queue carries what a navigation needs to know, in order."""

    def __init__(self, browser: Browser, session: Session, target_id: str) -> None:
        self.browser = browser
        self.session = session
        self.target_id = target_id
        self.frames: set[str] = {target_id}  # ids of the frames in this target
        self.frame_sessions: dict[str, Session] = {}  # of frames in processes of their own, by frame id
        self.events = _EventQueue()
        self.on_urgent: Callable[[], object] | None = None  # called when an event comes that must be seen to at once
        self.dialogs = 0  # shown so far
        self.budget: int | None = None  # decoded bytes of all that is loaded, after which "surplus" is put
        self.received = 0  # of them so far
        self.uses = 0  # visits that it has served before (see renewal.py)
        self.origin: str | None = None  # of the main frame's documents so far
        self.spoilt: str | None = None  # why it can serve no other visit, once that is so
        self.settled = False  # whether its visit has ended with a page that is whole
        self.grown = False  # whether its viewport is another than a new tab's
        self.once: str | None = None  # id of a script that only the next document of the main frame is to run
        self._loader = ""  # the loader of the main frame's document
        self._loop = asyncio.get_running_loop()
        # By frame id: the answer that names our world's context in its current document, or that is awaited.
        self._worlds: dict[str, asyncio.Future[dict[str, Any]]] = {}

    async def prepare(self) -> None:
        """Subscribe, then switch the domains on, and wait for all of Chrome's acknowledgements.

        A navigation sent before them misses events (four of 40 pages did).
        """
        session = self.session
        for event, handler in (
            ("Fetch.requestPaused", self._request_paused),
            ("Page.frameNavigated", self._frame_navigated),
            ("Page.frameStartedNavigating", self._frame_started_navigating),
            ("Page.frameStoppedLoading", self._main_frame("stopped")),
            ("Page.frameAttached", self._frame_attached),
            ("Page.frameDetached", self._frame_detached),
            ("Page.domContentEventFired", self._put("parsed")),
            ("Page.loadEventFired", self._put("loaded")),
            ("Page.javascriptDialogOpening", self._dialog_opening),
            ("Network.requestWillBeSent", self._put("request")),
            ("Network.dataReceived", self._data_received),
            ("Network.loadingFinished", self._put("finished")),
            ("Network.loadingFailed", self._put("failed")),
            ("Network.requestServedFromCache", self._put("cached")),
            ("Network.webSocketCreated", self._put("channel")),
            ("Target.attachedToTarget", functools.partial(self._attached, session)),
        ):
            session.on(event, handler)
        session.on_closed(lambda cause: self.put("gone", cause))
        commands = [
            session.send("Page.enable"),
            session.send("Network.enable", {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0}),
            session.send("Fetch.enable", {"patterns": _INTERCEPTED}),
            session.send("Page.addScriptToEvaluateOnNewDocument", {"source": agent_source(), "worldName": WORLD}),
            session.send(
                "Target.setAutoAttach",
                _AUTO_ATTACH,
            ),
        ]
        await asyncio.gather(*commands)

    async def evaluate(
        self,
        expression: str,
        *,
        timeout: float,
        frame_id: str | None = None,
        session: Session | None = None,
        by_value: bool = True,
    ) -> Any:
        """The value of an expression in our world of a frame's current document (the main frame by default).

        The agent is there as ``cdpfetchAgent``.  Raises ProtocolError when the document goes
        away meanwhile or the expression throws, and CallTimeout when the page's scripts hold its thread.
        """
        frame_id = frame_id or self.target_id
        session = session or self.session
        params = {
            "expression": f"globalThis.cdpfetchAgent ? ({expression}) : {_NO_AGENT!r}",
            "returnByValue": by_value,
            "awaitPromise": True,
            "objectGroup": WORLD,
        }
        for attempt in (1, 2, 3):
            context = await self._context(session, frame_id, timeout)
            try:
                answer = await session.execute("Runtime.evaluate", {**params, "contextId": context}, timeout=timeout)
            except ProtocolError as error:
                # The document was replaced between the two commands: its world is another one.
                if attempt < 3 and "context" in error.message.lower():
                    self._worlds.pop(frame_id, None)
                    continue
                raise
            if "exceptionDetails" in answer:
                raise _thrown(answer["exceptionDetails"])
            result = answer["result"]
            if result.get("value") == _NO_AGENT:
                # A frame's document, or one that is older than the tab's preparation.
                injected = {"expression": agent_source(), "contextId": context}
                answer = await session.execute("Runtime.evaluate", injected, timeout=timeout)
                if "exceptionDetails" in answer:
                    raise _thrown(answer["exceptionDetails"])
                continue
            return result.get("value") if by_value else result
        raise ProtocolError("Runtime.evaluate", 0, "the documents of this frame change too fast to be read")

    async def context(self, timeout: float = 5.0) -> int:
        """The id of our world in the main frame's current document."""
        return await self._context(self.session, self.target_id, timeout)

    async def _context(self, session: Session, frame_id: str, timeout: float) -> int:
        world = self._worlds.get(frame_id)
        if world is None:
            world = self._make_world(session, frame_id)
        try:
            async with asyncio.timeout(timeout):
                return int((await asyncio.shield(world))["executionContextId"])
        except TimeoutError:
            raise CallTimeout("Page.createIsolatedWorld", timeout) from None
        except CdpError:
            if self._worlds.get(frame_id) is world:
                del self._worlds[frame_id]
            raise

    def _make_world(self, session: Session, frame_id: str) -> asyncio.Future[dict[str, Any]]:
        params = {"frameId": frame_id, "worldName": WORLD}
        world = self._worlds[frame_id] = session.send("Page.createIsolatedWorld", params)
        return world

    def spoil(self, why: str) -> None:
        """Let it serve no other visit: something of this one would stay."""
        self.spoilt = self.spoilt or why

    def renew(self, once: str) -> None:
        """Forget the last visit; its pages are gone, and ``once`` is the script that clears what they have left."""
        while not self.events.empty():
            self.events.get_nowait()
        self.frames = {self.target_id}
        self.dialogs = 0
        self.budget = None
        self.received = 0
        self.uses += 1
        self.settled = self.grown = False
        self.once = once
        self._loader = ""

    async def stop_scripts(self) -> None:
        """End what the page's scripts are doing and let no more of them run."""
        self.spoil("its scripts were stopped")
        await asyncio.gather(
            self.session.send("Emulation.setScriptExecutionDisabled", {"value": True}, timeout=2.0),
            self.session.send("Runtime.terminateExecution", timeout=2.0),
            return_exceptions=True,
        )

    def go_plain(self, *, unstyled: bool) -> None:
        """Let no scripts run in what is loaded from now on and, with ``unstyled``, no style sheet load."""
        self.spoil("its scripts were switched off")
        self.session.send("Emulation.setScriptExecutionDisabled", {"value": True})
        if unstyled:
            self.session.send("Fetch.enable", {"patterns": [*_INTERCEPTED, _STYLES]})

    async def close(self) -> None:
        """Close the tab; idempotent, never fails."""
        await self.browser.close_tab(self)

    def put(self, kind: str, data: Any) -> None:
        """Queue an event for whoever drives the tab."""
        self.events.put_nowait(TabEvent(kind, data, self._loop.time()))
        if self.on_urgent is not None and kind in _URGENT:
            self.on_urgent()

    def exhaust(self, why: str) -> None:
        """Let no more be loaded; what there is, is taken as it is, for this reason."""
        self.put("surplus", why)

    def urgent(self) -> bool:
        """Whether an event waits that must be seen to before the page is asked anything."""
        return self.events.has(_URGENT)

    def download_began(self, download: Download, frame_id: str) -> None:
        """The browser says that a download of this tab has begun."""
        self.spoil("it has downloaded something")
        self.put("download", (download, frame_id == self.target_id))

    # events of the session

    def _put(self, kind: str) -> Handler:
        return lambda params: self.put(kind, params)

    def _main_frame(self, kind: str) -> Handler:
        def put(params: dict[str, Any]) -> None:
            if params.get("frameId") == self.target_id:
                self.put(kind, params)

        return put

    def _request_paused(self, params: RequestPausedEvent) -> None:
        if params.get("resourceType") == "Stylesheet":
            refused = {"requestId": params["requestId"], "errorReason": "BlockedByClient"}
            self.session.send("Fetch.failRequest", refused)
            return
        if params.get("frameId") == self.target_id:
            self.put("paused", params)
            return
        stage_two = "responseStatusCode" in params or "responseErrorReason" in params
        self.session.send(
            "Fetch.continueResponse" if stage_two else "Fetch.continueRequest", {"requestId": params["requestId"]}
        )

    def _data_received(self, params: DataReceivedEvent) -> None:
        before, self.received = self.received, self.received + int(params["dataLength"])
        if self.budget is not None and before <= self.budget < self.received:
            self.exhaust(f"it loads more than {self.budget:,} bytes; loading was stopped")
        # Of the document only, whose loader's id is the request's: there are many of these events.
        if params["requestId"] == self._loader:
            self.put("data", params)

    def _frame_navigated(self, params: FrameNavigatedEvent) -> None:
        frame = params["frame"]
        self.frames.add(frame["id"])
        self._worlds.pop(frame["id"], None)
        self._note_origin(frame)
        if frame["id"] == self.target_id:
            self._loader = frame.get("loaderId", "")
            if self.once is not None:
                self.session.send("Page.removeScriptToEvaluateOnNewDocument", {"identifier": self.once})
                self.once = None
            # It will be asked for in any case, once the page has loaded: by then it is there.
            self._make_world(self.session, self.target_id)
            self.put("committed", frame)

    def _note_origin(self, frame: Frame) -> None:
        """What a site keeps in a tab is cleared for one origin, that of the page; opaque ones keep nothing."""
        origin = frame.get("securityOrigin", "")
        if not origin.startswith("http"):
            return
        if self.origin is None:
            self.origin = origin
        elif origin != self.origin:
            self.spoil("it has shown documents of several origins")

    def _inner_frame_navigated(self, params: FrameNavigatedEvent) -> None:
        self._worlds.pop(params["frame"]["id"], None)

    def _frame_started_navigating(self, params: FrameStartedNavigatingEvent) -> None:
        same_document = (
            str(params.get("navigationType", "")).lower().startswith(("samedocument", "historysamedocument"))
        )
        if params.get("frameId") == self.target_id and not same_document:
            self.put("moving", params)

    def _frame_attached(self, params: FrameAttachedEvent) -> None:
        self.frames.add(params["frameId"])

    def _frame_detached(self, params: FrameDetachedEvent) -> None:
        if params.get("reason") != "swap":
            self.frames.discard(params["frameId"])
        self._worlds.pop(params["frameId"], None)

    def _attached(self, parent: Session, params: AttachedToTargetEvent) -> None:
        info = params["targetInfo"]
        if info["type"] == "worker":
            # It may bring text without a request, and goes on for a while when its page has gone.
            self.spoil("its page has started a worker")
            self.put("channel", params)
            parent.send("Target.detachFromTarget", {"sessionId": params["sessionId"]})
            return
        self.spoil("it has shown documents of several origins")
        session = self.browser.connection.attach(params["sessionId"], info["targetId"])
        frame_id = info["targetId"]
        self.frame_sessions[frame_id] = session
        self.frames.add(frame_id)
        self._worlds.pop(frame_id, None)
        session.on("Page.frameNavigated", self._inner_frame_navigated)
        session.on("Target.attachedToTarget", functools.partial(self._attached, session))
        session.on_closed(lambda cause: self._frame_session_closed(frame_id, session))
        session.send("Page.enable")
        session.send(
            "Target.setAutoAttach",
            _AUTO_ATTACH,
        )

    def _frame_session_closed(self, frame_id: str, session: Session) -> None:
        if self.frame_sessions.get(frame_id) is session:
            del self.frame_sessions[frame_id]

    def _dialog_opening(self, params: JavascriptDialogOpeningEvent) -> None:
        self.dialogs += 1
        self.spoil("its page has shown a dialog")
        # Leaving is always allowed; everything else is dismissed, which answers a prompt with null.
        accept = params.get("type") == "beforeunload"
        self.session.send("Page.handleJavaScriptDialog", {"accept": accept}, timeout=5.0)
        if self.dialogs == MAX_DIALOGS:
            log.info("the page showed %d dialogs; its scripts are stopped", self.dialogs)
            self.session.send("Emulation.setScriptExecutionDisabled", {"value": True}, timeout=5.0)
            self.session.send("Runtime.terminateExecution", timeout=5.0)

    def __repr__(self) -> str:
        return f"<Tab {self.target_id[:8]} {self.session!r}, {self.events.qsize()} events queued>"


def _thrown(details: dict[str, Any]) -> ProtocolError:
    """The error for an expression that threw."""
    text = details.get("exception", {}).get("description") or details.get("text", "")
    return ProtocolError("Runtime.evaluate", 0, str(text)[:400])
