"""The error types and their stable codes, shared by every layer.

A code is a contract: it appears on the wire, in ``--json`` and in ``metadata.json``,
and never changes its meaning.  The reason says what was seen, with figures; the hint
names the next command or setting.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CODES = frozenset(
    {
        "invalid_url",
        "unsupported_scheme",
        "blocked_address",
        "dns_failed",
        "connection_failed",
        "tls_failed",
        "timeout",
        "too_many_redirects",
        "http_error",
        "auth_required",
        "login_required",
        "challenge",
        "too_large",
        "no_content",
        "empty_response",
        "download_failed",
        "disk_full",
        "interactive_open",
        "browser_not_found",
        "browser_failed",
        "profile_in_use",
        "tab_crashed",
        "daemon_unavailable",
        "cancelled",
        "invalid_request",
        "config_error",
        "internal",
    }
)

# Exit statuses of the command (documented in its help).
EXIT_OK = 0
EXIT_SOME_FAILED = 1
EXIT_USAGE = 2
EXIT_UNAVAILABLE = 3
EXIT_INTERRUPTED = 130

# These codes mean that nothing could be fetched at all: no browser or no daemon.
UNAVAILABLE_CODES = frozenset({"browser_not_found", "daemon_unavailable"})
# These mean that the call itself was wrong.
USAGE_CODES = frozenset({"invalid_request", "config_error"})


class CdpFetchError(Exception):
    """Any failure that cdpfetch reports.

    Attributes:
        code: one of ``CODES``.
        reason: one sentence on what was seen.
        hint: the next command or setting to try, or None.
    """

    def __init__(self, code: str, reason: str, hint: str | None = None) -> None:
        if code not in CODES:
            raise ValueError(f"unknown error code {code!r}")
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.code}: {self.reason}" + (f" ({self.hint})" if self.hint else "")

    def to_json(self) -> dict[str, Any]:
        """The ``error`` object of ``--json``."""
        return {"code": self.code, "reason": self.reason, "hint": self.hint}


class FetchError(CdpFetchError):
    """A URL that could not be fetched.

    Attributes:
        attempts: the trail, a list of ``{"source", "code", "reason"}``.
        document: what was saved all the same (an error page), or None.
    """

    def __init__(
        self,
        code: str,
        reason: str,
        hint: str | None = None,
        *,
        attempts: list[dict[str, Any]] | None = None,
        document: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(code, reason, hint)
        self.attempts = attempts or []
        self.document = document


class ConfigError(CdpFetchError):
    """A setting that is unknown or has a bad value."""

    def __init__(self, reason: str, hint: str | None = None) -> None:
        super().__init__("config_error", reason, hint)


class InvalidRequest(CdpFetchError):
    """A call whose arguments can't be used."""

    def __init__(self, reason: str, hint: str | None = None) -> None:
        super().__init__("invalid_request", reason, hint)


class DaemonUnavailable(CdpFetchError):
    """The daemon could not be reached, started, or kept."""

    def __init__(self, reason: str, hint: str | None = None) -> None:
        super().__init__("daemon_unavailable", reason, hint)


def exit_status(codes: list[str | None]) -> int:
    """The command's exit status for the error codes of its URLs (None = that URL is ok).

    A call that was wrong as a whole (a bad setting, an ``-o`` that can't be written) is one of wrong usage.
    """
    failed = [code for code in codes if code is not None]
    if not failed:
        return EXIT_OK
    if any(code in UNAVAILABLE_CODES for code in failed):
        return EXIT_UNAVAILABLE
    return EXIT_USAGE if USAGE_CODES.issuperset(codes) else EXIT_SOME_FAILED
