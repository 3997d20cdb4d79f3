"""Listings of archives; nothing is ever unpacked to disk, and what is read is bounded."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import time
import zipfile
from collections.abc import Iterator
from typing import IO, NamedTuple, cast

from cdpfetch.extract.tables import escape_cell

# Members that a listing shows; the rest is counted.
MAX_MEMBERS = 2000
# Decompressed bytes that a listing of a compressed tar may cost.
MAX_UNPACKED = 512 << 20
MAX_SECONDS = 15.0
# A single compressed file is read up to so many bytes.
MAX_SINGLE = 32 << 20

TYPES = {
    "application/zip": "ZIP",
    "application/x-zip-compressed": "ZIP",
    "application/java-archive": "ZIP",
    "application/x-tar": "tar",
    "application/gzip": "gzip",
    "application/x-gzip": "gzip",
    "application/x-bzip2": "bzip2",
    "application/x-xz": "xz",
}
# Kinds of archives whose contents nothing here can list.
UNLISTED = {
    "application/x-7z-compressed": "7z",
    "application/x-rar-compressed": "RAR",
    "application/vnd.rar": "RAR",
    "application/zstd": "Zstandard",
    "application/x-lz4": "LZ4",
}
_ERRORS = (zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError, OSError, EOFError, ValueError, NotImplementedError)


class Member(NamedTuple):
    """One entry of an archive; ``size`` is in bytes, unpacked."""

    name: str
    size: int
    date: str
    encrypted: bool = False


class Listing(NamedTuple):
    """What an archive holds.

    Attributes:
        kind: ``ZIP``, ``tar``, ``gzip`` ...
        members: at most ``MAX_MEMBERS``.
        entries: how many members were seen; ``complete`` says whether that is all there are.
        total: their unpacked bytes.
    """

    kind: str
    members: list[Member]
    entries: int
    total: int
    complete: bool = True

    @property
    def encrypted(self) -> bool:
        """Whether a member needs a password."""
        return any(member.encrypted for member in self.members)

    def markdown(self) -> str:
        """A table of the members."""
        more = "" if self.complete else "at least "
        plural = "entry" if self.entries == 1 else "entries"
        lines = [
            f"{self.kind} archive: {more}{self.entries} {plural}, {self.total} bytes unpacked",
            "",
            "| name | bytes | date |",
            "| --- | --- | --- |",
        ]
        lines += [f"| {escape_cell(m.name)} | {m.size} | {m.date} |" for m in self.members]
        if self.entries > len(self.members):
            lines += ["", f"… and {self.entries - len(self.members)} more"]
        return "\n".join(lines) + "\n"


class NotListed(Exception):
    """The archive is broken; the text says how."""


def listing(path: str, content_type: str) -> Listing:
    """The members of the archive at ``path``.  Raises NotListed."""
    kind = TYPES.get(content_type, "")
    try:
        if kind == "ZIP":
            return _zip(path)
        return _tar(path, kind)
    except _ERRORS as error:
        raise NotListed(f"{kind or 'the'} archive cannot be read: {error}") from None


def single(path: str, content_type: str) -> bytes | None:
    """The one file that a compressed file holds; None for archives, and what is broken or above MAX_SINGLE."""
    kind = TYPES.get(content_type, "")
    if kind not in ("gzip", "bzip2", "xz"):
        return None
    try:
        with _open(path, kind) as stream:
            data = stream.read(MAX_SINGLE + 1)
    except _ERRORS:
        return None
    # A tar says so at this place; where it does not, its first bytes are the name of a file.
    return data if data and len(data) <= MAX_SINGLE and data[257:262] != b"ustar" else None


def _zip(path: str) -> Listing:
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        members = [
            Member(
                info.filename, info.file_size, "{:04}-{:02}-{:02}".format(*info.date_time[:3]), bool(info.flag_bits & 1)
            )
            for info in infos[:MAX_MEMBERS]
        ]
        return Listing("ZIP", members, len(infos), sum(info.file_size for info in infos))


class _Bounded:
    """A readable stream that ends early rather than give more than is allowed."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._left = MAX_UNPACKED
        self._end = time.monotonic() + MAX_SECONDS
        # Set when the bound, not the data, ended the stream.
        self.cut = False

    def read(self, size: int = -1) -> bytes:
        if self._left <= 0 or time.monotonic() > self._end:
            self.cut = True
            return b""
        data = self._stream.read(min(size if size >= 0 else self._left, self._left))
        self._left -= len(data)
        return data


def _open(path: str, kind: str) -> IO[bytes]:
    if kind == "gzip":
        return cast("IO[bytes]", gzip.open(path, "rb"))
    if kind == "bzip2":
        return bz2.open(path, "rb")
    if kind == "xz":
        return lzma.open(path, "rb")
    return open(path, "rb")


def _tar(path: str, kind: str) -> Listing:
    with _open(path, kind) as stream:
        bounded = _Bounded(stream)
        try:
            members, count, total = _collect(bounded)
        except tarfile.TarError:
            if bounded.cut:
                return Listing(kind, [], 0, MAX_UNPACKED, complete=False)
            if kind == "tar":
                raise
            return _single(path, kind)
        if not count and kind != "tar":
            # Nothing but zeros is an empty tar, too.
            return _single(path, kind)
        return Listing("tar" if kind == "tar" else f"tar ({kind})", members, count, total, complete=not bounded.cut)


def _collect(stream: _Bounded) -> tuple[list[Member], int, int]:
    members: list[Member] = []
    count = total = 0
    for info in _entries(stream):
        count += 1
        total += info.size
        if count <= MAX_MEMBERS:
            name = info.name + ("/" if info.isdir() else "")
            if info.issym() or info.islnk():
                name += f" → {info.linkname}"
            members.append(Member(name, info.size, time.strftime("%Y-%m-%d", time.gmtime(max(0, info.mtime)))))
    return members, count, total


def _entries(stream: _Bounded) -> Iterator[tarfile.TarInfo]:
    with tarfile.open(fileobj=stream, mode="r|") as archive:  # type: ignore[call-overload]
        for info in archive:
            # Streaming mode keeps every header it has seen; a listing of millions must not.
            archive.members = []
            yield info


def _single(path: str, kind: str) -> Listing:
    """A compressed file that is no tar: one member of unknown name."""
    with _open(path, kind) as stream:
        bounded = _Bounded(stream)
        total = 0
        while chunk := bounded.read(1 << 20):
            total += len(chunk)
    return Listing(kind, [Member("(one compressed file)", total, "")], 1, total, complete=not bounded.cut)
