"""What a worker may not do, whatever a document makes its parsers do: network, programs, processes, files, secrets.

On Linux the worker leaves the network behind (a namespace of its own), has a filter for system calls that knows no
sockets, no programs and no other process, and sees of the files only its own folder and what Python is made of
(Landlock).  Elsewhere only Python's own sockets are shut, and the worker says so.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import resource
import shutil
import struct
import sys
import tempfile
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import cdpfetch
from cdpfetch.extract import landlock

# How far a worker is shut off, as it says when it is ready.
CLOSED = "closed"  # the kernel refuses
PYTHON_ONLY = "python"  # only Python refuses; native code could

# Bytes of one file that a worker writes, and files that it may hold open.
MAX_FILE = 512 << 20
MAX_OPEN = 512
# Processors that a job may keep busy for its whole deadline.
_BUSY = 2

# The parts of a worker's folder: for a job's input, which it only reads, for its output, and for temporary files.
INPUT, OUTPUT, TEMPORARY = "in", "out", "tmp"
WRITABLE = (OUTPUT, TEMPORARY)

_FOLDER = "cdpfetch-extract-"
# What libraries read: code and data, the linker's cache, time zone, types of files, and what the machine is like.
_SYSTEM = (
    "/usr",
    "/lib",
    "/lib64",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    "/dev/null",
    "/dev/urandom",
    "/dev/zero",
)
# What a worker needs of its parent's environment: where things are and how to write.  Keys and tokens are not in it.
_PASSED = frozenset(
    "PATH HOME LANG LANGUAGE TZ PYTHONHOME PYTHONUSERBASE PYTHONNOUSERSITE PYTHONDONTWRITEBYTECODE PYTHONHASHSEED "
    "LD_LIBRARY_PATH DYLD_LIBRARY_PATH DYLD_FALLBACK_LIBRARY_PATH".split()
)

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_X32 = 0x40000000
# Machine -> (its number in the audit interface, the numbers of the refused calls).  Those are, in this order: socket,
# io_uring_setup, execve, execveat, ptrace, process_vm_readv, process_vm_writev, pidfd_open, pidfd_getfd, kill,
# rt_sigqueueinfo, mount, unshare, setns, bpf, perf_event_open, userfaultfd.
_MACHINES = {
    "x86_64": (0xC000003E, (41, 425, 59, 322, 101, 310, 311, 434, 438, 62, 129, 165, 272, 308, 321, 298, 323)),
    "aarch64": (0xC00000B7, (198, 425, 221, 281, 117, 270, 271, 434, 438, 129, 138, 40, 97, 268, 280, 241, 282)),
}


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What a worker gets of its parent's environment."""
    return {name: value for name, value in environ.items() if name in _PASSED or name.startswith("LC_")}


class Confined(NamedTuple):
    """How far a worker is shut off: from the network (`CLOSED` or `PYTHON_ONLY`), and from the account's files."""

    network: str
    files: bool


def enter(folder: str | None = None) -> Confined:
    """Shut this process off, for good; to be called while it has one thread.

    ``folder`` is the one place where it may write (all but ``folder/in``) and read what is not Python's own; without
    one the files stay open to it.
    """
    limit(resource.RLIMIT_FSIZE, MAX_FILE)
    limit(resource.RLIMIT_NOFILE, MAX_OPEN)
    sys.addaudithook(_refuse_sockets)
    if sys.platform != "linux":
        return Confined(PYTHON_ONLY, False)
    unshared = _leave_network()
    closed = folder is not None and _close_files(folder)
    filtered = _filter_calls()
    return Confined(CLOSED if unshared or filtered else PYTHON_ONLY, closed)


def _close_files(folder: str) -> bool:
    writable = [os.path.join(folder, name) for name in WRITABLE]
    return landlock.restrict([*readable(), folder], [*writable, "/dev/null"])


def readable() -> list[str]:
    """The places of Python, its packages and the system's libraries; never one that holds the account's home."""
    package = os.path.dirname(os.path.abspath(cdpfetch.__file__))
    found = [*_SYSTEM, package, sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix]
    found += [path for path in sys.path if path and path != os.path.dirname(package)]
    home = os.path.realpath(os.path.expanduser("~"))
    return [path for path in found if not (home + "/").startswith(os.path.realpath(path).rstrip("/") + "/")]


def _refuse_sockets(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("socket.__new__", "socket.connect", "socket.getaddrinfo"):
        raise PermissionError(errno.EPERM, "extraction has no network")


def _leave_network() -> bool:
    """Move into an empty network: alone as root, else together with a user namespace in which we stay who we are."""
    with contextlib.suppress(OSError, AttributeError):
        unshare = ctypes.CDLL(None, use_errno=True).unshare
        if os.geteuid() == 0 and unshare(_CLONE_NEWNET) == 0:
            return True
        uid, gid = os.geteuid(), os.getegid()
        if unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
            return False
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with contextlib.suppress(OSError), open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
        return True
    return False


class _Program(ctypes.Structure):
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _filter_calls() -> bool:
    """Let the kernel refuse (EPERM) the calls that a parser has no use for; False where it can't."""
    known = _MACHINES.get(platform.machine())
    if known is None or sys.maxsize < 1 << 32:
        return False
    code = _program(*known)
    program = _Program(len(code) // 8, code)
    try:
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        if prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            return False
        return bool(prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def _program(machine: int, refused: tuple[int, ...]) -> bytes:
    """The filter: (operation, jump if true, jump if false, operand) of each instruction, 8 bytes each."""
    # The last instruction refuses, the one before it allows.
    lines = [(_LOAD, 0, 0, 4), (_JUMP_EQUAL, 0, len(refused) + 3, machine), (_LOAD, 0, 0, 0)]
    lines.append((_JUMP_AT_LEAST, len(refused) + 1, 0, _X32))
    for index, number in enumerate(refused):
        lines.append((_JUMP_EQUAL, len(refused) - index, 0, number))
    lines += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def limit(what: int, wanted: int) -> None:
    """Lower the soft limit of a resource, where the platform lets us."""
    with contextlib.suppress(OSError, ValueError):
        _, hard = resource.getrlimit(what)
        resource.setrlimit(what, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def allow_cpu(seconds: float) -> None:
    """End this process (SIGXCPU) when it uses more processor time from now on than a job of ``seconds`` may."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    limit(resource.RLIMIT_CPU, int(usage.ru_utime + usage.ru_stime + seconds * _BUSY) + 2)


def make_folder(place: str | None = None) -> str:
    """A private folder for one worker (0700) in ``place``, or where temporary files are.  Raises OSError."""
    return os.path.realpath(tempfile.mkdtemp(prefix=f"{_FOLDER}{os.getpid()}-", dir=place))


def remove_folder(path: str) -> None:
    """Remove a worker's folder; safe to call again."""
    shutil.rmtree(path, ignore_errors=True)


def empty(folder: str) -> None:
    """Remove what a job has left in its temporary folder."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)


def sweep(alive: Callable[[int], bool], place: str | None = None) -> None:
    """Remove the folders that workers of daemons which were killed have left in ``place``."""
    with contextlib.suppress(OSError), os.scandir(place or tempfile.gettempdir()) as entries:
        for entry in entries:
            owner = entry.name.removeprefix(_FOLDER).partition("-")[0]
            if not entry.name.startswith(_FOLDER) or not owner.isdigit() or not entry.is_dir(follow_symlinks=False):
                continue
            if entry.stat(follow_symlinks=False).st_uid == os.getuid() and not alive(int(owner)):
                remove_folder(entry.path)
