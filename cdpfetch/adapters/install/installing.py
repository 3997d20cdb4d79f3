"""Install into a target, take out of it, and look: the table's rows applied to files."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

from cdpfetch.adapters.install import command, files, folders, jsonfile, tomlfile
from cdpfetch.adapters.install.targets import NAME, Target
from cdpfetch.errors import CdpFetchError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Change(NamedTuple):
    """One file that was written (``backup``: the copy of what it was) or ``removed``."""

    path: str
    backup: str | None = None
    removed: bool = False


class Installer:
    """One target at its place.

    Args:
        target: the agent.
        path: its file or folder.
        words: how cdpfetch is started there, and ``env`` what it needs in its environment.
    """

    def __init__(self, target: Target, path: str, words: Sequence[str], env: Mapping[str, str]) -> None:
        self.target = target
        self.path = path
        self._wanted = command.entry(list(words), env, target.extra)
        self._words = words
        self._env = env

    def install(self) -> list[Change]:
        """Write what is not there yet; nothing changes, and nothing is kept, where all is.  Raises CdpFetchError."""
        if self.target.is_file:
            return self._edit(self._with_entry)
        changes: list[Change] = []
        for path, data in self._files().items():
            found = files.read(path)
            if found.data != data:
                changes.append(Change(found.path, files.replace(found, data)))
        return changes

    def uninstall(self) -> list[Change]:
        """Take out what ``install`` writes; the rest stays.  Raises CdpFetchError."""
        if self.target.is_file:
            return self._edit(self._without_entry) if os.path.exists(self.path) else []
        changes = [Change(path, removed=True) for path in self._files() if files.remove(path)]
        folder = os.path.join(self.path, NAME)
        if changes and not os.listdir(folder):
            os.rmdir(folder)
        return changes

    def state(self) -> str:
        """``yes``, ``no``, ``changed`` (not what this version would write), or ``unreadable``."""
        try:
            if self.target.is_file:
                found = files.read(self.path)
                if found.data is None or self._without_entry(found.text) == found.text:
                    return "no"
                return "yes" if self._with_entry(found.text) == found.text else "changed"
            wanted = self._files()
            there = {path: files.read(path).data for path in wanted}
            if all(data is None for data in there.values()):
                return "no"
            return "yes" if there == wanted else "changed"
        except CdpFetchError:
            return "unreadable"

    def shown(self) -> str:
        """What ``install`` would write, as text below its path."""
        if self.target.kind == "toml":
            return f"# {self.path}\n{tomlfile.shown(self.target.table, NAME, self._wanted)}"
        if self.target.kind == "json":
            entry: Any = {self.target.table: {NAME: self._wanted}}
            return f"// {self.path}\n{json.dumps(entry, indent=2, ensure_ascii=False)}\n"
        return "\n".join(f"// {path}\n{data.decode()}" for path, data in self._files().items())

    def _files(self) -> dict[str, bytes]:
        found = folders.skill() if self.target.kind == "skill" else folders.pi(self._words, self._env)
        return {os.path.join(self.path, name): data for name, data in found.items()}

    def _edit(self, change: Callable[[str], str]) -> list[Change]:
        found = files.read(self.path)
        try:
            text = change(found.text)
        except CdpFetchError as error:
            raise CdpFetchError(error.code, f"{found.path}: {error.reason}", error.hint) from error
        if text == found.text:
            return []
        return [Change(found.path, files.replace(found, text.encode()))]

    def _with_entry(self, text: str) -> str:
        change = tomlfile.with_entry if self.target.kind == "toml" else jsonfile.with_entry
        return change(text, self.target.table, NAME, self._wanted)

    def _without_entry(self, text: str) -> str:
        change = tomlfile.without_entry if self.target.kind == "toml" else jsonfile.without_entry
        return change(text, self.target.table, NAME)
