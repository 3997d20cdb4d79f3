"""What Chrome says went wrong, in the public error codes: the one place where the two meet."""

from __future__ import annotations

import signal

from cdpfetch.cdp.errors import CallTimeout, CdpError, ConnectionClosed, LaunchError, SessionClosed
from cdpfetch.cdp.landing import (
    BadSelector,
    DownloadFailed,
    NavigationFailed,
    NavigationTimeout,
    PageTooLarge,
    ResponseHead,
)
from cdpfetch.errors import CdpFetchError

# net:: error names by the beginning of what follows "net::ERR_"; the longest match counts.
_NET = {
    "NAME_": ("dns_failed", "check the host name"),
    "DNS_": ("dns_failed", "check the host name"),
    "ICANN_NAME": ("dns_failed", None),
    "CERT_": ("tls_failed", "add --insecure to accept the certificate for this one call"),
    "CERT_AUTHORITY_INVALID": (
        "tls_failed",
        "add --insecure to accept it for this one call; where a proxy inspects TLS: README, Certificates",
    ),
    "SSL_": ("tls_failed", None),
    "BAD_SSL_": ("tls_failed", None),
    "ECH_": ("tls_failed", None),
    "TIMED_OUT": ("timeout", None),
    "CONNECTION_TIMED_OUT": ("timeout", "check that the host is reachable"),
    "TOO_MANY_REDIRECTS": ("too_many_redirects", None),
    "UNSAFE_REDIRECT": ("blocked_address", "the server redirects to a scheme that is not fetched"),
    "UNSAFE_PORT": ("blocked_address", None),
    "UNKNOWN_URL_SCHEME": ("unsupported_scheme", "only http and https are fetched"),
    "DISALLOWED_URL_SCHEME": ("unsupported_scheme", "only http and https are fetched"),
    "INVALID_URL": ("invalid_url", None),
    "EMPTY_RESPONSE": ("empty_response", None),
    "INVALID_AUTH_CREDENTIALS": ("auth_required", None),
    "UNEXPECTED_PROXY_AUTH": ("auth_required", None),
    "BLOCKED_BY_": ("blocked_address", None),
    "ACCESS_DENIED": ("blocked_address", None),
    "CONTENT_DECODING_": ("download_failed", "the server mislabels its content encoding"),
    "CONTENT_LENGTH_MISMATCH": ("download_failed", "the body was cut short"),
    "INCOMPLETE_CHUNKED_ENCODING": ("download_failed", "the body was cut short"),
    "FILE_NO_SPACE": ("disk_full", "free some space"),
    "": ("connection_failed", None),
}
_WORDS = {
    "ABORTED": "the navigation was broken off",
    "NAME_NOT_RESOLVED": "the host name does not resolve",
    "CONNECTION_REFUSED": "the connection was refused",
    "CONNECTION_RESET": "the connection was reset",
    "CONNECTION_CLOSED": "the connection was closed without an answer",
    "CONNECTION_TIMED_OUT": "the connection timed out",
    "EMPTY_RESPONSE": "the server closed the connection with an empty response",
    "ADDRESS_UNREACHABLE": "the address can't be reached",
    "INTERNET_DISCONNECTED": "there is no network",
    "CERT_AUTHORITY_INVALID": "the certificate is not signed by a known authority",
    "CERT_DATE_INVALID": "the certificate is not valid today",
    "CERT_COMMON_NAME_INVALID": "the certificate is for another host name",
    "TOO_MANY_REDIRECTS": "too many redirects",
    "UNSAFE_REDIRECT": "a redirect to a forbidden scheme was refused",
    "CONTENT_DECODING_FAILED": "the body could not be decoded as its Content-Encoding says",
    "CONTENT_LENGTH_MISMATCH": "the body is shorter than its declared length",
    "INCOMPLETE_CHUNKED_ENCODING": "the chunked body broke off before its end",
    "INVALID_AUTH_CREDENTIALS": "the server asks for a user name and a password (HTTP 401)",
    "UNKNOWN_URL_SCHEME": "the page leads to an application's scheme",
}

# What this package's own exceptions mean: the first class that fits counts.
_FAULTS: tuple[tuple[type[CdpError], str, str, str], ...] = (
    (BadSelector, "invalid_request", "{}", "give a CSS selector, as in: --wait-for '#results .row'"),
    (NavigationTimeout, "timeout", "{}", "raise fetch.navigation_timeout, or check that the site answers"),
    (PageTooLarge, "too_large", "{}", "raise the limit: cdpfetch config set fetch.max_bytes BYTES"),
    (DownloadFailed, "download_failed", "{}", "fetch it again"),
    (SessionClosed, "browser_failed", "the tab was closed during the fetch: {}", "fetch it again"),
    (ConnectionClosed, "browser_failed", "Chrome ended during the fetch: {}", "fetch it again"),
    (CallTimeout, "timeout", "Chrome did not answer: {}", "fetch it again; see: cdpfetch doctor"),
    (LaunchError, "browser_failed", "{}", "run: cdpfetch doctor"),
    (CdpError, "browser_failed", "{}", "fetch it again; see: cdpfetch logs"),
)


def net_error(name: str) -> CdpFetchError:
    """The public error for one of Chrome's ``net::ERR_`` names."""
    short = name.removeprefix("net::").removeprefix("ERR_")
    prefix = max((p for p in _NET if short.startswith(p)), key=len)
    code, hint = _NET[prefix]
    words = _WORDS.get(short)
    return CdpFetchError(code, f"{words} (net::ERR_{short})" if words else f"Chrome reports net::ERR_{short}", hint)


def public_error(error: Exception) -> CdpFetchError:
    """The public error for anything that a fetch can raise."""
    if isinstance(error, CdpFetchError):
        return error
    if isinstance(error, NavigationFailed):
        return net_error(error.error)
    if isinstance(error, SessionClosed) and error.kind == "crashed":
        return CdpFetchError(
            "tab_crashed", "the page crashed its renderer process", "the page may need too much memory"
        )
    for kind, code, words, hint in _FAULTS:
        if isinstance(error, kind):
            return CdpFetchError(code, words.format(error), hint)
    return CdpFetchError("internal", f"{type(error).__name__}: {error}", "see: cdpfetch logs")


def is_lost(error: BaseException | None) -> bool:
    """Whether a browser or a renderer was lost to something outside of the page: killed, or gone at its start.

    What the page itself may have done (a crash, all memory used up) is not that.
    """
    if isinstance(error, CdpFetchError):
        return error.code == "browser_failed" and is_lost(error.__cause__)
    if isinstance(error, LaunchError):
        return error.returncode == -signal.SIGKILL
    if isinstance(error, SessionClosed):
        return error.kind == "crashed" and error.detail == "killed"
    if isinstance(error, NavigationFailed):
        # What Chrome says when the renderer that was to take the document is killed; bodies that are none, downloads
        # and other schemes, of which it says the same, are told apart before.
        return error.error == "net::ERR_ABORTED"
    return isinstance(error, ConnectionClosed)


def head_of(error: Exception) -> ResponseHead | None:
    """The answer that an error came after, where there was one."""
    head = getattr(error, "head", None)
    return head if isinstance(head, ResponseHead) else None
