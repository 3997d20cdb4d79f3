"""The pages that are measured, served on 127.0.0.1 to 127.0.0.6 (six sites for Chrome) by a process of its own.

python scripts/benchmarks/workload.py        prints its port, and serves until its standard input ends
"""

from __future__ import annotations

import asyncio
import json
import sys

HOSTS = 6
BIG = 90_000_000
_CHUNK = bytes(1 << 20)
_SENTENCE = "The keeper of light {n} counted the lamps twice before the tide came in, and wrote the number down. "
_MENU = "<nav><ul>" + "".join(f'<li><a href="/section/{n}">Section {n}</a></li>' for n in range(25)) + "</ul></nav>"
_HEAD = '<link rel="stylesheet" href="/site.css"><script src="/site.js" defer></script><link rel="icon" href="data:,">'
_RENDER = "fetch('/api/{n}').then((r) => r.text()).then((t) => {{document.getElementById('art').innerHTML = t}})"
_POLL = "setInterval(() => fetch('/ping').then((r) => r.text()), 200)"
_STYLE = "".join(f".c{n}{{color:#{n * 4001 % 0xFFFFFF:06x};margin:{n % 5}px}}" for n in range(300))
_SCRIPT = "document.documentElement.dataset.js = 'ran';" + "".join(
    f"function f{n}(a){{return a*{n}}}" for n in range(400)
)


def article(number: int, parts: int) -> str:
    """Headings and paragraphs; its last element has the id ``done``."""
    body = [f"<h1>Report {number}</h1>"]
    for part in range(parts):
        heading = f"<h2>Part {part}</h2>" if part % 5 == 4 else ""
        body.append(f"{heading}<p>{_SENTENCE.format(n=number + part) * 8}</p>")
    return "".join(body) + f'<p id="done">This is the end of report {number}.</p>'


def page(number: int, body: str, tail: str = "", head: str = "") -> str:
    """A whole page around a body."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Report {number}</title>{_HEAD}{head}</head>'
        f'<body>{_MENU}<main><article id="art">{body}</article></main>'
        f"<footer>Harbour office</footer>{tail}</body></html>"
    )


def pdf(pages: int = 150) -> bytes:
    """A PDF of text, of some 300 kB."""
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"", b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    kids = []
    for number in range(pages):
        lines = "".join(f"({_SENTENCE.format(n=line)}) Tj T* " for line in range(18))
        stream = f"BT /F1 9 Tf 40 780 Td 14 TL (Page {number}) Tj T* {lines}ET".encode()
        objects.append(b"<</Length %d>>\nstream\n%s\nendstream" % (len(stream), stream))
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>"
            % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (pages, b" ".join(kids))
    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table
    return bytes(out + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start))


def content(kind: str, number: int) -> tuple[str, bytes]:
    """Type and body of a path."""
    html = {
        "static": lambda: page(number, article(number, 17)),
        "script": lambda: page(number, "<p>Loading…</p>", f"<script>{_RENDER.format(n=number)}</script>"),
        "heavy": lambda: page(
            number,
            "".join(article(part, 18).replace(' id="done"', "") for part in range(100)) + article(number, 1),
            head="".join(f'<script defer src="/part/{number}-{part}"></script>' for part in range(16)),
        ),
        "image": lambda: page(number, article(number, 14) + '<img src="/hang">'),
        "polling": lambda: page(number, article(number, 14), f"<script>{_POLL}</script>"),
        "api": lambda: article(number, 14),
    }
    if kind in html:
        return "text/html; charset=utf-8", html[kind]().encode()
    plain = {
        "site.css": ("text/css", _STYLE),
        "site.js": ("text/javascript", _SCRIPT),
        "part": ("text/javascript", _SCRIPT),
    }
    if kind in plain:
        return plain[kind][0], plain[kind][1].encode()
    if kind == "pdf":
        return "application/pdf", pdf()
    return ("application/octet-stream", b"") if kind == "big" else ("text/plain", b"pong")


class Site:
    """Answers each path; every answer is made once, so that making it is not what is measured."""

    def __init__(self) -> None:
        self._known: dict[str, bytes] = {}

    def _answer(self, path: str, kind: str) -> bytes:
        if path not in self._known:
            number = path.rpartition("/")[2]
            media, body = content(kind, int(number) if number.isdigit() else 0)
            size = BIG if kind == "big" else len(body)
            cached = "max-age=3600" if kind.startswith("site.") else "no-store"
            head = (
                f"HTTP/1.1 200 OK\r\nContent-Type: {media}\r\nContent-Length: {size}\r\nCache-Control: {cached}\r\n\r\n"
            )
            self._known[path] = head.encode() + body
        return self._known[path]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection until it ends."""
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                path = request.split(b" ", 2)[1].decode()
                kind = path.split("/")[1]
                await asyncio.sleep({"api": 0.05, "hang": 30.0}.get(kind, 0))
                writer.write(self._answer(path, kind))
                for _ in range(BIG // len(_CHUNK) if kind == "big" else 0):
                    writer.write(_CHUNK)
                    await writer.drain()
                writer.write(_CHUNK[: BIG % len(_CHUNK)] if kind == "big" else b"")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def main() -> None:
    """Serve on the same port of all hosts."""
    site = Site()
    first = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    port = first.sockets[0].getsockname()[1]
    others = [await asyncio.start_server(site.serve, f"127.0.0.{host}", port) for host in range(2, HOSTS + 1)]
    print(json.dumps({"port": port, "hosts": 1 + len(others)}), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
