"""Files in places that others may have prepared: no foreign link is followed, nothing is overwritten, space is left."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import sys

from cdpfetch.errors import CdpFetchError, InvalidRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# As many links in one path as Linux follows.
_MAX_LINKS = 40
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_AT_FDCWD = -100
_RENAME_NOREPLACE = 1  # Linux renameat2
_RENAME_EXCL = 4  # macOS renamex_np


def make_output_dir(path: str) -> None:
    """Create a directory (0700) for documents where there is none, or verify one that others may have prepared.

    A symbolic link on the way is followed when it is this user's or root's.  One that belongs to somebody else is
    refused, and so is a directory in which any user may replace our files.  Raises InvalidRequest, OSError.
    """
    check_links(path)
    os.makedirs(path, mode=0o700, exist_ok=True)
    info = os.stat(path)
    if stat.S_IMODE(info.st_mode) & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH:
        raise InvalidRequest(
            f"cannot write to {path}: any user may replace what is in it",
            f"close it (chmod o-w {path}), or give -o DIR",
        )


def check_links(path: str) -> None:
    """Raises InvalidRequest when an absolute path leads through a symbolic link of another user."""
    current, links = "/", 0
    waiting = path.split("/")[::-1]
    while waiting:
        part = waiting.pop()
        if part in ("", "."):
            continue
        if part == "..":
            current = os.path.dirname(current)
            continue
        candidate = os.path.join(current, part)
        try:
            info = os.lstat(candidate)
        except FileNotFoundError:
            return
        if not stat.S_ISLNK(info.st_mode):
            current = candidate
            continue
        links += 1
        if info.st_uid not in (os.getuid(), 0):
            raise InvalidRequest(
                f"cannot write to {path}: {candidate} is a symbolic link of user {info.st_uid}", "give another -o DIR"
            )
        if links > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        target = os.readlink(candidate)
        if target.startswith("/"):
            current = "/"
        waiting += target.split("/")[::-1]


def write_new(path: str, data: bytes) -> None:
    """A new file (0600) that follows no link and replaces nothing.  Raises OSError."""
    with open(os.open(path, _NEW_FILE, 0o600), "wb") as file:
        file.write(data)


def open_regular(path: str) -> int:
    """A descriptor, for reading, of a regular file of ours with one name.  Raises InvalidRequest, OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        require_plain(fd, path)
    except BaseException:
        os.close(fd)
        raise
    return fd


def require_plain(fd: int, path: str) -> None:
    """Raises InvalidRequest unless a descriptor is of a regular file of ours that has one name."""
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode):
        raise InvalidRequest(f"{path} is not a regular file")
    if info.st_nlink != 1 or info.st_uid != os.geteuid():
        raise InvalidRequest(f"{path} is not a file of ours alone")


def rename_new(source: str, target: str) -> None:
    """Rename, but never onto something that exists, be it an empty directory or a link.  Raises OSError."""
    if _rename_exclusively(os.fsencode(source), os.fsencode(target)):
        return
    # A file system or a platform without it: rename itself replaces nothing but an empty directory.
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    os.rename(source, target)


def _rename_exclusively(source: bytes, target: bytes) -> bool:
    """Whether the system could do it in one step; raises OSError when it could and refused."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform.startswith("linux") and hasattr(libc, "renameat2"):
        failed = libc.renameat2(_AT_FDCWD, source, _AT_FDCWD, target, _RENAME_NOREPLACE)
    elif hasattr(libc, "renamex_np"):
        failed = libc.renamex_np(source, target, _RENAME_EXCL)
    else:
        return False
    if not failed:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), os.fsdecode(target))


def require_space(path: str, floor: int) -> None:
    """Raises CdpFetchError (``disk_full``) when fewer than ``floor`` bytes are free where ``path`` is or will be.

    0 asks for nothing.
    """
    if floor <= 0:
        return
    place = path
    while not os.path.exists(place) and place != os.path.dirname(place):
        place = os.path.dirname(place)
    try:
        info = os.statvfs(place)
    except OSError:
        return  # the write itself will say what is wrong
    free = info.f_bavail * info.f_frsize
    if free < floor:
        raise CdpFetchError(
            "disk_full",
            f"{free // 1_000_000:,} MB are free at {place}, and artifacts.min_free_mb asks for {floor // 1_000_000:,}",
            "free some space, or give another -o DIR",
        )


@contextlib.contextmanager
def held(directory: str, *, alone: bool = False) -> Iterator[bool]:
    """Hold a directory while its files are read, so that pruning leaves it, or ``alone`` to take it away.

    Yields False, at once, where it is not there or where somebody else's hold is in the way.
    """
    try:
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(fd, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except OSError as error:
            # A file system without locks holds nobody up.
            yield error.errno not in (errno.EWOULDBLOCK, errno.EACCES)
            return
        yield True
    finally:
        os.close(fd)
