"""A process is a number with a start time and a command line."""

import os
import subprocess
import sys

import pytest

from cdpfetch import process


@pytest.fixture
def child():
    program = "import sys; print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", program, "cdpfetch-test-word"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        running.stdout.readline()  # only now has it surely become that program
        yield running
        running.kill()


def test_our_own_start_time_is_stable():
    started = process.start_time(os.getpid())
    assert started
    assert process.start_time(os.getpid()) == started


def test_a_child_is_recognised_by_time_and_words(child):
    started = process.start_time(child.pid)
    assert started is not None
    assert process.is_ours(child.pid, started, "cdpfetch-test-word")
    assert not process.is_ours(child.pid, started, "another-word")
    assert not process.is_ours(child.pid, "1", "cdpfetch-test-word")
    assert "cdpfetch-test-word" in process.command_line(child.pid)


def test_an_integer_start_time_will_do(child):
    started = process.start_time(child.pid)
    if started is not None and started.isdigit():
        assert process.is_ours(child.pid, int(started), "cdpfetch-test-word")


def test_the_dead_are_gone_even_as_zombies(child):
    seen = next(one for one in process.descendants(os.getpid()) if one.pid == child.pid)
    assert process.is_alive(seen)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert process.start_time(child.pid) is None
    assert not process.is_alive(seen)
    child.wait()
    assert process.start_time(child.pid) is None
    assert process.command_line(child.pid) == ""


def test_elsewhere_ps_is_asked(monkeypatch):
    answers = {
        ("-o", "stat=", "-o", "lstart=", "-p", "41"): "Ss   Mon Nov 30 18:40:02 2026    \n",
        ("-o", "stat=", "-o", "lstart=", "-p", "42"): "S+   Mon Nov 30 18:41:07 2026\n",
        ("-o", "stat=", "-o", "lstart=", "-p", "43"): "Z    Mon Nov 30 18:41:09 2026\n",
        ("-ww", "-o", "command=", "-p", "42"): "python -m cdpfetch.daemon\n",
        ("-ax", "-o", "pid=", "-o", "ppid="): "  1  0\n 41  1\n 42 41\n 43 42\n",
    }
    monkeypatch.setattr(process, "_LINUX", False)
    monkeypatch.setattr(process, "_ps", lambda arguments: answers.get(tuple(arguments), ""))
    assert process.start_time(42) == "Mon Nov 30 18:41:07 2026"
    assert process.start_time(43) is None
    assert process.start_time(44) is None
    assert process.is_ours(42, "Mon Nov 30 18:41:07 2026")
    assert process.descendants(41) == [(42, "Mon Nov 30 18:41:07 2026", "python -m cdpfetch.daemon")]


def test_low_numbers_are_never_ours():
    assert not process.is_ours(1, process.start_time(1) or "", "")
    assert not process.is_ours(0, "", "")
    assert process.start_time(2**22 + 7) is None
