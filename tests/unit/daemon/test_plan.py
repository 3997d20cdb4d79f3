"""The queue for tabs: never more at work than there are tabs, and every client gets its turn."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from cdpfetch.daemon.plan import FairQueue


def test_what_fits_is_let_in_at_once() -> None:
    queue: FairQueue[str] = FairQueue(2)
    assert queue.enter("a", "1")
    assert queue.enter("a", "2")
    assert not queue.enter("a", "3")
    assert repr(queue) == "<FairQueue 2/2 at work, 1 waiting>"
    assert queue.leave() == "3"
    assert queue.leave() is None
    assert queue.leave() is None
    assert queue.working == 0


def test_clients_take_turns_however_much_one_asks() -> None:
    queue: FairQueue[str] = FairQueue(1)
    queue.enter("flood", "f0")
    for entry in ("f1", "f2", "f3"):
        queue.enter("flood", entry)
    queue.enter("quiet", "q1")
    queue.enter("other", "o1")
    assert [queue.leave() for _ in range(6)] == ["f1", "q1", "o1", "f2", "f3", None]


def test_nobody_overtakes_those_who_wait() -> None:
    queue: FairQueue[str] = FairQueue(2)
    queue.enter("a", "1")
    queue.enter("a", "2")
    queue.enter("a", "3")
    assert queue.leave() == "3"
    assert queue.working == 2
    assert not queue.enter("b", "4")


def test_who_gives_up_leaves_the_line() -> None:
    queue: FairQueue[str] = FairQueue(1)
    queue.enter("a", "1")
    queue.enter("a", "2")
    queue.enter("b", "3")
    assert queue.withdraw("a", "2")
    assert not queue.withdraw("a", "2")
    assert not queue.withdraw("nobody", "2")
    assert queue.leave() == "3"
    assert not queue.withdraw("b", "3")


@settings(deadline=None)  # a loaded machine is no defect
@given(
    st.integers(1, 4),
    st.lists(st.one_of(st.just("leave"), st.tuples(st.sampled_from("abc"), st.integers(0, 99))), max_size=60),
)
def test_the_count_is_right_and_all_are_served(size: int, steps: list[tuple[str, int] | str]) -> None:
    queue: FairQueue[tuple[str, int]] = FairQueue(size)
    entered: Counter[tuple[str, int]] = Counter()
    served: Counter[tuple[str, int]] = Counter()
    for step in steps:
        if isinstance(step, tuple):
            entered[step] += 1
            served[step] += queue.enter(step[0], step)
        elif queue.working:
            following = queue.leave()
            if following is not None:
                served[following] += 1
        assert 0 <= queue.working <= size
        assert len(queue) == (entered - served).total()
        assert queue.working == size or len(queue) == 0
    while queue.working:
        following = queue.leave()
        if following is not None:
            served[following] += 1
    assert served == entered
