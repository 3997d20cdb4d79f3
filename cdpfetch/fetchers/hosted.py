"""What hosted services share: which URLs never leave for them, and how what they return becomes a document."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from cdpfetch import addresses, artifacts, invisible, outline
from cdpfetch.errors import CdpFetchError
from cdpfetch.fetchers.contract import Call, Request
from cdpfetch.fetchers.reach import stays_local, within
from cdpfetch.policy import Policy, is_private
from cdpfetch.resolver import Resolve, Resolver
from cdpfetch.urls import parse_url

if TYPE_CHECKING:
    from cdpfetch.httpclient import Client

# The most that a service's answer may have (bytes), decoded.
MAX_ANSWER = 33_554_432
_RESOLVE_SECONDS = 2.0
# Options that only the browser follows, beside those of contract.LOCAL_ONLY, and what they are by default.
_UNSERVED: dict[str, Any] = {"accept_language": "", "allow": [], "extractor": "auto", "redirects": "follow"}
_FORMATS = (None, "markdown", "text")
# Titles of bot walls and refusals, which services pass on as if they were the page.
_WALLS = (
    "just a moment",
    "attention required! | cloudflare",
    "access denied",
    "verifying you are human",
    "are you a robot",
    "security check",
    "403 forbidden",
    "429 too many requests",
)


class Content(NamedTuple):
    """What a service returned for one URL."""

    text: str  # Markdown
    title: str | None = None
    link: str | None = None
    facts: tuple[str, ...] = ()
    highlights: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def refusal(request: Request, call: Call) -> str | None:
    """Why a URL must not be told to anybody else, or None.  Names are not resolved here."""
    if any(call.options.get(name, usual) not in (None, usual) for name, usual in _UNSERVED.items()):
        return "an option is for the browser"
    if call.options.get("format") not in _FORMATS:
        return "the format is for the browser"
    try:
        url = parse_url(request.href)
    except CdpFetchError as error:
        return error.reason
    if "#" in request.href:
        return "the address is a route within an application"
    settings = call.config
    if is_private(url) or not _outside(call).judge_host(url).allowed:
        return "the address is private, denied, or one that only you may reach"
    if settings.github.api_url and url.host == parse_url(settings.github.api_url).host:
        return "the host is that of your GitHub"
    stays = stays_local(url, settings)
    if stays:
        return stays
    sites = _sites(call.home.sessions)
    if sites is None:
        return "the record of sessions can't be read"
    if any(within(url.host, site) for site in (*sites, *settings.fetch.profile_sites)):
        return "the browser has a session for the site"
    return None


def _outside(call: Call) -> Policy:
    """What the public may reach, less what the settings open to the user alone."""
    return Policy((), (*call.config.network.deny, *call.config.network.allow))


def _sites(path: str) -> tuple[str, ...] | None:
    """The sites with a session, as the daemon recorded them; None, for which nothing is risked, if unreadable."""
    try:
        with open(path, encoding="utf-8") as file:
            return tuple(str(site) for site in json.load(file)["sites"])
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, TypeError, KeyError):
        return None


async def require_public(request: Request, call: Call, lookup: Resolve | None = None) -> None:
    """Raises CdpFetchError (``blocked_address``) for a name that leads to a private address here.

    One that does not resolve belongs to no private network, as far as can be told.  ``lookup`` is for tests.
    """
    url = parse_url(request.href)
    if addresses.parse(url.host) is not None:
        return  # the host itself was judged
    resolver = Resolver(lookup, limit=_RESOLVE_SECONDS)
    try:
        found = await resolver.resolve(url.host)
    except CdpFetchError:
        return
    finally:
        await resolver.close()
    if not _outside(call).judge_addresses(url, found).allowed:
        raise CdpFetchError("blocked_address", f"{url.host} is at a private address here, so it is not told to others")


async def only_public(
    requests: Sequence[Request],
    call: Call,
    deliver: Callable[[Request, dict[str, Any] | CdpFetchError], None],
    lookup: Resolve | None,
) -> list[Request]:
    """The requests that may be told to others; the rest is delivered as refused."""

    async def one(request: Request) -> Request | None:
        try:
            await require_public(request, call, lookup)
        except CdpFetchError as error:
            deliver(request, error)
            return None
        call.on_status(request, {"event": "status", "stage": "started"})
        return request

    judged = await asyncio.gather(*map(one, requests))
    return [request for request in judged if request is not None]


def open_service(call: Call, base_url: str, secrets: dict[str, str]) -> Client:
    """A client of a service, within the time of the call."""
    from cdpfetch.httpclient import open_client  # loads httpx, which a call that asks no service does without

    return open_client(
        call.config,
        base_url=base_url,
        secrets=secrets,
        timeout=float(call.options.get("deadline") or call.config.fetch.deadline),
        max_bytes=min(MAX_ANSWER, call.config.fetch.max_bytes),
        environ=call.environ,
    )


async def write(request: Request, call: Call, source: str, content: Content) -> dict[str, Any]:
    """The committed document of what a service returned.

    Raises CdpFetchError: ``no_content``, ``challenge`` for a wall that was passed on as a page, ``disk_full``.
    """
    text, removed = invisible.clean(content.text.replace("\r\n", "\n").strip("\n"))
    title = _line(content.title or "", 500) or None
    if not text.strip():
        raise CdpFetchError("no_content", "the service returned no text")
    if title is not None and title.lower().startswith(_WALLS) and len(text) < 5000:
        raise CdpFetchError("challenge", f"the service met a wall: {title[:100]!r}")
    data = (text + "\n").encode("utf-8", "replace")
    document = artifacts.new_document(request.url)
    document.update(
        ok=True,
        kind=f"{source}.page",
        source=source,
        link=_link(content.link, request),
        title=title,
        facts=[*(_line(fact, 80) for fact in content.facts), f"by {source}"],
        excerpt=outline.excerpt(text),
        outline=outline.outline(text),
        status=200,
        content_type="text/markdown",
        bytes=len(data),
        sha256=sha256(data).hexdigest(),
        warnings=[{"code": "source_warning", "message": _line(message, 300)} for message in content.warnings],
    )
    if removed:
        message = f"{removed} invisible characters were removed"
        document["warnings"].append({"code": "invisible_characters", "message": message})
    return await asyncio.to_thread(_commit, document, call, data, content.highlights)


def _line(text: str, limit: int) -> str:
    """A service's word on one line, without what nobody sees, and of sane length."""
    return " ".join(invisible.clean(text[:limit])[0].split())


def _commit(document: dict[str, Any], call: Call, data: bytes, highlights: tuple[str, ...]) -> dict[str, Any]:
    min_free = int(call.config.artifacts.min_free_mb * 1_000_000)
    with artifacts.Draft(call.root, artifacts.new_fetch_id(document["url"]), min_free) as draft:
        draft.write("content.md", "content", data, "text/markdown")
        if highlights:
            text = "\n\n---\n\n".join(invisible.clean(part)[0].strip() for part in highlights) + "\n"
            draft.write("highlights.md", "content", text, "text/markdown")
        return draft.commit(document, index_root=call.home.artifacts)


def _link(link: str | None, request: Request) -> str:
    """The final address that a service names, when it is one."""
    try:
        return parse_url(link).href if link else request.href
    except CdpFetchError:
        return request.href


def api_key(call: Call, variable: str, setting: str | None) -> str | None:
    """A key: from the environment first, then from the settings."""
    return call.environ.get(variable) or setting or None


def service_error(service: str, status: int, message: str, retry_after: str | None, key_hint: str) -> CdpFetchError:
    """The error for what a service itself answered, other than 200; ``message`` is its own word."""
    words = f": {' '.join(message.split())[:200]}" if message.strip() else ""
    if status in (401, 402, 403):
        return CdpFetchError("auth_required", f"{service} answered {status}{words}", key_hint)
    if status == 429:
        wait = f"; it may be asked again in {retry_after} s" if retry_after and retry_after.isdigit() else ""
        return CdpFetchError("http_error", f"{service} answered 429, too many requests{wait}", key_hint)
    return CdpFetchError("http_error", f"{service} answered {status}{words}", "the next source is asked")
