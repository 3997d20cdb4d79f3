"""Fetches thousands of pages of mixed kinds while Chrome, renderers, workers and the daemon are killed at random.

    scripts/soak [--pages N] [--seed N] [--clients N] [--seconds N] [--calm]

Serves its pages itself, on loopback, and works in a home of its own.  Checks that every request is answered with the
right content, or fails clearly and succeeds when it is asked for again, as a user would; that no process, descriptor,
tab or temporary file is left; and how the memory of the daemon and of Chrome goes on.  Daemons are killed in the first
and the last tenth, so that one lives long enough between them for its slope to say something; ``--calm`` kills nothing.
Prints a report; the exit status is 0 when nothing was lost, nothing left over, and the daemon's memory flat.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import http.server
import json
import os
import queue
import random
import shutil
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from cdpfetch import paths, process, starting
from cdpfetch.client import Client
from cdpfetch.document import Document
from cdpfetch.errors import CdpFetchError

PROSE = "The keeper counted the lamps twice before the tide came in, and wrote the number down. "
# Pages before the daemon's memory is expected to be flat, and what it may grow by (bytes a page) afterwards.
WARM_UP = 500
SLOPE_MAX = 1024.0
# Errors after which a user asks again, how often, and seconds between.
AGAIN = frozenset(
    {"browser_failed", "tab_crashed", "daemon_unavailable", "connection_failed", "download_failed", "timeout"}
)
TRIES = 12
PAUSE = 4.0
# Pages between two kills, at random, so that a slow machine sees no more of them than a fast one; and seconds between
# two of Chrome itself: fewer than its supervisor takes for a crash storm.
KILL_EVERY = (8, 40)
CHROME_EVERY = 22.0
SAMPLE_EVERY = 25
# What tells the processes below the daemon apart, on their command lines.
SIGNS = {"renderer": "--type=renderer", "worker": "cdpfetch.extract", "chrome": "--remote-debugging-pipe"}
# What the home may hold after the daemon's end: directories of the artifacts, files of ``run``.
KEPT = frozenset({".downloads", ".plain", ".index", ".cache", "chrome.json", "daemon.lock", "start.lock"})


def html(number: int, body: str) -> bytes:
    """A page that carries its number."""
    text = f"<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>Page {number}</title></head>"
    main = f"<h1>Page {number}</h1><p>Mark MARK-{number}-END. {PROSE * 3}</p>{body}"
    return f"{text}<body><main>{main}</main></body></html>".encode()


def pdf(number: int) -> bytes:
    """A PDF of one line; Chrome and readers mend the missing table."""
    text = f"BT /F1 18 Tf 20 100 Td (Mark MARK-{number}-END) Tj ET"
    objects = (
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        f"<</Length {len(text)}>>stream\n{text}\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )
    body = "".join(f"{at} 0 obj{one}endobj\n" for at, one in enumerate(objects, 1))
    return f"%PDF-1.4\n{body}trailer<</Size 6/Root 1 0 R>>\n%%EOF\n".encode()


def scripted(number: int) -> bytes:
    """A page that a script fills."""
    fill = f"b.innerHTML = '<h1>Page {number}</h1><p>Mark MARK-{number}-END. {PROSE * 3}</p>'"
    script = f"<script>setTimeout(() => {{ {fill} }}, 60)</script>"
    return f"<!DOCTYPE html><title>Page {number}</title><div id=b></div>{script}".encode()


def shadowed(number: int) -> bytes:
    """A page with text in a closed shadow root, and a frame."""
    script = f"<script>s.attachShadow({{mode: 'closed'}}).innerHTML = '<p>Shadow SHADE-{number}</p>'</script>"
    return html(number, f"<div id=s></div>{script}<iframe src='/plain/{number}'></iframe>")


def binary(number: int) -> bytes:
    """Bytes that are no text."""
    return hashlib.sha512(str(number).encode()).digest() * 600


class Kind(NamedTuple):
    """One kind of page: its weight, its type, its body by number; what answers and is expected differs for some."""

    weight: int
    content_type: str
    body: Callable[[int], bytes]
    status: int = 200


KINDS = {
    "plain": Kind(30, "text/html; charset=utf-8", lambda n: html(n, f"<h2>More</h2><p>{PROSE * 4}</p>")),
    "script": Kind(14, "text/html; charset=utf-8", scripted),
    "shadow": Kind(8, "text/html; charset=utf-8", shadowed),
    "heavy": Kind(4, "text/html; charset=utf-8", lambda n: html(n, f"<p>{PROSE * 10}</p>" * 400)),
    "slow": Kind(5, "text/html; charset=utf-8", lambda n: html(n, "")),
    "redirect": Kind(8, "text/html; charset=utf-8", lambda n: html(n, "")),
    "missing": Kind(6, "text/html; charset=utf-8", lambda n: html(n, ""), 404),
    "pdf": Kind(6, "application/pdf", pdf),
    "json": Kind(8, "application/json", lambda n: json.dumps({"mark": f"MARK-{n}-END"}).encode()),
    "binary": Kind(6, "application/octet-stream", binary),
    "trickle": Kind(5, "application/octet-stream", binary),
}


class Handler(http.server.BaseHTTPRequestHandler):
    """``/KIND/NUMBER``."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        _, name, number = (*self.path.split("/"), "", "")[:3]
        kind = KINDS.get(name)
        if kind is None or not number.isdigit():
            self.answer(404, "text/plain", b"nothing")
        elif name == "redirect":
            self.send_response(302)
            self.send_header("Location", f"/plain/{number}")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            if name == "slow":
                time.sleep(0.4)
            self.answer(kind.status, kind.content_type, kind.body(int(number)), 0.05 if name == "trickle" else 0.0)

    def answer(self, status: int, content_type: str, body: bytes, pause: float = 0.0) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        for at in range(0, len(body), 8192):
            self.wfile.write(body[at : at + 8192])
            time.sleep(pause) if pause else None

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the signature of http.server
        """Says nothing."""


class Server(http.server.ThreadingHTTPServer):
    """A server that does not mind when a browser drops its connections."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Says nothing."""


class Sample(NamedTuple):
    """Memory (bytes) after so many pages."""

    page: int
    daemon: int  # the daemon's process id
    rss: int
    descriptors: int
    chrome: int  # of all Chrome's processes, shared pages counted once (PSS)


def wrong(name: str, number: int, document: Document) -> str | None:
    """What is wrong with a document, or None."""
    kind = KINDS[name]
    if kind.content_type == "application/octet-stream":
        good = document.sha256 == hashlib.sha256(kind.body(number)).hexdigest()
        return None if good else f"sha256 {document.sha256}"
    path = document.path("content") or document.path("original")
    text = Path(path).read_text(errors="replace") if path else ""
    marks = [f"MARK-{number}-END"] + ([f"SHADE-{number}"] if name == "shadow" else [])
    missing = [mark for mark in marks if mark not in text]
    return f"{missing} is not in {path}: {text[:200]!r}" if missing else None


class Soak:
    """One run."""

    def __init__(self, home: paths.Home, base: str, pages: int, seed: int, calm: bool) -> None:
        self.home, self.base, self.pages, self.calm = home, base, pages, calm
        self.random = random.Random(seed)
        self.todo: queue.SimpleQueue[tuple[int, str]] = queue.SimpleQueue()
        names = list(KINDS)
        for number in range(pages):
            self.todo.put((number, self.random.choices(names, [KINDS[name].weight for name in names])[0]))
        self.lock = threading.Lock()
        self.done = 0
        self.lost: list[str] = []
        self.again: Counter[str] = Counter()  # errors after which it was asked for again, by code
        self.repeated = 0  # fetches that the daemon itself has repeated
        self.kills: Counter[str] = Counter()
        self.samples: list[Sample] = []
        self.over = threading.Event()

    # the user

    def work(self) -> None:
        """Fetch until nothing is left to do."""
        with Client(self.home) as client:
            while True:
                try:
                    number, name = self.todo.get_nowait()
                except queue.Empty:
                    return
                problem = self.one(client, number, name)
                with self.lock:
                    self.done += 1
                    if problem is not None:
                        self.lost.append(f"/{name}/{number}: {problem}")
                    if self.done % SAMPLE_EVERY == 0:
                        self.sample(self.done)

    def one(self, client: Client, number: int, name: str) -> str | None:
        """Fetch one page, as often as it takes; what is wrong in the end, or None."""
        problem = None
        for _ in range(TRIES):
            try:
                (outcome,) = client.fetch_many([f"{self.base}/{name}/{number}"])
                document, error = outcome.document, outcome.error
            except CdpFetchError as raised:
                document, error = None, raised
            if document is not None and document.dir:
                self.repeated += bool(document.ok and document.attempts)
                code = error.code if error is not None else None
                expected = code == (None if KINDS[name].status == 200 else "http_error")
                problem = wrong(name, number, document) if expected else str(error)
                shutil.rmtree(document.dir, ignore_errors=True)
                if problem is None:
                    return None
            else:
                problem = str(error)
            code = error.code if error is not None else "wrong"
            if code not in AGAIN and not self.excused(document):
                return problem
            with self.lock:
                self.again[code] += 1
            self.over.wait(PAUSE)
        return f"{problem} (asked for {TRIES} times)"

    def excused(self, document: Document | None) -> bool:
        """Whether a document without its content says itself that extraction failed, as it does for a killed worker."""
        return document is not None and any(one["code"] == "extraction_failed" for one in document.warnings)

    # the adversary

    def attack(self) -> None:
        """Kill something now and then."""
        last_chrome = 0.0
        next_kill = 0
        while not self.over.wait(self.random.uniform(0.1, 0.6)):
            if self.done < next_kill:
                continue
            next_kill = self.done + self.random.randint(*KILL_EVERY)
            part = self.done / self.pages
            choices = ["renderer", "renderer", "worker"]
            if time.monotonic() - last_chrome > CHROME_EVERY:
                choices += ["chrome"] * 3 + (["daemon"] * 2 if not 0.1 < part < 0.9 else [])
            what = self.random.choice(choices)
            if self.kill(what):
                self.kills[what] += 1
                last_chrome = time.monotonic() if what in ("chrome", "daemon") else last_chrome

    def kill(self, what: str) -> bool:
        daemon = starting.read_pidfile(self.home)
        if daemon is None:
            return False
        if what == "daemon":
            found = [daemon]
        else:
            below = process.descendants(daemon.pid)
            found = [one for one in below if SIGNS[what] in one.command]
            if what == "chrome":
                found = [one for one in found if "--type=" not in one.command]
        if not found:
            return False
        try:
            os.kill(self.random.choice(found).pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    # the auditor

    def sample(self, page: int) -> None:
        daemon = starting.read_pidfile(self.home)
        if daemon is None:
            return
        try:
            rss = _kilobytes(f"/proc/{daemon.pid}/status", "VmRSS") * 1024
            descriptors = len(os.listdir(f"/proc/{daemon.pid}/fd"))
        except OSError:
            return
        chrome = 0
        for one in process.descendants(daemon.pid):
            if "--user-data-dir" in one.command or "--type=" in one.command:
                try:
                    chrome += _kilobytes(f"/proc/{one.pid}/smaps_rollup", "Pss") * 1024
                except OSError:
                    continue
        self.samples.append(Sample(page, daemon.pid, rss, descriptors, chrome))

    def drop(self) -> None:
        """Ask for nothing that has not been begun."""
        with contextlib.suppress(queue.Empty):
            while True:
                self.todo.get_nowait()

    def run(self, clients: int, limit: float | None = None) -> float:
        """All of it, or what is begun within ``limit`` seconds; seconds that it took."""
        started = time.monotonic()
        workers = [threading.Thread(target=self.work) for _ in range(clients)]
        adversary = threading.Thread(target=self.attack)
        for worker in workers:
            worker.start()
        if not self.calm:
            adversary.start()
        while any(worker.is_alive() for worker in workers):
            time.sleep(0.2)
            if limit is not None and time.monotonic() - started > limit:
                self.drop()
            if sys.stderr.isatty():
                print(f"\r{self.done}/{self.pages}", end="", file=sys.stderr)
        self.over.set()
        if not self.calm:
            adversary.join()
        return time.monotonic() - started


def _kilobytes(path: str, name: str) -> int:
    with open(path) as file:
        return next(int(line.split()[1]) for line in file if line.startswith(f"{name}:"))


def slope(samples: list[Sample]) -> float | None:
    """Bytes a page of the daemon's memory, for the daemon that lived longest, after its first ``WARM_UP`` pages."""
    by_daemon: dict[int, list[Sample]] = {}
    for sample in samples:
        by_daemon.setdefault(sample.daemon, []).append(sample)
    if not by_daemon:
        return None
    longest = max(by_daemon.values(), key=len)
    warm = [sample for sample in longest if sample.page - longest[0].page >= WARM_UP]
    if len(warm) < 8:
        return None
    return statistics.linear_regression([s.page for s in warm], [s.rss for s in warm]).slope


def left_over(home: paths.Home, temporary: str) -> list[str]:
    """What is there after the daemon's end and should not be."""
    commands = {pid: process.command_line(pid) for pid in _all_pids()}
    found = [f"process {pid}: {command[:150]}" for pid, command in commands.items() if home.root in command]
    for name in (".downloads", ".plain"):
        directory = os.path.join(home.artifacts, name)
        found += [os.path.join(directory, entry) for entry in os.listdir(directory)] if os.path.isdir(directory) else []
    found += [entry for entry in os.listdir(home.artifacts) if entry.startswith(".") and entry not in KEPT]
    found += [entry for entry in os.listdir(home.run) if entry not in KEPT]
    return found + [os.path.join(temporary, entry) for entry in os.listdir(temporary)]


def _all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def settled(home: paths.Home, seconds: float = 20.0) -> str | None:
    """What the daemon still has at work or open once nobody asks for anything, or None."""
    end = time.monotonic() + seconds
    with Client(home) as client:
        while True:
            status = client.status()
            busy = status["requests"]["active"] + status["requests"]["queued"]
            tabs = status["browser"]["tabs"]
            if not busy and tabs <= 4:  # two spare ones for each of two lanes
                return None
            if time.monotonic() > end:
                return f"{busy} requests and {tabs} tabs"
            time.sleep(0.2)


def report(soak: Soak, seconds: float, left: list[str], tabs: str | None) -> bool:
    """Print what came of it; whether it is good."""
    growth = slope(soak.samples)
    fds = [sample.descriptors for sample in soak.samples]
    chrome = [sample.chrome for sample in soak.samples if sample.chrome]
    quarter = max(1, len(chrome) // 4)
    print(f"pages           {soak.done} in {seconds:.0f} s ({soak.done / seconds:.1f} a second)")
    print(f"kills           {dict(soak.kills)}")
    print(f"repeated        {soak.repeated} by the daemon; asked for again: {dict(soak.again)}")
    print(f"lost            {len(soak.lost)}")
    for line in soak.lost[:20]:
        print(f"                {line[:400]}")
    print(f"left over       {len(left) + (tabs is not None)}")
    for line in [*left, *([tabs] if tabs else [])][:20]:
        print(f"                {line}")
    daemons = len({sample.daemon for sample in soak.samples})
    if soak.samples:
        rss = [sample.rss for sample in soak.samples]
        sizes = f"RSS {min(rss) / 1e6:.0f} to {max(rss) / 1e6:.0f} MB; descriptors {min(fds)} to {max(fds)}"
        print(f"daemon          {daemons} processes; {sizes}")
    if chrome:
        first, last = statistics.median(chrome[:quarter]), statistics.median(chrome[-quarter:])
        print(f"Chrome (PSS)    {first / 1e6:.0f} MB in the first quarter, {last / 1e6:.0f} MB in the last (medians)")
    told = "too few pages to tell" if growth is None else f"{growth:.0f} bytes a page after the first {WARM_UP}"
    print(f"daemon's slope  {told}")
    return not soak.lost and not left and tabs is None and (growth is None or growth < SLOPE_MAX)


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description="Endurance: thousands of fetches among random kills.")
    parser.add_argument("--pages", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seconds", type=float, help="begin no page after so many")
    parser.add_argument("--calm", action="store_true", help="kill nothing")
    return parser.parse_args()


def main() -> int:
    """Run, report, and leave nothing running."""
    given = arguments()
    with tempfile.TemporaryDirectory(prefix="soak-") as root, Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        home = paths.Home(os.path.join(root, "home"))
        os.mkdir(home.root, 0o700)
        netloc = f"127.0.0.1:{server.server_address[1]}"
        Path(home.config).write_text(f'[network]\nallow = ["{netloc}"]\n')
        os.chmod(home.config, 0o600)
        temporary = os.path.join(root, "tmp")
        os.mkdir(temporary, 0o700)
        os.environ.update(CDPFETCH_HOME=home.root, TMPDIR=temporary)
        soak = Soak(home, f"http://{netloc}", given.pages, given.seed, given.calm)
        seconds = soak.run(given.clients, given.seconds)
        soak.todo.put((given.pages, "plain"))  # after the last kill: what the killed ones have left goes with a start
        soak.work()
        tabs = settled(home)
        with Client(home) as client:
            client.stop()
        good = report(soak, seconds, left_over(home, temporary), tabs)
        if not good:
            kept = os.path.join(tempfile.gettempdir(), "soak-daemon.log")
            shutil.copy(home.log, kept)
            print(f"the daemon's log is kept as {kept}")
        server.shutdown()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
