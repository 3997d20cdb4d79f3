"""Settings of other programs on disk: read whole, kept beside under another name, and replaced in one step."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from typing import NamedTuple

from cdpfetch.disk import check_links
from cdpfetch.errors import CdpFetchError, InvalidRequest

# Bytes; no settings are larger.
MAX_BYTES = 64_000_000
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Found(NamedTuple):
    """A file as it was read: ``path`` with its links followed; ``data`` and ``mode`` are None where there is none."""

    path: str
    data: bytes | None
    mode: int | None

    @property
    def text(self) -> str:
        """As UTF-8, with line ends as they are; empty where there is no file.  Raises InvalidRequest."""
        try:
            return (self.data or b"").decode()
        except UnicodeDecodeError as error:
            raise InvalidRequest(
                f"{self.path}: it is not in UTF-8: {error}", "mend or move it, and try again"
            ) from error


def read(path: str) -> Found:
    """Read a file that may not exist.  A link of this user's, or of root's, is followed.

    Raises InvalidRequest for what is not a regular file of this user, or is too large; CdpFetchError when the system
    refuses.
    """
    _check_links(path)
    target = os.path.realpath(path)
    try:
        try:
            fd = os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return Found(target, None, None)
        try:
            info = os.fstat(fd)
            _check(target, info)
            with open(fd, "rb", closefd=False) as file:
                return Found(target, file.read(), stat.S_IMODE(info.st_mode))
        finally:
            os.close(fd)
    except OSError as error:
        raise _refused("read", path, error) from error


def _check_links(path: str) -> None:
    try:
        check_links(os.path.abspath(path))
    except InvalidRequest as error:
        raise InvalidRequest(error.reason, "give another place") from error
    except OSError as error:
        raise _refused("read", path, error) from error


def _check(target: str, info: os.stat_result) -> None:
    """Raises InvalidRequest for what settings are not."""
    if not stat.S_ISREG(info.st_mode):
        raise InvalidRequest(f"{target} is not a regular file", "give another place")
    if info.st_uid != os.geteuid():
        raise InvalidRequest(f"{target} belongs to user {info.st_uid}", "give another place")
    if info.st_size > MAX_BYTES:
        raise InvalidRequest(f"{target} has over {MAX_BYTES:,} bytes", "give another place")


def replace(found: Found, data: bytes) -> str | None:
    """Write new content in one step, after a copy of the old one; returns the copy's path, None where there was none.

    The mode stays; a new file is 0600.  Raises InvalidRequest when somebody else wrote it meanwhile, CdpFetchError when
    the system refuses.
    """
    try:
        os.makedirs(os.path.dirname(found.path), mode=0o700, exist_ok=True)
        backup = None if found.data is None else _keep(found, found.data)
        waiting = f"{found.path}.{os.getpid()}.new"
        _write(waiting, data, found.mode)
        try:
            if read(found.path).data != found.data:
                raise InvalidRequest(f"{found.path} was changed by another program meanwhile", "try again")
            os.replace(waiting, found.path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(waiting)
            raise
        return backup
    except OSError as error:
        raise _refused("write", found.path, error) from error


def remove(path: str) -> bool:
    """Remove a file, or a link to one; False when there is none.  Raises CdpFetchError."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _refused("remove", path, error) from error
    return True


def _keep(found: Found, data: bytes) -> str:
    """A copy under a name that is free: ``NAME.bak-YYYYMMDD-HHMMSS``, and a number where that is taken."""
    stem = f"{found.path}.bak-{time.strftime('%Y%m%d-%H%M%S')}"
    for number in range(1, 1000):
        name = stem if number == 1 else f"{stem}.{number}"
        with contextlib.suppress(FileExistsError):
            _write(name, data, found.mode)
            return name
    raise InvalidRequest(f"{stem} and 999 names like it are taken", "remove old ones")


def _write(path: str, data: bytes, mode: int | None) -> None:
    fd = os.open(path, _NEW, 0o600)
    try:
        with open(fd, "wb") as file:
            if mode is not None:
                os.fchmod(fd, mode)
            file.write(data)
            file.flush()
            os.fsync(fd)
    except BaseException:
        os.unlink(path)
        raise


def _refused(what: str, path: str, error: OSError) -> CdpFetchError:
    return CdpFetchError("config_error", f"cannot {what} {path}: {error.strerror}", "check its owner and its mode")
