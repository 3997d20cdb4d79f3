"""File descriptors: every connection through the guard takes two, and pages that attack open many."""

from __future__ import annotations

import contextlib
import resource

WANTED = 4096


def allow(wanted: int = WANTED) -> int:
    """Raise this process's own limit to ``wanted`` where it is lower and the system lets it; the limit then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        # macOS refuses more than its kern.maxfilesperproc.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
