"""``cdpfetch artifacts``: the documents on disk."""

from __future__ import annotations

import time
from argparse import ArgumentParser

from cdpfetch.cli.output import print_json, write
from cdpfetch.cli.parser import Parser, whole
from cdpfetch.errors import EXIT_OK
from cdpfetch.paths import find_home

EXAMPLES = """\
  cdpfetch artifacts list -n 20
  cdpfetch artifacts prune --max-age-days 1
"""


def run_artifacts(arguments: list[str]) -> int:
    """List or prune."""
    parser = Parser("artifacts", "List or prune the fetched documents.", EXAMPLES)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="list|prune", parser_class=ArgumentParser)
    listing = verbs.add_parser("list", help="the newest first")
    listing.add_argument("-n", type=whole(1), metavar="N", help="at most N")
    listing.add_argument("--json", action="store_true", help="one JSON object a line")
    pruning = verbs.add_parser("prune", help="remove old ones; documents written with -o stay")
    pruning.add_argument("--max-age-days", type=float, metavar="DAYS", help="default: artifacts.max_age_days")
    pruning.add_argument("--max-total-mb", type=float, metavar="MB", help="default: artifacts.max_total_mb")
    pruning.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(arguments)
    if given.verb == "list":
        return _list(given.n, given.json)
    return _prune(given.max_age_days, given.max_total_mb, given.json)


def _list(limit: int | None, as_json: bool) -> int:
    from cdpfetch.delivery import human_bytes, one_line
    from cdpfetch.retention import list_documents

    for entry in list_documents(find_home().artifacts)[:limit]:
        if as_json:
            print_json(entry)
            continue
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry["time"]))
        state = "" if entry["ok"] else "failed, "
        write(f"{entry['fetch_id']}\n   {when}, {state}{human_bytes(entry['bytes'])}, {one_line(str(entry['url']))}\n")
    return EXIT_OK


def _prune(max_age_days: float | None, max_total_mb: float | None, as_json: bool) -> int:
    from cdpfetch import config
    from cdpfetch.delivery import human_bytes
    from cdpfetch.retention import prune

    home = find_home()
    limits = config.load(home).artifacts
    done = prune(
        home.artifacts,
        limits.max_age_days if max_age_days is None else max_age_days,
        limits.max_total_mb if max_total_mb is None else max_total_mb,
        time.time(),
    )
    if as_json:
        print_json(done)
        return EXIT_OK
    count = len(done["removed"])
    write(
        f"removed {count} document{'' if count == 1 else 's'} ({human_bytes(done['freed_bytes'])}), "
        f"kept {done['kept']} ({human_bytes(done['total_bytes'])})\n"
    )
    return EXIT_OK
