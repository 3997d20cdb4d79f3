"""Visits without a browser, through a guard whose network is of this machine: what is followed, taken and refused."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import os
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import guards
import pytest
from guards import PUBLIC, Listener, World

from cdpfetch.cdp.errors import CdpError
from cdpfetch.cdp.landing import DownloadFailed, Landing, NavigationTimeout, PageTooLarge, Visit
from cdpfetch.cdp.lifecycle import Limits
from cdpfetch.daemon.guard.lane import Lane
from cdpfetch.daemon.lanes import ANONYMOUS, PROFILE, Lanes
from cdpfetch.daemon.plain import choice
from cdpfetch.daemon.plain import visit as visit_module
from cdpfetch.daemon.plain.visit import MAX_REDIRECTS, PlainEngine, PlainVisit
from cdpfetch.daemon.plain.way import Way
from cdpfetch.daemon.routing import FetchRouter, RedirectStopped
from cdpfetch.errors import CdpFetchError
from cdpfetch.extract.jobs import run_job
from cdpfetch.policy import Policy
from cdpfetch.urls import parse_url

PROSE = "The keeper counted the lamps twice before the tide came in, and wrote the number down. "
OTHER = "93.184.216.35"
MAX_BYTES = 200_000


class Workers:
    """The extraction pool, in a thread."""

    async def run(self, job: dict[str, Any], seconds: float) -> dict[str, Any]:
        return await asyncio.to_thread(run_job, job)


class Web:
    """Hosts that answer: path -> the whole answer, or a function of the request that writes it."""

    def __init__(self, folder: Path) -> None:
        self.answers: dict[str, bytes | Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]] = {}
        self.requests: list[str] = []
        self.folder = folder

    def join(self, world: World, port: int, **lanes: Any) -> None:
        """Be served on ``port`` in a world; ``lanes`` are arguments of Lanes."""
        self.world, self.port = world, port
        resolver = world.guard.resolver
        self.lanes = Lanes(lanes.pop("allow", ()), (), resolver=resolver, **lanes)

    def page(self, path: str, body: str, status: str = "200 OK", **headers: str) -> None:
        head = {"Content-Type": "text/html; charset=utf-8", **{n.replace("_", "-"): v for n, v in headers.items()}}
        self.raw(path, body.encode(), status, **head)

    def raw(self, path: str, body: bytes, status: str = "200 OK", **headers: str) -> None:
        lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers.items())]
        if "Content-Length" not in headers:
            lines.append(f"Content-Length: {len(body)}")
        self.answers[path] = "\r\n".join([*lines, "", ""]).encode() + body

    def redirect(self, path: str, location: str) -> None:
        self.raw(path, b"", "302 Found", Location=location)

    async def go(self, url: str, manner: Visit | None = None, seconds: float = 20.0, **router: Any) -> Landing:
        parsed = parse_url(url)
        limits = Limits(navigation=seconds, end=asyncio.get_running_loop().time() + seconds, document_bytes=MAX_BYTES)
        engine = PlainEngine(self.world.guard, Workers(), str(self.folder), version)  # type: ignore[arg-type]
        way = Way(
            engine,
            self.lanes,
            lambda lane, start: FetchRouter(self.lanes, lane, parsed, start, max_bytes=MAX_BYTES, **router),
            limits,
            4,
        )
        return await way.go(PlainVisit(engine, limits, manner or Visit()), parsed)

    def left(self) -> list[str]:
        return sorted(entry.name for entry in self.folder.iterdir())

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            request = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.requests.append(request)
            answer = self.answers[request.split(" ")[1]]
            if callable(answer):
                await answer(reader, writer)
            else:
                writer.write(answer)
                await writer.drain()


async def version() -> str | None:
    return "156.0.8078.114"


@contextlib.asynccontextmanager
async def web(folder: Path, tls: ssl.SSLContext | None = None, **lanes: Any) -> AsyncIterator[Web]:
    """``site.example`` and ``other.example`` lead to a listener; ``inner.example`` to 127.0.0.1."""
    made = Web(folder)
    async with Listener(made.serve, tls) as listener:
        allow = lanes.get("allow", ())
        more = (Lane(ANONYMOUS, Policy()), Lane(PROFILE, Policy(allow)))
        async with guards.world(more=more) as world:
            world.names.known = {"site.example": [PUBLIC], "other.example": [OTHER], "inner.example": ["127.0.0.1"]}
            world.network.leads = {PUBLIC: listener.port, OTHER: listener.port}
            made.join(world, listener.port, **lanes)
            yield made
            await asyncio.sleep(0)


async def test_a_page_is_taken(tmp_path: Path) -> None:
    async with web(tmp_path) as w:
        w.page("/a?b", f"<title>Tide</title><h1>Höhe</h1><p>{PROSE}</p>", ETag="x")
        landing = await w.go("http://site.example/a?b#c")
    assert landing.capture is not None
    assert landing.capture.url == "http://site.example/a?b#c"
    assert (landing.capture.title, landing.capture.visible) == ("Tide", 75)
    assert "<h1>Höhe</h1>" in landing.capture.html
    assert landing.capture.signals.heading == "Höhe"
    assert (landing.head.status, landing.head.header("etag")) == (200, "x")  # type: ignore[union-attr]
    assert (landing.served_by, landing.partial, landing.notes, landing.path) == ("http", (), (), None)
    assert list(landing.times) == ["committed", "settled", "captured"]
    assert "Host: site.example\r\n" in w.requests[0]
    assert "cookie" not in w.requests[0].lower()
    assert w.left() == []


async def test_a_file_is_kept_byte_for_byte(tmp_path: Path) -> None:
    data = bytes(range(256)) * 100
    async with web(tmp_path) as w:
        w.raw("/f", data, **{"Content-Type": "application/octet-stream"})
        landing = await w.go("http://site.example/f")
    assert landing.capture is None
    assert landing.received == len(data)
    assert Path(str(landing.path)).read_bytes() == data
    assert Path(str(landing.path)).stat().st_mode & 0o777 == 0o600


async def test_nothing_that_servers_set_is_kept(tmp_path: Path) -> None:
    async with web(tmp_path) as w:
        w.raw("/in", b"", "302 Found", Location="/out", **{"Set-Cookie": "session=kelp; Path=/"})
        w.page("/out", PROSE)
        await w.go("http://site.example/in")
        await w.go("http://site.example/out")
    assert len(w.requests) == 3
    assert not any("kelp" in request for request in w.requests)


async def test_the_visits_headers_are_not_told_to_another_host(tmp_path: Path) -> None:
    async with web(tmp_path) as w:
        w.redirect("/in", "http://other.example/out")
        w.page("/out", PROSE)
        landing = await w.go("http://site.example/in", Visit(headers=(("X-Key", "kelp"),)))
    assert landing.capture is not None
    assert landing.capture.url == "http://other.example/out"
    assert ["X-Key: kelp" in request for request in w.requests] == [True, False]


@pytest.mark.parametrize(
    ("location", "code", "words"),
    [
        ("http://127.0.0.1:{port}/secret", "blocked_address", "127.0.0.1 is loopback"),
        ("http://2130706433:{port}/secret", "blocked_address", "loopback"),
        ("http://inner.example:{port}/secret", "blocked_address", "loopback"),
        ("http://[::ffff:127.0.0.1]:{port}/secret", "blocked_address", "127.0.0.1"),
        ("http://169.254.169.254/latest", "blocked_address", "169.254.169.254"),
        ("http://user:pass@site.example/secret", "invalid_url", "user name or password"),
        ("file:///etc/passwd", "unsupported_scheme", "file:"),
        ("http://[/", "invalid_url", "no address"),
        ("http://nowhere.example/", "dns_failed", "nowhere.example"),
    ],
)
async def test_where_redirects_may_not_lead(tmp_path: Path, location: str, code: str, words: str) -> None:
    async with web(tmp_path) as w:
        w.redirect("/in", location.format(port=w.port))
        w.page("/secret", "TOP SECRET")
        with pytest.raises(CdpFetchError, match=words) as raised:
            await w.go("http://site.example/in")
        assert raised.value.code == code
        assert len(w.requests) == 1
        assert "127.0.0.1" not in w.world.network.addresses
        assert w.left() == []


async def test_a_name_that_turns_private_is_refused(tmp_path: Path) -> None:
    async with web(tmp_path) as w:
        w.world.names.known["site.example"] = [[PUBLIC], ["127.0.0.1"]]
        w.redirect("/in", "/secret")
        w.page("/secret", "TOP SECRET")
        with pytest.raises(CdpFetchError, match="loopback") as raised:
            await w.go("http://site.example/in")
        assert raised.value.code == "blocked_address"
        assert len(w.requests) == 1


async def test_a_public_page_does_not_lead_to_what_only_the_user_may_name(tmp_path: Path) -> None:
    async with web(tmp_path, allow=["127.0.0.1"]) as w:
        w.page("/secret", PROSE)
        w.redirect("/in", f"http://127.0.0.1:{w.port}/secret")
        landing = await w.go(f"http://127.0.0.1:{w.port}/secret")
        assert landing.capture is not None
        with pytest.raises(CdpFetchError, match="where only you may go") as raised:
            await w.go("http://site.example/in")
        assert raised.value.code == "blocked_address"


async def test_a_site_with_a_session_is_visited_without_it_and_reaches_the_public_only(tmp_path: Path) -> None:
    known = {"site.example", "inner.example"}
    async with web(tmp_path, allow=["127.0.0.0/8"], signed_in=known.__contains__) as w:
        w.redirect("/in", "http://other.example/out")
        w.redirect("/out", "http://site.example/home")
        w.page("/home", PROSE)
        w.redirect("/rebound", f"http://inner.example:{w.port}/home")
        assert (await w.go("http://site.example/in")).capture is not None
        with pytest.raises(CdpFetchError, match="loopback"):
            await w.go("http://site.example/rebound")


async def test_redirects_are_counted(tmp_path: Path) -> None:
    async with web(tmp_path) as w:
        w.redirect("/loop", "/loop")
        with pytest.raises(CdpFetchError, match="more than 20 redirects") as raised:
            await w.go("http://site.example/loop")
        assert raised.value.code == "too_many_redirects"
        assert len(w.requests) == MAX_REDIRECTS + 1


async def test_a_redirect_to_another_host_may_be_left(tmp_path: Path) -> None:
    async with web(tmp_path) as w:
        w.redirect("/in", "http://other.example/out")
        with pytest.raises(RedirectStopped) as raised:
            await w.go("http://site.example/in", redirects="same-host")
        assert (raised.value.status, raised.value.target) == (302, "http://other.example/out")


@pytest.mark.parametrize(("kind", "error"), [("text/html", PageTooLarge), ("application/zip", CdpFetchError)])
async def test_a_bomb_is_stopped_by_what_it_unpacks_to(tmp_path: Path, kind: str, error: type[Exception]) -> None:
    body = gzip.compress(b"<p>x</p>" * 1_000_000)
    assert len(body) < MAX_BYTES
    async with web(tmp_path) as w:
        w.raw("/bomb", body, **{"Content-Type": kind, "Content-Encoding": "gzip"})
        with pytest.raises(error, match="200,000 bytes"):
            await w.go("http://site.example/bomb")
        assert w.left() == []


async def test_a_declared_size_over_the_limit_is_refused_unread(tmp_path: Path) -> None:
    async with web(tmp_path) as w:
        w.raw("/big", b"x", **{"Content-Type": "text/plain", "Content-Length": "200001"})
        with pytest.raises(CdpFetchError, match="declared size 200,001 bytes") as raised:
            await w.go("http://site.example/big")
        assert raised.value.code == "too_large"
        assert w.left() == []


async def test_a_page_that_breaks_off_is_partial_and_a_file_fails(tmp_path: Path) -> None:
    async with web(tmp_path) as w:
        w.page("/page", f"<p>{PROSE}</p>", Content_Length="5000")
        w.raw("/file", b"abc", **{"Content-Type": "text/plain", "Content-Length": "5000"})
        landing = await w.go("http://site.example/page")
        assert landing.partial == (
            "the document broke off: the connection was closed after 94 of the declared 5000 bytes",
        )
        with pytest.raises(DownloadFailed, match="after 3 of the declared 5000 bytes"):
            await w.go("http://site.example/file")
        assert w.left() == []


async def test_a_coded_page_without_its_end_is_partial(tmp_path: Path) -> None:
    async with web(tmp_path) as w:
        data = gzip.compress(f"<p>{PROSE}</p>".encode())[:-8]
        w.raw("/page", data, **{"Content-Type": "text/html", "Content-Encoding": "gzip"})
        landing = await w.go("http://site.example/page")
        assert landing.partial == ("the document broke off: its gzip data has no end",)


async def test_what_does_not_answer_and_what_does_not_end(tmp_path: Path) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\n<p>Half")
        await reader.read()

    async with web(tmp_path) as w:
        w.answers = {"/silent": silent, "/slow": slow}
        with pytest.raises(NavigationTimeout, match=r"page load timed out after 0\.3 s"):
            await w.go("http://site.example/silent", seconds=0.3)
        landing = await w.go("http://site.example/slow", seconds=4.0)
        assert landing.partial == ("the time was over after 7 of the declared 5000 bytes",)
        assert w.left() == []


async def test_a_stream_is_taken_for_a_while(tmp_path: Path) -> None:
    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: one\n\n")
        await reader.read()

    async with web(tmp_path) as w:
        w.answers["/s"] = stream
        landing = await w.go("http://site.example/s", seconds=4.0)
        assert "its first 10 s (11 bytes)" in landing.partial[0]
        assert Path(str(landing.path)).read_bytes() == b"data: one\n\n"


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (b"", "empty_response", "empty response"),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "connection_failed", "does not speak HTTP"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "empty_response", "204"),
    ],
)
async def test_what_is_no_answer(tmp_path: Path, answer: bytes, code: str, words: str) -> None:
    async with web(tmp_path) as w:
        w.answers["/x"] = answer
        with pytest.raises(CdpFetchError, match=words) as raised:
            await w.go("http://site.example/x")
        assert raised.value.code == code


async def test_a_refused_connection_is_the_guards_word(tmp_path: Path) -> None:
    async with web(tmp_path) as w:
        w.world.network.leads.clear()
        with pytest.raises(CdpFetchError, match="the connection was refused") as raised:
            await w.go("http://site.example/x")
        assert raised.value.code == "connection_failed"


async def test_a_certificate_that_does_not_verify(tmp_path: Path) -> None:
    folder = Path(__file__).parents[3] / "fixtures" / "tls"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    async with web(tmp_path, context) as w:
        w.page("/x", f"<p>{PROSE}</p>")
        with pytest.raises(CdpFetchError, match="not signed by a known authority") as raised:
            await w.go("https://site.example/x")
        assert raised.value.code == "tls_failed"
        assert "--insecure" in str(raised.value.hint)
        landing = await w.go("https://site.example/x", Visit(insecure=True))
        assert landing.capture is not None
        # A page by http where TLS is spoken, and the other way round.
        with pytest.raises((CdpFetchError, CdpError)):
            await w.go("http://site.example/x")


async def test_cancelling_leaves_nothing(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nHalf")
        begun.set()
        await reader.read()

    async with web(tmp_path) as w:
        w.answers["/slow"] = slow
        going = asyncio.create_task(w.go("http://site.example/slow"))
        await begun.wait()
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going
        assert w.left() == []


async def test_what_a_browser_would_do_better(tmp_path: Path) -> None:
    async with web(tmp_path) as w:
        w.page("/good", f"<title>Tide</title><p>{PROSE * 5}</p><script>x()</script>")
        w.page("/shell", "<div id=root></div><script>x()</script>")
        w.page("/bare", "")
        w.page("/403", f"<p>{PROSE * 5}</p>", "403 Forbidden")
        w.page("/429", f"<p>{PROSE * 5}</p>", "429 Too Many Requests")
        w.page("/login", "<h1>Sign in</h1><form>Name <input name=user> <input type=password></form>")
        w.page("/lost", "<h1>Page not found</h1>")
        w.page("/cut", f"<p>{PROSE * 5}</p>", Content_Length="5000")
        w.page("/led", f"<p>{PROSE * 5}</p>", Refresh="0; url=/good")
        w.raw("/file", b"%PDF-1.4 ...", **{"Content-Type": "application/pdf"})
        found = {}
        for path in w.answers:
            url = f"http://site.example{path}"
            error = choice.unfit(await w.go(url), url)
            found[path] = error and (error.code, error.reason)
    assert found.pop("/good") is None
    assert found.pop("/file") is None
    assert {path: code for path, (code, _) in found.items()} == {  # type: ignore[misc]
        "/shell": "no_content",
        "/bare": "no_content",
        "/403": "http_error",
        "/429": "http_error",
        "/login": "login_required",
        "/lost": "no_content",
        "/cut": "download_failed",
        "/led": "no_content",
    }
    assert found["/shell"] == ("no_content", "the page has scripts and shows only 0 characters without them")


def test_a_folder_goes_with_whatever_is_in_it(tmp_path: Path) -> None:
    with visit_module._folder(str(tmp_path)) as empty:
        assert os.stat(empty).st_mode & 0o777 == 0o700
    with pytest.raises(KeyError), visit_module._folder(str(tmp_path)) as full:
        Path(full, "page.html").write_text("half")
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_is_taken_leaves_no_file(tmp_path: Path) -> None:
    made, body = tmp_path / "page.html", tmp_path / "body"
    made.write_bytes("<p>\u00e9\r\n".encode())
    body.write_bytes(b"<p>")
    assert visit_module._take_page(str(made), str(body)) == "<p>\u00e9\r\n"
    assert list(tmp_path.iterdir()) == []
