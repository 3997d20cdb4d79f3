"""A batch of GitHub URLs: one client, each URL's loader, and its document on disk."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from cdpfetch import artifacts, httpclient
from cdpfetch.errors import CdpFetchError
from cdpfetch.fetchers.contract import Call, Request
from cdpfetch.fetchers.github import token, writing
from cdpfetch.fetchers.github.api import Api, Shared
from cdpfetch.fetchers.github.hosts import hosts_of
from cdpfetch.fetchers.github.load import LOADERS
from cdpfetch.fetchers.github.shapes import parse
from cdpfetch.fetchers.github.work import Work

# Requests under way at once (GitHub counts more against a secondary limit), and URLs.
REQUESTS_AT_ONCE = 8
_URLS_AT_ONCE = 8
# Seconds of silence within an answer.
_READ_SECONDS = 15.0

log = logging.getLogger(__name__)

Deliver = Callable[[Request, dict[str, Any] | CdpFetchError], None]


async def serve(requests: Sequence[Request], call: Call, deliver: Deliver) -> None:
    """Fetch requests at once and deliver each, once.  Raises CdpFetchError for what fails all of them."""
    hosts = hosts_of(call.config.github.api_url)
    found = await token.find(hosts, call.config, call.environ)
    http = httpclient.open_client(
        call.config,
        base_url=hosts.api,
        secrets={"authorization": f"Bearer {found.value}"} if found else None,
        trust_hosts=hosts.service(),
        timeout=_READ_SECONDS,
        allow=call.options.get("allow") or (),
        environ=call.environ,
    )
    async with http:
        gate = asyncio.Semaphore(REQUESTS_AT_ONCE)
        shared = Shared(http, hosts, found.origin if found else None, gate, [])
        turns = asyncio.Semaphore(_URLS_AT_ONCE)
        async with asyncio.TaskGroup() as group:
            for request in requests:
                group.create_task(_one(request, call, shared, turns, deliver))


async def _one(request: Request, call: Call, shared: Shared, turns: asyncio.Semaphore, deliver: Deliver) -> None:
    async with turns:
        seconds = call.options.get("deadline") or call.config.fetch.deadline
        try:
            async with asyncio.timeout(seconds):
                outcome: dict[str, Any] | CdpFetchError = await _document(request, call, shared)
        except TimeoutError:
            hint = "give it longer: --deadline SECONDS"
            outcome = CdpFetchError("timeout", f"GitHub's API took longer than {seconds:g} s", hint)
        except CdpFetchError as error:
            outcome = error
        except Exception as error:  # noqa: BLE001 - one URL's fault is not that of the others
            log.warning("%s failed: %r", request.url, error)
            outcome = CdpFetchError("internal", f"GitHub's answer led to a {type(error).__name__}")
    deliver(request, outcome)


async def _document(request: Request, call: Call, shared: Shared) -> dict[str, Any]:
    shape = parse(request.href, shared.hosts)
    if shape is None:
        raise CdpFetchError("invalid_request", f"{request.url} is nothing that GitHub's API serves")
    report = _reporter(request, call)
    report("started", budgetSecs=call.options.get("deadline") or call.config.fetch.deadline)
    min_free = int(call.config.artifacts.min_free_mb * 1e6)
    with artifacts.Draft(call.root, artifacts.new_fetch_id(request.href), min_free) as draft:
        work = Work(shape, Api(shared), draft, call.config.fetch.max_bytes, report)
        rendered = await LOADERS[shape.kind](work)
        return writing.commit(work, rendered, request.url, call.home.artifacts)


def _reporter(request: Request, call: Call) -> Callable[..., None]:
    def report(stage: str, **more: Any) -> None:
        call.on_status(request, {"event": "status", "stage": stage, **more})

    return report
