"""Shared storage by fsspec: any URL that it knows (``s3://``, ``gs://``, ``file://``, a plain path)."""

from __future__ import annotations

import json
import os
from typing import Any

import fsspec

from cdpfetch import artifacts


class FsStore:
    """Documents and results of a batch in shared storage; see ``cdpfetch.batch.store.Store``.

    A document is complete when its ``metadata.json`` is there, which is written last.
    """

    def __init__(self, url: str) -> None:
        self._fs, self._root = fsspec.core.url_to_fs(url)

    def documents(self, folder: str) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for name in self._names(folder):
            try:
                found[name] = json.loads(self._fs.cat_file(f"{self._root}/{folder}/{name}/{artifacts.METADATA}"))
            except (OSError, ValueError):
                continue
        return found

    def _names(self, folder: str) -> list[str]:
        try:
            paths = self._fs.ls(f"{self._root}/{folder}", detail=False, refresh=True)
        except FileNotFoundError:
            return []
        names = [path.rstrip("/").rpartition("/")[2] for path in paths]
        return [name for name in names if artifacts.is_fetch_id(name)]

    def remove(self, folder: str, fetch_id: str) -> None:
        place = f"{self._root}/{folder}/{fetch_id}"
        if self._fs.exists(place):
            self._fs.rm(place, recursive=True)

    def sweep(self, folder: str) -> None:
        complete = self.documents(folder)
        for name in self._names(folder):
            if name not in complete:
                self.remove(folder, name)

    def read(self, name: str) -> bytes:
        return bytes(self._fs.cat_file(f"{self._root}/{name}"))

    def write(self, name: str, data: bytes) -> None:
        self._fs.makedirs(self._root, exist_ok=True)
        waiting = f"{self._root}/.incoming-{name}"
        self._fs.pipe_file(waiting, data)
        self._fs.mv(waiting, f"{self._root}/{name}")

    def upload(self, directory: str, folder: str) -> None:
        """Put a document's directory into a folder, its metadata last.  Raises OSError."""
        target = f"{self._root}/{folder}/{os.path.basename(directory)}"
        self._fs.makedirs(target, exist_ok=True)
        for name in sorted(os.listdir(directory), key=lambda name: name == artifacts.METADATA):
            self._fs.put_file(os.path.join(directory, name), f"{target}/{name}")
