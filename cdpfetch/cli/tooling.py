"""``cdpfetch tool``: one call of an agent's tool, for adapters in other languages."""

from __future__ import annotations

import sys

from cdpfetch.cli.output import print_json
from cdpfetch.cli.parser import Parser
from cdpfetch.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_SOME_FAILED

EXAMPLES = """\
  cdpfetch tool --list
  echo '{"url": "https://example.com/"}' | cdpfetch tool web_fetch
"""


def run_tool(arguments: list[str]) -> int:
    """Call one tool."""
    parser = Parser(
        "tool",
        "Call one of the agents' tools.  Arguments come as JSON on standard input; progress, and at last the result, "
        "go to standard output as one JSON object a line.",
        EXAMPLES,
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="the tool")
    parser.add_argument("--list", action="store_true", help="the tools and their schemas, one JSON object a line")
    parser.add_argument(
        "--hold", action="store_true", help="the arguments are one line, and the call ends when standard input does"
    )
    given = parser.parse_args(arguments)
    if given.list == (given.name is not None):
        parser.error("give the NAME of a tool, or --list")
    from cdpfetch.adapters import calling

    if given.list:
        for one in calling.listed():
            print_json(one)
        return EXIT_OK
    import asyncio

    if sys.stdin is None:
        parser.error("there is no standard input to read arguments from")
    source = sys.stdin.buffer
    read = source.readline if given.hold else source.read
    work = calling.call(
        given.name, read(calling.MAX_ARGUMENTS + 1), print_json, hold=source.fileno() if given.hold else None
    )
    result = asyncio.run(work)
    if result is None:
        return EXIT_INTERRUPTED
    return EXIT_SOME_FAILED if result.is_error else EXIT_OK
