"""The daemon with everything but the extraction: what comes is written as it is.  For the benchmarks only.

CDPFETCH_HOME=... python scripts/benchmarks/bare_daemon.py
"""

from __future__ import annotations

import sys

from cdpfetch.daemon import __main__ as daemon
from cdpfetch.extract.pool import Answer, ExtractPool, Job

NOTHING: Answer = {
    "content": None,
    "facts": [],
    "warnings": [],
    "excerpt": None,
    "outline": [],
    "coverage": None,
}


async def run(pool: ExtractPool, job: Job, deadline: float) -> Answer:
    """No extraction at all."""
    return {**NOTHING, "facts": [], "warnings": []}


if __name__ == "__main__":
    ExtractPool.run = run  # type: ignore[method-assign]
    sys.exit(daemon.main())
