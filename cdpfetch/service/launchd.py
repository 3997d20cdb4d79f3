"""The launchd agent as a property list; pure.

By the keys that launchd.plist(5) documents.  It has not been run on a Mac by cdpfetch's own tests.
"""

from __future__ import annotations

import plistlib
from collections.abc import Sequence
from typing import Any

LABEL = "cdpfetch.daemon"
FILE = f"{LABEL}.plist"
# What the daemon asks for (cdpfetch/daemon/activation.py).
SOCKET_NAME = "Listeners"


def agent(socket: str, command: Sequence[str], log: str, home: str | None = None) -> bytes:
    """The agent that starts ``command`` at the first connection to ``socket``; its output goes to the file ``log``."""
    entries: dict[str, Any] = {
        "Label": LABEL,
        "ProgramArguments": list(command),
        "Sockets": {SOCKET_NAME: {"SockPathName": socket, "SockPathMode": 0o600}},
        # Not SuccessfulExit, which would start it at log-in: the socket does that when somebody comes.
        "KeepAlive": {"Crashed": True},
        # Where there are windows.
        "LimitLoadToSessionType": "Aqua",
        "StandardErrorPath": log,
        "Umask": 0o077,
    }
    if home:
        entries["EnvironmentVariables"] = {"CDPFETCH_HOME": home}
    return plistlib.dumps(entries)
