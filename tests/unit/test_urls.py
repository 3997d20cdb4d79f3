"""URLs are parsed as browsers parse them, and what is no fetchable URL is refused with its reason."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cdpfetch.errors import CdpFetchError
from cdpfetch.urls import MAX_URL, Url, parse_url, same_host


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://example.com", Url("http://example.com/", "http", "example.com", 80, "/")),
        ("HTTPS://EXAMPLE.com:443/A?b#c", Url("https://example.com/A?b#c", "https", "example.com", 443, "/A")),
        ("example.com/x", Url("https://example.com/x", "https", "example.com", 443, "/x")),
        ("example.com:8080/x", Url("https://example.com:8080/x", "https", "example.com", 8080, "/x")),
        ("localhost:3000", Url("https://localhost:3000/", "https", "localhost", 3000, "/")),
        ("[::1]:3000/a", Url("https://[::1]:3000/a", "https", "::1", 3000, "/a")),
        ("  http://example.com/\n", Url("http://example.com/", "http", "example.com", 80, "/")),
        ("http://example.com./", Url("http://example.com./", "http", "example.com", 80, "/")),
        ("http:\\\\127.0.0.1\\x", Url("http://127.0.0.1/x", "http", "127.0.0.1", 80, "/x")),
        ("http:/127.0.0.1/", Url("http://127.0.0.1/", "http", "127.0.0.1", 80, "/")),
        ("http://0x7f.1/", Url("http://127.0.0.1/", "http", "127.0.0.1", 80, "/")),
        (
            "http://127.0.0.1\\@example.com/",
            Url("http://127.0.0.1/@example.com/", "http", "127.0.0.1", 80, "/@example.com/"),
        ),
        ("http://日本.jp/ü", Url("http://xn--wgv71a.jp/%C3%BC", "http", "xn--wgv71a.jp", 80, "/%C3%BC")),
        ("http://a_b.example.com/a b", Url("http://a_b.example.com/a%20b", "http", "a_b.example.com", 80, "/a%20b")),
    ],
)
def test_a_url_is_read_as_a_browser_reads_it(text: str, url: Url) -> None:
    assert parse_url(text) == url


@pytest.mark.parametrize(
    ("text", "code", "reason"),
    [
        ("", "invalid_url", "the URL is empty"),
        (" \n", "invalid_url", "the URL is empty"),
        ("HTTPS", "invalid_url", "'HTTPS' has no scheme and no host name"),
        ("/etc/passwd", "invalid_url", "'/etc/passwd' has no scheme and no host name"),
        ("//example.com/", "invalid_url", "'//example.com/' has no scheme and no host name"),
        ("file:///etc/passwd", "unsupported_scheme", "'file:///etc/passwd' has the scheme 'file'"),
        (
            "View-Source:http://x.example/",
            "unsupported_scheme",
            "'View-Source:http://x.example/' has the scheme 'view-source'",
        ),
        ("mailto:someone@x.example", "unsupported_scheme", "'mailto:someone@x.example' has the scheme 'mailto'"),
        ("javascript:alert(1)", "unsupported_scheme", "'javascript:alert(1)' has the scheme 'javascript'"),
        ("ws://x.example/", "unsupported_scheme", "'ws://x.example/' has the scheme 'ws'"),
        ("http://", "invalid_url", "'http://' is not a valid URL"),
        ("http://x.example:65536/", "invalid_url", "'http://x.example:65536/' is not a valid URL"),
        ("http://[[::1]]/", "invalid_url", "'http://[[::1]]/' is not a valid URL"),
        ("http://\ud800/", "invalid_url", "'http://\\ud800/' is not a valid URL"),
        ("http://me:pw@x.example/a", "invalid_url", "the URL of http://x.example carries a user name or password"),
        ("http://me:pw@x.example:99999/", "invalid_url", "'http://…@x.example:99999/' is not a valid URL"),
        ("http://x.example/\ta", "invalid_url", "'http://x.example/\\ta' has control characters"),
        ("ht\ntp://x.example/", "invalid_url", "'ht\\ntp://x.example/' has control characters"),
        ("http://x.example/\x1b[31m", "invalid_url", "'http://x.example/\\x1b[31m' has control characters"),
        ("http://./", "invalid_url", "'http://./' has a host name of 0 characters"),
        ("http://a..b/", "invalid_url", "'http://a..b/' has the label '' in its host name"),
        ("http://xn--/", "invalid_url", "'http://xn--/' has the label 'xn--' in its host name"),
    ],
)
def test_what_is_refused_says_why(text: str, code: str, reason: str) -> None:
    with pytest.raises(CdpFetchError) as caught:
        parse_url(text)
    assert (caught.value.code, caught.value.reason) == (code, reason)


def test_the_limits() -> None:
    longest = "http://example.com/" + "a" * (MAX_URL - 19)
    assert parse_url(longest).href == longest
    with pytest.raises(CdpFetchError, match="the URL has 2049 characters, more than 2048"):
        parse_url(longest + "a")
    assert parse_url(longest + "a", max_length=4096).href == longest + "a"
    assert parse_url(f"http://{'a' * 63}.com/").host == "a" * 63 + ".com"
    with pytest.raises(CdpFetchError, match="a label has 1 to 63 characters"):
        parse_url(f"http://{'a' * 64}.com/")
    with pytest.raises(CdpFetchError, match="a host name of 255 characters"):
        parse_url("http://" + "a." * 126 + "com/")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("http://example.com/a", "http://example.com/b", True),
        ("http://example.com/", "https://example.com/", True),
        ("http://example.com/", "https://www.example.com/", True),
        ("http://www.example.com/", "http://example.com/", True),
        ("http://example.com:8080/", "http://example.com:8080/", True),
        ("http://example.com:8080/", "http://example.com/", False),
        ("http://example.com:8080/", "https://example.com/", False),
        ("http://example.com/", "http://a.example.com/", False),
        ("http://example.com./", "http://example.com/", True),
        ("http://127.0.0.1:81/", "http://127.0.0.1:82/", False),
    ],
)
def test_the_same_host(one: str, other: str, same: bool) -> None:
    assert same_host(parse_url(one), parse_url(other)) is same
    assert same_host(parse_url(other), parse_url(one)) is same


@settings(deadline=None)  # a loaded machine is no defect
@given(st.one_of(st.text(max_size=60), st.text(max_size=60).map("http://".__add__)))
@example("http://[::ffff:127.0.0.1]:0/")
def test_any_text_is_a_url_or_a_coded_error(text: str) -> None:
    try:
        url = parse_url(text)
    except CdpFetchError as error:
        assert error.code in ("invalid_url", "unsupported_scheme")
        assert "\n" not in error.reason
    else:
        assert url.scheme in ("http", "https")
        assert url.href.isascii()
        assert url.host.isascii()
        assert 0 <= url.port < 65536
        assert parse_url(url.href) == url
