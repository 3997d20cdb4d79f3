"""``cdpfetch config``: show and change the settings."""

from __future__ import annotations

from argparse import ArgumentParser

from cdpfetch import config, project
from cdpfetch.cli.output import json_text, print_json, tell, write
from cdpfetch.cli.parser import Parser
from cdpfetch.errors import EXIT_OK
from cdpfetch.paths import find_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cdpfetch.paths import Home

EXAMPLES = """\
  cdpfetch config show
  cdpfetch config get browser.headless_idle
  cdpfetch config set network.allow 127.0.0.1:8000,*.corp.example
  cdpfetch config set browser.executable_path ''     (empty: unset)
"""


def run_config(arguments: list[str]) -> int:
    """Show, get, set, or name the file."""
    given = _parser().parse_args(arguments)
    home = find_home()
    if given.verb == "path":
        write(home.config + "\n")
    elif given.verb == "show":
        _show(project.settings(home), given.json)
        _tell_of_untrusted(home)
    elif given.verb == "get":
        config.rule_of(given.key)
        found = next(one for one in project.settings(home) if one.key == given.key)
        write(_plain(_public(found)) + "\n")
    elif given.verb == "trust":
        write(f"trusted, as it is now: {project.trust(home).path}\n")
    else:
        from cdpfetch.configfile import store

        store(home, given.key, given.value)
        found = next(one for one in config.settings(home) if one.key == given.key)
        write(f"{given.key} = {json_text(_public(found))}\n")
        if found.origin.startswith(config.PREFIX):
            write(f"but {found.origin} is set and wins\n")
        write("a running daemon takes it up when it is restarted: cdpfetch restart\n")
    return EXIT_OK


def _parser() -> Parser:
    parser = Parser("config", "Show or change the settings.", EXAMPLES)
    verbs = parser.add_subparsers(
        dest="verb", required=True, metavar="show|get|set|path|trust", parser_class=ArgumentParser
    )
    showing = verbs.add_parser("show", help="all settings, and where each comes from")
    showing.add_argument("--json", action="store_true", help="print JSON")
    getting = verbs.add_parser("get", help="one setting")
    getting.add_argument("key", metavar="SECTION.KEY")
    setting = verbs.add_parser("set", help="write one setting into config.toml")
    setting.add_argument("key", metavar="SECTION.KEY")
    setting.add_argument("value", metavar="VALUE", help="lists: separated by commas")
    verbs.add_parser("path", help="the file")
    verbs.add_parser("trust", help="follow this project's .cdpfetch/config.toml, as it is now")
    return parser


def _tell_of_untrusted(home: Home) -> None:
    found = project.find(home)
    if found is not None and not found.trusted:
        tell(f"cdpfetch: {found.path} is not followed: read it, then cdpfetch config trust")


def _show(settings: list[config.Setting], as_json: bool) -> None:
    if as_json:
        print_json({one.key: {"value": _public(one), "origin": one.origin} for one in settings})
        return
    lines: list[str] = []
    section = ""
    for one in settings:
        if one.key.rpartition(".")[0] != section:
            section = one.key.rpartition(".")[0]
            lines += ["", f"[{section}]"] if lines else [f"[{section}]"]
        name = one.key.rpartition(".")[2]
        unset = "# " if one.value is None else ""
        lines.append(f"{unset}{name} = {json_text(_public(one)) if not unset else ''}".rstrip() + f"  # {one.origin}")
    write("\n".join(lines) + "\n")


def _public(one: config.Setting) -> Any:
    """A value as it may be shown."""
    if one.rule.secret and one.value is not None:
        return config.CONFIGURED
    return list(one.value) if isinstance(one.value, tuple) else one.value


def _plain(value: Any) -> str:
    """A value as one would type it."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return ",".join(value) if isinstance(value, list) else json_text(value)
