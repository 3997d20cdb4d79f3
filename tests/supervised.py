"""A supervisor whose browser is a fake Chrome as a program."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import fake_chrome

from cdpfetch import config, paths
from cdpfetch.daemon.guard.guard import Guard
from cdpfetch.daemon.guard.lane import Lane
from cdpfetch.daemon.lanes import PROFILE
from cdpfetch.daemon.supervisor import Supervisor
from cdpfetch.policy import Policy


def executable(tmp_path: Path, mode: str = "normal") -> str:
    """A program that is a fake Chrome, notes each start, and tells its version."""
    path = tmp_path / f"chrome-{mode}"
    path.write_text(
        f'#!/bin/sh\nif [ "$1" = --version ]; then echo Chromium 156.0.8078.114; exit; fi\n'
        f'echo "$@" >>{tmp_path}/starts\nexec {sys.executable} -S {fake_chrome.__file__} --fake={mode} "$@"\n'
    )
    path.chmod(0o755)
    return str(path)


def starts(tmp_path: Path) -> list[str]:
    try:
        return (tmp_path / "starts").read_text().splitlines()
    except FileNotFoundError:
        return []


@asynccontextmanager
async def supervised(tmp_path: Path, **browser: Any) -> AsyncIterator[Supervisor]:
    home = paths.Home(str(tmp_path / "home"))
    for directory in (home.root, home.run):
        paths.ensure_private_dir(directory)
    browser.setdefault("executable_path", executable(tmp_path))
    async with Guard([Lane(PROFILE, Policy())]) as guard:
        made = Supervisor(home, config.Config(browser=config.Browser(**browser)), guard)
        try:
            yield made
        finally:
            await made.close()
            await made.close()
    assert made.browser is None
    assert made.state == "closed"
