"""When a window may be opened for a bot wall, and when it shows that the wall has gone."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from cdpfetch import config, paths
from cdpfetch.cdp.sessionfile import Shown
from cdpfetch.daemon import walls as walls_module
from cdpfetch.daemon.opening import Opener
from cdpfetch.daemon.sessions import Sessions
from cdpfetch.daemon.walls import LEAST, RETURN, Met, Walls, has_passed
from cdpfetch.urls import parse_url

WALL = Shown(1, "https://www.shop.example/a", 403)


@pytest.mark.parametrize(
    ("shown", "status", "passed"),
    [
        ([], 403, None),
        ([WALL], 403, False),
        ([WALL, WALL], 403, False),
        ([WALL, WALL._replace(status=503)], 403, False),
        ([WALL, WALL._replace(status=200)], 403, True),
        ([WALL, WALL._replace(status=404)], 403, True),
        ([WALL, WALL._replace(status=0)], 403, None),
        ([WALL, Shown(1, "https://vendor.example/captcha", 200)], 403, False),
        ([WALL, Shown(1, "chrome-error://chromewebdata/", 200)], 403, False),
        ([WALL, Shown(1, "https://login.shop.example/", 200)], 403, True),
        # Walls with ordinary statuses.
        ([WALL._replace(status=200)], 200, False),
        ([WALL._replace(status=200)] * 2, 200, True),
        ([WALL._replace(status=202)], 202, False),
        ([WALL._replace(status=202), WALL._replace(status=200)], 202, True),
        ([WALL._replace(status=200), Shown(2, "https://shop.example/", 200)], 200, False),
    ],
)
def test_a_window_shows_that_the_wall_has_gone(shown: list[Shown], status: int, passed: bool | None) -> None:
    assert has_passed(shown, status, "shop.example") is passed


class World:
    """Supervisor and interactive browser, as far as walls ask them."""

    def __init__(self, tmp_path: Path, display: str | None = ":9") -> None:
        self.profile_dir = str(tmp_path / "profile")
        self.open = False
        self.held = 0
        self.display = display

    def environment(self) -> dict[str, str]:
        return {"PATH": os.defpath, **({"DISPLAY": self.display} if self.display else {})}

    def hold(self, seconds: float) -> Any:
        self.held += 1
        raise walls_module.StillAtWork(f"other fetches were still under way after {seconds:g} s")


def made(tmp_path: Path, world: World, browser: Any = None, **challenge: Any) -> Walls:
    home = paths.Home(str(tmp_path / "home"))
    for directory in (home.root, home.run):
        paths.ensure_private_dir(directory)
    settings = config.Config(challenge=config.Challenge(**challenge), browser=browser or config.Browser())
    opener = Opener(home, world.profile_dir)
    return Walls(settings, world, None, opener, world, Sessions(home.sessions))  # type: ignore[arg-type]


def end(seconds: float = 60.0) -> float:
    return asyncio.get_running_loop().time() + seconds


MET = Met(parse_url("https://www.shop.example/a"), "anonymous", 403)


@pytest.mark.skipif(os.uname().sysname != "Linux", reason="elsewhere there is always a display")
async def test_without_a_display(tmp_path: Path) -> None:
    walls = made(tmp_path, World(tmp_path, display=None))
    assert await walls.clear(MET, end()) == "and there is no display to open a window on"


async def test_what_forbids_a_window(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert "escalation" in str(await made(tmp_path, world, escalation="never").clear(MET, end()))
    attached = config.Browser(cdp_url="ws://127.0.0.1:9/x")
    assert "cdp_url" in str(await made(tmp_path, world, attached).clear(MET, end()))
    walls = made(tmp_path, world)
    assert "too little" in str(await walls.clear(MET, end(RETURN + LEAST - 0.5)))
    assert "still under way after 10 s, so no window was opened" in str(await walls.clear(MET, end()))
    assert world.held == 1
    world.open = True
    assert await walls.clear(MET, end()) == "and the interactive browser is open"
    await walls.close()


async def test_one_at_a_time_and_within_the_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walls_module, "LEAST", 0.0)
    walls = made(tmp_path, World(tmp_path))
    async with walls._opener.busy:
        assert "the deadline came" in str(await walls.clear(MET, end(RETURN + 0.05)))
        waiting = asyncio.create_task(walls.clear(MET, end()))
        while not walls._tasks:
            await asyncio.sleep(0)
        walls._passes["shop.example"] += 1  # what the window of another fetch does
    assert await waiting is None
    async with walls._opener.busy:
        waiting = asyncio.create_task(walls.clear(MET, end()))
        while not walls._tasks:
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await walls.close()
