"""The pool of extraction workers, on the daemon's side (asyncio).

A job runs in a process of its own that is warm, capped in memory, killed at the job's deadline, and replaced after a
crash, after many jobs or when it grew.  A job that ends its worker fails alone.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

from cdpfetch import process
from cdpfetch.errors import CdpFetchError
from cdpfetch.extract import sandbox
from cdpfetch.extract.process import WorkerDied, WorkerProcess

if TYPE_CHECKING:
    from types import TracebackType

Job = dict[str, Any]
Answer = dict[str, Any]

# A worker is replaced after this many jobs, or when its resident size passes this share of its memory cap.
JOBS_PER_WORKER = 500
RESIDENT_SHARE = 0.4
# Seconds that a worker may take until it is ready; far above what a loaded machine needs.
BOOT_SECONDS = 60.0


class ExtractionFailed(CdpFetchError):
    """A job that gave no answer.

    Attributes:
        kind: ``deadline``, ``crashed``, ``memory``, ``nesting``, ``failed``, ``closed`` or ``unavailable``.
    """

    def __init__(self, kind: str, reason: str, hint: str | None = None) -> None:
        super().__init__("timeout" if kind == "deadline" else "internal", reason, hint)
        self.kind = kind


class ExtractPool:
    """A fixed number of workers, each doing one job at a time.

    Args:
        size: how many workers.
        memory_mb: address space of each worker in MiB; 0 means no cap.
        jobs_per_worker: jobs after which a worker is replaced.
        place: an existing directory for the workers' own folders, best on the disk of the jobs' files; None: where
            temporary files are.
    """

    def __init__(
        self,
        size: int = 2,
        memory_mb: int = 2048,
        jobs_per_worker: int = JOBS_PER_WORKER,
        place: str | None = None,
    ) -> None:
        self.size = max(1, size)
        self.memory_mb = memory_mb
        self.jobs_per_worker = jobs_per_worker
        self.place = place
        # Workers that were replaced for a fault (crash, deadline, memory), for the status report.
        self.restarts = 0
        self._slots = [_Slot(self) for _ in range(self.size)]
        # The free slots, last used first: one busy client keeps one worker's caches warm.
        self._free: asyncio.LifoQueue[_Slot] = asyncio.LifoQueue()
        for slot in reversed(self._slots):
            self._free.put_nowait(slot)
        self._closed = False
        # Jobs under way, so that close() can end them.
        self._running: set[asyncio.Task[Any]] = set()

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{self.alive} alive, {self._free.qsize()} free"
        return f"<ExtractPool size={self.size} {state} restarts={self.restarts}>"

    @property
    def alive(self) -> int:
        """How many workers are ready."""
        return sum(slot.is_ready for slot in self._slots)

    @property
    def exposed(self) -> bool:
        """Whether a worker runs that the kernel does not shut off from the network."""
        return any(slot.is_exposed for slot in self._slots)

    @property
    def sees_files(self) -> bool:
        """Whether a worker runs that the kernel does not keep from the account's files."""
        return any(slot.sees_files for slot in self._slots)

    async def start(self) -> None:
        """Begin to start the workers, one after the other; returns at once.

        The first one is soon needed, and Chrome starts meanwhile: the others would only be in their way.
        """
        if self._closed:
            raise ExtractionFailed("closed", "the extraction pool is closed")
        sandbox.sweep(lambda pid: process.start_time(pid) is not None, self.place)
        self._boot_next(iter(self._slots))

    def _boot_next(self, slots: Iterator[_Slot]) -> None:
        slot = None if self._closed else next(slots, None)
        if slot is not None:
            slot.boot().add_done_callback(lambda _: self._boot_next(slots))

    async def run(self, job: Job, deadline: float) -> Answer:
        """The answer of a worker to ``job``.

        ``deadline`` is in seconds from now and covers waiting for a worker, too.  Raises ExtractionFailed.  When the
        caller is cancelled the worker is replaced, and the job's files may be half written.
        """
        if self._closed:
            raise ExtractionFailed("closed", "the extraction pool is closed")
        task = asyncio.ensure_future(self._run(job, deadline))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, ExtractionFailed):
                    await task
                raise
            if task.cancelled() and self._closed:
                raise ExtractionFailed("closed", "the extraction pool was closed during the job") from None
            raise

    async def _run(self, job: Job, deadline: float) -> Answer:
        loop = asyncio.get_running_loop()
        end = loop.time() + deadline
        try:
            async with asyncio.timeout_at(end):
                slot = await self._free.get()
        except TimeoutError:
            raise ExtractionFailed("deadline", f"no extraction worker was free within {deadline:g} s") from None
        try:
            return await slot.run(job, end, deadline)
        finally:
            self._free.put_nowait(slot)

    async def close(self) -> None:
        """End all workers and fail all jobs; safe to call twice."""
        self._closed = True
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await asyncio.gather(*(slot.close() for slot in self._slots))

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class _Slot:
    """One place of the pool: the worker that is in it, or the task that is starting one."""

    def __init__(self, pool: ExtractPool) -> None:
        self._pool = pool
        # Set by boot(); its result is the ready worker.  None before the first start and after close.
        self._boot: asyncio.Task[WorkerProcess] | None = None
        self._jobs = 0

    @property
    def is_ready(self) -> bool:
        boot = self._boot
        if boot is None or not boot.done() or boot.cancelled() or boot.exception() is not None:
            return False
        return boot.result().alive

    @property
    def is_exposed(self) -> bool:
        return self.is_ready and self._boot is not None and self._boot.result().sandbox != sandbox.CLOSED

    @property
    def sees_files(self) -> bool:
        return self.is_ready and self._boot is not None and not self._boot.result().files_closed

    def boot(self) -> asyncio.Task[WorkerProcess]:
        """The task that gives the ready worker; started when there is none, or when the last one failed."""
        if self._boot is None:
            self._boot = asyncio.ensure_future(self._start())
            self._jobs = 0
            # Nobody may be waiting when a start fails; the next run() tries again and reports it.
            self._boot.add_done_callback(lambda task: None if task.cancelled() else task.exception() and None)
        return self._boot

    async def _start(self) -> WorkerProcess:
        return await WorkerProcess.start(self._pool.memory_mb, BOOT_SECONDS, self._pool.place)

    async def run(self, job: Job, end: float, deadline: float) -> Answer:
        loop = asyncio.get_running_loop()
        worker = await self._worker(end, deadline)
        fault = True
        try:
            async with asyncio.timeout_at(end):
                message = await worker.call({**job, "deadline": max(0.1, end - loop.time())})
            fault = bool(message.get("retire"))
        except TimeoutError:
            raise ExtractionFailed(
                "deadline", f"extraction took longer than {deadline:g} s", "raise fetch.deadline, or read page.html"
            ) from None
        except WorkerDied as died:
            raise ExtractionFailed("crashed", f"the extraction worker died: {died}") from None
        finally:
            self._jobs += 1
            if fault:
                self._pool.restarts += 1
                await self._replace()
        if self._is_worn(message):
            await self._replace()
        if error := message.get("error"):
            raise ExtractionFailed(str(error.get("kind")), f"extraction failed: {error.get('reason')}")
        answer: Answer = message["answer"]
        return answer

    async def _worker(self, end: float, deadline: float) -> WorkerProcess:
        if self._boot is not None and self._boot.done() and not self.is_ready:
            await self._drop()
        boot = self.boot()
        try:
            async with asyncio.timeout_at(end):
                # Shielded: a job that gives up must not stop the worker that the next one will need.
                return await asyncio.shield(boot)
        except TimeoutError:
            raise ExtractionFailed("deadline", f"no extraction worker was ready within {deadline:g} s") from None
        except WorkerDied as died:
            await self._drop()
            raise ExtractionFailed(
                "unavailable", f"the extraction worker does not start: {died}", "run `cdpfetch doctor`"
            ) from None

    def _is_worn(self, message: Answer) -> bool:
        if self._jobs >= self._pool.jobs_per_worker:
            return True
        cap = self._pool.memory_mb
        return bool(cap) and float(message.get("rss_mb") or 0) > cap * RESIDENT_SHARE

    async def _replace(self) -> None:
        """End the worker and begin to start the next; shielded, since it also runs when the job is cancelled."""
        await asyncio.shield(self._drop())
        if not self._pool._closed:
            self.boot()

    async def _drop(self) -> None:
        boot, self._boot = self._boot, None
        if boot is None:
            return
        if not boot.done():
            boot.cancel()
        with contextlib.suppress(WorkerDied, asyncio.CancelledError, OSError):
            await (await boot).close()

    async def close(self) -> None:
        await self._drop()
