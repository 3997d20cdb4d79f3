"""The kernel's own bound on the files that Chrome writes: exact, where a look at the file comes too late."""

from __future__ import annotations

import contextlib
import resource
import sys

# Bytes that may lie on the disk beyond a download's limit.
SLACK = 1_000_000
# A smaller bound would hit what is no download: Chrome's shared memory counts as files, too.
_LEAST = 64_000_000


def file_limit(max_bytes: int) -> int | None:
    """The bound for downloads of ``max_bytes``; None where that is too small for one."""
    return max_bytes + SLACK // 2 if max_bytes >= _LEAST else None


class FileBound:
    """The soft RLIMIT_FSIZE of a running process, on Linux; elsewhere nothing happens.

    Chrome inherits from Python that SIGXFSZ is ignored, so that a write beyond the bound fails and ends the download.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._before: tuple[int, int] | None = None  # while it is set

    def set(self, limit: int) -> None:
        """Let no file grow beyond ``limit`` bytes; what is larger already stays."""
        if sys.platform != "linux" or self._before is not None:
            return
        with contextlib.suppress(OSError, ValueError):
            soft, hard = resource.prlimit(self._pid, resource.RLIMIT_FSIZE)
            resource.prlimit(self._pid, resource.RLIMIT_FSIZE, (limit, hard))
            self._before = (soft, hard)

    def lift(self) -> None:
        """As it was before; safe to call again, and when the process has ended."""
        before, self._before = self._before, None
        if sys.platform != "linux" or before is None:
            return
        with contextlib.suppress(OSError, ValueError):
            resource.prlimit(self._pid, resource.RLIMIT_FSIZE, before)
