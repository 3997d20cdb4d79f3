"""What GitHub says when it says no, as errors of ours.  Pure: time is an argument."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus

from cdpfetch.errors import CdpFetchError
from cdpfetch.fetchers.github.markdown import line

TOKEN_HINT = "set GH_TOKEN, or github.token with `cdpfetch config set`"  # noqa: S105 - names, no token


class RateLimited(CdpFetchError):
    """The budget of requests is used up: no further request is worth a try before it is filled again."""


class NotFound(CdpFetchError):
    """There is nothing at that address, or nothing that may be seen (404)."""


def error_of(
    status: int, headers: Mapping[str, str], message: str, *, what: str, token: str | None, now: float
) -> CdpFetchError:
    """The error for an answer of 400 or more.

    ``what`` was asked for, ``message`` is what the answer says, ``token`` names where the token is from (None: there
    is none), ``now`` is in seconds since 1970.  Documented at docs.github.com/rest, "Rate limits" and
    "Troubleshooting": 403 or 429 with ``x-ratelimit-remaining: 0`` or ``retry-after``; 404 for what is private.
    """
    said = f": {line(message, 200)}" if message else ""
    if status in (403, 429) and _is_limited(headers, message):
        return _rate_limited(headers, said, token, now)
    reason = f"GitHub answered {status} {_phrase(status)} for {line(what, 200)}{said}"
    if status == 401:
        hint = f"renew the token in {token}" if token else TOKEN_HINT
        return CdpFetchError("auth_required", reason, hint)
    if status in (403, 404):
        seen = f"the token in {token} must be allowed to read it" if token else f"if it is private: {TOKEN_HINT}"
        return (NotFound if status == 404 else CdpFetchError)("http_error", reason, seen)
    return CdpFetchError("http_error", reason, "try again later" if status >= 500 else None)


def _is_limited(headers: Mapping[str, str], message: str) -> bool:
    return headers.get("x-ratelimit-remaining") == "0" or "retry-after" in headers or "rate limit" in message.lower()


def _rate_limited(headers: Mapping[str, str], said: str, token: str | None, now: float) -> RateLimited:
    retry, reset = _seconds(headers.get("retry-after")), _seconds(headers.get("x-ratelimit-reset"))
    end = now + retry if retry is not None else reset
    until = f"; try again after {_clock(end)}" if end is not None else ""
    if headers.get("x-ratelimit-remaining") == "0" and retry is None:
        limit = _seconds(headers.get("x-ratelimit-limit"))
        budget = f" of {limit} requests" if limit is not None else ""
        reason = f"GitHub's rate limit{budget} is used up{until}"
    else:
        reason = f"GitHub asks to slow down (its secondary rate limit){until}{said}"
    hint = f"{TOKEN_HINT}, for 5,000 requests an hour instead of 60" if token is None else "wait, or use another token"
    return RateLimited("http_error", reason, hint)


def _seconds(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) <= 11 else None


def _clock(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return "its reset"


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
