"""The SOCKS5 negotiation, byte by byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdpfetch.daemon.guard.socks import SUCCEEDED, Negotiation, Request, reply

HELLO = b"\x05\x01\x00"
BY_NAME = b"\x05\x01\x00\x03\x0bexample.com\x01\xbb"


def ask(request: bytes) -> tuple[bytes, Negotiation]:
    negotiation = Negotiation()
    assert negotiation.feed(HELLO) == b"\x05\x00"
    return negotiation.feed(request), negotiation


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (BY_NAME, Request("example.com", 443)),
        (b"\x05\x01\x00\x01\x5d\xb8\xd8\x22\x00\x50", Request("93.184.216.34", 80)),
        (b"\x05\x01\x00\x04" + b"\0" * 15 + b"\x01\x1f\x90", Request("::1", 8080)),
        (b"\x05\x01\x00\x03\xff" + b"a" * 255 + b"\xff\xff", Request("a" * 255, 65535)),
    ],
)
def test_a_target_is_read(request_: bytes, expected: Request) -> None:
    answer, negotiation = ask(request_)
    assert answer == b""
    assert negotiation.request == expected
    assert negotiation.failed is None


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_pieces_make_no_difference(size: int) -> None:
    negotiation, whole, answer = Negotiation(), HELLO + BY_NAME, b""
    for start in range(0, len(whole), size):
        answer += negotiation.feed(whole[start : start + size])
    assert answer == b"\x05\x00"
    assert negotiation.request == Request("example.com", 443)


def test_what_follows_the_request_is_kept() -> None:
    negotiation = Negotiation()
    assert negotiation.feed(HELLO + BY_NAME + b"GET /") == b"\x05\x00"
    assert negotiation.feed(b" HTTP/1.1") == b""
    assert negotiation.rest == b"GET / HTTP/1.1"


@pytest.mark.parametrize(
    ("request_", "answer", "why"),
    [
        (b"\x05\x02\x00\x01\0\0\0\0\0\0", reply(7), "the command 2"),
        (b"\x05\x03\x00\x01\0\0\0\0\0\0", reply(7), "the command 3"),
        (b"\x05\x01\x00\x02\0\0\0\0\0\0", reply(8), "type 2"),
        (b"\x05\x01\x00\x03\x00\0\0", reply(8), "empty name"),
        (b"\x05\x01\x00\x03\x02\xc3\xa9\0\x50", reply(8), "not ASCII"),
        (b"\x04\x01\x00\x50\0\0\0\0", reply(1), "version 4"),
    ],
)
def test_what_is_not_a_connect_is_answered_and_refused(request_: bytes, answer: bytes, why: str) -> None:
    said, negotiation = ask(request_)
    assert said == answer
    assert negotiation.request is None
    assert negotiation.failed is not None
    assert why in negotiation.failed


@pytest.mark.parametrize("garbage", [b"GET / HTTP/1.1\r\n\r\n", b"\x04\x01\x00\x50\x7f\0\0\x01\0", b"\x16\x03\x01\x02"])
def test_what_is_not_socks5_gets_no_word(garbage: bytes) -> None:
    negotiation = Negotiation()
    assert negotiation.feed(garbage) == b""
    assert negotiation.failed is not None
    assert negotiation.feed(HELLO + BY_NAME) == b""
    assert negotiation.request is None


def test_a_client_that_insists_on_a_password_is_refused() -> None:
    negotiation = Negotiation()
    assert negotiation.feed(b"\x05\x01\x02") == b"\x05\xff"
    assert negotiation.failed == "the client offers no method without authentication"


@given(st.lists(st.binary(max_size=300), max_size=12))
def test_no_bytes_break_it_or_pile_up(pieces: list[bytes]) -> None:
    negotiation = Negotiation()
    for piece in pieces:
        negotiation.feed(piece)
        assert len(negotiation._buffer) <= 262
    assert negotiation.request is None or negotiation.failed is None


def test_success_is_ten_bytes() -> None:
    assert SUCCEEDED == b"\x05\x00\x00\x01\0\0\0\0\0\0"
