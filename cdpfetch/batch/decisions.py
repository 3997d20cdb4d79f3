"""What becomes of an outcome: it is final, is tried again later, or ends the run.  Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

# Failures that may pass.
TRANSIENT = frozenset(
    {
        "timeout", "dns_failed", "connection_failed", "download_failed",
        "browser_failed", "tab_crashed", "daemon_unavailable", "cancelled", "interactive_open",
    }
)  # fmt: skip
STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
# These are not the URL's fault: they count for less, and these end the run at once.
_OURS = frozenset({"browser_failed", "daemon_unavailable", "cancelled"})
_EXTRA = 5
HALTING = frozenset({"disk_full", "browser_not_found", "config_error", "profile_in_use", "invalid_request"})
_FIRST, _MOST = 2.0, 300.0  # seconds before the first further try, and before any
_WINDOW_PAUSE = 5.0
_RETRY_AFTER = re.compile(r"Retry-After: (.{1,60})$")


class Decision(NamedTuple):
    """``again``: seconds until the next try (None: the outcome is final); ``pause``: seconds for the whole host."""

    again: float | None = None
    pause: float = 0.0
    counts: bool = True  # whether the try is one of those that ``retries`` bounds
    halt: bool = False  # the run can't go on; the URL stays pending


def decide(document: Mapping[str, Any], tries: int, retries: int, now: float, chance: float) -> Decision:
    """The decision on a document, the ``tries``-th (from 1) of its URL.

    ``now`` is seconds since the epoch, for dates in ``Retry-After``; ``chance`` (0 to 1) spreads the pauses.
    """
    error = document["error"]
    if error is None:
        return Decision()
    code = error["code"]
    if code in HALTING:
        return Decision(halt=True)
    if code == "interactive_open":
        return Decision(again=_WINDOW_PAUSE, counts=False)
    if code not in TRANSIENT and not (code == "http_error" and document["status"] in STATUSES):
        return Decision()
    asked = retry_after(error, now)
    if tries > retries + (_EXTRA if code in _OURS else 0):
        return Decision(pause=asked or 0.0)
    backoff = min(_MOST, _FIRST * 2.0 ** min(tries - 1, 20)) * (0.5 + chance)
    return Decision(again=max(backoff, asked or 0.0), pause=asked or 0.0)


def retry_after(error: Mapping[str, Any], now: float) -> float | None:
    """Seconds that a server asked for (RFC 9110, 10.2.3), as the hint of an error tells; None: it did not."""
    match = _RETRY_AFTER.search(error.get("hint") or "")
    if match is None:
        return None
    value = match[1].strip()
    if value.isdigit():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, OverflowError):
        return None
