"""What the guard costs: a page of 40 resources and a download of 90 MB, direct and through it, paired in one run.

    .venv/bin/python scripts/bench_guard.py [ROUNDS]

Two browsers, one of them behind the guard, take turns; the site is a process of its own.  Prints medians in
milliseconds, the ratio of the medians, and the median of the rounds' own ratios.  "closing" is a site that ends each
connection after its answer, so that every resource needs one of its own.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time

from cdpfetch.cdp import flags
from cdpfetch.cdp.browser import Browser
from cdpfetch.cdp.discovery import find_chrome
from cdpfetch.cdp.tab import Tab
from cdpfetch.daemon.guard import canary, chrome
from cdpfetch.daemon.guard.guard import Guard
from cdpfetch.daemon.guard.lane import Lane
from cdpfetch.policy import Policy

RESOURCES = 40
SIZE = 90_000_000
LANE = "bench"
SITE = "site"  # the argument that makes this script the site


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one connection until it ends: the page, its resources (20 kB each), the file."""
    try:
        while request := await reader.readuntil(b"\r\n\r\n"):
            path = request.split(b" ", 2)[1].decode()
            kind, body = content(path)
            size = SIZE if kind == "application/octet-stream" else len(body)
            closing = "closing" in path
            head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {size}\r\n"
            head += "Connection: close\r\n" if closing else ""
            writer.write(f"{head}\r\n".encode() + body)
            sent = len(body)
            while sent < size:
                writer.write(bytes(min(1 << 20, size - sent)))
                sent += min(1 << 20, size - sent)
                await writer.drain()
            if closing:
                break
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


def content(path: str) -> tuple[str, bytes]:
    """Type and body of a path; the file's body is made as it is sent."""
    route, _, query = path.partition("?")
    if route == "/page":
        scripts = "".join(f'<script defer src="/resource?{query}-{number}"></script>' for number in range(RESOURCES))
        return "text/html", f"<!doctype html><title>Page</title>{scripts}<p>A page of many parts.</p>".encode()
    if route == "/resource":
        return "text/javascript", b"// " + b"x" * 20_000 + b"\nwindow.n = (window.n || 0) + 1\n"
    return ("application/octet-stream", b"") if route == "/file" else ("text/plain", b"no")


async def serve() -> None:
    """The site's process: prints its port and serves until its standard input ends."""
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


async def load(browser: Browser, url: str) -> float:
    """Milliseconds from the navigation to the load event, in a tab that exists."""
    tab = await browser.new_tab()
    await tab.session.execute("Fetch.disable")
    started = time.perf_counter()
    tab.session.send("Page.navigate", {"url": url})
    await seen(tab, "loaded")
    taken = (time.perf_counter() - started) * 1000
    await tab.close()
    return taken


async def download(browser: Browser, url: str) -> float:
    """Milliseconds from the navigation to the whole file."""
    tab = await browser.new_tab()
    await tab.session.execute("Fetch.disable")
    started = time.perf_counter()
    tab.session.send("Page.navigate", {"url": url})
    received, _ = await seen(tab, "download")
    await received.wait()
    taken = (time.perf_counter() - started) * 1000
    if received.received != SIZE or received.path is None:
        raise SystemExit(f"the download brought {received.received} bytes")
    os.unlink(received.path)
    await tab.close()
    return taken


async def seen(tab: Tab, kind: str) -> tuple:
    """The data of the next event of a kind."""
    while True:
        event = await tab.events.get()
        if event.kind == kind:
            return event.data


def report(name: str, direct: list[float], guarded: list[float]) -> None:
    """One line of figures."""
    one, two = statistics.median(direct), statistics.median(guarded)
    paired = statistics.median(b / a for a, b in zip(direct, guarded, strict=True))
    print(f"{name:<22} direct {one:8.1f} ms   guarded {two:8.1f} ms   ratio {two / one:.3f}   paired {paired:.3f}")


async def bench(port: int, rounds: int) -> None:
    """Both measurements."""
    site, executable = f"127.0.0.1:{port}", find_chrome(os.environ.get("CDPFETCH_CHROME"))
    with tempfile.TemporaryDirectory() as folder:
        downloads = os.path.join(folder, "downloads")
        os.mkdir(downloads)

        async def launch(name: str, *extra: str) -> Browser:
            profile = os.path.join(folder, name)
            argv = flags.headless(executable, profile, no_sandbox=os.geteuid() == 0, extra=extra, platform=sys.platform)
            return await Browser.launch(argv, os.environ, downloads)

        async with Guard([Lane(LANE, Policy([site]))]) as guard:
            browsers = [await launch("direct"), await launch("guarded", *chrome.switches(guard.port(LANE)))]
            try:
                tab = await browsers[1].new_tab()
                started = time.perf_counter()
                await canary.prove(guard, LANE, tab)
                print(f"{'start-up proof':<22} {(time.perf_counter() - started) * 1000:.1f} ms in a tab that exists")
                await tab.close()
                for name, measure, path, times in (
                    (f"page of {RESOURCES} resources", load, "page", rounds),
                    ("the same, closing", load, "page?closing", rounds),
                    (f"download of {SIZE // 10**6} MB", download, "file", max(3, rounds // 3)),
                ):
                    taken: list[list[float]] = [[], []]
                    for number in range(times + 1):
                        for which in (0, 1) if number % 2 else (1, 0):
                            spent = await measure(
                                browsers[which], f"http://{site}/{path}{'&' if '?' in path else '?'}{which}-{number}"
                            )
                            if number:  # the first round warms up
                                taken[which].append(spent)
                    report(name, *taken)
                print(f"{guard.ledger.opened} connections, {guard.status()['lanes'][0]['bytes']:,} bytes")
            finally:
                for browser in browsers:
                    await browser.close()


def main() -> None:
    """Measure, print, and leave nothing running."""
    if sys.argv[1:] == [SITE]:
        asyncio.run(serve())
        return
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with subprocess.Popen(
        [sys.executable, __file__, SITE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as site:
        try:
            asyncio.run(bench(int(site.stdout.readline()), rounds))
        finally:
            site.stdin.close()


if __name__ == "__main__":
    main()
