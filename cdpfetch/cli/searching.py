"""``cdpfetch search``."""

from __future__ import annotations

import json
import sys

from cdpfetch.cli.output import print_json, tell, write
from cdpfetch.cli.parser import Parser, whole
from cdpfetch.errors import InvalidRequest, exit_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from cdpfetch.search.running import SearchResult

EXAMPLES = """\
  cdpfetch search 'sqlite wal checkpoint'
  cdpfetch search --length short --recency 30 'chrome 156 release notes' 'chromium 156 devtools'
  cdpfetch search --fetch 3 'asyncio task group cancellation'     the first three results as well
  cdpfetch search --commands '{"weather": [{"location": "Oslo"}]}'
"""


def run_search(arguments: list[str]) -> int:
    """Search, print the report, and fetch the first results when asked to."""
    parser = Parser("search", "Search the web by the provider that search.provider names.", EXAMPLES)
    add = parser.add_argument
    add("queries", nargs="*", metavar="QUERY", help="one search each")
    add("--domain", action="append", dest="domains", metavar="HOST", help="only results from HOST; may be repeated")
    add("--recency", type=whole(1), metavar="DAYS", help="only results of the last DAYS days")
    add("--length", choices=("short", "medium", "long"), help="5, 10 (default) or 15 results in all")
    add("--images", action="store_true", help="search for pictures, where the provider has them")
    add("--commands", metavar="JSON", help="a call as agents make it, or - to read it from standard input")
    add("--fetch", type=whole(1), metavar="N", help="also fetch the first N results")
    add("-o", dest="output_dir", metavar="DIR", help="write below DIR instead of the home's artifacts")
    parser.add_json()
    given = parser.parse_intermixed_args(arguments)
    from cdpfetch.search.calling import search

    result = search(_call(given), output_dir=given.output_dir)
    documents = _fetched(result, given) if given.fetch else []
    if given.json:
        print_json({**result.data, "documents": documents} if given.fetch else result.data)
    else:
        write(result.text + f"report: {result.data['report_path']}\n")
        if documents:
            from cdpfetch.delivery import digest

            write("\n" + digest(documents))
    return exit_status([None if document["ok"] else document["error"]["code"] for document in documents] or [None])


def _call(given: Namespace) -> dict[str, Any]:
    """The call that the arguments stand for.  Raises InvalidRequest."""
    from cdpfetch.search.calling import call_of

    commands: Any = {}
    if given.commands is not None:
        text = sys.stdin.read() if given.commands == "-" else given.commands
        try:
            commands = json.loads(text)
        except ValueError as error:
            raise InvalidRequest(f"--commands is no JSON: {error}", "see: cdpfetch search -h") from error
        if not isinstance(commands, dict):
            raise InvalidRequest("--commands is no object", "see: cdpfetch search -h")
    call = call_of(
        given.queries,
        domains=given.domains or (),
        recency=given.recency,
        response_length=given.length,
        commands=commands,
    )
    if given.images and "search_query" in call:
        call["image_query"] = call.pop("search_query")
    return call


def _fetched(result: SearchResult, given: Namespace) -> list[dict[str, Any]]:
    """The documents of the first results."""
    from cdpfetch.api import fetch_documents

    urls = result.urls[: given.fetch]
    if not urls:
        tell("cdpfetch: the report names no results to fetch")
        return []
    options = {"output_dir": given.output_dir} if given.output_dir else {}
    return fetch_documents(urls, **options)
