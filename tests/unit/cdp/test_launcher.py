"""Processes: a fake Chrome as a program, started over the real pipe, and ended in every way."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import fake_chrome
import pytest

from cdpfetch.cdp import browser as browser_module
from cdpfetch.cdp.browser import Browser
from cdpfetch.cdp.errors import ConnectionClosed, LaunchError
from cdpfetch.cdp.launcher import describe_exit, spawn


def argv(mode: str) -> list[str]:
    return [sys.executable, "-S", fake_chrome.__file__, f"--fake={mode}", "--remote-debugging-pipe"]


def is_gone(pid: int) -> bool:
    """Whether the process has ended and has been reaped."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def open_fds() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


async def test_a_browser_comes_up_answers_and_closes() -> None:
    before = open_fds()
    browser = await Browser.launch(argv("normal"), os.environ)
    assert browser.product == "Chrome/156.0.8078.114"
    assert browser.process is not None
    pid = browser.process.pid
    assert os.getpgid(pid) == pid
    await browser.close()
    assert browser.process.returncode == 0
    assert is_gone(pid)
    await browser.close()
    assert open_fds() == before


async def test_a_browser_that_ends_by_itself_says_why() -> None:
    before = open_fds()
    with pytest.raises(LaunchError, match="profile is broken beyond repair") as caught:
        await Browser.launch(argv("crash"), os.environ)
    assert caught.value.returncode == 21
    assert "exit status 21" in caught.value.reason
    assert open_fds() == before


async def test_a_browser_that_does_not_answer_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_module, "START_TIMEOUT", 0.5)
    started = time.monotonic()
    with pytest.raises(LaunchError, match="Chrome did not come up"):
        await Browser.launch(argv("mute"), os.environ)
    assert time.monotonic() - started < 10


async def test_a_program_that_does_not_exist() -> None:
    before = open_fds()
    with pytest.raises(LaunchError, match=r"cannot run /nonexistent/chrome: No such file or directory"):
        await Browser.launch(["/nonexistent/chrome"], os.environ)
    assert open_fds() == before


async def test_a_program_that_may_not_be_run(tmp_path: Path) -> None:
    plain = tmp_path / "chrome"
    plain.write_text("#!/bin/sh\n")
    with pytest.raises(LaunchError, match="Permission denied"):
        await spawn([str(plain)], os.environ)


async def test_a_killed_browser_fails_what_waits_at_once() -> None:
    browser = await Browser.launch(argv("normal"), os.environ)
    process = browser.process
    assert process is not None
    process.kill(signal.SIGSTOP)
    waiting = browser.connection.root.send("A.never")
    process.kill(signal.SIGKILL)
    with pytest.raises(ConnectionClosed, match="the pipe"):
        await waiting
    assert await process.wait() == -signal.SIGKILL
    assert browser.closed is not None
    assert process.last_words().startswith("killed by SIGKILL")
    await browser.close()


async def test_a_browser_that_will_not_go_is_killed() -> None:
    browser = await Browser.launch(argv("stubborn"), os.environ)
    assert browser.process is not None
    await browser.close(grace=0.1)
    assert browser.process.returncode == -signal.SIGKILL
    assert is_gone(browser.process.pid)


async def test_a_browser_that_loses_its_pipe_is_ended() -> None:
    with pytest.raises(LaunchError, match="Chrome did not come up"):
        await Browser.launch(argv("deaf"), os.environ)


@pytest.mark.parametrize(
    ("status", "words"),
    [(0, "exit status 0"), (21, "exit status 21"), (-9, "killed by SIGKILL"), (-99, "killed by signal 99")],
)
async def test_how_an_end_is_described(status: int, words: str) -> None:
    assert describe_exit(status) == words
