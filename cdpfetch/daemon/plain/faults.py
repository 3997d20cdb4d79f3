"""What httpcore says went wrong, in the public error codes."""

from __future__ import annotations

import ssl

import httpcore

from cdpfetch.errors import CdpFetchError

HTTP_ERRORS = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError, httpcore.TimeoutException, OSError)
_INSECURE = "add --insecure to accept the certificate for this one call"
# OpenSSL's verify_code -> words.
_CERTIFICATE = {
    10: "the certificate is not valid today",
    9: "the certificate is not valid today",
    18: "the certificate is not signed by a known authority",
    19: "the certificate is not signed by a known authority",
    20: "the certificate is not signed by a known authority",
    21: "the certificate is not signed by a known authority",
    62: "the certificate is for another host name",
    64: "the certificate is for another host name",
}


def public_error(error: Exception, host: str) -> CdpFetchError:
    """The public error for one of HTTP_ERRORS: a request that brought no answer."""
    fault = _tls_fault(error)
    if isinstance(fault, ssl.SSLCertVerificationError):
        words = _CERTIFICATE.get(fault.verify_code, "the certificate does not verify")
        return CdpFetchError("tls_failed", f"{words} ({fault.verify_message})", _INSECURE)
    if fault is not None:
        return CdpFetchError("tls_failed", f"{host}: TLS failed: {fault.reason or fault}")
    if isinstance(error, httpcore.TimeoutException):
        return CdpFetchError("timeout", f"{host} did not answer in time", "check that the host is reachable")
    if isinstance(error, httpcore.RemoteProtocolError):
        if "without sending a response" in str(error):
            return CdpFetchError("empty_response", "the server closed the connection with an empty response")
        return CdpFetchError("connection_failed", f"{host} does not speak HTTP: {_line(error)}")
    return CdpFetchError("connection_failed", f"{host}: {_line(error) or 'the connection failed'}")


def _tls_fault(error: BaseException | None) -> ssl.SSLError | None:
    """The TLS error that an exception stands for, if any."""
    for _ in range(8):
        if isinstance(error, ssl.SSLError):
            return error
        if error is None:
            break
        error = error.__cause__ or error.__context__
    return None


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
