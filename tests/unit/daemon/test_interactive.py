"""What the interactive browser refuses before any window opens, and what it reads from an earlier daemon."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cdpfetch import config, paths, process
from cdpfetch.daemon.interactive import Interactive, need_display
from cdpfetch.daemon.opening import Opener
from cdpfetch.daemon.sessions import Sessions, write_private
from cdpfetch.errors import CdpFetchError, ConfigError, DaemonUnavailable


class FakeSupervisor:
    """Notes who is barred; there is no browser to be had."""

    def __init__(self, profile: Path) -> None:
        self.profile_dir = str(profile)
        self.barred: list[bool] = []

    async def bar(self, reason: Any, seconds: float) -> None:
        self.barred.append(True)

    def unbar(self) -> None:
        self.barred.append(False)

    def use(self) -> Any:
        raise CdpFetchError("browser_failed", "there is none")

    def environment(self) -> dict[str, str]:
        return {"PATH": os.defpath}

    def without_sandbox(self) -> bool:
        return False

    def extra_args(self) -> tuple[str, ...]:
        return ()


def made(tmp_path: Path, **browser: Any) -> tuple[Interactive, FakeSupervisor, paths.Home]:
    home = paths.Home(str(tmp_path / "home"))
    for directory in (home.root, home.run):
        paths.ensure_private_dir(directory)
    supervisor = FakeSupervisor(tmp_path / "profile")
    settings = config.Config(browser=config.Browser(**browser))
    opener = Opener(home, supervisor.profile_dir)
    return Interactive(opener, settings, supervisor, Sessions(home.sessions)), supervisor, home  # type: ignore[arg-type]


def test_a_window_needs_a_display_on_linux() -> None:
    need_display({"DISPLAY": ":0"}, "linux")
    need_display({"WAYLAND_DISPLAY": "wayland-0"}, "linux")
    need_display({}, "darwin")
    with pytest.raises(ConfigError, match="no display") as caught:
        need_display({"DISPLAY": ""}, "linux")
    assert caught.value.hint


async def test_a_chrome_that_ends_at_once_leaves_nothing(tmp_path: Path) -> None:
    chrome = tmp_path / "chrome"
    chrome.write_text("#!/bin/sh\necho 'cannot open display' >&2\nexit 1\n")
    chrome.chmod(0o755)
    interactive, supervisor, home = made(tmp_path, executable_path=str(chrome))
    with pytest.raises(CdpFetchError, match="ended before its window opened: cannot open display"):
        await interactive.open_window("example.com", {"DISPLAY": ":9", "LD_PRELOAD": "/evil.so"})
    assert supervisor.barred == [True, False]
    assert not interactive.open
    assert not os.path.exists(os.path.join(home.run, "interactive.json"))
    await interactive.admit()
    await interactive.close()


async def test_only_the_display_is_taken_from_a_client(tmp_path: Path) -> None:
    chrome = tmp_path / "chrome"
    chrome.write_text(f'#!/bin/sh\nenv >{tmp_path}/env\necho "$@" >{tmp_path}/arguments\nexit 1\n')
    chrome.chmod(0o755)
    interactive, _, _ = made(tmp_path, executable_path=str(chrome), proxy="http://me:secret@proxy:1")
    with pytest.raises(CdpFetchError, match="ended before"):
        await interactive.open_window(None, {"DISPLAY": ":9", "LD_PRELOAD": "/evil.so"})
    words = (tmp_path / "env").read_text().splitlines()
    assert "DISPLAY=:9" in words
    assert not [word for word in words if word.startswith("LD_PRELOAD")]
    assert "secret" not in (tmp_path / "arguments").read_text()
    await interactive.close()


async def test_somebody_elses_browser_has_no_window_of_ours(tmp_path: Path) -> None:
    interactive, supervisor, _ = made(tmp_path, cdp_url="ws://127.0.0.1:9222/x")
    with pytest.raises(ConfigError, match="cdp_url"):
        await interactive.open_window(None, {"DISPLAY": ":9"})
    with pytest.raises(CdpFetchError, match="file"):
        await interactive.open_window("file:///etc/passwd", {"DISPLAY": ":9"})
    assert supervisor.barred == []
    assert await interactive.close_window() is False
    await interactive.close()


async def test_the_window_of_an_earlier_daemon_is_taken_over(tmp_path: Path) -> None:
    interactive, supervisor, home = made(tmp_path)
    state = os.path.join(home.run, "interactive.json")
    write_private(state, {"pid": os.getpid(), "started": process.start_time(os.getpid())})
    await interactive.start()
    assert supervisor.barred == [True]
    assert (interactive.open, interactive.pid) == (True, os.getpid())
    with pytest.raises(CdpFetchError) as caught:
        await interactive.admit()
    assert caught.value.reason == "interactive browser is open — quit Chrome to resume fetching"
    await interactive.close()
    with pytest.raises(DaemonUnavailable, match="the browser window stays open"):
        await interactive.closed()
    assert os.path.exists(state)


async def test_a_later_process_of_the_same_number_is_no_window(tmp_path: Path) -> None:
    interactive, supervisor, home = made(tmp_path)
    state = os.path.join(home.run, "interactive.json")
    write_private(state, {"pid": os.getpid(), "started": "1"})
    await interactive.start()
    assert (supervisor.barred, interactive.open) == ([], False)
    await interactive.admit()  # its cookies can't be looked at: the fetch goes on, and the next one tries again
    assert os.path.exists(state)
    Path(state).write_text("nonsense")
    again, _, _ = made(tmp_path)
    await again.start()
    assert not again.open


async def test_the_window_of_a_wall_is_ended_by_the_next_daemon(tmp_path: Path) -> None:
    interactive, supervisor, home = made(tmp_path)
    state = os.path.join(home.run, "interactive.json")
    left = subprocess.Popen(["sleep", "60"])
    try:
        write_private(state, {"pid": left.pid, "started": process.start_time(left.pid), "opened": 0, "purpose": "wall"})
        reaping = asyncio.create_task(asyncio.to_thread(left.wait))  # as the system does for nobody's child
        await interactive.start()
        assert await reaping != 0
    finally:
        left.kill()
        left.wait()
    assert (supervisor.barred, interactive.open, os.path.exists(state)) == ([], False, False)
    await interactive.close()
