"""``cdpfetch adapters``: install cdpfetch into the agents of this user."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace

from cdpfetch.cli.output import print_json, write
from cdpfetch.cli.parser import Parser
from cdpfetch.errors import EXIT_OK, InvalidRequest
from cdpfetch.paths import find_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cdpfetch.adapters.install.installing import Change, Installer
    from cdpfetch.adapters.install.targets import Target

EXAMPLES = """\
  cdpfetch adapters list
  cdpfetch adapters install claude-code
  cdpfetch adapters install claude-code --file .mcp.json     (for one project)
  cdpfetch adapters install codex --print
  cdpfetch adapters install skill --dir .claude/skills
  cdpfetch adapters uninstall pi
"""


def run_adapters(arguments: list[str]) -> int:
    """Install, remove, or list."""
    parser = Parser(
        "adapters",
        "Install cdpfetch into agents: an entry for its MCP server in a client's settings, the extension for pi, or "
        "the skill.  What a file was is kept beside it as NAME.bak-DATE; other entries stay as they are.",
        EXAMPLES,
    )
    verbs = parser.add_subparsers(
        dest="verb", required=True, metavar="list|install|uninstall", parser_class=ArgumentParser
    )
    listing = verbs.add_parser("list", help="the agents, their files, and where cdpfetch is installed")
    listing.add_argument("--json", action="store_true", help="print JSON")
    for verb, text in (("install", "write it; again is harmless"), ("uninstall", "take it out again")):
        one = verbs.add_parser(verb, help=text)
        one.add_argument("target", metavar="TARGET", help="an agent, as `list` names it")
        one.add_argument("--file", metavar="FILE", help="the settings, where they are in another place")
        one.add_argument("--dir", metavar="DIR", help="the folder for the extension or the skill")
        if verb == "install":
            one.add_argument("--print", action="store_true", help="print what would be written instead")
    given = parser.parse_args(arguments)
    if given.verb == "list":
        return _list(given.json)
    installer = _installer(given)
    if given.verb == "uninstall":
        _tell(installer.uninstall(), f"cdpfetch was not in {installer.path}")
    elif given.print:
        write(installer.shown())
    else:
        changes = installer.install()
        _tell(changes, f"all is there already: {installer.path}")
        if changes:
            write(f"start {installer.target.title} anew, so that it takes it up\n")
    return EXIT_OK


def _list(as_json: bool) -> int:
    from cdpfetch.adapters.install.targets import TARGETS

    for target in TARGETS.values():
        one = _at(target, None)
        state = one.state()
        if as_json:
            print_json({"name": target.name, "title": target.title, "path": one.path, "installed": state})
        else:
            write(f"{target.name:15} {state:10} {one.path}\n")
    return EXIT_OK


def _installer(given: Namespace) -> Installer:
    """Raises InvalidRequest for an unknown target, or an option that does not go with it."""
    from cdpfetch.adapters.install.targets import TARGETS

    target = TARGETS.get(given.target)
    if target is None:
        raise InvalidRequest(f"there is no target {given.target!r}", "targets: " + ", ".join(TARGETS))
    wrong, right = ("--dir", "--file") if target.is_file else ("--file", "--dir")
    if getattr(given, wrong[2:]) is not None:
        raise InvalidRequest(f"{target.name} takes {right}, and not {wrong}", f"cdpfetch adapters {given.verb} -h")
    return _at(target, given.file or given.dir)


def _at(target: Target, place: str | None) -> Installer:
    from cdpfetch.adapters.install import command
    from cdpfetch.adapters.install.installing import Installer

    # The clients go by HOME.
    account = os.path.expanduser("~")
    path = os.path.abspath(place) if place else target.path(account, os.environ, sys.platform)
    return Installer(target, path, command.here(), command.environment(find_home()))


def _tell(changes: list[Change], otherwise: str) -> None:
    for one in changes:
        write(f"{'removed' if one.removed else 'wrote'} {one.path}\n")
        if one.backup:
            write(f"  as it was: {one.backup}\n")
    if not changes:
        write(otherwise + "\n")
