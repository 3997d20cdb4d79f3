"""Runs a batch of thousands of URLs that is killed at random, and counts: each URL once, no document lost or left over.

    scripts/soak_batch [--urls N] [--kills N] [--fetch-engine http|browser|auto] [--concurrency N] [--seed N]

Serves its pages itself, on loopback, and works in a home of its own.  Each kill is a SIGKILL of the command's process,
after a random number of documents; the same command goes on then.  Prints a report; the exit status is 0 when each URL
is in the results once, each document on disk is named by one row, is the right one, and none is missing.
"""

from __future__ import annotations

import argparse
import http.server
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from cdpfetch import paths
from cdpfetch.client import Client

PROSE = "The keeper counted the lamps twice before the tide came in, and wrote the number down. " * 4
# Seconds that one run of the command may take.
LIMIT = 3600.0


class Pages(http.server.BaseHTTPRequestHandler):
    """Answers every path with a page that carries it."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        mark = self.path.strip("/")
        body = (
            f"<!DOCTYPE html><title>{mark}</title><main><h1>{mark}</h1><p>MARK-{mark}-END {PROSE}</p></main>".encode()
        )
        self.send_response(404 if mark == "robots.txt" else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the signature of http.server
        """Says nothing."""


class Server(http.server.ThreadingHTTPServer):
    """Has room for what a batch opens at once."""

    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: object, client_address: object) -> None:
        """Says nothing of those who were killed."""


def done(out: Path) -> int:
    """How many URLs the manifest has as done."""
    try:
        db = sqlite3.connect(f"file:{out}/manifest.sqlite?mode=ro", uri=True, timeout=10)
        try:
            return int(db.execute("SELECT count(*) FROM items WHERE state = 2").fetchone()[0])
        finally:
            db.close()
    except sqlite3.Error:
        return 0


def run(command: list[str], environment: dict[str, str], out: Path, kills: list[int]) -> list[int]:
    """Run the command, killed when as many URLs are done as ``kills`` says; the counts at which it was killed."""
    killed: list[int] = []
    for at in [*kills, None]:
        with subprocess.Popen(command, env=environment) as process:
            end = time.monotonic() + LIMIT
            while process.poll() is None and time.monotonic() < end:
                if at is not None and done(out) >= at:
                    process.send_signal(signal.SIGKILL)
                    killed.append(at)
                    break
                time.sleep(random.uniform(0.05, 0.25))
            else:
                process.kill()
    return killed


def rows(out: Path) -> Iterator[dict[str, object]]:
    """The rows of all files of results."""
    for file in sorted(out.glob("results-*.jsonl")):
        yield from map(json.loads, file.read_text(encoding="utf-8").splitlines())


def faults(out: Path, urls: list[str]) -> list[str]:
    """What is wrong with what a batch has left."""
    found: list[str] = []
    seen: Counter[str] = Counter()
    named: set[str] = set()
    for row in rows(out):
        seen[str(row["url"])] += 1
        mark = str(row["url"]).rpartition("/")[2]
        content = out / str(row["dir"]) / "content.md"
        named.add(str(row["dir"]))
        if not row["ok"]:
            found.append(f"{row['url']} failed: {row['error']}")
        elif f"MARK-{mark}-END" not in content.read_text(encoding="utf-8"):
            found.append(f"{content} is not of {row['url']}")
    found += [f"{url} is in the results {seen[url]} times" for url in urls if seen[url] != 1]
    found += [f"{url} was not asked for" for url in set(seen) - set(urls)]
    on_disk = {str(path.relative_to(out)) for path in out.glob("*/*/*")}
    found += [f"{name} is named by no row" for name in sorted(on_disk - named)]
    return found


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--fetch-engine", default="http", choices=("http", "browser", "auto"))
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main() -> int:
    given = parse()
    random.seed(given.seed)
    folder = Path(tempfile.mkdtemp(prefix="cdpfetch-batch-"))
    server = Server(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    host = f"127.0.0.1:{server.server_address[1]}"
    urls = [f"http://{host}/page-{number}" for number in range(given.urls)]
    (folder / "urls.txt").write_text("\n".join(urls) + "\n")
    home, out = paths.Home(str(folder / "home")), folder / "out"
    os.mkdir(home.root, 0o700)
    Path(home.config).write_text(f'[network]\nallow = ["{host}"]\n[artifacts]\nmin_free_mb = 0\n')
    words = f"batch {folder}/urls.txt -o {out} --delay 0 --fetch-engine {given.fetch_engine}".split()
    words += ["--per-host", str(given.concurrency), "--concurrency", str(given.concurrency)]
    kills = sorted(random.sample(range(given.urls // 50, given.urls * 9 // 10), given.kills))
    began = time.monotonic()
    try:
        killed = run([sys.executable, "-m", "cdpfetch", *words], {**os.environ, "CDPFETCH_HOME": home.root}, out, kills)
        seconds = time.monotonic() - began
        wrong = faults(out, urls)
    finally:
        Client(home).stop()
        server.shutdown()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{given.urls:,} URLs in {seconds:.0f} s ({given.urls / seconds:.1f}/s), killed at {killed}")
    print(f"{len(wrong)} faults", *wrong[:20], sep="\n  ")
    return 1 if wrong or len(killed) != given.kills else 0


if __name__ == "__main__":
    sys.exit(main())
