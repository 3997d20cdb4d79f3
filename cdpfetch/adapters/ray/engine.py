"""The engine of a batch on a Ray cluster: actors fetch; scheduler, manifest and politeness stay with the driver."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import ray
from ray.exceptions import RayError

from cdpfetch.adapters.ray.place import Place
from cdpfetch.errors import CdpFetchError

# Fetches that one actor may be given at once; its tabs are its own matter.
_WIDTH = 64
_CLOSE_SECONDS = 20.0


class RayEngine:
    """Fetches on actors, the least busy first.  One that dies is started again where there is room.

    Args:
        storage: an fsspec URL that all nodes reach.
        options: options of each fetch.
        address: of the cluster; None: the one that this process is connected to, or a new one on this machine.
        actors: how many; None: one for two cores of the cluster.
        cpus: cores that each actor is counted for.
        settings: the text of the ``config.toml`` that each actor gets.
    """

    def __init__(
        self,
        storage: str,
        options: Mapping[str, Any],
        *,
        address: str | None = None,
        actors: int | None = None,
        cpus: float = 2.0,
        settings: str = "",
    ) -> None:
        self._arguments = (storage, dict(options), settings)
        self._address = address
        self._count = actors
        self._cpus = cpus
        self._owns = False  # whether the connection to the cluster is ours to end
        self._actors: list[Any] = []
        self._busy: list[int] = []  # fetches under way, of each actor

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._connect)
        return self

    def _connect(self) -> None:
        if not ray.is_initialized():
            ray.init(address=self._address, log_to_driver=False)
            self._owns = True
        cores = float(ray.cluster_resources().get("CPU", 1.0))  # type: ignore[no-untyped-call]
        count = self._count or max(1, int(cores / self._cpus))
        remote = ray.remote(Place).options(
            num_cpus=min(self._cpus, cores / count), max_restarts=-1, max_task_retries=0, max_concurrency=_WIDTH
        )
        self._actors = [remote.remote(*self._arguments) for _ in range(count)]
        self._busy = [0] * count

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        actors, self._actors = self._actors, []
        ends = [asyncio.create_task(_closed(actor)) for actor in actors]
        if ends:
            await asyncio.wait(ends, timeout=_CLOSE_SECONDS)
        for end in ends:
            end.cancel()
        await asyncio.gather(*ends, return_exceptions=True)
        await asyncio.to_thread(self._disconnect, actors)

    def _disconnect(self, actors: list[Any]) -> None:
        for actor in actors:
            ray.kill(actor)
        if self._owns:
            ray.shutdown()

    async def fetch(self, url: str, folder: str) -> dict[str, Any]:
        """See ``cdpfetch.batch.engine.Engine``; an actor that died is ``daemon_unavailable``, to be tried elsewhere."""
        index = min(range(len(self._actors)), key=self._busy.__getitem__)
        self._busy[index] += 1
        try:
            document: dict[str, Any] = await self._actors[index].fetch.remote(url, folder)
            return document
        except RayError as error:
            words = " ".join(str(error).split())[:200]
            raise CdpFetchError("daemon_unavailable", f"the actor that fetched it was lost: {words}") from error
        finally:
            self._busy[index] -= 1


async def _closed(actor: Any) -> None:
    await actor.close.remote()
