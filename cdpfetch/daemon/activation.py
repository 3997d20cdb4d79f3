"""What a service manager gives the daemon: the listening socket, and an ear for the word that it is ready.

systemd passes descriptors from 3 on (``LISTEN_PID``, ``LISTEN_FDS``) and hears datagrams (``NOTIFY_SOCKET``); launchd
hands its sockets out when asked by name.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import socket
import sys
from collections.abc import MutableMapping

log = logging.getLogger(__name__)

FIRST_FD = 3
# The name of the socket in the launchd agent (cdpfetch/service/launchd.py).
LAUNCHD_NAME = "Listeners"
# A name of its own, so that a type checker looks at both branches.
_MAC: bool = sys.platform == "darwin"


def listener(path: str, environ: MutableMapping[str, str] | None = None) -> socket.socket | None:
    """The listening unix socket at ``path`` that a service manager holds for us, or None.

    Other descriptors that came along are closed, and the variables are removed: what the daemon starts is not meant.
    """
    environ = os.environ if environ is None else environ
    fds = _from_systemd(environ) or (_from_launchd() if _MAC else [])
    found: socket.socket | None = None
    for fd in fds:
        os.set_inheritable(fd, False)
        candidate = socket.socket(fileno=fd)
        if found is None and _listens_at(candidate, path):
            found = candidate
            continue
        log.warning("a socket of the service manager is not that of %s, and is closed", path)
        candidate.close()
    if found is not None:
        found.setblocking(False)
    return found


def notify(text: str, environ: MutableMapping[str, str] | None = None) -> bool:
    """Tell systemd something, such as ``READY=1``; False when nobody listens.  Never fails."""
    address = (os.environ if environ is None else environ).get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return False
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
            ear.settimeout(1.0)
            ear.sendto(text.encode(), "\0" + address[1:] if address.startswith("@") else address)
    except OSError as error:
        log.warning("the service manager could not be told %s: %s", text, error)
        return False
    return True


def _from_systemd(environ: MutableMapping[str, str]) -> list[int]:
    pid, count = environ.pop("LISTEN_PID", ""), environ.pop("LISTEN_FDS", "")
    environ.pop("LISTEN_FDNAMES", None)
    if pid != str(os.getpid()) or not count.isdigit():
        return []
    return [fd for fd in range(FIRST_FD, FIRST_FD + min(int(count), 16)) if _is_socket(fd)]


def _from_launchd() -> list[int]:
    """Asks the C library; an agent of another making, and a start by hand, have no such socket."""
    fds = ctypes.POINTER(ctypes.c_int)()
    count = ctypes.c_size_t()
    libc = ctypes.CDLL(None)
    try:
        failed = libc.launch_activate_socket(LAUNCHD_NAME.encode(), ctypes.byref(fds), ctypes.byref(count))
    except AttributeError:
        return []
    if failed:
        return []
    found = [fds[index] for index in range(count.value)]
    libc.free(fds)
    return found


def _is_socket(fd: int) -> bool:
    try:
        with socket.socket(fileno=os.dup(fd)):
            return True
    except OSError:
        return False


def _listens_at(candidate: socket.socket, path: str) -> bool:
    with contextlib.suppress(OSError):
        listening = not _MAC and candidate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        unix = candidate.family == socket.AF_UNIX and candidate.type == socket.SOCK_STREAM
        return bool(
            unix and (listening or _MAC) and os.path.realpath(candidate.getsockname()) == os.path.realpath(path)
        )
    return False
