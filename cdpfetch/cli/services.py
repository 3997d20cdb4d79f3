"""``cdpfetch service``: the daemon under systemd or launchd."""

from __future__ import annotations

import os
from argparse import ArgumentParser

from cdpfetch.cli.output import print_json, tell, write
from cdpfetch.cli.parser import Parser
from cdpfetch.client import Client
from cdpfetch.errors import EXIT_OK, EXIT_UNAVAILABLE
from cdpfetch.paths import find_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cdpfetch.service.manager import Status

EXAMPLES = """\
  cdpfetch service install
  cdpfetch service install --print
  cdpfetch service status
  cdpfetch service uninstall
"""


def run_service(arguments: list[str]) -> int:
    """Install, remove or show the service."""
    parser = Parser(
        "service",
        "Let systemd (a user socket and service) or launchd (an agent) keep the daemon's socket and start the daemon "
        "at the first connection.  Without it the daemon is started by whoever needs it.",
        EXAMPLES,
    )
    verbs = parser.add_subparsers(
        dest="verb", required=True, metavar="install|uninstall|status", parser_class=ArgumentParser
    )
    installing = verbs.add_parser("install", help="write the files and listen")
    installing.add_argument("--print", action="store_true", help="print the files instead")
    verbs.add_parser("uninstall", help="stop listening and remove the files")
    verbs.add_parser("status", help="exit status 3 when it does not listen").add_argument(
        "--json", action="store_true", help="print JSON"
    )
    given = parser.parse_args(arguments)

    from cdpfetch.service import manager

    service = manager.of(find_home())
    if given.verb == "status":
        return _status(service.status(), given.json)
    if given.verb == "uninstall":
        write("the service is removed\n" if service.uninstall() else "no service was installed\n")
        return EXIT_OK
    if given.print:
        write(manager.shown(service.files()))
        return EXIT_OK
    service.check()
    with Client() as client:
        client.stop()
    service.install()
    for path in service.files():
        write(f"installed {path}\n")
    if service.manager == "systemd" and os.environ.get("USER") != "root":
        tell("systemd ends it when you log out; to keep it: loginctl enable-linger")
    return EXIT_OK


def _status(status: Status, as_json: bool) -> int:
    if as_json:
        print_json({**status._asdict(), "files": list(status.files)})
    else:
        said = {
            "no": "not installed",
            "yes": "installed",
            "changed": "installed by another version; run: cdpfetch service install",
        }[status.installed]
        write(f"{status.manager}  {said}, {'listening' if status.active else 'not listening'}\n")
        for path in status.files:
            write(f"   {path}\n")
    return EXIT_OK if status.active else EXIT_UNAVAILABLE
