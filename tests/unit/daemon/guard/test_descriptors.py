"""The limit of descriptors, tried in a process of its own."""

from __future__ import annotations

import subprocess
import sys


def _limit_after(soft: int, hard: int, wanted: int) -> int:
    script = (
        "import resource; from cdpfetch.daemon.guard.descriptors import allow;"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard})); print(allow({wanted}))"
    )
    return int(subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout)


def test_it_is_raised_as_far_as_possible_and_never_lowered() -> None:
    assert _limit_after(128, 512, 400) == 400
    assert _limit_after(128, 300, 400) == 300
    assert _limit_after(450, 512, 400) == 450
