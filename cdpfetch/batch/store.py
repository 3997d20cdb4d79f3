"""Where a batch's documents and results stand: a directory of this machine, or shared storage."""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any, Protocol

from cdpfetch import artifacts, disk


class Store(Protocol):
    """Blocking calls.  Folders are those of ``shards.folder``; each raises OSError when the place can't be used."""

    def documents(self, folder: str) -> dict[str, dict[str, Any]]:
        """The complete documents of a folder, by fetch id."""
        ...

    def remove(self, folder: str, fetch_id: str) -> None:
        """Remove a document, if it is there."""
        ...

    def sweep(self, folder: str) -> None:
        """Remove what is no complete document; nothing is being written then."""
        ...

    def read(self, name: str) -> bytes:
        """A file of results."""
        ...

    def write(self, name: str, data: bytes) -> None:
        """Put a file in its place as a whole, replacing one of that name."""
        ...


class Directory:
    """A directory of this machine."""

    def __init__(self, root: str) -> None:
        self.root = root

    def documents(self, folder: str) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for name in self._names(folder):
            if artifacts.is_fetch_id(name):
                path = os.path.join(self.root, folder, name, artifacts.METADATA)
                with contextlib.suppress(OSError, ValueError), open(path, "rb") as file:
                    found[name] = json.load(file)
        return found

    def remove(self, folder: str, fetch_id: str) -> None:
        place = os.path.join(self.root, folder, fetch_id)
        trash = os.path.join(self.root, folder, artifacts.TRASH + fetch_id)
        with contextlib.suppress(FileNotFoundError):
            os.rename(place, trash)
        artifacts.remove_tree(trash)

    def sweep(self, folder: str) -> None:
        for name in self._names(folder):
            if name.startswith((artifacts.INCOMING, artifacts.TRASH)):
                artifacts.remove_tree(os.path.join(self.root, folder, name))

    def _names(self, folder: str) -> list[str]:
        try:
            return os.listdir(os.path.join(self.root, folder))
        except FileNotFoundError:
            return []

    def read(self, name: str) -> bytes:
        with open(os.path.join(self.root, name), "rb") as file:
            return file.read()

    def write(self, name: str, data: bytes) -> None:
        waiting = os.path.join(self.root, f"{artifacts.INCOMING}{name}")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(waiting)
        disk.write_new(waiting, data)
        fd = os.open(waiting, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(waiting, os.path.join(self.root, name))
