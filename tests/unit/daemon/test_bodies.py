"""Bodies that are put right: undeclared UTF-8, endless multipart answers; and the options of a fetch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdpfetch.config import Config
from cdpfetch.daemon.mojibake import repair
from cdpfetch.daemon.multipart import Part, first_part
from cdpfetch.daemon.options import FetchOptions, check_headers
from cdpfetch.errors import InvalidRequest

# What the WHATWG decoder makes of the five bytes that Python's codec leaves out.
_HOLES = {byte: chr(byte) for byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D)}


def as_windows_1252(data: bytes) -> str:
    return "".join(_HOLES.get(byte) or bytes([byte]).decode("cp1252") for byte in data)


@given(st.text())
def test_utf8_read_as_windows_1252_comes_back(text: str) -> None:
    data = text.encode("utf-8", "replace")
    assert repair(as_windows_1252(data)) == data.decode("utf-8")


@pytest.mark.parametrize("text", ["Größe, façade", "naïve – “quoted”", "½ price é", "plain", ""])
def test_real_windows_1252_is_left_alone(text: str) -> None:
    assert repair(text) == text


def test_one_run_that_is_no_utf8_decides_for_all() -> None:
    assert repair(as_windows_1252("Größe".encode()) + " façade") == "GrÃ¶ÃŸe façade"


@pytest.mark.parametrize(
    ("kind", "data", "part"),
    [
        (
            "multipart/x-mixed-replace; boundary=frame",
            b"--frame\r\nContent-Type: image/png\r\n\r\nONE\r\n--frame\r\nContent-Type: image/png\r\n\r\nTWO",
            Part("image/png", b"ONE"),
        ),
        (
            'multipart/x-mixed-replace;boundary="--odd one"',
            b"noise\r\n--odd one\nContent-Length: 3\n\n1\n2 and more",
            Part(None, b"1\n2"),
        ),
        ("multipart/x-mixed-replace; boundary=a", b"--a\r\nContent-Type: text/plain\r\n\r\nunfinished", None),
        ("multipart/x-mixed-replace", b"--a\r\n\r\nx\r\n--a", None),
        ("multipart/x-mixed-replace; boundary=a", b"", None),
    ],
)
def test_the_first_part_of_an_endless_answer(kind: str, data: bytes, part: Part | None) -> None:
    assert first_part(data, kind) == part


def test_headers_that_may_be_sent() -> None:
    assert check_headers({"X-Quay": "north", "Authorization": "Bearer x"}) == (
        ("X-Quay", "north"),
        ("Authorization", "Bearer x"),
    )


@pytest.mark.parametrize(
    "headers",
    [{"Host": "x"}, {"sec-fetch-mode": "x"}, {"Cookie": "a=b"}, {"X Y": "1"}, {"X": "a\r\nB: c"}, {"X": 5}, {"": "x"}],
)
def test_headers_that_may_not(headers: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest):
        check_headers(headers)


def test_options_have_the_settings_for_what_is_not_named() -> None:
    options = FetchOptions.parse({"url": "http://x/", "downloadDir": "/d"}, Config())
    assert (options.deadline, options.format, options.visit.insecure) == (60.0, "markdown", False)


@pytest.mark.parametrize(
    "fields", [{"deadline": 0}, {"deadline": 1e9}, {"allow": [1]}, {"acceptLanguage": "de\r\nX: y"}]
)
def test_options_that_cannot_be(fields: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest):
        FetchOptions.parse({"url": "http://x/", "downloadDir": "/d", **fields}, Config())
