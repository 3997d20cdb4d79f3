"""What a warm fetch of a small local page costs, whole process, beside the daemon's own time for it.

    .venv/bin/python scripts/bench_warm.py [ROUNDS]

Serves the page itself, works in a home of its own, and asks ``cdpfetch`` and ``cdpf`` (where it was built) by turns.
Prints medians in milliseconds: the whole process as a shell sees it, the phases that ``--json`` reports, and the median
of each run's ratio of the whole to the daemon's total.
"""

from __future__ import annotations

import http.server
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

PAGE = b"""<!doctype html><html lang="en"><head><title>A small page</title></head><body><h1>A small page</h1>
<p>%s</p></body></html>""" % (b"The tide table hangs beside the door, and is read aloud every morning at six. " * 8)
PHASES = ("queue", "navigate", "settle", "capture", "extract", "total")


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers every path with the page."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the signature of http.server
        """Says nothing."""


class Server(http.server.ThreadingHTTPServer):
    """A server that does not mind when a browser drops its connections."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Says nothing."""


def measure(command: list[str], environ: dict[str, str]) -> tuple[float, dict[str, float]]:
    """Milliseconds of one whole fetch, and the phases that it reports."""
    started = time.perf_counter()
    ended = subprocess.run(command, env=environ, check=True, capture_output=True)
    whole = (time.perf_counter() - started) * 1000
    return whole, json.loads(ended.stdout)["timings"]


def main() -> None:
    """Measure, print, and leave nothing running."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with (
        Server(("127.0.0.1", 0), Handler) as server,
        tempfile.TemporaryDirectory() as home,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        site = f"127.0.0.1:{server.server_address[1]}"
        environ = {**os.environ, "CDPFETCH_HOME": home, "CDPFETCH_NETWORK_ALLOW": site}
        folder = os.path.dirname(sys.executable)
        programs = [name for name in ("cdpfetch", "cdpf") if os.path.exists(os.path.join(folder, name))]
        commands = {name: [os.path.join(folder, name), "fetch", "--json", f"http://{site}/"] for name in programs}
        try:
            for _ in range(3):
                measure(commands["cdpfetch"], environ)
            results = [{name: measure(commands[name], environ) for name in programs} for _ in range(rounds)]
        finally:
            subprocess.run([commands["cdpfetch"][0], "stop"], env=environ, check=False, capture_output=True)
            server.shutdown()
    print(f"medians of {rounds}  " + "".join(f"{name:>12}" for name in programs))
    print_row("whole process", [[result[name][0] for result in results] for name in programs])
    for phase in PHASES:
        print_row(phase, [[result[name][1].get(phase, 0.0) for result in results] for name in programs])
    print_row("ratio", [[result[name][0] / result[name][1]["total"] for result in results] for name in programs], 3)


def print_row(name: str, columns: list[list[float]], digits: int = 1) -> None:
    """The median of each column."""
    print(f"{name:15}" + "".join(f"{statistics.median(column):12.{digits}f}" for column in columns))


if __name__ == "__main__":
    main()
