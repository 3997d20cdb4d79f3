"""Landlock by its own numbers, and what is done where the kernel has none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cdpfetch.extract import landlock
from cdpfetch.extract.process import environment


def restricted(code: str) -> str:
    script = f"import os\nfrom cdpfetch.extract import landlock\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert not done.stderr, done.stderr
    return done.stdout.strip()


def test_where_there_is_none_nothing_changes(tmp_path: Path) -> None:
    code = f"landlock.version = lambda: 0\nprint(landlock.restrict([], []), os.listdir({str(tmp_path)!r}))"
    assert restricted(code) == "False []"


@pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")
@pytest.mark.parametrize("known", range(1, landlock.version() + 1))
def test_every_version_up_to_the_kernels_own_is_understood(known: int, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    code = (
        f"landlock.version = lambda: {known}\n"
        f"print(landlock.restrict(['{tmp_path}/file', '/nowhere'], []), open('{tmp_path}/file').read())\n"
        f"try: os.listdir('{tmp_path}')\nexcept PermissionError: print('refused')"
    )
    assert restricted(code) == "True x\nrefused"


@pytest.mark.skipif(landlock.version() < 4, reason="this kernel's Landlock knows no network")
def test_tcp_is_shut_as_well() -> None:
    code = (
        "import socket\nlandlock.restrict([], [])\n"
        "try: socket.create_connection(('127.0.0.1', 9))\nexcept PermissionError: print('refused')"
    )
    assert restricted(code) == "refused"


def test_other_systems_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    before = os.getcwd()
    assert landlock.version() == 0
    assert not landlock.restrict([], [])
    assert os.getcwd() == before
