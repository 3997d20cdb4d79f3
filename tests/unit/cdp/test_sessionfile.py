"""What a window shows, read from the note that Chrome keeps of its tabs."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from cdpfetch.cdp.sessionfile import Shown, navigations

RECORDED = Path(__file__).parents[2] / "fixtures" / "sessions" / "Session_156"


def string(text: bytes, width: int = 1) -> bytes:
    return struct.pack("<i", len(text) // width) + text + b"\0" * (-len(text) % 4)


def navigation(url: str, status: int, tab: int = 7, title: str = "A title") -> bytes:
    """The command for one navigation, as Chrome pickles it."""
    body = struct.pack("<ii", tab, 0) + string(url.encode()) + string(title.encode("utf-16-le"), 2) + string(b"state")
    body += struct.pack("<ii", 6, 0) + string(b"") + struct.pack("<i", 0) + string(url.encode())
    body += struct.pack("<iq", 0, 1) + string(b"", 2) + struct.pack("<ii", status, 5)
    return command(6, struct.pack("<I", len(body)) + body)


def command(number: int, payload: bytes) -> bytes:
    return struct.pack("<HB", len(payload) + 1, number) + payload


HEAD = b"SNSS" + struct.pack("<i", 3)


def test_a_file_of_chrome_156() -> None:
    found = navigations(RECORDED.read_bytes())
    assert [one.status for one in found] == [403, 200]
    assert len({one.tab for one in found}) == 1
    assert {one.url.partition("/wall")[2] for one in found} == {"?x=1"}


@pytest.mark.parametrize("title", ["", "x", "Zwölf", "夏"])
def test_navigations_among_other_commands(title: str) -> None:
    data = HEAD + command(7, b"\0" * 8) + navigation("http://a.test/", 403, title=title) + command(255, b"")
    data += navigation("http://a.test/é", 200, 8)
    assert navigations(data) == [Shown(7, "http://a.test/", 403), Shown(8, "http://a.test/é", 200)]


def test_what_is_cut_off_or_wrong_is_left_out() -> None:
    whole = HEAD + navigation("http://a.test/", 403) + navigation("http://b.test/", 200)
    first = len(HEAD + navigation("http://a.test/", 403))
    for end in range(len(whole)):
        assert len(navigations(whole[:end])) == (1 if end >= first else 0)
    assert navigations(b"") == navigations(b"SQLite format 3") == []
    assert navigations(HEAD + command(6, b"") + command(6, b"\xff" * 40) + navigation("http://a.test/", 200)) == [
        Shown(7, "http://a.test/", 200)
    ]
    assert navigations(HEAD + b"\0" * 64) == []
