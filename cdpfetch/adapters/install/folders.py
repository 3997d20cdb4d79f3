"""What goes into an agent's folders: the pi extension, and the skill; pure but for reading the package's own files."""

from __future__ import annotations

import json
import os

from cdpfetch import adapters
from cdpfetch.adapters import skill as text
from cdpfetch.adapters.install.targets import NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def pi(command: Sequence[str], env: Mapping[str, str]) -> dict[str, bytes]:
    """The files of the extension by their path below pi's folder of extensions, with how it starts cdpfetch."""
    files = _extension()
    noted = json.dumps({"command": list(command), "env": dict(env)}, indent=2) + "\n"
    return {**files, os.path.join(NAME, "command.json"): noted.encode()}


def skill() -> dict[str, bytes]:
    """The files of the skill by their path below a folder of skills."""
    return {os.path.join(NAME, text.FILE): text.read().encode()}


def _extension() -> dict[str, bytes]:
    folder = os.path.join(os.path.dirname(adapters.__file__), "pi")
    found: dict[str, bytes] = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".ts"):
            with open(os.path.join(folder, name), "rb") as file:
                found[os.path.join(NAME, name)] = file.read()
    return found
