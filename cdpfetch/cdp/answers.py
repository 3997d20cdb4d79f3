"""Reading and rewriting the heads of requests and answers; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cdpfetch.cdp.landing import ResponseHead, Visit

if TYPE_CHECKING:
    from cdp_use.cdp.network.types import Request


def origin(url: str) -> str:
    """Scheme, host and port of an absolute http(s) URL as Chrome writes it."""
    scheme, _, rest = url.partition("://")
    for mark in "/?#":
        rest = rest.partition(mark)[0]
    return f"{scheme}://{rest}"


def request_headers(request: Request, visit: Visit, home: str) -> dict[str, Any]:
    """The request's headers with the visit's in them, as a command's field; empty when there are none to put in.

    The visit's own headers go to the origin ``home`` alone: on the way elsewhere they would be told to strangers.
    """
    ours = dict(visit.headers) if origin(request["url"]) == home else {}
    if visit.accept_language is not None:
        ours.setdefault("Accept-Language", visit.accept_language)
    if visit.accept is not None:
        ours.setdefault("Accept", visit.accept)
    if not ours:
        return {}
    replaced = {name.lower() for name in ours}
    kept = {name: value for name, value in request.get("headers", {}).items() if name.lower() not in replaced}
    return {"headers": [{"name": name, "value": value} for name, value in {**kept, **ours}.items()]}


def as_attachment(head: ResponseHead) -> dict[str, Any]:
    """The fields of ``Fetch.continueResponse`` that make Chrome save an answer by itself, whatever it is.

    No byte of it crosses the pipe then.  Chrome refuses to save the body of an error, so the status that it
    sees is a good one.
    """
    kept = [{"name": name, "value": value} for name, value in head.headers if name.lower() != "content-disposition"]
    kept.append({"name": "Content-Disposition", "value": "attachment"})
    return {"responseCode": 200, "responsePhrase": "OK", "responseHeaders": kept}


def refresh_delay(head: ResponseHead | None) -> float | None:
    """Seconds after which a ``Refresh`` header leads to another address, or None."""
    value = head.header("refresh") if head is not None else None
    delay, _, target = (value or "").replace(",", ";", 1).partition(";")
    if not target.strip():
        return None
    try:
        return float(delay.strip() or 0)
    except ValueError:
        return None


def shortfall(head: ResponseHead | None, received: int) -> str:
    """How much of a body came and how much was declared, as a phrase; empty where the two can't be compared."""
    declared = head.header("content-length") if head is not None else None
    if head is None or declared is None or head.header("content-encoding"):
        return ""
    return f" after {received} of the declared {declared} bytes"
