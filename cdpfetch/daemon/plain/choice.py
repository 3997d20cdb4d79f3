"""Whether what came without a browser will do, or a browser would bring more.  Pure."""

from __future__ import annotations

from cdpfetch.cdp.landing import Landing
from cdpfetch.daemon import verdicts
from cdpfetch.daemon.assembly import NEEDS_SCRIPTS, http_error
from cdpfetch.errors import CdpFetchError

# What a browser would be told just the same.
_FINAL = frozenset(
    {"blocked_address", "invalid_url", "unsupported_scheme", "too_large", "disk_full", "invalid_request"}
)


def is_final(error: CdpFetchError) -> bool:
    """Whether an error of the HTTP engine needs no second opinion."""
    return error.code in _FINAL


def unfit(landing: Landing, wanted: str) -> CdpFetchError | None:
    """Why a landing won't do for the URL ``wanted``: an error, a wall, a shell, little text, a part; None: it will."""
    head = landing.head
    if head is not None and head.status >= 400:
        return http_error(head)
    if landing.partial:
        return CdpFetchError("download_failed", landing.partial[0])
    if landing.capture is None:
        return None
    shell = next((text for code, text in landing.notes if code == NEEDS_SCRIPTS), None)
    verdict = verdicts.judge(head, landing.capture, wanted)
    if verdict.error is not None:
        return verdict.error
    if shell is not None or landing.capture.visible == 0:
        return CdpFetchError("no_content", (shell or "the page is empty").partition(";")[0])
    if verdict.warning is not None:
        return CdpFetchError("no_content", verdict.warning[1])
    return None
