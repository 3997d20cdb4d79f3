"""Packages from npm for tests of what runs in Node: installed once for each version, into a folder that is kept."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

# Seconds that an installation may take, with a slow registry.
LIMIT = 300.0


def node() -> tuple[int, int]:
    """The version of the node that is on the PATH; skips where there is none."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("needs node and npm, which are not on the PATH")
    told = subprocess.run(["node", "--version"], capture_output=True, text=True, timeout=30, check=True).stdout
    found = re.match(r"v(\d+)\.(\d+)\.", told)
    assert found, told
    return int(found[1]), int(found[2])


def installed(name: str, version: str) -> Path:
    """The ``node_modules`` with a package; skips where the registry can't be reached or has it not."""
    root = Path(tempfile.gettempdir()) / f"cdpfetch-tests-npm-{os.getuid()}"
    root.mkdir(mode=0o700, exist_ok=True)
    assert not root.is_symlink() and root.stat().st_uid == os.getuid()
    whole = root / f"{name.replace('/', '-')}-{version}"
    if not whole.is_dir():
        with tempfile.TemporaryDirectory(dir=root) as made:
            _install(Path(made), f"{name}@{version}")
            # Another run may have been faster.
            if not whole.is_dir():
                os.rename(Path(made) / "ready", whole)
    return whole / "node_modules"


def _install(folder: Path, package: str) -> None:
    ready = folder / "ready"
    ready.mkdir()
    (ready / "package.json").write_text('{"private": true}')
    options = "--ignore-scripts --no-audit --no-fund --omit=optional --prefer-offline --loglevel=error".split()
    try:
        done = subprocess.run(
            ["npm", "install", *options, package],
            cwd=ready,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm install {package} took over {LIMIT:.0f} s")
    if done.returncode:
        pytest.skip(f"npm install {package}: {(done.stderr.strip().splitlines() or ['failed'])[0]}")
