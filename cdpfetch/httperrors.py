"""What httpx and httpcore raise, as errors of ours."""

from __future__ import annotations

import contextlib
import os
import ssl
from collections.abc import Iterator

import httpcore
import httpx

from cdpfetch.errors import CdpFetchError

MAX_REDIRECTS = 10
_TIMEOUTS = (httpcore.TimeoutException, httpx.TimeoutException, TimeoutError)
_CONNECTING = (httpcore.ConnectError, httpx.ConnectError)
_PROXY = (httpcore.ProxyError, httpx.ProxyError)
_UNSUPPORTED = (httpcore.UnsupportedProtocol, httpx.UnsupportedProtocol, httpx.InvalidURL)
_BROKEN = (httpcore.NetworkError, httpcore.ProtocolError, httpx.HTTPError, OSError)
_ALL = (*_TIMEOUTS, *_PROXY, *_UNSUPPORTED, *_BROKEN)


@contextlib.contextmanager
def reported(host: str, *, reading: bool = False) -> Iterator[None]:
    """Turn the libraries' exceptions into CdpFetchError; ``host`` is whom the request was to.

    ``reading``: the response has begun, so that an end of the connection is a broken download.
    """
    try:
        yield
    except _ALL as error:
        raise error_of(error, host, reading=reading) from error


def error_of(error: Exception, host: str, *, reading: bool = False) -> CdpFetchError:
    """The error for an exception of httpx or httpcore.  Its reason holds no header and no query."""
    if isinstance(error, httpx.TooManyRedirects):
        return CdpFetchError("too_many_redirects", f"{host} redirects more than {MAX_REDIRECTS} times")
    if isinstance(error, httpx.DecodingError):
        return CdpFetchError("download_failed", f"{host} sent a body that its content-encoding does not decode")
    if isinstance(error, _UNSUPPORTED):
        return CdpFetchError("unsupported_scheme", f"{host}: {error}", "only http and https are fetched")
    if isinstance(error, _TIMEOUTS):
        what = "stopped sending" if reading else "did not answer in time"
        return CdpFetchError("timeout", f"{host} {what}", "try again, or check that the service is up")
    if isinstance(error, _PROXY):
        return CdpFetchError("connection_failed", f"the proxy refused to connect to {host}: {error}", "check the proxy")
    return _broken(error, host, reading)


def too_large(host: str, size: int, limit: int) -> CdpFetchError:
    """The error for a body over a limit (bytes)."""
    return CdpFetchError("too_large", f"{host} sent {size:,} bytes or more, over the limit of {limit:,} bytes")


def _broken(error: Exception, host: str, reading: bool) -> CdpFetchError:
    """The error for a connection that did not come about or did not last."""
    cause = _cause(error)
    if isinstance(cause, ssl.SSLError):
        words = getattr(cause, "verify_message", None) or cause.reason or str(cause)
        hint = "where a proxy inspects TLS, name its authority: network.ca_bundle, or SSL_CERT_FILE"
        return CdpFetchError("tls_failed", f"{host}: {words}", hint)
    number = getattr(cause, "errno", None)
    words = os.strerror(number) if number else str(error).strip() or type(error).__name__
    if isinstance(error, _CONNECTING):
        return CdpFetchError("connection_failed", f"cannot connect to {host}: {words}", "check that the service is up")
    if reading:
        return CdpFetchError("download_failed", f"{host} broke off: {words}", "try again")
    return CdpFetchError("connection_failed", f"{host} ended the connection: {words}", "try again")


def _cause(error: BaseException) -> BaseException:
    """The innermost TLS or system error behind an exception, or the exception itself."""
    found = error
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and (seen.errno or found is error):  # ssl.SSLError is one
            found = seen
        seen = seen.__cause__ or seen.__context__
        if isinstance(seen, BaseExceptionGroup):
            seen = seen.exceptions[0]
    return found
