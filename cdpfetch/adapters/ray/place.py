"""A place on a node where pages are fetched: a home of its own, with its daemon and its Chrome."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Mapping
from typing import Any

from cdpfetch import artifacts, calls
from cdpfetch.adapters.ray.storage import FsStore
from cdpfetch.batch.engine import ChainEngine
from cdpfetch.client import Client
from cdpfetch.errors import CdpFetchError
from cdpfetch.paths import Home

_PREFIX = "cdpfetch-ray-"
_LOCK = "place.lock"
# Seconds after which the daemon of a place that was killed ends by itself.
_IDLE = 30


class Place:
    """Fetches into shared storage.  Usable as an actor: ``ray.remote(Place)``.

    Args:
        storage: an fsspec URL; documents go below it.
        options: options of each fetch, as ``cdpfetch.fetch`` has them.
        settings: the text of a ``config.toml``.
    """

    def __init__(self, storage: str, options: Mapping[str, Any], settings: str = "") -> None:
        _sweep()
        self._folder = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getuid()}-")
        # Held for this process's life, so that places that were killed are told from this one.
        self._lock = os.open(os.path.join(self._folder, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.home = Home(os.path.join(self._folder, "home"))
        os.mkdir(self.home.root, 0o700)
        with open(self.home.config, "x", encoding="utf-8") as file:
            file.write(settings)
        os.environ["CDPFETCH_FETCH_DAEMON_IDLE"] = str(_IDLE)
        self._store = FsStore(storage)
        self._out = os.path.join(self._folder, "out")
        self._engine = ChainEngine(self._out, self.home, options)

    async def ready(self) -> bool:
        """Answers when the actor is there."""
        return True

    async def fetch(self, url: str, folder: str) -> dict[str, Any]:
        """The document of a URL, good or failed; its files are in the folder of the storage then."""
        document = await self._engine.fetch(url, folder)
        directory = document["dir"]
        if directory is None:
            return document
        try:
            await asyncio.to_thread(self._store.upload, directory, folder)
        except OSError as error:
            fault = CdpFetchError("download_failed", f"the shared storage did not take the document: {error}")
            return calls.failed(url, fault)
        finally:
            await asyncio.to_thread(artifacts.remove_tree, directory)
        return document

    async def close(self) -> None:
        """End the daemon and its browser, and remove the home; safe to call again."""
        await self._engine.__aexit__(None, None, None)
        await asyncio.to_thread(self._remove)

    def _remove(self) -> None:
        if self._lock >= 0:
            Client(self.home).stop()
            shutil.rmtree(self._folder, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


def _sweep() -> None:
    """Remove the homes of places that were killed, with what still runs in them."""
    root = tempfile.gettempdir()
    for name in os.listdir(root):
        folder = os.path.join(root, name)
        if not name.startswith(f"{_PREFIX}{os.getuid()}-"):
            continue
        with contextlib.suppress(OSError, CdpFetchError):
            lock = os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                Client(Home(os.path.join(folder, "home"))).stop()
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
