"""What a batch is asked to do."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

# Requests that one connection of the daemon takes are 256; a batch leaves room for others.
MAX_CONCURRENCY = 200


class BatchOptions(NamedTuple):
    """The options of one run; a later run in the same directory may have others, but for ``results``."""

    directory: str  # absolute: manifest, results and documents
    concurrency: int  # URLs under way at once
    per_host: int = 2  # of these, from one host
    delay: float = 1.0  # seconds between the starts of two fetches from one host
    retries: int = 3  # further tries after a failure that may pass
    results: str = "jsonl"  # or "parquet"
    ignore_robots: bool = False
    retry_failed: bool = False
    fetch: Mapping[str, Any] = {}  # options of each fetch, as ``cdpfetch.fetch`` has them
    deadline: float = 60.0  # seconds for one URL

    @property
    def manifest(self) -> str:
        """The path of the manifest."""
        return os.path.join(self.directory, "manifest.sqlite")
