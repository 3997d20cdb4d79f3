"""``scripts/quickstart`` as a newcomer runs it: a real page through Chrome, and nothing left running."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from commands import ROOT
from testsite import Site

pytestmark = pytest.mark.skipif(
    Path(sys.prefix).resolve() != Path(ROOT, ".venv").resolve(),
    reason="the scripts work in the checkout's own .venv, and these tests run in another environment",
)


def quickstart(chrome: str, tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "CDPFETCH_CHROME": chrome, "TMPDIR": str(tmp_path)}
    command = [os.path.join(ROOT, "scripts", "quickstart"), *arguments]
    return subprocess.run(
        command, check=False, cwd="/", env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=50
    )


def processes_of(tmp_path: Path) -> list[str]:
    """The command lines of processes whose environment names the folder."""
    found: list[str] = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.fsencode(tmp_path) in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def test_without_a_url_it_serves_its_own_page(chrome: str, tmp_path: Path) -> None:
    ended = quickstart(chrome, tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("1. The lighthouse keeper's log\n")
    # The page's script wrote this; a client without a browser would not have it.
    assert "This paragraph was written by a script after the page had loaded." in ended.stdout
    assert "| Monday | 20:14 | 05:31 |" in ended.stdout
    (work,) = tmp_path.glob("cdpfetch-quickstart.*")
    assert [entry.name for entry in work.iterdir()] == ["documents"]
    assert processes_of(tmp_path) == []
    served = re.search(r"http://127\.0\.0\.1:\d+/log", ended.stdout)
    assert served
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(served[0], timeout=5)


def test_a_url_on_this_machine_may_be_named(chrome: str, tmp_path: Path, site: Site) -> None:
    ended = quickstart(chrome, tmp_path, site.url("/page"))
    assert ended.returncode == 0, ended.stderr
    assert f"fetching {site.url('/page')} with Chrome" in ended.stderr
    assert "--- the first lines of " in ended.stdout
    assert processes_of(tmp_path) == []


def test_what_is_no_url_is_said(chrome: str, tmp_path: Path) -> None:
    ended = quickstart(chrome, tmp_path, "file:///etc/passwd")
    assert ended.returncode == 1
    assert "quickstart: unsupported_scheme: 'file:///etc/passwd' has the scheme 'file'" in ended.stderr
    assert processes_of(tmp_path) == []
