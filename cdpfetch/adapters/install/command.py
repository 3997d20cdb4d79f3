"""How another program starts this cdpfetch."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any

from cdpfetch.paths import Home, account_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def running(argv0: str, python: str) -> list[str]:
    """The command that runs, as words; the first is an absolute path that holds from anywhere.

    A link to it (as pipx and uv make them) is not followed: it outlives what it points to.
    """
    if os.path.basename(argv0) == "cdpfetch":
        found = shutil.which(argv0)
        if found:
            return [os.path.abspath(found)]
    beside = os.path.join(os.path.dirname(os.path.abspath(python)), "cdpfetch")
    if os.access(beside, os.X_OK):
        return [beside]
    return [os.path.abspath(python), "-m", "cdpfetch"]


def here() -> list[str]:
    """``running`` of this process."""
    return running(sys.argv[0], sys.executable)


def environment(home: Home) -> dict[str, str]:
    """What it needs in its environment to find the home: nothing for the usual one."""
    account = account_home()
    usual = os.path.join(account, ".cdpfetch") if account else None
    return {} if home.root == usual else {"CDPFETCH_HOME": home.root}


def entry(command: list[str], env: Mapping[str, str], extra: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of an MCP client that starts its servers by a command."""
    found = {**extra, "command": command[0], "args": [*command[1:], "mcp"]}
    return {**found, "env": dict(env)} if env else found
