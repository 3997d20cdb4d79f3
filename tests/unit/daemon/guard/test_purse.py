"""The bytes of a lane: what visits bring, share, and do not leave behind."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cdpfetch.daemon.guard.purse import Purse


def ignore() -> None:
    """Nobody listens."""


def test_without_a_limit_everything_may_be_carried() -> None:
    purse = Purse(None)
    visit = purse.enter(10, ignore)
    assert purse.spend(1 << 40)
    purse.leave(visit)
    assert (purse.left, purse.empty, purse.used) == (None, False, 1 << 40)


def test_a_visit_brings_its_bytes_and_takes_the_rest_away() -> None:
    purse = Purse(10)
    assert purse.left == 10
    visit = purse.enter(100, ignore)
    assert purse.left == 110
    assert purse.spend(30)
    purse.leave(visit)
    assert purse.left == 10
    assert purse.spend(10)
    assert purse.empty
    assert not purse.spend(1)


def test_all_visits_are_told_when_nothing_is_left() -> None:
    told: list[str] = []
    purse = Purse(0)
    first = purse.enter(100, lambda: told.append("first"))
    purse.enter(100, lambda: told.append("second"))
    assert purse.spend(200)
    assert told == []
    assert not purse.spend(1)
    assert told == ["first", "second"]
    # Who comes now does not pay for them; and nothing comes back when they go.
    purse.enter(50, ignore)
    assert purse.left == 50
    purse.leave(first)
    assert purse.left == 50


def test_anew_what_was_spent_does_not_count() -> None:
    purse = Purse(10)
    purse.enter(5, ignore)
    assert not purse.spend(100)
    purse.renew()
    assert purse.left == 15


@given(st.lists(st.tuples(st.sampled_from(["enter", "leave", "spend"]), st.integers(0, 50)), max_size=40))
def test_there_is_never_more_than_the_visits_under_way_bring(steps: list[tuple[str, int]]) -> None:
    purse = Purse(7)
    visits = []
    for step, number in steps:
        if step == "enter":
            visits.append(purse.enter(20, ignore))
        elif step == "spend":
            assert purse.limit is not None
            fits = purse.used + number <= purse.limit
            assert purse.spend(number) is fits
        elif visits:
            purse.leave(visits.pop(number % len(visits)))
        assert purse.left is not None and purse.left <= 7 + 20 * len(visits)
