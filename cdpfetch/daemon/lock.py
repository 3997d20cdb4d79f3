"""The daemon's singleton: flock decides, the pidfile informs, the socket is taken over only under the lock."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import stat

from cdpfetch import paths, process
from cdpfetch.errors import CdpFetchError, DaemonUnavailable


class InstanceLock:
    """Held for the daemon's whole life; the kernel releases it however the daemon ends."""

    def __init__(self, home: paths.Home) -> None:
        self._home = home
        self._fd: int | None = None
        self._bound = False  # whether the socket's file is ours to remove

    def acquire(self) -> None:
        """Take the lock.

        Raises DaemonUnavailable when another daemon holds it, CdpFetchError (``config_error``) when the
        runtime directory is not ours or the lock file is not a plain file.
        """
        for directory in (self._home.root, self._home.run):
            paths.ensure_private_dir(directory)
        fd = paths.open_private(self._home.lock, os.O_RDWR)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise DaemonUnavailable("another daemon holds the lock") from None
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd

    def write_pidfile(self, version: str) -> None:
        """Say who we are: one JSON line, replaced atomically.  Raises CdpFetchError(config_error)."""
        pid = os.getpid()
        record = {"pid": pid, "started": process.start_time(pid), "version": version}
        temporary = self._home.pidfile + ".new"
        fd = paths.open_private(temporary, os.O_WRONLY)
        os.ftruncate(fd, 0)  # not by opening it, which would be before it was judged
        with open(fd, "w", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        os.replace(temporary, self._home.pidfile)

    def bind(self) -> socket.socket:
        """The listening socket.  A file left by a daemon that died is removed, after nothing answered there.

        Raises DaemonUnavailable when something does answer, CdpFetchError when the place is taken by
        something that is no socket.
        """
        path = self._home.socket
        with contextlib.suppress(FileNotFoundError):
            info = os.lstat(path)
            if not stat.S_ISSOCK(info.st_mode) or info.st_uid != os.getuid():
                raise CdpFetchError("config_error", f"{path} is not a socket of ours", "remove it")
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                probe.settimeout(1.0)
                try:
                    probe.connect(path)
                except (ConnectionRefusedError, FileNotFoundError):
                    os.unlink(path)
                except OSError as error:
                    raise DaemonUnavailable(f"{path} can't be looked at: {error}") from error
                else:
                    raise DaemonUnavailable(f"something answers at {path}, though the lock is free")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        previous = os.umask(0o177)
        try:
            listener.bind(path)
        except OSError as error:
            listener.close()
            raise paths.directory_error(path, error) from error
        finally:
            os.umask(previous)
        self._bound = True
        listener.listen(128)
        listener.setblocking(False)
        return listener

    def release(self) -> None:
        """Remove pidfile and socket (not that of a service manager), then give up the lock; idempotent."""
        if self._fd is None:
            return
        for path in (self._home.socket, self._home.pidfile) if self._bound else (self._home.pidfile,):
            with contextlib.suppress(OSError):
                os.unlink(path)
        os.close(self._fd)
        self._fd = None
