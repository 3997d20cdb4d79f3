"""When a page is ready: tables of events and decisions on a clock of their own, and what holds for any events."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdpfetch.cdp.lifecycle import (
    LOAD_GRACE,
    LOOK,
    MAX_NAVIGATIONS,
    PATIENCE,
    QUIET,
    QUIET_BUSY,
    QUIET_THIN,
    STYLE_GRACE,
    THIN,
    Decision,
    Lifecycle,
    Limits,
    Pulse,
)

LIMITS = Limits(navigation=15.0, settle=5.0)
WHOLE = Decision("capture")
PROBE = Decision("probe")


def pulse(
    *,
    still: float = 0.0,
    length: int = 1000,
    scripted: bool = True,
    waiting: bool = False,
    state: str = "complete",
    at_rest: bool = False,
) -> Pulse:
    return Pulse(state, scripted, still, length, waiting, None, at_rest)


def landed(*, loaded: bool = True, limits: Limits = LIMITS) -> Lifecycle:
    """A page that committed at 1.0, was parsed at 2.0 and, as a rule, loaded at 2.0."""
    life = Lifecycle(limits, 0.0)
    life.committed(1.0)
    life.parsed(2.0)
    if loaded:
        life.loaded(2.0)
    return life


def waits(life: Lifecycle, now: float, until: float) -> bool:
    decision = life.decide(now)
    return decision.action == "wait" and math.isclose(decision.until, until)


def probes(life: Lifecycle, now: float, until: float) -> bool:
    """Whether the page is asked now, and may take until then to come to rest."""
    decision = life.decide(now)
    return decision.action == "probe" and math.isclose(decision.until, until)


def test_a_plain_page_is_taken_at_once() -> None:
    life = landed()
    assert probes(life, 2.0, 2.0 + QUIET)
    life.pulsed(pulse(scripted=False), 2.01)
    assert life.decide(2.01) == WHOLE


def test_a_scripted_page_is_taken_when_its_text_has_been_still() -> None:
    life = landed()
    assert probes(life, 2.0, 2.0 + QUIET)
    life.pulsed(pulse(still=0.01), 2.01)
    assert probes(life, 2.01, 2.0 + QUIET)
    # The quiet has to be witnessed: the last pulse is older than it.
    assert life.decide(2.0 + QUIET) == PROBE
    life.pulsed(pulse(still=0.01 + QUIET), 2.02 + QUIET)
    assert life.decide(2.02 + QUIET) == WHOLE


def test_text_that_changes_starts_the_quiet_anew() -> None:
    life = landed()
    life.pulsed(pulse(still=0.0), 3.0)
    assert probes(life, 3.0, 3.0 + QUIET)
    life.pulsed(pulse(still=0.0), 3.1)
    assert probes(life, 3.1, 3.1 + QUIET)


def test_a_page_that_is_at_rest_need_not_be_watched() -> None:
    life = landed()
    assert probes(life, 2.0, 2.0 + QUIET)
    life.pulsed(pulse(at_rest=True), 2.01)
    assert life.decide(2.01) == WHOLE
    assert not life.stale
    # Something happens before it is taken: it has to be asked anew.
    life.request_started("1", "Fetch", "http://x.example/a", 2.02)
    life.request_ended("1", 2.03)
    assert life.stale
    assert probes(life, 2.03, 2.03 + QUIET)


@pytest.mark.parametrize("seen", [pulse(length=THIN - 1, at_rest=True), pulse(waiting=True, at_rest=True)])
def test_rest_alone_makes_no_page_whole(seen: Pulse) -> None:
    life = landed()
    life.pulsed(seen, 2.01)
    assert life.decide(2.01).action == "wait"


@pytest.mark.parametrize(
    "opens",
    [
        Lifecycle.channel_opened,
        lambda life: life.request_started("1", "EventSource", "http://x.example/events", 2.0),
        lambda life: (
            life.request_started("1", "Script", "blob:http://x.example/0", 1.5) or life.request_ended("1", 1.6)
        ),
    ],
)
def test_rest_says_little_where_news_come_by_other_ways(opens: Callable[[Lifecycle], None]) -> None:
    life = landed()
    opens(life)
    life.pulsed(pulse(at_rest=True), 2.01)
    assert waits(life, 2.01, 2.01 + QUIET)
    life.committed(3.0)
    life.loaded(3.0)
    life.pulsed(pulse(at_rest=True), 3.01)
    assert life.decide(3.01) == WHOLE, "the next document has opened none"


@pytest.mark.parametrize(
    ("seen", "needed"),
    [
        (pulse(length=THIN), QUIET),
        (pulse(length=THIN - 1), QUIET_THIN),
        (pulse(length=1), QUIET_THIN),
    ],
)
def test_a_page_with_little_text_is_given_longer(seen: Pulse, needed: float) -> None:
    life = landed()
    life.pulsed(seen, 2.5)
    now = 2.5
    while (decision := life.decide(now)).action != "capture":
        if decision.action == "probe":
            now = max(now, decision.until)  # it does not come to rest
            life.pulsed(seen._replace(still=now - 2.5), now)
        else:
            assert now < decision.until <= now + LOOK, "a timer's text announces itself by nothing"
            now = decision.until
    assert math.isclose(now, 2.5 + needed)


@pytest.mark.parametrize("seen", [pulse(length=0), pulse(waiting=True)])
def test_an_empty_or_loading_page_is_given_all_its_time(seen: Pulse) -> None:
    life = landed()
    life.pulsed(seen, 2.5)
    assert waits(life, 2.5, 2.5 + LOOK)
    assert life.decide(2.5 + LOOK) == PROBE
    decision = life.decide(2.0 + LIMITS.settle)
    assert decision.action == "capture"
    if seen.waiting:
        assert decision.partial is not None
        assert "a loading sign shown" in decision.partial
    else:
        assert decision.partial is None, "it is whole, and empty"


def test_the_observer_is_believed_where_events_were_missed() -> None:
    life = Lifecycle(LIMITS, 0.0)
    life.committed(1.0)
    assert waits(life, 1.5, 1.0 + PATIENCE)
    life.pulsed(pulse(scripted=False, state="loading"), 1.6)
    assert waits(life, 1.6, 1.6 + PATIENCE)
    life.pulsed(pulse(scripted=False, state="interactive"), 1.7)
    assert waits(life, 1.7, 1.7 + LOAD_GRACE)
    life.pulsed(pulse(scripted=False, state="complete"), 1.8)
    assert life.decide(1.8) == WHOLE


# requests


@pytest.mark.parametrize("kind", ["Image", "Media", "Font", "Ping", "EventSource", "WebSocket", "Manifest", "Other"])
def test_what_brings_no_text_is_never_waited_for(kind: str) -> None:
    life = landed()
    life.request_started("1", kind, "http://x.example/a", 2.1)
    life.pulsed(pulse(scripted=False), 2.2)
    assert life.decide(2.2) == WHOLE


@pytest.mark.parametrize("kind", ["Document", "Script", "XHR", "Fetch"])
def test_what_may_bring_text_is_waited_for(kind: str) -> None:
    life = landed()
    life.request_started("1", kind, "http://x.example/a", 2.1)
    assert waits(life, 2.1, 2.0 + QUIET_BUSY)
    life.request_ended("1", 2.3)
    assert probes(life, 2.3, 2.3 + QUIET)
    life.pulsed(pulse(still=0.05), 2.31)
    assert probes(life, 2.31, 2.3 + QUIET)


def test_a_request_without_end_is_given_up_when_the_page_has_its_text() -> None:
    life = landed()
    life.request_started("1", "Fetch", "http://x.example/poll", 2.1)
    assert life.decide(2.0 + QUIET_BUSY) == PROBE
    life.pulsed(pulse(still=QUIET_BUSY), 2.5)
    assert life.decide(2.5) == WHOLE


def test_a_request_without_end_on_a_page_without_text_costs_the_whole_time() -> None:
    life = landed()
    life.request_started("1", "Fetch", "http://x.example/data", 2.1)
    life.pulsed(pulse(length=THIN - 1, still=0.5), 2.5)
    assert life.decide(2.6).action == "wait"
    decision = life.decide(2.0 + LIMITS.settle)
    assert decision == Decision(
        "capture",
        partial="after 5 s of settling the page had 1 requests under way (Fetch http://x.example/data)",
    )


def test_a_poll_counts_once() -> None:
    life = landed()
    life.request_started("1", "XHR", "http://x.example/poll?n=1", 2.1)
    life.request_ended("1", 2.2)
    life.request_started("2", "XHR", "http://x.example/poll?n=2", 2.25)
    life.pulsed(pulse(still=0.1), 2.3)
    assert life.decide(2.3) == WHOLE


def test_an_end_that_belongs_to_no_request_changes_nothing() -> None:
    life = landed()
    life.request_ended("never started", 2.9)
    life.pulsed(pulse(still=QUIET), 3.0)
    assert life.decide(3.0) == WHOLE


# the load event


def test_a_missing_load_event_is_given_up_after_a_while() -> None:
    life = landed(loaded=False)
    assert waits(life, 2.0, 2.0 + LOAD_GRACE)
    life.request_started("1", "Script", "http://x.example/a.js", 2.1)
    life.request_ended("1", 2.2)
    assert waits(life, 2.25, 2.2 + LOAD_GRACE)
    assert life.decide(2.2 + LOAD_GRACE).action == "probe"


def test_a_style_sheet_that_hangs_is_given_up_later() -> None:
    life = landed(loaded=False)
    life.request_started("css", "Stylesheet", "http://x.example/a.css", 1.5)
    assert waits(life, 2.5, 1.5 + STYLE_GRACE)
    assert life.decide(1.5 + STYLE_GRACE).action == "probe"
    life = landed(loaded=False)
    life.request_started("css", "Stylesheet", "http://x.example/a.css", 1.5)
    life.request_ended("css", 2.1)
    assert waits(life, 2.1, 2.0 + LOAD_GRACE)


# navigations


def test_nothing_comes() -> None:
    life = Lifecycle(LIMITS, 0.0)
    assert waits(life, 0.0, LIMITS.navigation)
    assert life.decide(LIMITS.navigation) == Decision("timeout")


def test_a_document_that_never_ends_is_taken_as_far_as_it_came() -> None:
    life = Lifecycle(LIMITS, 0.0)
    life.committed(1.0)
    assert waits(life, 1.5, 1.0 + PATIENCE)
    assert life.decide(1.0 + PATIENCE) == PROBE, "whether its scripts yield can only be seen by asking"
    life.pulsed(pulse(state="loading", still=0.5), 14.5)
    assert waits(life, 14.6, LIMITS.navigation)
    assert life.decide(15.0) == Decision("capture", partial="the document was still loading after 15 s")


def test_a_whole_document_that_is_not_parsed_waits_for_a_script() -> None:
    life = Lifecycle(LIMITS, 0.0)
    life.committed(1.0)
    life.body_ended()
    assert life.held_up
    life.pulsed(pulse(state="loading", length=5, still=LIMITS.settle), 7.0)
    decision = life.decide(7.0)
    assert decision.action == "capture"
    assert "held up by scripts" in str(decision.partial)
    life.parsed(7.1)
    assert not life.held_up
    life.committed(8.0)
    assert not life.held_up, "this is another document"


def test_a_document_that_has_stopped_growing_is_not_waited_for_to_the_end() -> None:
    life = Lifecycle(LIMITS, 0.0)
    life.committed(1.0)
    life.pulsed(pulse(state="loading", length=THIN, still=4.9), 6.0)
    assert waits(life, 6.0, 6.0 + PATIENCE)
    life.pulsed(pulse(state="loading", length=THIN, still=5.0), 6.0)
    assert life.decide(6.0).action == "capture"
    life.pulsed(pulse(state="loading", length=THIN - 1, still=5.0), 6.0)
    assert life.decide(6.0).action == "wait", "a thin one may be waiting for its scripts"


def test_a_new_document_starts_over() -> None:
    life = landed()
    life.request_started("old", "Fetch", "http://x.example/a", 2.1)
    life.navigation_started(3.0)
    assert life.navigations == 1
    assert waits(life, 3.0, 3.0 + LIMITS.navigation)
    life.committed(4.0)
    assert waits(life, 4.0, 4.0 + PATIENCE)
    life.loaded(5.0)
    assert probes(life, 5.0, 5.0 + QUIET)
    life.pulsed(pulse(scripted=False), 5.0)
    assert life.decide(5.0) == WHOLE


def test_a_navigation_that_comes_to_nothing_leaves_the_old_document() -> None:
    life = landed()
    life.pulsed(pulse(scripted=False), 2.5)
    life.navigation_started(3.0)
    assert life.decide(3.0).action == "wait"
    life.navigation_ended(3.5)
    assert life.decide(3.5) == WHOLE


def test_a_page_that_reloads_itself_for_ever_is_taken() -> None:
    life = landed()
    for turn in range(MAX_NAVIGATIONS + 1):
        assert life.decide(3.0 + turn).action != "capture"
        life.navigation_started(3.0 + turn)
        life.committed(3.5 + turn)
    decision = life.decide(20.0)
    assert decision == Decision("capture", partial=f"the page navigated {MAX_NAVIGATIONS + 1} times by itself")


def test_starting_twice_is_one_navigation() -> None:
    life = landed()
    life.navigation_started(3.0)
    life.navigation_started(3.1)
    assert life.navigations == 1


@pytest.mark.parametrize(("refresh", "until"), [(2.0, 2.5 + 2.0 + LOAD_GRACE), (0.0, 2.5 + LOAD_GRACE)])
def test_an_announced_refresh_is_waited_for(refresh: float, until: float) -> None:
    life = landed()
    life.pulsed(pulse(scripted=False)._replace(refresh=refresh), 2.5)
    assert waits(life, 2.5, until)
    assert life.decide(until) == WHOLE


def test_a_refresh_in_the_far_future_is_not() -> None:
    life = landed()
    life.pulsed(pulse(scripted=False)._replace(refresh=30.0), 2.5)
    assert life.decide(2.5) == WHOLE


# the deadline of the whole call


def test_the_deadline_takes_what_there_is() -> None:
    life = landed(limits=Limits(15.0, 5.0, end=2.2))
    life.request_started("1", "Fetch", "http://x.example/a", 2.1)
    assert waits(life, 2.1, 2.2)
    assert life.decide(2.2) == Decision("capture", partial="the deadline came")


def test_the_deadline_without_a_document_is_a_timeout() -> None:
    life = Lifecycle(Limits(15.0, 5.0, end=0.5), 0.0)
    assert waits(life, 0.0, 0.5)
    assert life.decide(0.5) == Decision("timeout")
    # A new document on its way means that the old one is not the answer.
    life = landed(limits=Limits(15.0, 5.0, end=9.0))
    life.navigation_started(3.0)
    assert life.decide(9.0) == Decision("timeout")


def test_it_shows_its_state() -> None:
    assert repr(Lifecycle(LIMITS, 0.0)) == "<Lifecycle moving unparsed loading 0 in flight, pulse None>"


# whatever happens

ACTIONS: dict[str, Callable[[Lifecycle, float], None]] = {
    "start": Lifecycle.navigation_started,
    "end": Lifecycle.navigation_ended,
    "commit": Lifecycle.committed,
    "parsed": Lifecycle.parsed,
    "loaded": Lifecycle.loaded,
    "request": lambda life, now: life.request_started("r", "Fetch", "http://x.example/r", now),
    "image": lambda life, now: life.request_started("i", "Image", "http://x.example/i", now),
    "style": lambda life, now: life.request_started("s", "Stylesheet", "http://x.example/s", now),
    "answer": lambda life, now: life.request_ended("r", now),
    "still": lambda life, now: life.pulsed(pulse(still=1.0), now),
    "change": lambda life, now: life.pulsed(pulse(), now),
    "rest": lambda life, now: life.pulsed(pulse(at_rest=True), now),
    "socket": lambda life, now: life.channel_opened(),
    "thin": lambda life, now: life.pulsed(pulse(length=10), now),
    "empty": lambda life, now: life.pulsed(pulse(length=0), now),
}


@settings(deadline=None)  # a loaded machine is no defect
@given(st.lists(st.tuples(st.sampled_from(sorted(ACTIONS)), st.floats(0.0, 1.0)), max_size=30), st.floats(1.0, 60.0))
def test_every_page_comes_to_an_end(events: list[tuple[str, float]], end: float) -> None:
    life = Lifecycle(Limits(15.0, 5.0, end), 0.0)
    now = 0.0
    for event, pause in events:
        now += pause
        ACTIONS[event](life, now)
        life.decide(now)
    last = now
    # From here on nothing happens but probes that answer the same.
    for _ in range(1000):
        decision = life.decide(now)
        if decision.action in ("capture", "timeout"):
            break
        if decision.action == "probe":
            life.pulsed(pulse(still=0.0, length=10), now)
        else:
            assert decision.until > now
            now = decision.until
    assert decision.action in ("capture", "timeout")
    assert now <= max(end, last)
