"""Chrome's profile directory: its lock, and the preferences that must stand before a start."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
from typing import NamedTuple

from cdpfetch import process
from cdpfetch.errors import CdpFetchError

log = logging.getLogger(__name__)

# Chrome's exit status when another Chrome holds the profile (RESULT_CODE_PROFILE_IN_USE).
EXIT_PROFILE_IN_USE = 21
_LOCK = "SingletonLock"
_SOCKET = "SingletonSocket"
# How the temporary directories begin that hold these sockets: a name, a dot, and random letters.
_SOCKET_FOLDERS = frozenset(
    {"org.chromium.Chromium", ".org.chromium.Chromium", "com.google.Chrome", ".com.google.Chrome"}
    | {"com.google.chrome.for.testing", "com.microsoft.Edge", ".com.microsoft.Edge"}
)
_PIPE_SWITCH = "--remote-debugging-pipe"
_NETWORK_FILE_SYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "lustre", "fuse.sshfs", "9p"})


class Holder(NamedTuple):
    """Who holds a profile, by the lock's own words."""

    host: str
    pid: int

    @property
    def here(self) -> bool:
        """Whether it names this machine."""
        return self.host == socket.gethostname()

    @property
    def alive(self) -> bool:
        """Whether it is a process of this machine that still runs."""
        return self.here and process.start_time(self.pid) is not None


def holder(directory: str) -> Holder | None:
    """The holder that Chrome's lock names, or None when there is no lock."""
    try:
        target = os.readlink(os.path.join(directory, _LOCK))
    except OSError:
        return None
    host, _, pid = target.rpartition("-")
    return Holder(host, int(pid)) if host and pid.isdigit() else None


async def await_leftover(directory: str, seconds: float = 3.0) -> None:
    """Wait for a headless Chrome whose daemon was killed: it ends by itself when its pipe closes (0.5 s measured)."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while loop.time() < end:
        found = holder(directory)
        if found is None or not found.alive:
            return
        command = process.command_line(found.pid)
        if command and _PIPE_SWITCH not in command:  # a process on its way out has lost its command line already
            return
        await asyncio.sleep(0.05)


def prepare(directory: str) -> None:
    """Make a profile ready for a start of ours.

    Raises CdpFetchError (``profile_in_use``) when a running browser has it.  A lock of a process that
    is gone is left over from a crash and removed, and so is one of another host name (a container that
    was made anew) where the file system is not shared between hosts: the daemon's own lock says
    that no other daemon uses this home.
    """
    found = holder(directory)
    if found is not None:
        if found.alive or (not found.here and on_network(directory)):
            raise in_use(directory, found)
        log.warning("removing the profile lock of %s, process %d, which is not here", found.host, found.pid)
        _remove_socket(directory)
        for name in (_LOCK, "SingletonCookie", _SOCKET):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(directory, name))
    _write_preferences(directory)


def _remove_socket(directory: str) -> None:
    """Remove the temporary directory that a Chrome has left which did not end by itself: it holds its socket."""
    with contextlib.suppress(OSError):
        socket_path = os.readlink(os.path.join(directory, _SOCKET))
        folder = os.path.dirname(socket_path)
        prefix = os.path.basename(folder).rpartition(".")[0]
        if not os.path.isabs(socket_path) or prefix not in _SOCKET_FOLDERS or os.lstat(folder).st_uid != os.getuid():
            return
        for name in (_SOCKET, "SingletonCookie"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, name))
        os.rmdir(folder)


def forget_tabs(directory: str) -> None:
    """Remove what Chrome would reopen in a window: tabs of headless fetches, too.  Cookies are elsewhere."""
    folder = os.path.join(directory, "Default", "Sessions")
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(folder):
            if name.startswith(("Session_", "Tabs_")):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, name))


def on_network(path: str, mounts: str = "/proc/self/mountinfo") -> bool:
    """Whether a path lies on a file system that several hosts may have mounted; False where that can't be told."""
    path = os.path.realpath(path)
    best, kind = "", ""
    try:
        with open(mounts, encoding="utf-8", errors="replace") as file:
            for line in file:
                left, _, right = line.partition(" - ")
                mount = left.split()[4].encode().decode("unicode_escape")
                if (path == mount or path.startswith(mount.rstrip("/") + "/")) and len(mount) >= len(best):
                    best, kind = mount, right.split()[0]
    except (OSError, IndexError, UnicodeError):
        return False
    return kind in _NETWORK_FILE_SYSTEMS


def in_use(directory: str, found: Holder | None) -> CdpFetchError:
    """The error for a profile that a running browser has."""
    who = f"process {found.pid} on {found.host}" if found is not None else "another browser"
    hint = f"close that browser (process {found.pid}) and fetch again" if found is not None else "close that browser"
    return CdpFetchError("profile_in_use", f"the profile {directory} is in use by {who}", hint)


def _write_preferences(directory: str) -> None:
    """Keep session cookies over restarts (``session.restore_on_startup`` 1); no tabs are reopened headless."""
    path = os.path.join(directory, "Default", "Preferences")
    try:
        with open(path, encoding="utf-8") as file:
            preferences = json.load(file)
    except FileNotFoundError:
        preferences = {}
    except (OSError, ValueError) as error:
        log.warning("the profile's preferences can't be read and are left alone: %s", error)
        return
    session = preferences.setdefault("session", {})
    if session.get("restore_on_startup") == 1:
        return
    session["restore_on_startup"] = 1
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        temporary = path + ".cdpfetch"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(preferences, file)
        os.replace(temporary, path)
    except OSError as error:
        log.warning("the profile's preferences can't be written: %s", error)
