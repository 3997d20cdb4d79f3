"""``cdpfetch batch``: many URLs into one directory."""

from __future__ import annotations

import os
import sys

from cdpfetch.cli.output import print_json, write
from cdpfetch.cli.parser import Parser, positive, seconds, whole
from cdpfetch.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_SOME_FAILED, ConfigError, InvalidRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from cdpfetch.batch.engine import Engine
    from cdpfetch.batch.options import BatchOptions
    from cdpfetch.batch.store import Store
    from cdpfetch.batch.summary import Summary
    from cdpfetch.paths import Home

EXAMPLES = """\
  cdpfetch batch urls.txt -o out                     goes on where it was when it is called again
  zcat urls.gz | cdpfetch batch - -o out --fetch-engine http --concurrency 32
  cdpfetch batch urls.txt -o out --retry-failed
  cdpfetch batch urls.txt -o out --engine ray --storage s3://bucket/out
"""


def parser() -> Parser:
    """The parser of ``batch``."""
    made = Parser("batch", "Fetch the URLs of a file, any number, into one directory.", EXAMPLES)
    add = made.add_argument
    add("file", metavar="FILE", help='lines: URLs, or JSON {"url": ..., "id": ...}; - for standard input')
    add("-o", dest="output_dir", metavar="DIR", required=True, help="where manifest, results and documents go")
    add("--concurrency", type=whole(1), metavar="N", help="URLs at once (default: fetch.tabs; 16 with http)")
    add("--per-host", type=whole(1), default=2, metavar="N", help="of these, from one host (default: 2)")
    add("--delay", type=seconds, default=1.0, metavar="S", help="seconds between two from one host (default: 1)")
    add("--retries", type=whole(0), default=3, metavar="N", help="tries after a failure that may pass (default: 3)")
    add("--ignore-robots", action="store_true", help="fetch what robots.txt disallows, too")
    add("--retry-failed", action="store_true", help="fetch what failed in earlier runs once more")
    add("--results", choices=("jsonl", "parquet"), default="jsonl", help="the form of results (default: jsonl)")
    add("--format", choices=("markdown", "text", "html", "source"), help="which form of the content to make")
    add("--extractor", metavar="NAME", help="how content is found: auto (default), trafilatura, ...")
    add("--fetch-engine", choices=("browser", "http", "auto"), help="as --engine of fetch (default: browser)")
    add("--source", help="ask this source and no other (local: your own browser)")
    add("--deadline", type=positive, metavar="S", help="seconds for one URL (default: fetch.deadline, 60)")
    add("--allow", action="append", metavar="HOST", help="also reach this private host, host:port, *.suffix or CIDR")
    add("--engine", choices=("local", "ray"), default="local", help="where it runs: this machine, or a Ray cluster")
    add("--address", metavar="ADDRESS", help="of the Ray cluster (default: a new one on this machine)")
    add("--actors", type=whole(1), metavar="N", help="browsers on the cluster (default: one for two of its cores)")
    add("--storage", metavar="URL", help="with --engine ray: where documents and results go, any fsspec URL")
    made.add_json()
    return made


def run_batch(arguments: list[str]) -> int:
    """Run until it is done or stopped, and print the summary."""
    given = parser().parse_intermixed_args(arguments)
    import asyncio

    from cdpfetch.paths import find_home

    if given.engine == "local" and (given.address or given.storage or given.actors):
        raise InvalidRequest("--address, --actors and --storage are for --engine ray", "add it, or leave them out")
    summary = asyncio.run(_run(given, find_home()))
    if given.json:
        print_json(summary.to_json())
    else:
        write(summary.text(given.storage or given.output_dir))
    if summary.stopped:
        return EXIT_INTERRUPTED
    return EXIT_SOME_FAILED if summary.failed else EXIT_OK


def _options(given: Namespace, tabs: int, deadline: float) -> BatchOptions:
    from cdpfetch.batch.options import MAX_CONCURRENCY, BatchOptions

    names = {"format": "format", "extractor": "extractor", "fetch_engine": "engine", "source": "source"}
    names |= {"deadline": "deadline", "allow": "allow"}
    fetch: dict[str, Any] = {name: getattr(given, key) for key, name in names.items() if getattr(given, key)}
    usual = 16 if given.fetch_engine == "http" else tabs
    return BatchOptions(
        directory=os.path.abspath(os.path.expanduser(given.output_dir)),
        concurrency=min(MAX_CONCURRENCY, given.concurrency or usual),
        per_host=given.per_host,
        delay=given.delay,
        retries=given.retries,
        results=given.results,
        ignore_robots=given.ignore_robots,
        retry_failed=given.retry_failed,
        fetch=fetch,
        deadline=given.deadline or deadline,
    )


def _engine(given: Namespace, options: BatchOptions, home: Home) -> tuple[Engine, Store]:
    from cdpfetch.batch.engine import ChainEngine
    from cdpfetch.batch.store import Directory

    if given.engine == "ray":
        return _ray(given, options, home)
    return ChainEngine(options.directory, home, options.fetch), Directory(options.directory)


def _ray(given: Namespace, options: BatchOptions, home: Home) -> tuple[Engine, Store]:
    try:
        from cdpfetch.adapters.ray.engine import RayEngine
        from cdpfetch.adapters.ray.storage import FsStore
    except ImportError as error:
        raise ConfigError(f"--engine ray needs {error.name}", "pip install 'cdpfetch[ray]'") from error
    storage = given.storage or options.directory
    try:
        with open(home.config, encoding="utf-8") as file:
            settings = file.read()
    except FileNotFoundError:
        settings = ""
    engine = RayEngine(storage, options.fetch, address=given.address, actors=given.actors, settings=settings)
    return engine, FsStore(storage)


async def _run(given: Namespace, home: Home) -> Summary:
    import asyncio
    import signal

    from cdpfetch import config
    from cdpfetch.batch.engine import RobotsClient
    from cdpfetch.batch.input import Source
    from cdpfetch.batch.robots import Robots
    from cdpfetch.batch.runner import Runner, locked

    settings = await asyncio.to_thread(config.load, home)
    options = _options(given, settings.fetch.tabs, settings.fetch.deadline)
    line = Line()
    source = Source(given.file)
    client = None if options.ignore_robots else RobotsClient(settings, tuple(given.allow or ()))
    robots = None if client is None else Robots(client.get)
    loop = asyncio.get_running_loop()
    try:
        with locked(options.directory):
            engine, store = _engine(given, options, home)
            runner = Runner(options, source, engine, store, robots, line.show if line.enabled else None)
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, runner.stop, f"by {number.name}")
            return await runner.run()
    finally:
        line.clear()
        source.close()
        if robots is not None and client is not None:
            await robots.close()
            await client.close()


class Line:
    """One line on a terminal's standard error, rewritten; silent elsewhere."""

    def __init__(self) -> None:
        self.enabled = sys.stderr is not None and sys.stderr.isatty()

    def show(self, text: str) -> None:
        import shutil

        width = max(20, shutil.get_terminal_size().columns - 1)
        sys.stderr.write("\r\x1b[K" + text[:width])
        sys.stderr.flush()

    def clear(self) -> None:
        if self.enabled:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
