"""One URL's work: its shape, its requests, and the document that is being written."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, BinaryIO, NamedTuple, TypeVar
from urllib.parse import quote

from cdpfetch import artifacts, httpclient
from cdpfetch.errors import CdpFetchError
from cdpfetch.fetchers.github.api import OCTETS, Api
from cdpfetch.fetchers.github.failures import NotFound, RateLimited
from cdpfetch.fetchers.github.shapes import Shape
from cdpfetch.invisible import clean

T = TypeVar("T")

# Bytes between two lines of progress.
_STEP = 1 << 20


class Saved(NamedTuple):
    """A file that was streamed to disk: its path, size and SHA-256."""

    path: str
    size: int
    sha256: str


class Work:
    """What a loader works with; ``warnings`` are those of the document."""

    def __init__(
        self, shape: Shape, api: Api, draft: artifacts.Draft, max_bytes: int, report: Callable[..., None]
    ) -> None:
        self.shape = shape
        self.api = api
        self.draft = draft
        self.max_bytes = max_bytes
        self.warnings: list[tuple[str, str]] = []
        self._report = report

    @property
    def repo(self) -> str:
        """The repository's path in the API."""
        return f"/repos/{quote(self.shape.owner)}/{quote(self.shape.repo)}"

    @property
    def page(self) -> str:
        """The repository's page."""
        return f"{self.api.hosts.web}/{self.shape.name}"

    async def optional(self, work: Coroutine[Any, Any, T], instead: T, what: str, *, may_lack: bool = False) -> T:
        """A result that the document can do without: a failure is a warning, unless nothing is there that may lack."""
        try:
            return await work
        except RateLimited:
            raise
        except NotFound as error:
            if not may_lack:
                self._lacks(what, error)
            return instead
        except CdpFetchError as error:
            self._lacks(what, error)
            return instead

    def _lacks(self, what: str, error: CdpFetchError) -> None:
        self.warnings.append(("incomplete", f"{what} could not be read: {error.reason}"))

    async def save(self, url: str, name: str, accept: str = OCTETS) -> Saved:
        """Stream a file into the document's directory; it is a body once it is added to the draft.

        Raises CdpFetchError: ``too_large`` over ``max_bytes``.
        """
        path = self.draft.reserve(name)
        async with self.api.open(url, accept=accept) as response:
            declared = response.headers.get("content-length", "")
            total = int(declared) if declared.isdigit() else None
            try:
                with _create(path) as file:
                    async with contextlib.aclosing(httpclient.iter_limited(response, self.max_bytes)) as chunks:
                        saved = await self._write(file, path, chunks, total)
            except OSError as error:
                raise artifacts.write_error(path, error) from error
        self.api.received += saved.size
        return saved

    async def _write(self, file: BinaryIO, path: str, chunks: AsyncGenerator[bytes], total: int | None) -> Saved:
        digest = hashlib.sha256()
        size = shown = 0
        async for chunk in chunks:
            file.write(chunk)
            digest.update(chunk)
            size += len(chunk)
            if size - shown >= _STEP:
                shown = size
                self.progress(size, total)
        return Saved(path, size, digest.hexdigest())

    def warn_of_invisible(self, name: str, text: str) -> None:
        """Say of a text that stays literal what a reader of it can't see."""
        if removed := clean(text)[1]:
            message = f"{name} is literal and holds invisible characters ({removed}): distrust what you cannot see"
            self.warnings.append(("invisible_characters", message))

    def progress(self, received: int, total: int | None) -> None:
        """Tell how far a download is."""
        self._report("downloading", receivedBytes=received, **({} if total is None else {"totalBytes": total}))


def escaped(path: str) -> str:
    """A path for an address; its slashes stay."""
    return quote(path, safe="/")


def _create(path: str) -> BinaryIO:
    return open(path, "xb", opener=_private)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)
