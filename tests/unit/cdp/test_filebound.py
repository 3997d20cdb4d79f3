"""The bound on another process's files, and when there is none."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from cdpfetch.cdp.filebound import SLACK, FileBound, file_limit

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits other processes")
WRITER = """
import os, sys
print(flush=True)
file = open(sys.argv[1], "wb", buffering=0)
for line in sys.stdin:
    try: print(file.write(bytes(int(line))), flush=True)
    except OSError as error: print(error.errno, flush=True)
"""


def test_small_limits_have_no_bound() -> None:
    assert file_limit(5_000_000) is None
    assert file_limit(104_857_600) == 104_857_600 + SLACK // 2


@linux
def test_a_running_process_is_bound_and_released(tmp_path: Path) -> None:
    def write(size: int) -> str:
        running.stdin.write(f"{size}\n")
        running.stdin.flush()
        return str(running.stdout.readline().strip())

    command = [sys.executable, "-c", WRITER, str(tmp_path / "file")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        running.stdout.readline()
        before = resource.prlimit(running.pid, resource.RLIMIT_FSIZE)
        bound = FileBound(running.pid)
        bound.set(1000)
        bound.set(9000)  # the first one counts until it is lifted
        assert [write(900), write(900), write(900)] == ["900", "100", "27"]
        bound.lift()
        bound.lift()
        assert resource.prlimit(running.pid, resource.RLIMIT_FSIZE) == before
        assert write(900) == "900"
        running.stdin.close()
    bound.set(1000)  # it has ended
    bound.lift()
