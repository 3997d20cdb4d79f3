"""The visible window's process, with programs that stand for Chrome; and its command line."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from pathlib import Path

import pytest

from cdpfetch import process
from cdpfetch.cdp import flags, window
from cdpfetch.cdp.errors import LaunchError


def program(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", code]


async def test_a_window_is_tied_to_nothing(tmp_path: Path) -> None:
    log = tmp_path / "window.log"
    code = "import os; print(os.getsid(0) == os.getpid(), *(os.stat(fd).st_ino for fd in (1, 2)))"
    found = window.spawn(program(code), os.environ, str(log))
    assert await window.wait(found) == 0
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    inode = log.stat().st_ino
    assert log.read_text() == f"True {inode} {inode}\n"
    assert not process.is_alive(found)


async def test_the_end_is_that_of_a_quit_by_hand(tmp_path: Path) -> None:
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, lambda *_: (print('quit', flush=True), sys.exit(0)))\n"
        "print('up', flush=True)\ntime.sleep(60)"
    )
    found = window.spawn(program(code), os.environ, str(tmp_path / "log"))
    waiting = asyncio.create_task(window.wait(found))
    while "up" not in (tmp_path / "log").read_text():
        await asyncio.sleep(0.01)
    await window.end(found)
    assert await waiting == 0
    assert (tmp_path / "log").read_text() == "up\nquit\n"
    await window.end(found)


async def test_a_window_that_stays_is_ended_harder(tmp_path: Path) -> None:
    code = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('up', flush=True)\ntime.sleep(60)"
    found = window.spawn(program(code), os.environ, str(tmp_path / "log"))
    while "up" not in (tmp_path / "log").read_text():
        await asyncio.sleep(0.01)
    await window.end(found, 0.05)
    assert await window.wait(found) == -15


async def test_the_end_of_a_process_of_somebody_else(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    code = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(pid_file)!r}, 'w').write(str(child.pid))"
    )
    assert await window.wait(window.spawn(program(code), os.environ, str(tmp_path / "log"))) == 0
    pid = int(pid_file.read_text())
    orphan = process.Process(pid, process.start_time(pid) or "", "")
    waiting = asyncio.create_task(window.wait(orphan))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await window.end(orphan)
    assert await waiting is None
    # A later process of the same number is not waited for.
    assert await window.wait(process.Process(os.getpid(), "1", "")) is None


async def test_a_program_that_cannot_be_run(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="cannot run /nonexistent/chrome"):
        window.spawn(["/nonexistent/chrome"], os.environ, str(tmp_path / "log"))


def test_the_command_line_has_no_debugging_switch_and_the_same_cookies() -> None:
    headed = flags.headed("/usr/bin/chrome", "/p", locale="de", proxy="http://proxy:3128", url="https://example.com/")
    headless = flags.headless("/usr/bin/chrome", "/p")
    assert not [one for one in headed if "remote-debugging" in one or "headless" in one or "automation" in one]
    for switch in ("--password-store=basic", "--use-mock-keychain", "--user-data-dir=/p"):
        assert switch in headed
        assert switch in headless
    assert "--lang=de" in headed
    assert "--proxy-server=http://proxy:3128" in headed
    assert headed[-1] == "https://example.com/"
    assert "--no-sandbox" in flags.headed("/usr/bin/chrome", "/p", no_sandbox=True)
