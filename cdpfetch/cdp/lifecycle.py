"""When is a page ready to be captured?  A state machine over events; synchronous, time comes as an argument (seconds).

Network idleness never decides.  A document that is parsed and loaded and has nothing
running is ready at once.  Otherwise it is ready when no document, script, XHR or fetch
has been in flight for a short while and its visible text has not changed for a short
while, or its thread has nothing to do for as long.  A page that never gets there is
captured when ``settle_max`` is over, and said to be partial.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

# Resource types (CDP's names) that may still bring text.  Images, media, fonts, beacons,
# event streams and sockets are never waited for.
_COUNTED = frozenset({"Document", "Script", "XHR", "Fetch"})

# Seconds without a change before a page with scripts is taken to be still.
QUIET = 0.06
# Seconds between looks at a page that seems unfinished.
LOOK = 0.2
# The quiet that a page with so little text that it looks unfinished must keep ...
QUIET_THIN = 0.7
# ... and one with enough text whose requests do not end (long polling).
QUIET_BUSY = 0.5
# How long a parsed page may lack its load event once nothing that counts is in flight.
LOAD_GRACE = 0.3
# A style sheet decides what is visible; one that hangs is given up after this long.
STYLE_GRACE = 1.5
# Visible characters below which a page with scripts counts as thin.
THIN = 200
# Seconds between looks at a document that is still coming in.
PATIENCE = 2.0
# Client-side navigations after which a page is taken to be a reload loop.
MAX_NAVIGATIONS = 10
# The longest announced refresh (meta or header) that is waited for.
REFRESH_MAX = 5.0


class Limits(NamedTuple):
    """Limits of one page: times in seconds, sizes in bytes as decoded."""

    navigation: float = 15.0  # until the document is parsed
    settle: float = 5.0  # from then until it is captured
    end: float = float("inf")  # loop time at which what there is is taken, whatever its state
    document_bytes: int | None = None  # a document with more is given up
    page_bytes: int | None = None  # when all that the visit loads is more, it is taken as it is


class Pulse(NamedTuple):
    """What the page's own observer says at one moment."""

    ready_state: str  # document.readyState
    scripted: bool  # whether the document has scripts that can run
    still: float  # seconds since its text last changed
    length: int  # visible characters
    waiting: bool  # whether it shows a sign that it is loading
    refresh: float | None = None  # seconds until an announced refresh to another address
    at_rest: bool = False  # whether its text has kept still and nothing is due on its thread for some 50 ms


class Decision(NamedTuple):
    """What to do next.

    ``wait``: until the next event, or until ``until`` (loop time).  ``probe``: ask the page
    for a Pulse; it may take until ``until`` to come to rest first.  ``capture``: take the page
    as it is; ``partial`` says why it is not known to be whole.  ``timeout``: there is nothing
    to take.
    """

    action: Literal["wait", "probe", "capture", "timeout"]
    until: float = 0.0
    partial: str | None = None


class Lifecycle:
    """The state of one tab from the start of a navigation to its capture."""

    def __init__(self, limits: Limits, now: float) -> None:
        self._limits = limits
        self._started = now  # when the current main-frame navigation began
        self._moving = True  # whether a main-frame navigation is under way that has not committed
        self._committed = False  # whether any document has been committed
        self._parsed: float | None = None  # when the current document was parsed (DOMContentLoaded)
        self._whole = False  # whether all of its bytes have come
        self._loaded = False  # whether its load event has fired
        self._requests: dict[str, tuple[str, str, float]] = {}  # in flight: id -> (type, key, start)
        self._served: set[str] = set()  # keys of the XHR/fetch requests that have ended: asked again, they are polls
        self._network_changed = now  # when a counted request last started or ended
        self._pulse: Pulse | None = None  # the last answer of the page
        self._pulse_at = now
        self.stale = False  # whether something has happened since that pulse
        self._channel = False  # whether the document is told things by other ways than the requests that are counted
        self.navigations = 0  # client-side navigations seen after the first commit

    @property
    def text_length(self) -> int:
        """Visible characters of the current document, as far as they are known."""
        return self._pulse.length if self._pulse is not None else 0

    @property
    def held_up(self) -> bool:
        """Whether the document has come as a whole and yet is not parsed: it waits for a script before its rest."""
        return self._whole and self._parsed is None

    @property
    def lacks_styles(self) -> bool:
        """Whether a style sheet is still under way."""
        return self._oldest_style() is not None

    # events

    def navigation_started(self, now: float) -> None:
        """A new document has been asked for in the main frame."""
        if self._committed and not self._moving:
            self.navigations += 1
        self._moving = True
        self._started = now

    def navigation_ended(self, now: float) -> None:
        """The navigation under way came to nothing (a download, a 204): the old document stays."""
        self._moving = False
        self._network_changed = now

    def committed(self, now: float) -> None:
        """A new document has replaced the old one."""
        self._moving = False
        self._committed = True
        self._parsed = None
        self._whole = False
        self._loaded = False
        self._requests.clear()
        self._served.clear()
        self._network_changed = now
        self._pulse = None
        self._pulse_at = now
        self._channel = False

    def body_ended(self) -> None:
        """All bytes of the current document have come."""
        self._whole = True

    def parsed(self, now: float) -> None:
        """DOMContentLoaded of the main frame."""
        if self._parsed is None:
            self._parsed = now
        self.stale = True

    def loaded(self, now: float) -> None:
        """The load event of the main frame."""
        self.parsed(now)
        self._loaded = True

    def request_started(self, request_id: str, kind: str, url: str, now: float) -> None:
        """A request of the page was sent; ``kind`` is CDP's resource type."""
        key = url.partition("#")[0].partition("?")[0]
        if kind == "EventSource" or key.startswith("blob:"):  # a worker's script, as a rule
            self.channel_opened()
        if kind == "Stylesheet":
            self._requests[request_id] = (kind, key, now)
        elif kind in _COUNTED and not (kind in ("XHR", "Fetch") and key in self._served):
            self._requests[request_id] = (kind, key, now)
            self._network_changed = now
            self.stale = True

    def request_ended(self, request_id: str, now: float) -> None:
        """A request was answered completely, or failed."""
        request = self._requests.pop(request_id, None)
        if request is None:
            return
        kind, key, _ = request
        if kind in ("XHR", "Fetch"):
            self._served.add(key)
        if kind in _COUNTED:
            self._network_changed = now
            self.stale = True

    def channel_opened(self) -> None:
        """Something has begun that can bring text without a request: a socket, an event stream, a worker."""
        self._channel = True

    def pulsed(self, pulse: Pulse, now: float) -> None:
        """The page has answered a probe."""
        self._pulse = pulse
        self._pulse_at = now
        self.stale = False
        # The observer is the witness where an event was missed or came before we listened.
        if pulse.ready_state != "loading" and self._parsed is None:
            self._parsed = now
        if pulse.ready_state == "complete":
            self._loaded = True

    # the decision

    def decide(self, now: float) -> Decision:
        """What to do at this moment."""
        if self.navigations > MAX_NAVIGATIONS:
            return Decision("capture", partial=f"the page navigated {self.navigations} times by itself")
        if now >= self._limits.end:
            return Decision("capture", partial="the deadline came") if self._shown() else Decision("timeout")
        if self._moving or self._parsed is None:
            return self._decide_loading(now)
        end = min(self._parsed + self._limits.settle, self._limits.end)
        if now >= end:
            return Decision("capture", partial=None if self._is_empty() else self._explain())
        if self._in_flight():
            return self._decide_busy(now, end)
        ready_from = self._network_changed
        if not self._loaded:
            ready_from = max(self._network_changed, self._parsed) + LOAD_GRACE
            style = self._oldest_style()
            if style is not None:
                ready_from = max(ready_from, style + STYLE_GRACE)
        if now < ready_from:
            return Decision("wait", min(ready_from, end))
        return self._decide_still(now, end)

    def _decide_loading(self, now: float) -> Decision:
        end = min(self._started + self._limits.navigation, self._limits.end)
        if now < end:
            return self._decide_early(now, end) if self._shown() else Decision("wait", end)
        if not self._shown():
            return Decision("timeout")
        return Decision("capture", partial=f"the document was still loading after {self._limits.navigation:g} s")

    def _decide_early(self, now: float, end: float) -> Decision:
        """A document is coming in slowly: look now and then whether it still does, and whether its scripts yield."""
        pulse = self._pulse
        if pulse is not None and (pulse.length >= THIN or self._whole) and pulse.still >= self._limits.settle:
            why = "held up by scripts that do not come" if self._whole else "still loading"
            return Decision("capture", partial=f"the document was {why}, and had not grown for {pulse.still:.0f} s")
        look = max(self._network_changed, self._pulse_at) + PATIENCE
        return Decision("probe") if now >= look else Decision("wait", min(look, end))

    def _decide_busy(self, now: float, end: float) -> Decision:
        """Requests are under way: a page that has its text and keeps it need not wait for them."""
        pulse = self._pulse
        if pulse is None:
            first = (self._parsed or now) + QUIET_BUSY
            return Decision("probe") if now >= first else Decision("wait", min(first, end))
        still = pulse.still + now - self._pulse_at
        if pulse.length >= THIN and not pulse.waiting and still >= QUIET_BUSY:
            return Decision("probe") if now - self._pulse_at > QUIET else Decision("capture")
        return Decision("wait", min(now + QUIET_BUSY, end)) if now - self._pulse_at < QUIET_BUSY else Decision("probe")

    def _decide_still(self, now: float, end: float) -> Decision:
        pulse = self._pulse
        if pulse is None or self.stale:
            return Decision("probe", min(now + QUIET, end))
        if pulse.refresh is not None and pulse.refresh <= REFRESH_MAX:
            refresh_at = self._pulse_at + pulse.refresh + LOAD_GRACE
            if now < refresh_at:
                return Decision("wait", refresh_at)
        if not pulse.scripted:
            return Decision("capture")
        needed = self._needed(pulse)
        still_since = max(self._pulse_at - pulse.still, self._network_changed)
        if now < still_since + needed:
            if needed <= QUIET:
                until = min(still_since + needed, end)
                if not pulse.at_rest:
                    return Decision("probe", until)
                return Decision("wait", until) if self._channel else Decision("capture")
            # What a timer will bring announces itself by no event: look again before long.
            look = self._pulse_at + LOOK
            return Decision("probe") if now >= look else Decision("wait", min(still_since + needed, look, end))
        # The last pulse must be younger than the quiet it testifies to.
        return Decision("capture") if self._pulse_at >= still_since + needed else Decision("probe")

    def _needed(self, pulse: Pulse) -> float:
        if pulse.waiting or pulse.length == 0:
            return self._limits.settle
        return QUIET_THIN if pulse.length < THIN else QUIET

    def _shown(self) -> bool:
        """Whether there is a document to take."""
        return self._committed and not self._moving

    def _in_flight(self) -> bool:
        return any(kind in _COUNTED for kind, _, _ in self._requests.values())

    def _is_empty(self) -> bool:
        """Whether the page has had its time, has nothing running, and shows nothing: it is whole, and empty."""
        pulse = self._pulse
        at_rest = self._loaded and not self._in_flight()
        return at_rest and pulse is not None and pulse.length == 0 and not pulse.waiting

    def _oldest_style(self) -> float | None:
        return min((start for kind, _, start in self._requests.values() if kind == "Stylesheet"), default=None)

    def _explain(self) -> str:
        running = sorted({f"{kind} {key[:80]}" for kind, key, _ in self._requests.values() if kind in _COUNTED})
        what = f"{len(running)} requests under way ({running[0]})" if running else "its text still changing"
        if self._pulse is not None and self._pulse.waiting:
            what += ", a loading sign shown"
        return f"after {self._limits.settle:g} s of settling the page had {what}"

    def __repr__(self) -> str:
        parsed = "parsed" if self._parsed is not None else "unparsed"
        return (
            f"<Lifecycle {'moving' if self._moving else 'at rest'} {parsed} "
            f"{'loaded' if self._loaded else 'loading'} {len(self._requests)} in flight, pulse {self._pulse}>"
        )
