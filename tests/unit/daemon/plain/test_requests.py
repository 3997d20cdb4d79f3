"""What the HTTP engine sends."""

from __future__ import annotations

import pytest

from cdpfetch.cdp.landing import Visit
from cdpfetch.daemon.plain import requests
from cdpfetch.urls import parse_url

PLAIN = Visit()


def sent(url: str, visit: Visit = PLAIN, home: str | None = None, locale: str | None = None) -> dict[str, str]:
    parsed = parse_url(url)
    origin = "/".join(parsed.href.split("/")[:3])
    return dict(requests.headers(parsed, visit, origin if home is None else home, "141.0.7390.54", locale))


def test_the_headers_are_chromes() -> None:
    headers = sent("https://example.com/")
    assert list(headers)[:4] == ["Host", "Connection", "Upgrade-Insecure-Requests", "User-Agent"]
    assert "Chrome/141.0.0.0 Safari/537.36" in headers["User-Agent"]
    assert headers["Accept"].startswith("text/html,application/xhtml+xml,")
    assert headers["Accept-Language"] == "en-US,en;q=0.9"
    assert headers["Accept-Encoding"] == "gzip, deflate"
    assert not {"cookie", "authorization", "referer"} & {name.lower() for name in headers}


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://example.com/", "example.com"),
        ("https://example.com:8443/", "example.com:8443"),
        ("http://example.com:443/", "example.com:443"),
        ("http://[2001:db8::1]/", "[2001:db8::1]"),
        ("http://[2001:db8::1]:8080/", "[2001:db8::1]:8080"),
        ("http://bücher.example/", "xn--bcher-kva.example"),
    ],
)
def test_the_host_header(url: str, host: str) -> None:
    assert sent(url)["Host"] == host


def test_the_visits_headers_go_home_alone() -> None:
    visit = Visit(
        headers=(("X-Key", "kelp"), ("accept", "text/plain"), ("Accept-Encoding", "br")), accept_language="de"
    )
    home = sent("https://example.com/", visit)
    assert home["X-Key"] == "kelp"
    assert home["accept"] == "text/plain"
    assert "Accept" not in home
    assert home["Accept-Encoding"] == "gzip, deflate"
    assert home["Accept-Language"] == "de"
    away = sent("https://other.example/", visit, home="https://example.com")
    assert "X-Key" not in away
    assert away["Accept"].startswith("text/html")
    assert away["Accept-Language"] == "de"


def test_markdown_may_be_preferred() -> None:
    assert (
        sent("https://example.com/", Visit(accept="text/markdown, */*;q=0.8"))["Accept"] == "text/markdown, */*;q=0.8"
    )


@pytest.mark.parametrize(("locale", "languages"), [(None, "en-US,en;q=0.9"), ("de", "de"), ("de-AT", "de-AT,de;q=0.9")])
def test_the_languages_follow_the_locale(locale: str | None, languages: str) -> None:
    assert sent("https://example.com/", locale=locale)["Accept-Language"] == languages


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://example.com", b"/"),
        ("https://example.com?a=b", b"/?a=b"),
        ("https://example.com/a/../b;c?d|e=[f]'^{}`\"<>é%zz#g?h", b"/b;c?d|e=[f]%27^{}`%22%3C%3E%C3%A9%zz"),
    ],
)
def test_the_target_is_spelled_as_browsers_do(url: str, target: bytes) -> None:
    assert requests.target(parse_url(url)) == target
