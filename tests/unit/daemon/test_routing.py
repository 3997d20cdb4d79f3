"""What an answer becomes, by its headers; which redirects are followed; how large a file may be."""

from __future__ import annotations

import pytest

from cdpfetch.cdp.landing import ResponseHead, Route
from cdpfetch.daemon.lanes import PROFILE, Lanes
from cdpfetch.daemon.routing import (
    FetchRouter,
    RedirectStopped,
    charset,
    declared_length,
    essence,
    is_attachment,
    route,
)
from cdpfetch.errors import CdpFetchError
from cdpfetch.urls import parse_url

URL = "http://x.example/a"


def head(status: int = 200, /, **headers: str) -> ResponseHead:
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return ResponseHead(URL, status, pairs, False)


@pytest.mark.parametrize(
    ("value", "kind", "name"),
    [
        (None, None, None),
        ("", None, None),
        ("text/html", "text/html", None),
        ("Text/HTML; Charset=UTF-8", "text/html", "UTF-8"),
        (' text/html ; charset = "utf-8" ', "text/html", "utf-8"),
        ("text/html; charset='iso-8859-1'", "text/html", "iso-8859-1"),
        ("text/html; charset=", "text/html", None),
        ('"application/pdf"', "application/pdf", None),
        ("nonsense", None, None),
        ("nonsense, application/json", "application/json", None),
        ("a/b/c", None, None),
        ("text/plain; charset=utf-8, text/html", "text/plain", "utf-8, text/html"),
    ],
)
def test_a_content_type_is_read(value: str | None, kind: str | None, name: str | None) -> None:
    assert essence(value) == kind
    assert charset(value) == name


@pytest.mark.parametrize(
    ("value", "attached"),
    [
        (None, False),
        ("", False),
        ("inline", False),
        ('INLINE; filename="a"', False),
        ("attachment", True),
        ('Attachment; filename="a"', True),
        ("form-data", True),
        ('filename="a"', False),
    ],
)
def test_an_attachment_is_recognised(value: str | None, attached: bool) -> None:
    assert is_attachment(value) is attached


def test_a_declared_length_counts_only_where_it_is_the_files() -> None:
    assert declared_length(head(Content_Length="12")) == 12
    assert declared_length(head(Content_Length="12", Content_Encoding="gzip")) is None
    assert declared_length(head(Content_Length="twelve")) is None
    assert declared_length(head()) is None


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        (head(Content_Type="text/html"), "render"),
        (head(Content_Type="application/xhtml+xml"), "render"),
        (head(), "render"),
        (head(Content_Type="odd"), "render"),
        (head(404, Content_Type="text/html"), "render"),
        (head(Content_Type="text/html", Content_Disposition="attachment"), "download"),
        (head(Content_Type="application/pdf"), "download"),
        (head(Content_Type="application/json"), "download"),
        (head(Content_Type="text/plain"), "download"),
        (head(Content_Type="image/svg+xml"), "download"),
        (head(500, Content_Type="application/json"), "download"),
        (head(Content_Type="text/event-stream"), "stream"),
        (head(Content_Type="multipart/x-mixed-replace; boundary=x"), "stream"),
        (head(Content_Type="application/x-ndjson"), "stream"),
        (head(Content_Type="application/x-ndjson", Content_Length="10"), "download"),
    ],
)
def test_what_an_answer_becomes(answer: ResponseHead, action: str) -> None:
    decided = route(answer, 100)
    assert decided.action == action
    assert (decided.seconds > 0) is (action == "stream")


@pytest.mark.parametrize("status", [204, 205])
def test_a_status_without_a_body_is_said(status: int) -> None:
    with pytest.raises(CdpFetchError, match=f"the server answered {status}") as caught:
        route(head(status), 100)
    assert caught.value.code == "empty_response"


def test_a_file_over_the_limit_is_refused_before_its_first_byte() -> None:
    assert route(head(Content_Type="application/zip", Content_Length="100"), 100) == Route("download")
    with pytest.raises(CdpFetchError, match="declared size 5,000 bytes exceeds the limit of 100 bytes") as caught:
        route(head(Content_Type="application/zip", Content_Length="5000"), 100)
    assert caught.value.code == "too_large"
    assert caught.value.hint == "raise the limit: cdpfetch config set fetch.max_bytes 5000"


def router(**options: object) -> FetchRouter:
    url = parse_url(URL)
    return FetchRouter(Lanes(["127.0.0.1"], []), PROFILE, url, url, max_bytes=100, **options)  # type: ignore[arg-type]


def test_progress_is_passed_on_up_to_the_limit() -> None:
    seen: list[tuple[int, int]] = []
    watched = router(on_progress=lambda received, total: seen.append((received, total)))
    watched.progress(50, 100)
    watched.progress(100, 100)
    assert seen == [(50, 100), (100, 100)]
    with pytest.raises(CdpFetchError, match="received size 101 bytes"):
        watched.progress(101, 0)
    with pytest.raises(CdpFetchError, match="declared size 900 bytes"):
        watched.progress(1, 900)


@pytest.mark.parametrize(
    ("location", "same"),
    [
        ("/other", True),
        ("https://x.example/", True),
        ("//www.x.example/a", True),
        ("http://y.example/", False),
        ("//y.example/", False),
        ("http://x.example:8080/", False),
        ("\\\\y.example\\x", False),
    ],
)
def test_redirects_to_another_host_are_stopped_when_asked(location: str, same: bool) -> None:
    router().redirected(head(302), location)
    limited = router(redirects="same-host")
    if same:
        limited.redirected(head(302), location)
        return
    with pytest.raises(RedirectStopped, match="redirects \\(302\\) to another host") as caught:
        limited.redirected(head(302), location)
    assert caught.value.status == 302
    assert caught.value.target.startswith("http://")


async def test_an_address_that_a_server_leads_to_may_be_long() -> None:
    await router().judge("http://127.0.0.1/?state=" + "x" * 20_000)
    with pytest.raises(CdpFetchError, match="more than 65536"):
        await router().judge("http://127.0.0.1/?state=" + "x" * 70_000)
    with pytest.raises(CdpFetchError, match="user name or password"):
        await router().judge("http://me:pw@127.0.0.1/")
    with pytest.raises(CdpFetchError) as caught:
        await router().judge("chrome://version")
    assert caught.value.code == "unsupported_scheme"
