"""A worker's own folder: the input of a job is put into it, and what the job has made is taken out of it.

So a worker needs no right to any other place: ``in`` is for reading, ``out`` and ``tmp`` are for writing.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import stat
from typing import Any

from cdpfetch import artifacts, disk
from cdpfetch.extract import sandbox
from cdpfetch.extract.sandbox import INPUT, OUTPUT, TEMPORARY


class Staging:
    """The folder ``root`` (0700), made for one worker.  Raises OSError."""

    def __init__(self, root: str) -> None:
        self.root = root
        for name in (INPUT, OUTPUT, TEMPORARY):
            os.mkdir(os.path.join(root, name), 0o700)

    async def put(self, job: dict[str, Any]) -> dict[str, Any]:
        """The job with its input, and the place for its output, inside of the folder.

        Raises OSError: there is no regular file at ``path``, or it can't be brought here.
        """
        source = job["path"]
        target = os.path.join(self.root, INPUT, os.path.basename(source) or "input")
        if not stat.S_ISREG(os.stat(source).st_mode):
            raise OSError(f"{source} is not a regular file")
        try:
            os.link(source, target)
        except OSError:
            # Another file system, one without hard links, or a file that is not ours to link.
            await asyncio.to_thread(shutil.copyfile, source, target)
        return {**job, "path": target, "out_dir": os.path.join(self.root, OUTPUT)}

    def release(self) -> None:
        """The input is not needed any more; the file has its one name again."""
        sandbox.empty(os.path.join(self.root, INPUT))

    async def take(self, answer: dict[str, Any], directory: str) -> None:
        """Move the bodies that an answer names into ``directory``.

        The worker may have been taken over: only regular files are moved, and none replaces what is not its own.
        Raises ValueError, OSError, InvalidRequest.
        """
        for body in (answer["content"], *answer.get("bodies", ())):
            if body is not None:
                await self._take_one(str(body["name"]), str(body["role"]), directory)
        self.clear()

    async def _take_one(self, name: str, role: str, directory: str) -> None:
        if name != os.path.basename(name) or name in ("", ".", ".."):
            raise ValueError(f"the worker names a body {name!r}")
        source, target = os.path.join(self.root, OUTPUT, name), os.path.join(directory, name)
        os.close(disk.open_regular(source))
        move = os.replace if artifacts.OWNERS.get(name) == role else disk.rename_new
        try:
            move(source, target)
        except OSError as error:
            if isinstance(error, FileExistsError | FileNotFoundError):
                raise
            await asyncio.to_thread(_copy, source, directory, target, move)

    def clear(self) -> None:
        """Remove whatever the last job has left."""
        for name in (INPUT, OUTPUT, TEMPORARY):
            sandbox.empty(os.path.join(self.root, name))


def _copy(source: str, directory: str, target: str, move: Any) -> None:
    """Move to another file system: whole or not at all."""
    waiting = os.path.join(directory, f".{os.path.basename(target)}.part")
    try:
        with open(disk.open_regular(source), "rb") as file, open(waiting, "xb", opener=_private) as copy:
            shutil.copyfileobj(file, copy, 1 << 20)
        move(waiting, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(waiting)
        raise


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)
