"""A page to try cdpfetch on, served on a free port of loopback until standard input ends; its URL is printed first.

The text is put there by a script, so that only a browser sees it: that shows what a plain HTTP client would miss.
"""

from __future__ import annotations

import http.server
import sys
import threading

PAGE = b"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>The lighthouse keeper's log</title>
<meta name="author" content="M. Tern"><meta name="description" content="A page that a script writes."></head>
<body>
<nav><a href="/">Home</a> <a href="/about">About</a></nav>
<main id="log"></main>
<script>
document.getElementById("log").innerHTML = `
<h1>The lighthouse keeper's log</h1>
<p>This paragraph was written by a script after the page had loaded. A plain HTTP client sees an empty page here;
Chrome sees what you are reading now, and cdpfetch turned it into the file that you are looking at.</p>
<h2>Lamp times of the week</h2>
<table><thead><tr><th>Day</th><th>Lit</th><th>Out</th></tr></thead>
<tbody><tr><td>Monday</td><td>20:14</td><td>05:31</td></tr><tr><td>Tuesday</td><td>20:12</td><td>05:33</td></tr></tbody></table>
<h2>How the lamp is lit</h2>
<ol><li>Trim the wick.</li><li>Open the valve by a quarter turn.</li></ol>
<pre><code class="language-python">for turn in range(4):
    valve.open(turn / 4)
</code></pre>
<p>The <a href="/tides">tide table</a> hangs beside the door, and is read aloud every morning at six.</p>`;
</script>
</body>
</html>
"""


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers every path with the page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the signature of http.server
        """Says nothing: the demonstration's output is the fetch."""


def main() -> None:
    """Serve until standard input ends, which it does at the latest when the caller dies."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(f"http://127.0.0.1:{server.server_address[1]}/log", flush=True)
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    main()
