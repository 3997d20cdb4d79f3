"""Every way in which Chrome fails has its public code."""

from __future__ import annotations

import pytest

from cdpfetch.cdp.errors import CallTimeout, CdpError, ConnectionClosed, LaunchError, ProtocolError, SessionClosed
from cdpfetch.cdp.landing import DownloadFailed, NavigationFailed, NavigationTimeout, ResponseHead
from cdpfetch.daemon.faults import head_of, is_lost, net_error, public_error
from cdpfetch.errors import CdpFetchError

HEAD = ResponseHead("http://x.example/", 200, (), False)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("net::ERR_NAME_NOT_RESOLVED", "dns_failed"),
        ("net::ERR_DNS_TIMED_OUT", "dns_failed"),
        ("net::ERR_CERT_DATE_INVALID", "tls_failed"),
        ("net::ERR_SSL_PROTOCOL_ERROR", "tls_failed"),
        ("net::ERR_BAD_SSL_CLIENT_AUTH_CERT", "tls_failed"),
        ("net::ERR_TIMED_OUT", "timeout"),
        ("net::ERR_CONNECTION_TIMED_OUT", "timeout"),
        ("net::ERR_CONNECTION_REFUSED", "connection_failed"),
        ("net::ERR_CONNECTION_RESET", "connection_failed"),
        ("net::ERR_ADDRESS_UNREACHABLE", "connection_failed"),
        ("net::ERR_TOO_MANY_REDIRECTS", "too_many_redirects"),
        ("net::ERR_UNSAFE_REDIRECT", "blocked_address"),
        ("net::ERR_UNSAFE_PORT", "blocked_address"),
        ("net::ERR_EMPTY_RESPONSE", "empty_response"),
        ("net::ERR_INVALID_AUTH_CREDENTIALS", "auth_required"),
        ("net::ERR_CONTENT_DECODING_FAILED", "download_failed"),
        ("net::ERR_INCOMPLETE_CHUNKED_ENCODING", "download_failed"),
        ("net::ERR_UNKNOWN_URL_SCHEME", "unsupported_scheme"),
        ("net::ERR_FILE_NO_SPACE", "disk_full"),
        ("net::ERR_SOMETHING_NEW", "connection_failed"),
        ("", "connection_failed"),
    ],
)
def test_a_network_error_has_its_code_and_keeps_chromes_name(name: str, code: str) -> None:
    error = net_error(name)
    assert error.code == code
    assert name.removeprefix("net::") in error.reason


@pytest.mark.parametrize(
    ("raised", "code", "words"),
    [
        (NavigationFailed("net::ERR_CONNECTION_REFUSED", "http://x.example/"), "connection_failed", "refused"),
        (NavigationTimeout("page load", 15, "http://x.example/"), "timeout", "page load timed out after 15 s"),
        (DownloadFailed("closed after 10 bytes", HEAD), "download_failed", "closed after 10 bytes"),
        (SessionClosed("crashed", "oom"), "tab_crashed", "crashed"),
        (SessionClosed("closed"), "browser_failed", "closed"),
        (ConnectionClosed("the pipe was closed"), "browser_failed", "the pipe was closed"),
        (CallTimeout("Page.enable", 30), "timeout", "Page.enable: no answer within 30 s"),
        (LaunchError("Chrome did not come up: exit status 21"), "browser_failed", "exit status 21"),
        (ProtocolError("Page.enable", -32000, "no"), "browser_failed", "Page.enable: no"),
        (CdpError("anything"), "browser_failed", "anything"),
        (RuntimeError("a mistake"), "internal", "RuntimeError: a mistake"),
    ],
)
def test_what_a_fetch_raises_has_its_code(raised: Exception, code: str, words: str) -> None:
    error = public_error(raised)
    assert error.code == code
    assert words in error.reason
    assert error.hint or code == "connection_failed"


def test_a_public_error_stays_itself() -> None:
    error = CdpFetchError("too_large", "five gigabytes")
    assert public_error(error) is error


def test_the_answer_before_an_error_is_kept() -> None:
    assert head_of(DownloadFailed("x", HEAD)) is HEAD
    assert head_of(NavigationTimeout("x", 1, "http://x.example/")) is None
    assert head_of(RuntimeError("x")) is None


def caused(code: str, cause: Exception) -> CdpFetchError:
    """A public error with what was behind it."""
    error = CdpFetchError(code, "it failed")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (ConnectionClosed("killed by SIGKILL"), True),
        (SessionClosed("crashed", "killed"), True),
        (SessionClosed("crashed", "crashed"), False),
        (SessionClosed("crashed", "oom"), False),
        (SessionClosed("closed"), False),
        (LaunchError("Chrome did not come up", -9), True),
        (LaunchError("Chrome did not come up", 1), False),
        (NavigationFailed("net::ERR_ABORTED", "http://a.test/"), True),
        (NavigationFailed("net::ERR_CONNECTION_REFUSED", "http://a.test/"), False),
        (caused("browser_failed", LaunchError("Chrome did not come up", -9)), True),
        (caused("profile_in_use", LaunchError("Chrome did not come up", -9)), False),
        (CdpFetchError("browser_failed", "the daemon is stopping"), False),
        (CdpFetchError("interactive_open", "the window is open"), False),
        (TimeoutError(), False),
    ],
)
def test_what_was_lost_from_outside_may_be_tried_again(error: Exception, lost: bool) -> None:
    assert is_lost(error) is lost
