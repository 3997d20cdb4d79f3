"""One run of a batch: reads the input, starts what may be started, records what ended, writes results.

All that is known is in the manifest.  A fetch begins after its lease is committed, and its outcome is committed before
the next ones begin; so a run that is killed at any moment leaves each URL pending, leased (looked at again by the next
run, on the disk first) or done.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from cdpfetch import calls, disk
from cdpfetch.batch import recovery, results, shards
from cdpfetch.batch.decisions import Decision, decide
from cdpfetch.batch.engine import Engine
from cdpfetch.batch.input import Source
from cdpfetch.batch.manifest import Finish, Item, Manifest, Postpone, result_row
from cdpfetch.batch.options import BatchOptions
from cdpfetch.batch.politeness import Scheduler
from cdpfetch.batch.progress import Meter
from cdpfetch.batch.robots import Robots, refusal
from cdpfetch.batch.store import Store
from cdpfetch.batch.summary import Summary
from cdpfetch.errors import CdpFetchError, InvalidRequest
from cdpfetch.urls import parse_url

P = ParamSpec("P")
T = TypeVar("T")

# Pending items that are enough for now: the input waits.
LOOKAHEAD = 200_000
# Hosts that are worked on at once, items of each in memory, and hosts looked at for one more.
HOSTS, BUFFER, LOOKS = 512, 64, 2_000
# Rows of a file of results.
ROWS = 5_000
# Seconds: for what is under way at a graceful stop, between looks at what became due, and between lines of progress.
GRACE, POLL, SHOW = 30.0, 1.0, 0.5
# Failures in a row of the daemon or the browser, none between them succeeding, after which a run ends.
_BROKEN = frozenset({"daemon_unavailable", "browser_failed"})
BROKEN_MAX = 40


@contextlib.contextmanager
def locked(directory: str) -> Iterator[None]:
    """Hold a batch's directory.  Raises InvalidRequest when another run does."""
    disk.make_output_dir(directory)
    fd = os.open(os.path.join(directory, "manifest.lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InvalidRequest(
                f"another batch is at work in {directory}", "wait for it, or give another -o DIR"
            ) from None
        yield
    finally:
        os.close(fd)


class Runner:
    """A run.  The caller holds the directory's lock, and owns engine, source and robots."""

    def __init__(
        self,
        options: BatchOptions,
        source: Source,
        engine: Engine,
        store: Store,
        robots: Robots | None,
        show: Callable[[str], None] | None = None,
    ) -> None:
        self._options = options
        self._source = source
        self._engine = engine
        self._store = store
        self._robots = robots
        self._show = show
        self._scheduler: Scheduler[Item] = Scheduler(options.concurrency, options.per_host, options.delay)
        self._meter = Meter(time.monotonic())
        self._wake = asyncio.Event()  # something ended, came or is to stop
        self._tasks: dict[asyncio.Task[None], Item] = {}  # fetches under way
        self._outcomes: list[Finish | Postpone] = []  # not yet committed
        self._cursor = ""  # the host behind which the next one is looked for
        self._stopping: str | None = None  # why nothing more is begun
        self._hurry = False  # whether what is under way is given up, too
        self._halted: CdpFetchError | None = None  # what the run can't go on with
        self._broken = 0  # failures of the daemon or the browser in a row
        self._lines = 0  # of the input
        self._input_ended = False
        # The one thread that uses the manifest.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="manifest")
        self._manifest: Manifest

    def stop(self, why: str) -> None:
        """Begin nothing more; called again: give up what is under way."""
        self._hurry = self._stopping is not None
        self._stopping = self._stopping or why
        self._wake.set()

    async def run(self) -> Summary:
        """Work until the batch is done or is stopped.  Raises CdpFetchError when it can't go on."""
        options = self._options
        results.check(options.results)
        try:
            self._manifest = await self._db(Manifest, options.manifest, {"results": options.results})
            try:
                await self._begin()
                async with self._engine:
                    await self._work()
                return await self._end()
            finally:
                await self._db(self._manifest.close)
        finally:
            self._thread.shutdown()

    async def _db(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: function(*args, **kwargs))

    async def _begin(self) -> None:
        """Pass over the input that is known, and look at what the last run left."""
        manifest, store, kind = self._manifest, self._store, self._options.results

        def prepare() -> int:
            for length, digest in manifest.blocks():
                self._source.skip(length, digest)
            recovery.adopt(manifest, store)
            if self._options.retry_failed:
                manifest.retry_failed()
            recovery.recall(manifest, store, kind)
            recovery.write_results(manifest, store, kind)
            return manifest.read_so_far()[1]

        self._lines = await self._db(prepare)

    async def _work(self) -> None:
        reading = asyncio.create_task(self._read(), name="input")
        showing = asyncio.create_task(self._report(), name="progress")
        try:
            while not self._is_over(reading):
                self._wake.clear()
                await self._turn()
                await self._sleep()
        finally:
            await self._give_up([reading, showing])

    def _is_over(self, reading: asyncio.Task[None]) -> bool:
        if reading.done():
            reading.result()
        if self._tasks or self._outcomes:
            return self._hurry
        if self._stopping is not None:
            return True
        return self._input_ended and self._manifest.pending == 0 and self._scheduler.waiting == 0

    async def _sleep(self) -> None:
        """Until something may be done."""
        wait = POLL
        if self._stopping is None:
            next_start = self._scheduler.wait(time.monotonic())
            wait = POLL if next_start is None else min(POLL, next_start)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await self._wake.wait()

    async def _turn(self) -> None:
        """Commit what ended along with the leases of what begins, begin it, and write results."""
        await self._refill()
        begun: list[Item] = []
        now = time.monotonic()
        while self._stopping is None and (found := self._scheduler.take(now)):
            begun.append(found[1])
        outcomes, self._outcomes = self._outcomes, []
        if outcomes or begun:
            await self._db(self._manifest.commit, outcomes, [item.id for item in begun])
        for item in begun:
            task = asyncio.create_task(self._one(item), name=f"item-{item.id}")
            self._tasks[task] = item
            task.add_done_callback(self._ended)
        if self._manifest.unwritten >= ROWS:
            await self._db(self._write, ROWS)

    def _ended(self, task: asyncio.Task[None]) -> None:
        item = self._tasks.pop(task)
        self._scheduler.done(item.host)
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._halt(CdpFetchError("internal", f"{type(fault).__name__}: {fault}"))
            self._outcomes.append(recovery.postponed(item, 0.0, counts=False, lost=True))
        self._wake.set()

    async def _refill(self) -> None:
        """See that hosts have items in memory, as many hosts as there may be."""
        if self._stopping is not None or self._scheduler.waiting >= self._options.concurrency * 4:
            return
        found, self._cursor = await self._db(self._find, self._cursor, time.time())
        for item in found:
            self._scheduler.offer(item.host, item)

    def _find(self, cursor: str, now: float) -> tuple[list[Item], str]:
        """Items of the next hosts behind the cursor that have none in memory."""
        found: list[Item] = []
        hosts = self._scheduler.hosts
        start, wrapped = cursor, False
        for _ in range(LOOKS):
            if hosts >= HOSTS or (wrapped and cursor >= start):
                break
            host = self._manifest.next_host(cursor)
            if host is None:
                if wrapped or not start:
                    return found, ""
                cursor, wrapped = "", True
                continue
            cursor = host[0]
            if host[1] <= now and self._scheduler.lacks(cursor):
                found += self._manifest.due(cursor, now, BUFFER)
                hosts += 1
        return found, cursor

    def _write(self, limit: int) -> None:
        self._manifest.gather(limit)
        recovery.write_results(self._manifest, self._store, self._options.results)

    # One URL

    async def _one(self, item: Item) -> None:
        folder = shards.folder(item.id)
        document = await self._document(item, folder)
        decision = decide(document, item.tries + 1, self._options.retries, time.time(), random.random())
        now = time.monotonic()
        if decision.pause:
            self._scheduler.pause(item.host, now + decision.pause, now)
        self._watch(document)
        if decision.halt:
            self._halt(CdpFetchError(**document["error"]))
        if decision.halt or decision.again is not None:
            await self._again(item, folder, document, decision)
            return
        self._meter.ok += bool(document["ok"])
        self._meter.failed += not document["ok"]
        self._outcomes.append(Finish(item.id, item.tries + 1, result_row(item, document, folder)))

    async def _again(self, item: Item, folder: str, document: dict[str, Any], decision: Decision) -> None:
        if document["fetch_id"]:
            await asyncio.to_thread(self._store.remove, folder, document["fetch_id"])
        self._meter.retried += not decision.halt
        lost = document["error"]["code"] in _BROKEN or document["error"]["code"] == "timeout"
        counts = decision.counts and not decision.halt
        self._outcomes.append(recovery.postponed(item, decision.again or 0.0, counts=counts, lost=lost))

    async def _document(self, item: Item, folder: str) -> dict[str, Any]:
        limit = self._options.deadline * 4 + 60.0  # the daemon keeps the deadline; requests may queue before it begins
        try:
            async with asyncio.timeout(limit):
                refused = await self._refused(item)
                if refused is not None:
                    return calls.failed(item.url, refused, {"source": "robots", "kind": "robots.page"})
                return await self._engine.fetch(item.url, folder)
        except TimeoutError:
            return calls.failed(item.url, CdpFetchError("timeout", f"no answer within {limit:g} s"))
        except CdpFetchError as error:
            document = calls.failed(item.url, error)
            if error.code == "http_error":
                document["status"] = 503  # of robots.txt: it may pass
            return document

    async def _refused(self, item: Item) -> CdpFetchError | None:
        """Why robots.txt keeps us from a URL, or None."""
        if self._robots is None:
            return None
        rules = await self._robots.rules(parse_url(item.url), time.monotonic())
        self._scheduler.slow(item.host, rules.delay)
        return None if rules.allows(item.url) else refusal(item.url)

    def _watch(self, document: dict[str, Any]) -> None:
        """Count failures that are not the pages'."""
        error = document["error"]
        self._broken = self._broken + 1 if error and error["code"] in _BROKEN else 0
        if self._broken >= BROKEN_MAX:
            self._halt(CdpFetchError(**error))

    def _halt(self, error: CdpFetchError) -> None:
        self._halted = self._halted or error
        self._stopping = self._stopping or error.reason
        self._wake.set()

    # Beside it

    async def _read(self) -> None:
        """Bring the input into the manifest, as far ahead as is useful."""
        while self._stopping is None and not self._source.ended:
            if self._manifest.pending > LOOKAHEAD:
                await asyncio.sleep(POLL)
                continue
            block = await asyncio.to_thread(self._source.next, 0.5)
            if block is not None:
                await self._db(self._manifest.add, block, self._lines + 1)
                self._lines += block.lines
                self._wake.set()
        self._input_ended = self._source.ended
        self._wake.set()

    async def _report(self) -> None:
        stop_at = None
        while True:
            await asyncio.sleep(SHOW)
            if self._stopping is not None:
                stop_at = stop_at or time.monotonic() + GRACE
                if time.monotonic() > stop_at:
                    self._hurry = True
                    self._wake.set()
            if self._show is not None:
                self._show(await self._line())

    async def _line(self) -> str:
        left = float(self._manifest.pending + len(self._tasks))
        size = self._source.size
        exact = self._input_ended or self._stopping is not None
        if not exact and size and self._manifest.items:
            known = (await self._db(self._manifest.read_so_far))[0]
            left += self._manifest.items * max(0.0, size / max(1, known) - 1.0)
        return self._meter.line(time.monotonic(), left, len(self._tasks), exact=exact)

    async def _give_up(self, others: list[asyncio.Task[None]]) -> None:
        """End all tasks; what was under way is pending again."""
        tasks = dict(self._tasks)
        for task in [*others, *tasks]:
            task.cancel()
        await asyncio.gather(*others, *tasks, return_exceptions=True)
        ended = {outcome.item for outcome in self._outcomes}
        self._outcomes += [
            recovery.postponed(item, 0.0, counts=False, lost=True) for item in tasks.values() if item.id not in ended
        ]
        await self._db(self._manifest.commit, self._outcomes, ())
        self._outcomes = []

    async def _end(self) -> Summary:
        totals, duplicates = await self._db(self._finish)
        if self._halted is not None:
            raise self._halted
        return Summary.of(
            totals,
            duplicates,
            fetched=self._meter.done,
            retried=self._meter.retried,
            seconds=time.monotonic() - self._meter.began,
            stopped=self._stopping,
        )

    def _finish(self) -> tuple[list[tuple[int, str | None, str | None, int]], int]:
        manifest = self._manifest
        recovery.settle(manifest, self._store)
        while manifest.unwritten:
            self._write(ROWS)
        recovery.write_duplicates(manifest, self._store)
        return manifest.totals(), manifest.duplicate_count()
