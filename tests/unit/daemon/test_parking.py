"""Where used tabs wait: the newest for a place first, the oldest out first, none for ever."""

from __future__ import annotations

from cdpfetch.daemon.parking import PARKED_MAX, Parking


def test_the_newest_of_a_place_is_taken_first() -> None:
    parking: Parking[str] = Parking(6)
    for number, (place, entry) in enumerate([("a", "a1"), ("b", "b1"), ("a", "a2")]):
        assert parking.put(place, entry, float(number)) == []
    assert [parking.take("a"), parking.take("a"), parking.take("a"), parking.take("b")] == ["a2", "a1", None, "b1"]
    assert len(parking) == 0


def test_the_oldest_make_room() -> None:
    parking: Parking[str] = Parking(2)
    assert [parking.put("a", entry, 0.0) for entry in ("one", "two", "three", "four")] == [[], [], ["one"], ["two"]]
    assert len(parking) == 2


def test_nothing_waits_for_ever() -> None:
    parking: Parking[str] = Parking(6)
    parking.put("a", "one", 10.0)
    parking.put("a", "two", 11.0)
    assert parking.expired(10.0 + PARKED_MAX - 0.001) == []
    assert parking.expired(10.0 + PARKED_MAX) == ["one"]
    assert parking.take("a") == "two"
    assert parking.expired(1000.0) == []


def test_all_can_be_let_go() -> None:
    parking: Parking[str] = Parking(6)
    parking.put("a", "one", 0.0)
    parking.put("b", "two", 0.0)
    assert parking.clear() == ["one", "two"]
    assert len(parking) == 0
