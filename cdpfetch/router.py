"""The router: each URL goes along the chain of fetchers until one delivers; what failed on the way is its trail.

URLs that are one are fetched once, and so are those that other calls of the same router are fetching at the moment.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from cdpfetch import artifacts, cache, calls
from cdpfetch.errors import CdpFetchError, FetchError
from cdpfetch.fetchers.contract import LOCAL_ONLY, Call, Fetcher, Request
from cdpfetch.fetchers.reach import stays_local
from cdpfetch.known import KnownStore
from cdpfetch.urls import parse_url
from cdpfetch.wire import Message

# URLs under way at once in one call; a call with more works through them in this width.
WIDTH = 100
# Of the time that a URL has left, the part that a fetcher may take which is not the last, and its most (seconds).
_SHARE = 0.5
_SHARE_MAX = 20.0
# Of a batch, so many are counted as one: services work on some at a time.
_TURN = 8
_LOCAL = "local"


class Routing(NamedTuple):
    """What a call wants of the chain: ``source`` forces a fetcher, ``max_age`` (seconds) lets the cache answer."""

    source: str | None = None
    max_age: float = 0.0
    fresh: bool = False

    @property
    def keeps(self) -> bool:
        """Whether its documents are remembered here; those of the daemon are by the daemon."""
        return self.max_age > 0 or self.fresh


class _Job:
    """One URL, wherever it stands in the call."""

    def __init__(self, request: Request, key: str, is_local: bool) -> None:
        self.request = request
        self.is_local = is_local  # whether the settings keep it from all sources but the browser
        self.key = key  # in the cache, and among what is under way
        self.indices: list[int] = []  # its places in the call
        self.trail: list[dict[str, Any]] = []  # attempts that failed
        self.spent = 0.0  # seconds that those took


class Router:
    """The chain, composed once."""

    def __init__(self, fetchers: Sequence[Fetcher]) -> None:
        self._fetchers = tuple(fetchers)
        # Key -> the document of a URL that some call is fetching; cancelled when that call gave it up.
        self._under_way: dict[str, asyncio.Future[dict[str, Any]]] = {}

    async def fetch(
        self,
        urls: Sequence[str],
        call: Call,
        routing: Routing,
        on_document: Callable[[int, dict[str, Any]], None] | None = None,
    ) -> list[dict[str, Any]]:
        """The documents of URLs, in their order; ``on_document(index, document)`` gets each when it is there.

        A URL that failed is a document with its error.  Cancelling reaches every fetcher.
        """
        documents: list[dict[str, Any]] = [{} for _ in urls]

        def done(indices: Sequence[int], document: dict[str, Any]) -> None:
            for index in indices:
                documents[index] = {**document, "url": urls[index]}
                if on_document is not None:
                    on_document(index, documents[index])

        broken: list[Exception] = []  # what callbacks for the progress raised: for the caller, and no fetcher's failure
        call = call._replace(on_status=_guarded(call.on_status, broken))
        jobs = _jobs(urls, call, routing, done)
        chosen = [fetcher for fetcher in self._fetchers if routing.source in (None, fetcher.name)]
        width = asyncio.Semaphore(WIDTH)

        async def one(job: _Job, run: _Run) -> None:
            async with width:
                done(job.indices, await self._document(job, run, routing))

        try:
            async with asyncio.TaskGroup() as group:
                run = _Run(chosen, call, group)
                for job in jobs:
                    group.create_task(one(job, run))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None  # what a callback raised belongs to its caller as it is
        if broken:
            raise broken[0]
        return documents

    async def _document(self, job: _Job, run: _Run, routing: Routing) -> dict[str, Any]:
        """From the cache, from another call that is at it, or from the chain."""
        index_root = run.call.home.artifacts
        if routing.max_age > 0 and not routing.fresh:
            found = await asyncio.to_thread(cache.find, index_root, job.key, routing.max_age, time.time())
            if found is not None:
                return found
        while not routing.fresh and job.key in self._under_way:
            other = self._under_way[job.key]
            await asyncio.wait([other])
            if not other.cancelled():
                return other.result()
        document = await self._fetched(job, run)
        if routing.keeps:
            await asyncio.to_thread(cache.record, index_root, job.key, document, time.time())
        return document

    async def _fetched(self, job: _Job, run: _Run) -> dict[str, Any]:
        mine: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._under_way[job.key] = mine
        try:
            document = await run.resolve(job)
            mine.set_result(document)
            return document
        finally:
            mine.cancel()
            if self._under_way.get(job.key) is mine:
                del self._under_way[job.key]


class _Run:
    """One call on its way along the fetchers: jobs that meet at a fetcher in one moment are one batch."""

    def __init__(self, fetchers: Sequence[Fetcher], call: Call, group: asyncio.TaskGroup) -> None:
        self.call = call
        self._fetchers = fetchers
        self._group = group
        # Known addresses, where only these are for the fetchers; and where those of results are remembered.
        self._store = _known(call)
        self._strict = None if call.options.get("vouched") else self._store
        self._deadline = float(call.options.get("deadline") or call.config.fetch.deadline)
        # Fetcher -> the jobs that wait for its next batch, with where their outcome goes.
        self._waiting: dict[int, list[tuple[_Job, asyncio.Future[dict[str, Any] | CdpFetchError]]]] = {}
        # Fetchers that said nothing on a batch to its end: they are not asked again in this call.
        self._silent: dict[int, CdpFetchError] = {}

    async def resolve(self, job: _Job) -> dict[str, Any]:
        """The document of a job, good or failed, with the trail in its ``attempts``."""
        last: tuple[str, CdpFetchError] | None = None
        for index, fetcher in enumerate(self._fetchers):
            try:
                if not self._claims(fetcher, job):
                    continue
            except Exception as error:  # noqa: BLE001 - the boundary to a fetcher: its fault is an attempt
                last = (fetcher.name, _fault(error))
                job.trail += _attempts(*last)
                continue
            outcome = self._silent.get(index) or await self._submit(index, job)
            if isinstance(outcome, dict):
                return await self._good(job, outcome)
            last = (fetcher.name, outcome)
            job.trail += _attempts(*last)
        return _failed(job, *(last or self._unclaimed(job)))

    def _claims(self, fetcher: Fetcher, job: _Job) -> bool:
        if fetcher.name != _LOCAL and (job.is_local or any(self.call.options.get(name) for name in LOCAL_ONLY)):
            return False
        if fetcher.name != _LOCAL and self._strict is not None and not self._strict.knows(job.request.href):
            return False  # the daemon says why
        return fetcher.can_fetch(job.request, self.call)

    def _unclaimed(self, job: _Job) -> tuple[str, CdpFetchError]:
        """The error of a URL that nobody took, which happens where a source was asked for by name."""
        names = ", ".join(fetcher.name for fetcher in self._fetchers) or "no source"
        told = [getattr(fetcher, "objection", lambda request, call: None) for fetcher in self._fetchers]
        objections = "; ".join(filter(None, (objection(job.request, self.call) for objection in told)))
        reason = f"{names} does not take {job.request.href}"
        reason += f": {objections}" if objections else " with these options and settings"
        return names, CdpFetchError("unsupported_scheme", reason, "leave --source out to let others try")

    async def _good(self, job: _Job, document: dict[str, Any]) -> dict[str, Any]:
        if self._store is not None and document["source"] != _LOCAL:
            await asyncio.to_thread(self._store.learn_document, document)
        if not job.trail:
            return document
        trail = [*job.trail, *document["attempts"]]
        return await asyncio.to_thread(artifacts.amend, document, attempts=trail)

    async def _submit(self, index: int, job: _Job) -> dict[str, Any] | CdpFetchError:
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[dict[str, Any] | CdpFetchError] = loop.create_future()
        if index not in self._waiting:
            self._waiting[index] = []
            loop.call_soon(self._flush, index)
        self._waiting[index].append((job, outcome))
        began = loop.time()
        try:
            return await outcome
        finally:
            job.spent += loop.time() - began

    def _flush(self, index: int) -> None:
        """Start what has gathered: jobs that have all their time as one batch, others, each with what it has left."""
        waiting = self._waiting.pop(index)
        whole = [pair for pair in waiting if not pair[0].spent]
        for batch in [whole, *([pair] for pair in waiting if pair[0].spent)]:
            if batch:
                self._group.create_task(self._batch(index, batch))

    async def _batch(
        self, index: int, batch: list[tuple[_Job, asyncio.Future[dict[str, Any] | CdpFetchError]]]
    ) -> None:
        fetcher = self._fetchers[index]
        outcomes = {job.request: outcome for job, outcome in batch}
        seconds = self._seconds(index, max(job.spent for job, _ in batch))

        def deliver(request: Request, outcome: dict[str, Any] | CdpFetchError) -> None:
            waiting = outcomes.get(request)
            if waiting is not None and not waiting.done():
                waiting.set_result(_checked(request, outcome))

        error = CdpFetchError("internal", f"{fetcher.name} ended without a result")
        call = self.call._replace(options={**self.call.options, "deadline": seconds}) if seconds else self.call
        limit = self._limit(seconds, len(batch)) if fetcher.name != _LOCAL else None
        try:
            # The daemon keeps the deadline itself: its begins when a tab is free.
            async with asyncio.timeout(limit):
                await fetcher.fetch([job.request for job, _ in batch], call, deliver)
        except TimeoutError:
            error = CdpFetchError("timeout", f"no answer within {limit:g} s")
            if not any(outcome.done() for outcome in outcomes.values()):
                self._silent[index] = error
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            error = CdpFetchError("internal", f"{fetcher.name} cancelled itself")
        except Exception as fault:  # noqa: BLE001 - the boundary to a fetcher: it fails its batch, never the call
            error = _fault(fault)
        for outcome in outcomes.values():
            if not outcome.done():
                outcome.set_result(error)

    def _seconds(self, index: int, spent: float) -> float | None:
        """What the next fetcher may take; None where that is what the call says, or the daemon's own setting."""
        last = index == len(self._fetchers) - 1
        if last and not spent and self._fetchers[index].name == _LOCAL:
            return None
        left = max(1.0, self._deadline - spent)
        return round(left if last else min(_SHARE_MAX, left * _SHARE), 3)

    def _limit(self, seconds: float | None, size: int) -> float:
        """Seconds for a whole batch of a fetcher that may take ``seconds`` for one URL."""
        one = seconds or self._deadline
        return max(one, min(one * -(-size // _TURN), self._deadline * _SHARE))


def _guarded(
    on_status: Callable[[Request, Message], None], broken: list[Exception]
) -> Callable[[Request, Message], None]:
    """A callback that raises nothing, but keeps what it would have raised, and is then not called again."""

    def status(request: Request, event: Message) -> None:
        if broken:
            return
        try:
            on_status(request, event)
        except Exception as error:  # noqa: BLE001 - told to the caller when the call ends
            broken.append(error)

    return status


def _jobs(
    urls: Sequence[str], call: Call, routing: Routing, done: Callable[[Sequence[int], dict[str, Any]], None]
) -> list[_Job]:
    """One job for each URL that is another; those that are no URL are done."""
    fields = calls.fetch_fields(call.home, {**_daemon_options(call.options), "output_dir": call.root})
    profile = call.config.browser.profile_dir or call.home.profile
    shape = {**fields, "objective": call.options.get("objective")}
    found: dict[str, _Job] = {}
    for index, url in enumerate(urls):
        try:
            parsed = parse_url(url)
        except CdpFetchError as error:
            done([index], calls.failed(url, error))
            continue
        href = cache.normal(parsed.href)
        if href not in found:
            is_local = stays_local(parsed, call.config) is not None
            found[href] = _Job(Request(url, href), cache.key(href, shape, profile, routing.source or ""), is_local)
        found[href].indices.append(index)
    return list(found.values())


def _known(call: Call) -> KnownStore | None:
    """The addresses that are known, in strict mode only."""
    network = call.config.network
    if not (network.require_known_url or call.options.get("require_known")):
        return None
    store = KnownStore(call.home.known_urls, network.known_urls)
    store.refresh()
    return store


def _daemon_options(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name in calls.FETCH_OPTIONS}


def _checked(request: Request, outcome: dict[str, Any] | CdpFetchError) -> dict[str, Any] | CdpFetchError:
    """An outcome as the contract has it: a document is good and on disk."""
    if isinstance(outcome, CdpFetchError):
        return outcome
    if not outcome.get("ok"):
        return CdpFetchError("internal", "a failed document was delivered as a good one")
    if outcome.get("fetch_id") and not os.path.isdir(outcome["dir"] or ""):
        return CdpFetchError("internal", f"the document's directory {outcome['dir']} does not exist")
    return {**artifacts.new_document(request.url), **outcome}


def _fault(error: Exception) -> CdpFetchError:
    """What a fetcher raised, as an error; of several, the first."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, CdpFetchError):
        return error
    words = " ".join(str(error).split())[:200]
    return CdpFetchError("internal", f"{type(error).__name__}: {words}" if words else type(error).__name__)


def _attempts(source: str, error: CdpFetchError) -> list[dict[str, Any]]:
    attempts = error.attempts if isinstance(error, FetchError) else []
    return attempts or [{"source": source, "code": error.code, "reason": error.reason}]


def _failed(job: _Job, source: str, error: CdpFetchError) -> dict[str, Any]:
    """The document of a job that nobody could fetch: the last one's error, and the trail of all."""
    saved = error.document if isinstance(error, FetchError) else None
    document = calls.failed(job.request.url, error, saved or {"source": source, "kind": f"{source}.page"})
    document["attempts"] = job.trail or document["attempts"]
    return document
