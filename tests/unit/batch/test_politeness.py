"""When fetches may start, with a clock of the test's own."""

from __future__ import annotations

from cdpfetch.batch.politeness import MAX_PAUSE, Scheduler


def filled(scheduler: Scheduler[str], **items: int) -> Scheduler[str]:
    for host, count in items.items():
        for number in range(count):
            scheduler.offer(host, f"{host}{number}")
    return scheduler


def taken(scheduler: Scheduler[str], now: float) -> list[str]:
    found = []
    while (one := scheduler.take(now)) is not None:
        found.append(one[1])
    return found


def test_a_host_is_asked_once_in_its_delay_and_hosts_take_turns() -> None:
    scheduler = filled(Scheduler[str](10, 5, 2.0), a=3, b=2)
    assert taken(scheduler, 100.0) == ["a0", "b0"]
    assert scheduler.wait(100.5) == 1.5
    assert taken(scheduler, 101.9) == []
    assert taken(scheduler, 102.0) == ["a1", "b1"]
    assert taken(scheduler, 104.0) == ["a2"]
    assert scheduler.wait(104.0) is None
    assert (scheduler.active, scheduler.waiting) == (5, 0)


def test_a_host_has_so_many_places() -> None:
    scheduler = filled(Scheduler[str](10, 2, 0.0), a=4)
    assert taken(scheduler, 0.0) == ["a0", "a1"]
    assert scheduler.wait(0.0) is None
    scheduler.done("a")
    assert taken(scheduler, 0.0) == ["a2"]


def test_all_hosts_share_the_places() -> None:
    scheduler = filled(Scheduler[str](3, 2, 0.0), a=4, b=4)
    assert len(taken(scheduler, 0.0)) == 3
    scheduler.done("a")
    assert len(taken(scheduler, 0.0)) == 1


def test_a_host_that_asks_for_it_is_left_alone_and_others_go_on() -> None:
    scheduler = filled(Scheduler[str](10, 1, 0.0), a=2, b=2)
    assert taken(scheduler, 0.0) == ["a0", "b0"]
    scheduler.pause("a", 30.0, 0.0)
    scheduler.done("a")
    scheduler.done("b")
    assert taken(scheduler, 1.0) == ["b1"]
    assert scheduler.wait(1.0) == 29.0
    assert taken(scheduler, 30.0) == ["a1"]


def test_a_pause_that_comes_while_an_item_is_queued_counts_and_has_a_bound() -> None:
    scheduler = filled(Scheduler[str](10, 3, 0.0), a=1)
    scheduler.pause("a", 1e9, 5.0)
    assert taken(scheduler, 5.0) == []
    assert taken(scheduler, 4.9 + MAX_PAUSE) == []
    assert taken(scheduler, 5.0 + MAX_PAUSE) == ["a0"]


def test_robots_may_only_lengthen_a_delay() -> None:
    scheduler = filled(Scheduler[str](10, 5, 2.0), a=3)
    assert taken(scheduler, 0.0) == ["a0"]
    scheduler.slow("a", 1.0)
    scheduler.slow("a", 10.0)
    assert taken(scheduler, 9.9) == []
    assert taken(scheduler, 10.0) == ["a1"]
    assert taken(scheduler, 20.0) == ["a2"]
