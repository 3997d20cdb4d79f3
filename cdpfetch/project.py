"""A project's own settings: ``.cdpfetch/config.toml`` in the working directory or above it, once the user trusts it.

A checkout is somebody else's text, so its settings count only after ``cdpfetch config trust``, which remembers the
file's path and content: changed, it must be trusted anew.  Even then it decides about search and models alone.
"""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from cdpfetch import config
from cdpfetch.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from cdpfetch.paths import Home

NAME = os.path.join(".cdpfetch", "config.toml")
SECTIONS = ("search", "llm")
_RECORD = "trusted.json"
_MAX_FILE = 1 << 20


class Project(NamedTuple):
    """A project's file: its bytes as they were read, and whether exactly these are trusted."""

    path: str
    data: bytes
    trusted: bool


def find(home: Home, cwd: str | None = None) -> Project | None:
    """The nearest project's file from ``cwd`` (default: the working directory) upwards, or None."""
    directory = os.path.realpath(cwd or os.getcwd())
    own = os.path.realpath(home.config)
    while True:
        path = os.path.join(directory, NAME)
        if os.path.isfile(path) and os.path.realpath(path) != own:
            data = _read(path)
            return Project(path, data, _record(home).get(path) == _digest(data))
        above = os.path.dirname(directory)
        if above == directory:
            return None
        directory = above


def trust(home: Home, cwd: str | None = None) -> Project:
    """Trust the nearest project's file as it is now.  Raises ConfigError: there is none, or it must not be followed."""
    found = find(home, cwd)
    if found is None:
        raise ConfigError(f"there is no {NAME} here or above", "go to the project, or write one")
    _checked(found)
    record = {**_record(home), found.path: _digest(found.data)}
    from cdpfetch.configfile import replace_private

    replace_private(os.path.join(home.root, _RECORD), json.dumps(record, indent=1, sort_keys=True) + "\n")
    return found._replace(trusted=True)


def settings(home: Home, environ: Mapping[str, str] | None = None, cwd: str | None = None) -> list[config.Setting]:
    """Every setting: the environment's, then the trusted project's, then the home's.  Raises ConfigError."""
    found = find(home, cwd)
    if found is None or not found.trusted:
        return config.settings(home, environ)
    return config.settings(home, environ, (_checked(found), found.path))


def load(home: Home, environ: Mapping[str, str] | None = None, cwd: str | None = None) -> config.Config:
    """The settings with those of the trusted project.  Raises ConfigError."""
    return config.built(settings(home, environ, cwd))


def _checked(found: Project) -> dict[str, Any]:
    """The dotted keys of a project's file.  Raises ConfigError for what a project has no say in."""
    keys = config.flatten(config.parsed(found.data, found.path), found.path)
    wrong = [key for key in keys if key.partition(".")[0] not in SECTIONS]
    if wrong:
        sections = " and ".join(f"[{section}]" for section in SECTIONS)
        raise ConfigError(f"{wrong[0]} in {found.path}: a project decides about {sections} alone", "move it home")
    for key, value in keys.items():
        config.rule_of(key).check(key, value, found.path)
    return keys


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_MAX_FILE + 1)[:_MAX_FILE]
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}", "make it a file that you can read") from error


def _digest(data: bytes) -> str:
    from hashlib import sha256

    return sha256(data).hexdigest()


def _record(home: Home) -> dict[str, str]:
    """Path -> digest of what is trusted; a record that can't be read trusts nothing."""
    try:
        with open(os.path.join(home.root, _RECORD), encoding="utf-8") as file:
            record = json.load(file)
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}
