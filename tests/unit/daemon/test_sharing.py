"""Runs that several wait for: one run, progress for all, and an end only when nobody waits any more."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cdpfetch.daemon.sharing import Emit, Sharing


class Runs:
    """Runs that go on until they are let go; ``count`` were begun, ``cancelled`` were ended from outside."""

    def __init__(self) -> None:
        self.count = 0
        self.cancelled = 0
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self.error: Exception | None = None

    async def __call__(self, emit: Emit) -> dict[str, Any]:
        self.count += 1
        number = self.count
        emit("started", number=number)
        self.begun.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)  # cleaning up takes a moment
            self.cancelled += 1
            raise
        emit("extracting")
        if self.error is not None:
            raise self.error
        return {"number": number}


class Ears:
    """Notes the progress."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def __call__(self, stage: str, **fields: Any) -> None:
        self.heard.append(stage)


async def waiting(sharing: Sharing, runs: Runs, key: str = "a") -> tuple[asyncio.Task[dict[str, Any]], Ears]:
    """Somebody who waits by now."""
    ears = Ears()
    task = asyncio.create_task(sharing.share(key, ears, runs))
    await runs.begun.wait()
    await asyncio.sleep(0)
    return task, ears


async def test_the_same_is_run_once_and_all_hear_of_it() -> None:
    sharing, runs = Sharing(), Runs()
    first, first_ears = await waiting(sharing, runs)
    second, second_ears = await waiting(sharing, runs)
    assert second_ears.heard == ["started"]  # where the run is
    runs.go.set()
    assert await asyncio.gather(first, second) == [{"number": 1}, {"number": 1}]
    assert first_ears.heard == second_ears.heard == ["started", "extracting"]
    assert len(sharing) == 0
    assert await sharing.share("a", Ears(), runs) == {"number": 2}  # nothing is kept


async def test_another_key_is_another_run() -> None:
    sharing, runs = Sharing(), Runs()
    runs.go.set()
    found = await asyncio.gather(*(sharing.share(key, Ears(), runs) for key in ("a", "b", "a")))
    assert [one["number"] for one in found] == [1, 2, 1]


async def test_a_failure_is_everybodys() -> None:
    sharing, runs = Sharing(), Runs()
    runs.error = ValueError("lost")
    tasks = [(await waiting(sharing, runs))[0] for _ in range(3)]
    runs.go.set()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(error) for error in found] == ["lost"] * 3
    assert len(sharing) == 0


@pytest.mark.parametrize("leaver", [0, 1])
async def test_who_leaves_does_not_end_it_for_the_others(leaver: int) -> None:
    sharing, runs = Sharing(), Runs()
    pairs = [await waiting(sharing, runs) for _ in range(2)]
    gone, ears = pairs[leaver]
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    runs.go.set()
    assert await pairs[1 - leaver][0] == {"number": 1}
    assert (runs.count, runs.cancelled) == (1, 0)
    assert ears.heard == ["started"]


async def test_the_last_to_leave_ends_it_and_who_comes_then_gets_a_new_run() -> None:
    sharing, runs = Sharing(), Runs()
    tasks = [(await waiting(sharing, runs))[0] for _ in range(2)]
    for task in tasks:
        task.cancel()
    await asyncio.sleep(0)  # both are leaving, and the run has not ended
    runs.begun.clear()
    late, _ = await waiting(sharing, runs)
    for task in tasks:
        with pytest.raises(asyncio.CancelledError):
            await task
    assert runs.cancelled == 1
    runs.go.set()
    assert await late == {"number": 2}
    assert len(sharing) == 0
