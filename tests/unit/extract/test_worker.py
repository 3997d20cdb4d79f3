"""The worker by itself: handshake, end of input, the alarm, a parent that is gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

from cdpfetch.extract import limits
from cdpfetch.extract.process import command, environment

SANDBOX = "closed" if sys.platform == "linux" else "python"


def start(*extra: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*command(2048), *extra],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
    )


def test_it_says_ready_and_ends_with_its_input() -> None:
    with start() as worker:
        assert worker.stdout is not None
        assert worker.stdin is not None
        assert json.loads(worker.stdout.readline()) == {
            "ready": True,
            "pid": worker.pid,
            "sandbox": SANDBOX,
            "files": False,
        }
        worker.stdin.close()
        assert worker.wait(20) == 0


def test_nothing_that_a_library_prints_stands_between_the_lines() -> None:
    with start() as worker:
        out, _ = worker.communicate(b'not json\n{"id": 1, "op": "dance", "path": "x", "out_dir": "."}\n', timeout=30)
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line.get("ready") for line in lines] == [True, None, None]
    assert lines[1]["error"]["kind"] == "failed"
    assert lines[2]["id"] == 1
    assert "unknown op 'dance'" in lines[2]["error"]["reason"]


def test_a_worker_of_another_parent_does_not_stay() -> None:
    with start("--parent", "1") as worker:
        out, _ = worker.communicate(timeout=30)
    assert (worker.returncode, out) == (0, b"")


def test_the_alarm_ends_a_process_that_hangs_in_native_code() -> None:
    script = "from cdpfetch.extract import limits; limits.arm_alarm(0.2); import re; re.match('(a*)*b', 'a' * 60)"
    done = subprocess.run([sys.executable, "-c", script], env=environment(), timeout=30, check=False)
    assert done.returncode == -signal.SIGALRM


def test_the_resident_size_is_a_plausible_number() -> None:
    assert 5 < limits.resident_mb() < 4000
    assert os.getppid() > 0
