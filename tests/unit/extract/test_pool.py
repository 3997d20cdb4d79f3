"""The pool and its workers: answers, deadlines, crashes, recycling, ends without leftovers."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from cdpfetch.extract.pool import ExtractionFailed, ExtractPool

PAGE = "<html><head><title>Tides</title></head><body><main><h1>Tides</h1><p>{}</p></main></body></html>"


def page_job(
    directory: Path, text: str = "The tide rises twice a day in this harbour.", name: str = "page.html"
) -> dict[str, Any]:
    path = directory / name
    path.write_text(PAGE.format(text), encoding="utf-8")
    return {"op": "page", "path": str(path), "url": "http://site.test/", "out_dir": str(directory)}


def pids(pool: ExtractPool) -> list[int]:
    return [slot._boot.result().pid for slot in pool._slots if slot.is_ready and slot._boot is not None]


async def test_a_page_becomes_a_file_and_an_answer(tmp_path: Path) -> None:
    async with ExtractPool(1) as pool:
        answer = await pool.run(page_job(tmp_path), 30)
    assert answer["content"] == {"name": "content.md", "role": "content", "content_type": "text/markdown"}
    assert answer["title"] == "Tides"
    assert answer["outline"] == [{"level": 1, "text": "Tides", "line": 1}]
    assert (tmp_path / "content.md").read_text() == "# Tides\n\nThe tide rises twice a day in this harbour.\n"


async def test_start_does_not_wait_for_the_workers() -> None:
    pool = ExtractPool(2)
    await pool.start()
    assert pool.alive == 0
    await pool.close()


async def test_a_failed_job_keeps_its_worker(tmp_path: Path) -> None:
    async with ExtractPool(1) as pool:
        with pytest.raises(ExtractionFailed) as caught:
            await pool.run({"op": "page", "path": str(tmp_path / "none"), "out_dir": str(tmp_path)}, 30)
        assert caught.value.kind == "failed"
        assert "none" in caught.value.reason
        assert pool.restarts == 0
        assert (await pool.run(page_job(tmp_path), 30))["title"] == "Tides"


async def test_a_job_past_its_deadline_is_killed_and_the_next_one_runs(tmp_path: Path) -> None:
    async with ExtractPool(1) as pool:
        await pool.run(page_job(tmp_path), 30)
        slow = page_job(tmp_path, "<i>word</i> <div>more words</div>" * 60_000, "slow.html")
        with pytest.raises(ExtractionFailed) as caught:
            await pool.run(slow, 0.2)
        assert (caught.value.kind, caught.value.code) == ("deadline", "timeout")
        assert pool.restarts == 1
        assert (await pool.run(page_job(tmp_path), 30))["title"] == "Tides"


async def test_a_crash_fails_its_own_job_only_and_says_how(tmp_path: Path) -> None:
    async with ExtractPool(1) as pool:
        await pool.run(page_job(tmp_path), 30)
        (pid,) = pids(pool)
        slow = page_job(tmp_path, "<i>word</i> <div>more words</div>" * 60_000, "slow.html")
        running = asyncio.ensure_future(pool.run(slow, 30))
        while not pool._running or pool._free.qsize():
            await asyncio.sleep(0)
        os.kill(pid, signal.SIGSEGV)
        with pytest.raises(ExtractionFailed) as caught:
            await running
        assert caught.value.kind == "crashed"
        assert "signal 11" in caught.value.reason
        assert (await pool.run(page_job(tmp_path), 30))["title"] == "Tides"
        assert pids(pool) != [pid]


async def test_a_worker_that_was_killed_while_idle_is_replaced(tmp_path: Path) -> None:
    async with ExtractPool(1) as pool:
        await pool.run(page_job(tmp_path), 30)
        worker = pool._slots[0]._boot.result()  # type: ignore[union-attr]
        os.kill(worker.pid, signal.SIGKILL)
        await worker._process.wait()
        assert (await pool.run(page_job(tmp_path), 30))["title"] == "Tides"


async def test_workers_are_recycled_after_their_jobs(tmp_path: Path) -> None:
    async with ExtractPool(1, jobs_per_worker=2) as pool:
        await pool.run(page_job(tmp_path), 30)
        first = pids(pool)
        await pool.run(page_job(tmp_path), 30)
        await pool.run(page_job(tmp_path), 30)
        assert pids(pool) != first
        assert pool.restarts == 0


async def test_memory_is_capped(tmp_path: Path) -> None:
    async with ExtractPool(1, memory_mb=500) as pool:
        await pool.run(page_job(tmp_path), 30)
        huge = page_job(tmp_path, "<b>a</b>" * 2_500_000, "huge.html")
        with pytest.raises(ExtractionFailed) as caught:
            await pool.run(huge, 45)
        assert caught.value.kind in ("memory", "crashed")
        assert (await pool.run(page_job(tmp_path), 30))["title"] == "Tides"


async def test_a_cancelled_job_gives_its_slot_back(tmp_path: Path) -> None:
    async with ExtractPool(1) as pool:
        await pool.run(page_job(tmp_path), 30)
        slow = page_job(tmp_path, "<i>word</i> <div>more words</div>" * 60_000, "slow.html")
        running = asyncio.ensure_future(pool.run(slow, 30))
        while not pool._running or pool._free.qsize():
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (await pool.run(page_job(tmp_path), 30))["title"] == "Tides"
        assert pool._free.qsize() == 1


async def test_close_fails_running_jobs_and_is_idempotent(tmp_path: Path) -> None:
    pool = ExtractPool(1)
    await pool.start()
    await pool.run(page_job(tmp_path), 30)
    slow = page_job(tmp_path, "<i>word</i> <div>more words</div>" * 60_000, "slow.html")
    running = asyncio.ensure_future(pool.run(slow, 30))
    while not pool._running:
        await asyncio.sleep(0)
    await pool.close()
    with pytest.raises(ExtractionFailed) as caught:
        await running
    assert caught.value.kind == "closed"
    await pool.close()
    with pytest.raises(ExtractionFailed):
        await pool.run(page_job(tmp_path), 30)
    assert repr(pool) == "<ExtractPool size=1 closed restarts=0>"


async def test_two_workers_answer_many_jobs_at_once(tmp_path: Path) -> None:
    jobs = []
    for index in range(12):
        directory = tmp_path / str(index)
        directory.mkdir()
        jobs.append(page_job(directory, f"Reading number {index} of the gauge was noted at noon."))
    async with ExtractPool(2) as pool:
        await asyncio.gather(*(pool.run(job, 40) for job in jobs))
    for index in range(12):
        assert f"Reading number {index} of" in (tmp_path / str(index) / "content.md").read_text()
