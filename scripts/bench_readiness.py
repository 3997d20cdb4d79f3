"""How long each kind of page takes over its own minimum, to judge the readiness rules by.

    .venv/bin/python scripts/bench_readiness.py [ROUNDS]

Serves the pages itself and works in a home of its own.  The minimum of a page is what a static page takes in the
same run plus the delay that the page itself has built in; the kinds take turns, so that a drifting machine
touches them all alike.  Prints medians in milliseconds, from the fetch's start to its capture.
"""

from __future__ import annotations

import http.server
import os
import statistics
import sys
import tempfile
import threading
import time
from urllib.parse import urlsplit

from cdpfetch.client import Client

WORDS = "The tide table hangs beside the door, and is read aloud every morning at six. " * 8
LATER = "document.getElementById('main').innerHTML = '<h1>Later</h1><p>' + '{words}' + '</p>'"

# Kind -> (milliseconds built in, body).
KINDS: dict[str, tuple[float, str]] = {
    "static": (0, f"<h1>Static</h1><p>{WORDS}</p>"),
    "script at once": (0, "<div id=main></div><script>" + LATER.format(words=WORDS) + "</script>"),
    "timer 300 ms": (
        300,
        "<div id=main></div><script>setTimeout(() => {" + LATER.format(words=WORDS) + "}, 300)</script>",
    ),
    "data after 300 ms": (
        300,
        "<div id=main>Loading...</div><script>fetch('/slow/300').then(() => {"
        + LATER.format(words=WORDS)
        + "})</script>",
    ),
    "hydration after 200 ms": (
        200,
        f"<div id=main><p>{WORDS}</p></div><script>fetch('/slow/200').then(() => {{"
        + LATER.format(words=WORDS)
        + "})</script>",
    ),
    "client-side redirect": (0, "<p>moving</p><script>location.replace('/kind/static')</script>"),
    "meta refresh 1 s": (1000, "<p>moving</p><meta http-equiv=refresh content='1; url=/kind/static'>"),
    "endless polling": (0, f"<h1>Polls</h1><p>{WORDS}</p><script>setInterval(() => fetch('/slow/0'), 150)</script>"),
    "pending request": (0, f"<h1>Waits</h1><p>{WORDS}</p><script>fetch('/hang')</script>"),
    "event stream": (0, f"<h1>Streams</h1><p>{WORDS}</p><script>new EventSource('/hang')</script>"),
    "hanging image": (0, f"<h1>Picture</h1><p>{WORDS}</p><img src=/hang>"),
    "hanging script": (0, f"<h1>Script</h1><p>{WORDS}</p><script src=/hang async></script>"),
    "hanging style sheet": (0, f"<h1>Style</h1><p>{WORDS}</p><link rel=stylesheet href=/hang>"),
    "hanging frame": (0, f"<h1>Frame</h1><p>{WORDS}</p><iframe src=/hang></iframe>"),
}


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves the kinds, slow answers, and one that never comes."""

    protocol_version = "HTTP/1.1"
    closing = threading.Event()

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/hang":
            self.closing.wait(30)
            self.close_connection = True
            return
        if path.startswith("/slow/"):
            time.sleep(float(path.rpartition("/")[2]) / 1000)
        kind = path.removeprefix("/kind/").replace("%20", " ")
        body = KINDS.get(kind, (0, ""))[1].encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the signature of http.server
        """Says nothing."""


class Server(http.server.ThreadingHTTPServer):
    """A server that does not mind when a browser drops its connections."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Says nothing."""


def main() -> None:
    """Measure, print, and leave nothing running."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    with Server(("127.0.0.1", 0), Handler) as server, tempfile.TemporaryDirectory() as home:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        site = f"127.0.0.1:{server.server_address[1]}"
        took: dict[str, list[float]] = {kind: [] for kind in KINDS}
        with Client(home, environment={**os.environ, "CDPFETCH_NETWORK_ALLOW": site}) as client:
            try:
                for turn in range(rounds + 1):
                    for kind in KINDS:
                        document = client.fetch(f"http://{site}/kind/{kind.replace(' ', '%20')}")
                        phases = document.timings
                        if turn:  # the first round warms up
                            took[kind].append(phases["navigate"] + phases["settle"] + phases["capture"])
            finally:
                Handler.closing.set()
                client.stop()
                server.shutdown()
    base = statistics.median(took["static"])
    print(f"{'kind':24}{'minimum':>10}{'took':>10}{'over':>10}   ms, medians of {rounds}")
    for kind, (built_in, _) in KINDS.items():
        median = statistics.median(took[kind])
        print(f"{kind:24}{base + built_in:10.0f}{median:10.0f}{median - base - built_in:10.0f}")


if __name__ == "__main__":
    main()
