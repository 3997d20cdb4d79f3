"""Heads of requests and answers: what is read from them and put into them."""

from __future__ import annotations

from typing import Any

import pytest

from cdpfetch.cdp.answers import as_attachment, origin, refresh_delay, request_headers, shortfall
from cdpfetch.cdp.landing import ResponseHead, Visit


def head(**headers: str) -> ResponseHead:
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return ResponseHead("http://x.example/a", 404, pairs, False)


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("http://x.example/a/b?c#d", "http://x.example"),
        ("https://x.example:8443?q", "https://x.example:8443"),
        ("http://[::1]:80#f", "http://[::1]:80"),
    ],
)
def test_origins(url: str, found: str) -> None:
    assert origin(url) == found


def asked(url: str, visit: Visit) -> dict[str, Any]:
    request: Any = {"url": url, "headers": {"Accept": "*/*", "x-quay": "south"}}
    merged = request_headers(request, visit, "http://x.example")
    return {field["name"]: field["value"] for field in merged.get("headers", ())}


def test_extra_headers_are_put_in_for_their_origin_only() -> None:
    visit = Visit(headers=(("X-Quay", "north"),), accept_language="de")
    assert asked("http://x.example/a", visit) == {"Accept": "*/*", "X-Quay": "north", "Accept-Language": "de"}
    assert asked("http://y.example/a", visit) == {"Accept": "*/*", "x-quay": "south", "Accept-Language": "de"}
    assert asked("http://x.example:81/a", Visit(headers=(("X-Quay", "north"),))) == {}
    assert asked("http://x.example/a", Visit(accept="text/markdown"))["Accept"] == "text/markdown"


def test_an_answer_becomes_an_attachment_with_a_good_status() -> None:
    fields = as_attachment(head(Content_Type="application/pdf", content_disposition="inline; filename=x"))
    assert fields["responseCode"] == 200
    assert fields["responseHeaders"] == [
        {"name": "Content-Type", "value": "application/pdf"},
        {"name": "Content-Disposition", "value": "attachment"},
    ]


@pytest.mark.parametrize(
    ("value", "delay"),
    [
        ("3; url=/next", 3.0),
        ("0.5;URL='/next'", 0.5),
        ("2, /next", 2.0),
        ("5", None),
        ("5;", None),
        ("soon; url=/x", None),
        ("; url=/x", 0.0),
    ],
)
def test_a_refresh_header(value: str, delay: float | None) -> None:
    assert refresh_delay(head(Refresh=value)) == delay
    assert refresh_delay(None) is None


def test_how_much_of_a_body_is_missing() -> None:
    assert shortfall(head(Content_Length="500"), 20) == " after 20 of the declared 500 bytes"
    assert shortfall(head(Content_Length="500", Content_Encoding="gzip"), 20) == ""
    assert shortfall(head(), 20) == ""
    assert shortfall(None, 20) == ""
