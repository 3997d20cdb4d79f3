"""What the guard remembers."""

from __future__ import annotations

from cdpfetch.daemon.guard.ledger import Ledger
from cdpfetch.errors import CdpFetchError

BLOCKED = CdpFetchError("blocked_address", "10.0.0.1 is private (RFC 1918)", "allow it")


def test_the_last_fault_of_a_target_is_told() -> None:
    ledger = Ledger()
    ledger.fault("main", "a.example", 80, CdpFetchError("dns_failed", "no such name"), 1.0)
    ledger.fault("main", "a.example", 80, BLOCKED, 2.0)
    fault = ledger.lookup("main", "a.example", 80)
    assert fault is not None
    assert fault.error().to_json() == BLOCKED.to_json()
    assert fault.time == 2.0
    assert ledger.refused == 2


def test_lanes_ports_and_older_times_are_apart() -> None:
    ledger = Ledger()
    ledger.fault("main", "a.example", 80, BLOCKED, 1.0)
    assert ledger.lookup("other", "a.example", 80) is None
    assert ledger.lookup("main", "a.example", 443) is None
    assert ledger.lookup("main", "a.example", 80, since=1.5) is None
    assert ledger.lookup("main", "a.example", 80, since=1.0) is not None


def test_a_connection_that_stands_clears_what_was_before() -> None:
    ledger = Ledger()
    ledger.fault("main", "a.example", 80, BLOCKED, 1.0)
    ledger.reached("main", "a.example", 80, "93.184.216.34", 2.0)
    assert ledger.lookup("main", "a.example", 80) is None
    assert [tuple(dialled) for dialled in ledger.dialled] == [("main", "a.example", 80, "93.184.216.34", 2.0)]


def test_it_is_bounded_and_keeps_the_latest() -> None:
    ledger = Ledger(max_entries=3, max_dialled=2)
    for number in range(5):
        ledger.fault("main", f"{number}.example", 80, BLOCKED, number)
        ledger.reached("main", "x.example", number, "1.1.1.1", number)
    assert len(ledger) == 3
    assert ledger.lookup("main", "1.example", 80) is None
    assert ledger.lookup("main", "4.example", 80) is not None
    assert [dialled.port for dialled in ledger.dialled] == [3, 4]


def test_a_lane_that_has_ended_is_forgotten() -> None:
    ledger = Ledger()
    ledger.fault("one", "a.example", 80, BLOCKED, 1.0)
    ledger.fault("two", "a.example", 80, BLOCKED, 1.0)
    ledger.forget("one")
    assert ledger.lookup("one", "a.example", 80) is None
    assert ledger.lookup("two", "a.example", 80) is not None
