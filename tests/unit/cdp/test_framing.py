"""The pipe's framing: any cutting gives the same messages, in linear time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdpfetch.cdp.framing import NulFramer

BODIES = st.lists(st.binary(max_size=40).map(lambda data: data.replace(b"\0", b"")), max_size=8)


@settings(deadline=None)  # a loaded machine is no defect
@given(
    BODIES, st.binary(max_size=10).map(lambda data: data.replace(b"\0", b"")), st.lists(st.integers(1, 7), min_size=1)
)
def test_any_cutting_gives_the_same_messages(bodies: list[bytes], rest: bytes, sizes: list[int]) -> None:
    stream = b"".join(body + b"\0" for body in bodies) + rest
    framer = NulFramer()
    found: list[bytes] = []
    position = turn = 0
    while position < len(stream):
        size = sizes[turn % len(sizes)]
        found += framer.feed(memoryview(stream)[position : position + size])
        position, turn = position + size, turn + 1
    assert found == bodies
    assert framer.pending == len(rest)


def test_a_chunk_may_hold_many_messages_and_half_of_one() -> None:
    framer = NulFramer()
    assert list(framer.feed(b"one\0two\0\0thr")) == [b"one", b"two", b""]
    assert framer.pending == 3
    assert list(framer.feed(b"ee\0")) == [b"three"]
    assert framer.pending == 0


@pytest.mark.parametrize("chunk", [1 << 16, 1 << 18])
def test_a_hundred_megabytes_are_searched_once(chunk: int) -> None:
    data = memoryview(b"x" * chunk)
    framer = NulFramer()
    started = time.process_time()
    for _ in range((100 << 20) // chunk):
        assert list(framer.feed(data)) == []
    (message,) = framer.feed(b"\0")
    # Searching again from the start at each chunk would read 40 to 80 gigabytes.
    assert time.process_time() - started < 3
    assert len(message) == 100 << 20
    assert framer.pending == 0
