"""Builds ``cdpf`` (cdpfetch/native) into the wheel; run by the build backend, named in pyproject.toml.

The compiler is ``CC`` (default: ``cc``); ``CFLAGS`` and ``LDFLAGS`` are added to its arguments.  Without a compiler, or
with ``CDPFETCH_NATIVE=0``, the wheel is one for every platform and has no ``cdpf``; ``cdpfetch`` does everything.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

STANDARD = ("-std=c11", "-D_GNU_SOURCE")
WARNINGS = tuple(
    f"-W{name}"
    for name in (
        "all extra error pedantic conversion shadow strict-prototypes missing-prototypes format=2 cast-qual vla undef"
    ).split()
)
# A path of the building machine would make two builds differ; what is written beyond a buffer ends the program.
CODE = ("-O2", "-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2")


def compiler() -> list[str] | None:
    """The compiler's command, or None where there is none or it is not wanted."""
    if os.environ.get("CDPFETCH_NATIVE") == "0":
        return None
    command = shlex.split(os.environ.get("CC") or "cc")
    return command if command and shutil.which(command[0]) else None


def arguments(root: Path, output: Path, *more: str, sources: list[Path] | None = None) -> list[str]:
    """What the compiler is told to make a program of the sources (default: all) in ``output``."""
    text = (root / "cdpfetch" / "_version.py").read_text(encoding="utf-8")
    version = re.findall(r'__version__ = "([^"]+)"', text)[0]
    files = sorted((root / "cdpfetch" / "native").glob("*.c")) if sources is None else sources
    return [
        *STANDARD,
        *WARNINGS,
        f'-DCDPF_VERSION="{version}"',
        *more,
        *shlex.split(os.environ.get("CFLAGS", "")),
        "-o",
        str(output),
        *(str(path.relative_to(root)) if path.is_relative_to(root) else str(path) for path in files),
        *shlex.split(os.environ.get("LDFLAGS", "")),
    ]


class NativeHook(BuildHookInterface):
    """Adds the program to a wheel, editable ones too."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, before files are collected."""
        if self.target_name != "wheel":
            return
        command = compiler()
        if command is None:
            self.app.display_warning("no C compiler: the wheel is made without cdpf")
            return
        self.made = tempfile.mkdtemp(prefix="cdpf-")
        output = Path(self.made) / "cdpf"
        done = subprocess.run(
            [*command, *arguments(Path(self.root), output, *CODE)],
            cwd=self.root,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            hint = "a newer compiler's warnings are let pass by CFLAGS=-Wno-error; CDPFETCH_NATIVE=0 goes without cdpf"
            raise RuntimeError(f"cdpf could not be built:\n{done.stderr}\n{hint}")
        platform = re.sub(r"[^0-9A-Za-z]", "_", sysconfig.get_platform())
        build_data["tag"] = f"py3-none-{platform}"
        build_data["pure_python"] = False
        build_data["shared_scripts"][str(output)] = "cdpf"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the program, which is in the wheel now."""
        if getattr(self, "made", None):
            shutil.rmtree(self.made, ignore_errors=True)
