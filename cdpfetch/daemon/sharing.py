"""Fetches that are the same and under way at the same time share one run, whoever asks for them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any

Emit = Callable[..., None]
Run = Callable[[Emit], Awaitable[dict[str, Any]]]


class Sharing:
    """Runs under way, by key."""

    def __init__(self) -> None:
        self._runs: dict[Hashable, _Run] = {}

    async def share(self, key: Hashable, emit: Emit, run: Run) -> dict[str, Any]:
        """What ``run(emit)`` gives or raises, or what a run with this key that is under way does.

        ``emit`` gets the progress from now on, beginning with where the run is.  Who is cancelled leaves; with the last
        one the run is cancelled, and its end awaited.
        """
        shared = self._runs.get(key)
        if shared is None:
            shared = self._runs[key] = _Run(run)
        shared.join(emit)
        try:
            return await asyncio.shield(shared.task)
        finally:
            shared.listeners.remove(emit)
            if shared.task.done() or not shared.listeners:
                # Nobody may join a run that is over, or about to be.
                if self._runs.get(key) is shared:
                    del self._runs[key]
                shared.task.cancel()
                await asyncio.wait([shared.task])

    def __len__(self) -> int:
        return len(self._runs)


class _Run:
    """One run and those who listen to it."""

    def __init__(self, run: Run) -> None:
        self.listeners: list[Emit] = []
        self._last: tuple[str, dict[str, Any]] | None = None  # the last progress
        self.task: asyncio.Task[dict[str, Any]] = asyncio.create_task(self._go(run), name="shared-run")
        # Each who waits gets its error; when nobody does any more it is not worth a word.
        self.task.add_done_callback(lambda task: None if task.cancelled() else task.exception() and None)

    async def _go(self, run: Run) -> dict[str, Any]:
        return await run(self._emit)

    def _emit(self, stage: str, **fields: Any) -> None:
        self._last = (stage, fields)
        for listener in self.listeners:
            listener(stage, **fields)

    def join(self, emit: Emit) -> None:
        self.listeners.append(emit)
        if self._last is not None:
            emit(self._last[0], **self._last[1])
