"""What keeps a worker process from outliving its parent, its memory or its deadline."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """End this process when its parent ends (Linux), and at once when that has already happened."""
    if sys.platform == "linux":
        # A libc without prctl: end of input and the alarm still end the process.
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if parent and os.getppid() != parent:
        raise SystemExit(0)


def cap_memory(megabytes: int) -> None:
    """Let allocations beyond ``megabytes`` of address space fail; 0 means no cap."""
    if megabytes <= 0:
        return
    wanted = megabytes << 20
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    # macOS refuses; there the parent's deadline and the recycling by resident size remain.
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


def no_core_files() -> None:
    """A hostile page that crashes the worker must not fill the disk."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def arm_alarm(seconds: float) -> None:
    """End this process by SIGALRM's default action after ``seconds``; 0 disarms.

    Not an exception: a job that is stuck in native code would never see one.
    """
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, max(0.0, seconds))


def resident_mb() -> float:
    """The resident size of this process in MB, now where the platform tells it, else at its highest."""
    try:
        with open("/proc/self/statm", "rb") as f:
            return int(f.read().split()[1]) * resource.getpagesize() / (1 << 20)
    except (OSError, ValueError, IndexError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1 << 20) if sys.platform == "darwin" else peak / 1024
