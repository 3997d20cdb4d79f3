"""``cdpf`` as it is built here, beside a ``cdpfetch`` to which it can hand over."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NATIVE = ROOT / "cdpfetch" / "native"
FAKE = ROOT / "tests" / "fake_daemon.py"
SANITISERS = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
# Milliseconds of silence that a build for tests takes for a wedged daemon.
SILENCE = 600
COMMAND = """\
#!{python}
import os
import sys

sys.path.insert(0, {root!r})
from cdpfetch import cli, starting

if {scripted!r}:
    starting.daemon_command = lambda: [sys.executable, "-S", {fake!r}, "cdpfetch.daemon"]
with open(os.path.join(os.path.dirname(__file__), "handed-over"), "a") as file:
    file.write(" ".join(sys.argv[1:]) + "\\n")
sys.exit(cli.main())
"""


def build(output: Path, *flags: str, sources: list[Path] | None = None) -> Path:
    """A build of the program, or of other sources with its headers.

    Without a compiler the test is skipped, or fails where everything is required.
    """
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import build_native
    finally:
        sys.path.pop(0)
    command = build_native.compiler()
    if command is None:
        if os.environ.get("CDPFETCH_REQUIRE_CHROME") == "1":
            pytest.fail("a C compiler is required here")
        pytest.skip("no C compiler on this machine")
    told = build_native.arguments(ROOT, output, *flags, sources=sources)
    done = subprocess.run([*command, *told], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return output


def pair(directory: Path, program: Path, *, scripted: bool = True) -> Path:
    """Puts ``cdpf`` and a ``cdpfetch``, with scripted or real daemons, into a directory; returns the former's path."""
    directory.mkdir()
    shutil.copy(program, directory / "cdpf")
    command = directory / "cdpfetch"
    command.write_text(COMMAND.format(python=sys.executable, root=str(ROOT), fake=str(FAKE), scripted=scripted))
    command.chmod(0o755)
    return directory / "cdpf"


def handed_over(program: Path) -> list[str]:
    """The arguments of the calls that a pair's ``cdpf`` has handed over."""
    try:
        return (program.parent / "handed-over").read_text().splitlines()
    except FileNotFoundError:
        return []
