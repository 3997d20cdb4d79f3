"""Score the extraction of the benchmark's pages, as stored or as Chrome renders them.

    python scripts/bench_extract.py BENCH [--rendered] [--each 50] [--worst 20]

BENCH is the folder with evalx.py and data/dev.  Without --rendered the stored HTML goes straight to the extractor, and
trafilatura's figures stand beside.  With it the first --each pages of every page type (by name) are served over
loopback, each with the address of its original as base, and fetched by a daemon in a temporary home; the same pages as
stored stand beside.  Prints one table by page type (words precision, recall, F1; structure), then the worst pages.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from cdpfetch import extract_html

Score = dict[str, Any]
_BASE = re.compile(r"<base\s", re.IGNORECASE)
_HEAD = re.compile(r"<head(?:\s[^>]*)?>", re.IGNORECASE)
_BATCH = 8
_DEADLINE = 40


class Page(NamedTuple):
    """A page with its truth."""

    name: str
    record: dict[str, Any]
    html: str

    @property
    def kind(self) -> str:
        return str(self.record.get("page_type") or "") if self.name.startswith(("wcxb", "magichtml")) else "other"

    @property
    def url(self) -> str:
        return str(self.record["url"] or "http://localhost/")


def load(bench: Path, each: int | None) -> list[Page]:
    """The pages with expected text; at most ``each`` of every type."""
    counts: dict[str, int] = defaultdict(int)
    pages = []
    for path in sorted((bench / "data" / "dev").glob("*/*.json")):
        record = json.loads(path.read_text())
        page = Page(f"{path.parent.name}/{path.stem}", {**record, "id": path.stem, "set": path.parent.name}, "")
        if record.get("expected_text") is None or (each and counts[page.kind] >= each):
            continue
        counts[page.kind] += 1
        html = gzip.decompress(path.with_suffix(".html.gz").read_bytes()).decode("utf-8", "replace")
        pages.append(page._replace(html=html))
    return pages


def scorer(bench: Path) -> Any:
    """The benchmark's own module."""
    sys.path.insert(0, str(bench))
    spec = importlib.util.spec_from_file_location("evalx", bench / "evalx.py")
    if spec is None or spec.loader is None:
        raise SystemExit(f"no scorer: {bench / 'evalx.py'}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def timed(evalx: Any, pages: list[Page], extractor: Callable[[str, str], str]) -> dict[str, Score]:
    """The scores of one extractor in this process, with CPU milliseconds."""
    out = {}
    for page in pages:
        start = time.process_time()
        markdown = extractor(page.html, page.url)
        spent = (time.process_time() - start) * 1000
        out[page.name] = {**evalx.score(markdown, page.record), "ms": spent}
    return out


def rendered(evalx: Any, pages: list[Page]) -> dict[str, Score]:
    """The scores of what a daemon makes of the pages; each is served under its name."""
    by_path = {f"/{page.name}": page for page in pages}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = by_path.get(self.path)
            body = based(page).encode() if page is not None else b""
            self.send_response(200 if page is not None else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with tempfile.TemporaryDirectory() as home:
            return _fetch(evalx, by_path, f"127.0.0.1:{server.server_port}", home)
    finally:
        server.shutdown()
        server.server_close()


def based(page: Page) -> str:
    """The HTML with the original's address as the base of its links."""
    if _BASE.search(page.html):
        return page.html
    base = f'<base href="{page.url}">'
    found = _HEAD.search(page.html)
    return page.html[: found.end()] + base + page.html[found.end() :] if found else base + page.html


def _fetch(evalx: Any, by_path: dict[str, Page], authority: str, home: str) -> dict[str, Score]:
    environment = {**os.environ, "CDPFETCH_HOME": home}
    Path(home, "config.toml").write_text(f'[network]\nallow = ["{authority}"]\n[fetch]\ndeadline = {_DEADLINE}\n')
    command = [sys.executable, "-m", "cdpfetch"]
    out: dict[str, Score] = {}
    paths = list(by_path)
    try:
        for first in range(0, len(paths), _BATCH):
            urls = [f"http://{authority}{path}" for path in paths[first : first + _BATCH]]
            answer = subprocess.run(
                [*command, "fetch", "--json", "-o", os.path.join(home, "out"), *urls],
                env=environment,
                stdout=subprocess.PIPE,
                check=False,
                timeout=_DEADLINE * _BATCH + 60,
            )
            for line in answer.stdout.splitlines():
                document = json.loads(line)
                path = "/" + document["url"].partition(f"{authority}/")[2]
                page = by_path[path]
                body = next((body for body in document["bodies"] if body["role"] == "content"), None)
                markdown = Path(body["path"]).read_text() if body else ""
                notes = [note["code"] for note in document["warnings"]]
                said = {"verdict": document["verdict"], "notes": notes, "error": document["error"]}
                out[page.name] = {**evalx.score(markdown, page.record), "ms": 0.0, **said}
    finally:
        subprocess.run([*command, "stop"], env=environment, check=False, stdout=subprocess.DEVNULL, timeout=60)
    return out


COLUMNS = ("bp", "br", "bf", "struct", "code", "table", "head", "link", "math", "empty")


def table(evalx: Any, pages: list[Page], runs: dict[str, dict[str, Score]]) -> Iterable[str]:
    """A Markdown table: one row a page type and run."""
    yield "| pages | n | run | " + " | ".join(COLUMNS) + " | ms | slowest |"
    yield "|" + " --- |" * (len(COLUMNS) + 5)
    kinds = sorted({page.kind for page in pages})
    for kind in ["all", *kinds]:
        names = [page.name for page in pages if kind in ("all", page.kind)]
        for run, scores in runs.items():
            found = [scores[name] for name in names if name in scores]
            if not found:
                continue
            sums = evalx.agg(found)
            cells = [f"{sums[key]:.3f}" if key in sums else "-" for key in COLUMNS]
            slowest = max(score["ms"] for score in found)
            yield f"| {kind} | {len(found)} | {run} | {' | '.join(cells)} | {sums['ms']:.0f} | {slowest:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", type=Path)
    parser.add_argument("--rendered", action="store_true")
    parser.add_argument("--each", type=int, default=None, help="pages of every type (default: all; rendered: 50)")
    parser.add_argument("--only", nargs="*", metavar="SET/ID", help="these pages only")
    parser.add_argument("--worst", type=int, default=20)
    parser.add_argument("--json", type=Path, help="also write every page's scores here")
    options = parser.parse_args()
    evalx = scorer(options.bench)
    pages = load(options.bench, None if options.only else options.each or (50 if options.rendered else None))
    if options.only:
        pages = [page for page in pages if page.name in options.only]
    runs = {"stored": timed(evalx, pages, extract_html)}
    if options.rendered:
        runs["rendered"] = rendered(evalx, pages)
    else:
        traf = importlib.import_module("extractors").trafilatura_all
        runs["trafilatura"] = timed(evalx, pages, traf)
    for line in table(evalx, pages, runs):
        print(line)
    judged = runs["rendered" if options.rendered else "stored"]
    print("\nworst:")
    for name, score in sorted(judged.items(), key=lambda item: item[1]["bf"])[: options.worst]:
        stored = runs["stored"][name]["bf"]
        said = " ".join(str(score.get(key, "")) for key in ("verdict", "notes", "error"))
        figures = " ".join(f"{key} {score[key]:.2f}" for key in ("bp", "br", "bf"))
        print(f"{name} {score['type']} {figures} words {score['n']} of {score['want']} stored {stored:.2f} {said}")
    if options.json:
        options.json.write_text(json.dumps(runs))


if __name__ == "__main__":
    main()
