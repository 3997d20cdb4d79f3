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
# Seconds before an actor that could not start is replaced.
_PAUSE = 5.0


class RayEngine:
    """Fetches on actors, the least busy first.  One that dies is replaced where there is room.

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
        self._place: Any = None  # the class of the actors, as this cluster runs it
        self._actors: list[_Actor] = []  # those that are not known to be dead
        self._changed = asyncio.Event()  # set when an actor is ready

    async def __aenter__(self) -> Self:
        count = await asyncio.to_thread(self._connect)
        for _ in range(count):
            self._start()
        return self

    def _connect(self) -> int:
        if not ray.is_initialized():
            ray.init(address=self._address, log_to_driver=False)
            self._owns = True
        cores = float(ray.cluster_resources().get("CPU", 1.0))  # type: ignore[no-untyped-call]
        count = self._count or max(1, int(cores / self._cpus))
        cpus = min(self._cpus, cores / count)
        self._place = ray.remote(Place).options(num_cpus=cpus, max_concurrency=_WIDTH)
        return count

    def _start(self) -> None:
        """Ask for an actor; it is given work when it has answered, which may be when a node has room for it."""
        actor = _Actor(self._place.remote(*self._arguments))
        actor.starting = asyncio.create_task(self._greet(actor), name="ray-actor")
        self._actors.append(actor)

    async def _greet(self, actor: _Actor) -> None:
        try:
            await actor.handle.ready.remote()
        except RayError:
            await asyncio.sleep(_PAUSE)
            self._lose(actor)
            return
        actor.ready = True
        self._changed.set()

    def _lose(self, actor: _Actor) -> None:
        """An actor is dead: another one takes its place."""
        if actor in self._actors:
            self._actors.remove(actor)
            self._start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        actors, self._actors = self._actors, []
        for actor in actors:
            actor.starting.cancel()
        ends = [asyncio.create_task(_closed(actor.handle)) for actor in actors if actor.ready]
        if ends:
            await asyncio.wait(ends, timeout=_CLOSE_SECONDS)
        for end in ends:
            end.cancel()
        await asyncio.gather(*ends, *(actor.starting for actor in actors), return_exceptions=True)
        await asyncio.to_thread(self._disconnect, [actor.handle for actor in actors])

    def _disconnect(self, handles: list[Any]) -> None:
        for handle in handles:
            ray.kill(handle)
        if self._owns:
            ray.shutdown()

    async def fetch(self, url: str, folder: str) -> dict[str, Any]:
        """See ``cdpfetch.batch.engine.Engine``; an actor that died is ``daemon_unavailable``, to be tried elsewhere."""
        while not (ready := [actor for actor in self._actors if actor.ready]):
            self._changed.clear()
            await self._changed.wait()  # the batch has a limit for the whole
        actor = min(ready, key=lambda one: one.busy)
        actor.busy += 1
        try:
            document: dict[str, Any] = await actor.handle.fetch.remote(url, folder)
            return document
        except RayError as error:
            self._lose(actor)
            words = " ".join(str(error).split())[:200]
            raise CdpFetchError("daemon_unavailable", f"the actor that fetched it was lost: {words}") from error
        finally:
            actor.busy -= 1


class _Actor:
    """An actor, the fetches that it has under way, and whether it has answered."""

    starting: asyncio.Task[None]

    def __init__(self, handle: Any) -> None:
        self.handle = handle
        self.busy = 0
        self.ready = False


async def _closed(actor: Any) -> None:
    await actor.close.remote()
