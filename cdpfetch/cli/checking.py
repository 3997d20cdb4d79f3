"""``cdpfetch doctor``."""

from __future__ import annotations

import sys

from cdpfetch import doctor
from cdpfetch.cli.output import print_json, write
from cdpfetch.cli.parser import Parser
from cdpfetch.delivery import one_line
from cdpfetch.errors import EXIT_OK
from cdpfetch.paths import find_home

_COLOURS = {doctor.OK: "32", doctor.WARN: "33", doctor.FAIL: "31"}


def run_doctor(arguments: list[str]) -> int:
    """Check everything; a failed line says what to do."""
    parser = Parser(
        "doctor",
        "Check home, settings, Chrome, sandbox, profile, disk and daemon, and fetch a page that is served here.",
        "  cdpfetch doctor\n  cdpfetch doctor --json\n",
    )
    parser.add_json()
    given = parser.parse_args(arguments)
    checks = doctor.run(find_home(), (lambda check: None) if given.json else _show)
    status = doctor.exit_status(checks)
    if given.json:
        print_json({"ok": status == EXIT_OK, "checks": [check.to_json() for check in checks]}, indent=1)
    return status


def _show(check: doctor.Check) -> None:
    mark = f"{check.status:7}"
    if sys.stdout.isatty():
        mark = f"\x1b[{_COLOURS[check.status]}m{mark}\x1b[0m"
    write(f"{mark}  {check.name:8}  {one_line(check.detail)}\n")
    if check.hint and check.status != doctor.OK:
        write(f"{'':9}{'':10}→ {one_line(check.hint)}\n")
