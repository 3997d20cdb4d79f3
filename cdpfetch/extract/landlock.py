"""Linux's Landlock by itself: from now on this process reads and writes only below the places that are named.

Any process may give rights up this way, without privileges, since Linux 5.13; nothing gives them back.  The numbers
are those of ``linux/landlock.h``; what a kernel knows is told by its ABI version (the kernel's userspace-api/landlock).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterable

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446  # the same on every machine
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
_TRUNCATE = 1 << 14
_FOR_FILES = _WRITE_FILE | _READ_FILE | _TRUNCATE  # what a rule on something that is no directory may name
_READ = _READ_FILE | _READ_DIR
# No links, sockets, pipes or devices, and no way to move a file in from elsewhere.
_WRITE = _READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _TRUNCATE
# ABI version -> how many kinds of access to files it knows: 2 brought REFER, 3 TRUNCATE, 5 IOCTL_DEV.
_KINDS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_TCP = 3  # ABI 4: bind and connect
_SCOPES = 3  # ABI 6: abstract sockets of others, signals to others


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def version() -> int:
    """The kernel's Landlock ABI version; 0 where there is none, or where it is switched off."""
    if sys.platform != "linux":
        return 0
    return max(0, _call(_CREATE, None, ctypes.c_size_t(0), _VERSION_FLAG))


def restrict(readable: Iterable[str], writable: Iterable[str]) -> bool:
    """Let this thread, and what it starts, read only below ``readable`` and write only below ``writable``.

    Paths that do not exist are left out.  To be called while the process has one thread.  False, with nothing changed
    but ``no_new_privs``, where the kernel can't.
    """
    known = version()
    if not known:
        return False
    handled = (1 << _KINDS[min(known, max(_KINDS))]) - 1
    wanted = _Ruleset(handled, _TCP if known >= 4 else 0, _SCOPES if known >= 6 else 0)
    size = 24 if known >= 6 else 16 if known >= 4 else 8
    ruleset = _call(_CREATE, ctypes.byref(wanted), ctypes.c_size_t(size), 0)
    if ruleset < 0:
        return False
    try:
        for rights, paths in ((_READ, readable), (_WRITE, writable)):
            for path in paths:
                _allow(ruleset, path, rights & handled)
        if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            return False
        return _call(_RESTRICT, ruleset, 0) == 0
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not os.path.isdir(path):
                rights &= _FOR_FILES
            rule = _Beneath(rights, fd)
            _call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
        finally:
            os.close(fd)


def _call(number: int, *arguments: object) -> int:
    try:
        syscall = ctypes.CDLL(None, use_errno=True).syscall
    except (OSError, AttributeError):
        return -1
    syscall.restype = ctypes.c_long
    return int(syscall(ctypes.c_long(number), *arguments))
