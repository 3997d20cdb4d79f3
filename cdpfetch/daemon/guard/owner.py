"""Whose a connection to a loopback port is: the user of the socket at its other end, by the kernel's word."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
from collections.abc import Callable
from typing import NamedTuple

# A name of its own, so that a type checker looks at every branch.
_PLATFORM: str = sys.platform
_NETLINK: int = getattr(socket, "AF_NETLINK", 16)
_SOCK_DIAG = 4  # the netlink family that knows sockets
_SOCK_DIAG_BY_FAMILY = 20  # its message type
_REQUEST = 1  # NLM_F_REQUEST without a dump flag: one socket, by its exact addresses
_UID_AT = 16 + 4 + 48 + 12  # nlmsghdr, four bytes of state, inet_diag_sockid, three counters
_TABLE = "/proc/net/tcp"

_Address = tuple[str, int]


class Ends(NamedTuple):
    """The addresses (IPv4 address, port) of the socket in question: its own and the other end's."""

    own: _Address
    other: _Address


def uid_of(ends: Ends) -> int | None:
    """The user id of an IPv4 TCP socket of this machine, or None where that can't be told.

    By sock_diag (8 µs); by ``/proc/net/tcp`` (which lists every socket) where the former is not available.
    """
    if _PLATFORM != "linux":
        return None
    with contextlib.suppress(OSError, struct.error):
        return _ask_kernel(ends)
    with contextlib.suppress(OSError, ValueError):
        return _look_up(ends)
    return None


def can_tell(owner: Callable[[Ends], int | None]) -> bool:
    """Whether ``owner`` recognises a connection of our own on this machine."""
    with contextlib.suppress(OSError), socket.socket() as listener, socket.socket() as client:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        client.connect(listener.getsockname())
        return owner(Ends(client.getsockname(), listener.getsockname())) == os.geteuid()
    return False


def _ask_kernel(ends: Ends) -> int | None:
    (own, own_port), (other, other_port) = ends
    socket_id = struct.pack(
        "!HH16s16sI8s",
        own_port,
        other_port,
        socket.inet_aton(own),
        socket.inet_aton(other),
        0,
        b"\xff" * 8,  # no cookie
    )
    request = struct.pack("=BBBBI", socket.AF_INET, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF) + socket_id
    message = struct.pack("=IHHII", 16 + len(request), _SOCK_DIAG_BY_FAMILY, _REQUEST, 1, 0) + request
    with socket.socket(_NETLINK, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, _SOCK_DIAG) as kernel:
        # The kernel answers before send() returns; without an answer there is none.
        kernel.setblocking(False)
        kernel.send(message)
        answer = kernel.recv(8192)
    if struct.unpack_from("=H", answer, 4)[0] != _SOCK_DIAG_BY_FAMILY:
        raise OSError("sock_diag refuses, or knows no such socket")
    return int(struct.unpack_from("=I", answer, _UID_AT)[0])


def _look_up(ends: Ends) -> int | None:
    own, other = (_written(address) for address in ends)
    with open(_TABLE, encoding="ascii") as table:
        for line in table:
            fields = line.split()
            if fields[1:3] == [own, other]:
                return int(fields[7])
    return None


def _written(address: _Address) -> str:
    """An address as the kernel's table shows it: the bytes in the machine's order, in hexadecimal."""
    (number,) = struct.unpack("=I", socket.inet_aton(address[0]))
    return f"{number:08X}:{address[1]:04X}"
