"""``cdpfetch fetch``: the hot path, so it imports what it needs and no more."""

from __future__ import annotations

import os

from cdpfetch.api import fetch_documents
from cdpfetch.chain import SOURCES
from cdpfetch.cli.output import Progress, complain, print_json, write, write_content
from cdpfetch.cli.parser import Parser, header, positive, seconds
from cdpfetch.errors import CdpFetchError, exit_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

EXAMPLES = """\
  cdpfetch fetch https://example.com/              the digest: title, facts, files
  cdpfetch fetch --print https://example.com/      the content itself, as Markdown
  cdpfetch fetch --json -o out URL URL             one JSON object a line, files below ./out
  cdpfetch fetch --wait-for '#results' --deadline 30 URL
  cdpfetch fetch --allow 127.0.0.1:8000 http://127.0.0.1:8000/
"""


def parser() -> Parser:
    """The parser of ``fetch``."""
    made = Parser("fetch", "Turn URLs into files on disk and print a digest of each.", EXAMPLES)
    add = made.add_argument
    add("urls", nargs="+", metavar="URL")
    made.add_json()
    add("--print", action="store_true", dest="content", help="print the content itself instead of the digest")
    add("-o", dest="output_dir", metavar="DIR", help="write the documents below DIR instead of the home's artifacts")
    add("--format", choices=("markdown", "text", "html", "source"), help="which form to make, and --print to print")
    add("--extractor", metavar="NAME", help="how content is found: auto (default), trafilatura, ...")
    add("--screenshot", action="store_true", help="save a picture of the page as well")
    add("--wait-for", metavar="CSS", help="capture only when an element matches")
    add("--redirects", choices=("follow", "same-host"), help="which redirects are followed (default: all)")
    add("--deadline", type=positive, metavar="S", help="seconds for one URL (default: fetch.deadline, 60)")
    add("--header", type=header, action="append", dest="headers", metavar="'NAME: VALUE'", help="may be repeated")
    add("--accept-language", metavar="TAGS", help="preferred languages, as in: de,en;q=0.5")
    add("--allow", action="append", metavar="HOST", help="also reach this private host, host:port, *.suffix or CIDR")
    add(
        "--engine", choices=("browser", "http", "auto"), help="what fetches: browser (default), http (no scripts), auto"
    )
    add("--insecure", action="store_true", help="accept bad certificates")
    add("--source", choices=SOURCES, help="ask this source and no other (local: your own browser)")
    add("--max-age", type=seconds, metavar="S", help="take what was fetched within S seconds from disk (default: 0)")
    add("--fresh", action="store_true", help="take nothing from a cache")
    add("--objective", metavar="TEXT", help="what the content is for; a hosted service marks passages for it")
    add("--prompt", metavar="QUESTION", help="have the model of [llm] answer a question about each document")
    add("--keep-page", action="store_true", help="keep the captured page.html too")
    return made


def run_fetch(arguments: list[str]) -> int:
    """Fetch, print in request order, and say how it went."""
    given = parser().parse_intermixed_args(arguments)
    progress = Progress(len(given.urls))
    printer = Printer(given, len(given.urls), progress)
    try:
        fetch_documents(
            given.urls,
            on_status=progress.update if progress.enabled else None,
            on_document=printer.take,
            **_options(given),
        )
    finally:
        progress.clear()
    printer.finish()
    return exit_status(printer.codes)


def _options(given: Namespace) -> dict[str, Any]:
    """Only what was asked for: the daemon knows the defaults."""
    names = (
        "output_dir format extractor wait_for redirects deadline accept_language allow engine source max_age objective"
    )
    flags = "screenshot insecure keep_page fresh"
    options = {name: getattr(given, name) for name in f"{names} {flags}".split()}
    options = {name: value for name, value in options.items() if value}
    if given.prompt is not None:
        options["prompt"] = given.prompt
    if given.headers:
        headers: dict[str, str] = {}
        for name, value in given.headers:
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        options["headers"] = headers
    if os.isatty(0):
        options["vouched"] = True  # somebody has typed the addresses
    return options


class Printer:
    """Prints documents in request order, each as soon as those before it are there."""

    def __init__(self, given: Namespace, total: int, progress: Progress) -> None:
        self.given = given
        self.progress = progress
        self._waiting: list[dict[str, Any] | None] = [None] * total
        self._next = 0
        # Entries of the digest that were printed, and failures that close it.
        self._number = 0
        self._failed: list[dict[str, Any]] = []
        # Of each document: the code of its failure, or None.  What --print can't print has failed, too.
        self.codes: list[str | None] = []

    def take(self, index: int, document: dict[str, Any]) -> None:
        """A document is there."""
        self.progress.done += 1
        self._waiting[index] = document
        while self._next < len(self._waiting):
            ready = self._waiting[self._next]
            if ready is None:
                break
            self._next += 1
            self.progress.clear()
            error = ready["error"] or (ready.get("answer") or {}).get("error")
            self.codes.append(error["code"] if error else None)
            self._print(ready)

    def _print(self, document: dict[str, Any]) -> None:
        if self.given.json:
            print_json(document)
        elif self.given.content:
            self._print_content(document)
        elif document["ok"]:
            from cdpfetch.delivery import entry_lines

            self._number += 1
            write("\n".join(entry_lines(self._number, document)) + "\n")
        else:
            self._failed.append(document)

    def _print_content(self, document: dict[str, Any]) -> None:
        from cdpfetch.document import fetch_error
        from cdpfetch.reading import pick_body

        if not document["ok"]:
            complain(fetch_error(document), document["url"])
            return
        answer = document.get("answer")
        if answer is not None:
            if answer["error"]:
                complain(CdpFetchError(**answer["error"]), document["url"])
            else:
                write_content(answer["text"].encode("utf-8", "replace") + b"\n")
            return
        try:
            data = _content(pick_body(document, self.given.format or "markdown")["path"])
        except CdpFetchError as error:
            complain(error, document["url"])
            self.codes[-1] = "no_content"
            return
        write_content(data if data.endswith(b"\n") else data + b"\n")

    def finish(self) -> None:
        """Close the digest."""
        if self._failed:
            from cdpfetch.delivery import digest

            write(digest(self._failed))


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise CdpFetchError("no_content", f"cannot read {path}: {error.strerror}", "fetch it again") from error
