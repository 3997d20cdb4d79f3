"""The systemd user units as text; pure."""

from __future__ import annotations

from collections.abc import Sequence

SOCKET = "cdpfetch.socket"
SERVICE = "cdpfetch.service"

_SOCKET = """\
# Written by: cdpfetch service install
[Unit]
Description=Socket of cdpfetch, the web as files

[Socket]
ListenStream={socket}
SocketMode=0600
DirectoryMode=0700
RemoveOnStop=yes

[Install]
WantedBy=sockets.target
"""
_SERVICE = """\
# Written by: cdpfetch service install
[Unit]
Description=cdpfetch, the web as files
Requires={socket_unit}
After={socket_unit}

[Service]
Type=notify
ExecStart={command}
{environment}# The daemon ends by itself when it is idle; the socket starts it again.
Restart=on-failure
RestartSec=1
# Wrong settings, and no browser: trying again changes nothing.
RestartPreventExitStatus=2 3
TimeoutStopSec=30
# What the daemon has started ends with it by itself, except a browser window that the user has open.
KillMode=process
# A page that takes too much memory costs its own tab.
OOMPolicy=continue
UMask=0077
LimitCORE=0
# No NoNewPrivileges, and nothing that implies it or takes name spaces away: Chrome's sandbox is made of these.

[Install]
Also={socket_unit}
"""


def units(socket: str, command: Sequence[str], home: str | None = None) -> dict[str, str]:
    """The text of each unit by file name: for a daemon that ``command`` runs and that listens at ``socket``.

    ``home`` is set in its environment when given.
    """
    environment = f"Environment={_quoted(f'CDPFETCH_HOME={home}')}\n" if home else ""
    return {
        SOCKET: _SOCKET.format(socket=socket.replace("%", "%%")),
        SERVICE: _SERVICE.format(
            command=" ".join(_quoted(word).replace("$", "$$") for word in command),
            environment=environment,
            socket_unit=SOCKET,
        ),
    }


def _quoted(word: str) -> str:
    """A word of a unit file: in quotes where it needs them, with specifiers escaped."""
    word = word.replace("%", "%%")
    plain = word and all(char.isalnum() or char in "/._-=+:,@%" for char in word)
    return word if plain else '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'
