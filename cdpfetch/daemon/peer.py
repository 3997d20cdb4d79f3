"""Who is at the other end of a unix socket."""

from __future__ import annotations

import socket
import struct
import sys

# A name of its own, so that a type checker looks at every branch.
_PLATFORM: str = sys.platform
_SO_PEERCRED: int = getattr(socket, "SO_PEERCRED", 17)


def peer_uid(sock: socket.socket) -> int | None:
    """The user id of the peer, by the kernel's word; None where the platform has no way to tell."""
    if _PLATFORM == "linux":
        credentials = sock.getsockopt(socket.SOL_SOCKET, _SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", credentials)[1])
    if _PLATFORM == "darwin":
        # struct xucred: version, uid, ngroups, groups[16]; SOL_LOCAL is 0, LOCAL_PEERCRED is 1.
        credentials = sock.getsockopt(0, 1, 76)
        return int(struct.unpack_from("=II", credentials)[1])
    return None
