"""Proxy auto-config: what a script's answer means, scripts that are hostile, and the guard that goes their ways."""

from __future__ import annotations

import asyncio
import http.server
import importlib.util
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from guards import Listener, Names, Refused, World, world

from cdpfetch.config import Browser, Config
from cdpfetch.daemon.app import App
from cdpfetch.daemon.guard.pac import process, ways
from cdpfetch.daemon.guard.pac.ways import Pac, parse
from cdpfetch.errors import CdpFetchError, ConfigError
from cdpfetch.judge import target_of
from cdpfetch.paths import Home
from cdpfetch.resolver import Resolver


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("", [None]),
        ("DIRECT", [None]),
        ("PROXY p.example:3128; DIRECT", [("http", "p.example", 3128), None]),
        ("proxy p.example", [("http", "p.example", 80)]),
        ("HTTPS p.example; HTTP q.example:8080", [("https", "p.example", 443), ("http", "q.example", 8080)]),
        ("SOCKS s.example; SOCKS5 s.example:1081", [("socks5", "s.example", 1080), ("socks5", "s.example", 1081)]),
        ("PROXY [2001:db8::1]:3128", [("http", "2001:db8::1", 3128)]),
        ("PROXY [2001:db8::1]", [("http", "2001:db8::1", 80)]),
        ("SOCKS4 s.example; QUIC x.example; DIRECT;;", [None]),
        ("PROXY a.example:1; PROXY a.example:1", [("http", "a.example", 1)]),
    ],
)
def test_what_an_answer_means(answer: str, found: list[tuple[str, str, int] | None]) -> None:
    assert parse(answer) == found


@pytest.mark.parametrize(
    "answer", ["nonsense", "PROXY", "PROXY u:p@x.example:1", "PROXY x.example:99999", "SOCKS4 x:1"]
)
def test_an_answer_without_a_way_is_an_error(answer: str) -> None:
    with pytest.raises(CdpFetchError, match="names no proxy that can be used") as caught:
        parse(answer)
    assert caught.value.code == "connection_failed"


@asynccontextmanager
async def scripted(tmp_path: Path, body: str, names: Names | None = None) -> AsyncIterator[Pac]:
    path = tmp_path / "proxy.pac"
    path.write_text(body, encoding="utf-8")
    resolver = Resolver(names or Names(), keep=0)
    pac = Pac.of(str(path), {}, None, resolver.resolve)
    try:
        yield pac
    finally:
        await pac.close()
        await resolver.close()


def function(body: str) -> str:
    return f"function FindProxyForURL(url, host) {{ {body} }}"


async def asked(pac: Pac, host: str, port: int = 443) -> list[str]:
    found = await pac.ways(target_of(host, port))
    return ["direct" if way is None else f"{way.scheme} {way.label}" for way in found]


async def test_a_script_sees_the_origin_and_its_functions(tmp_path: Path) -> None:
    names = Names()
    names.known = {"wiki.corp.example": ["2001:db8::1", "10.1.2.3"]}
    body = """
        if (url === 'https://secret.example/' && host === 'secret.example') return 'PROXY seen:1';
        if (url === 'http://plain.example:8080/') return 'HTTPS seen:2';
        if (isInNet(host, '10.0.0.0', '255.0.0.0') && dnsResolve(host) === '10.1.2.3') return 'SOCKS5 inside:3; DIRECT';
        if (!isResolvable(host) && dnsResolve(host) === null && shExpMatch(host, '*.gone')) return 'PROXY gone:4';
        if (host === '2001:db8::5') return 'PROXY ' + myIpAddress().split('.').length + '.example:5';
        if (weekdayRange('SUN', 'SAT') && timeRange(0, 23)) return;
        return 'PROXY wrong:9';
    """
    async with scripted(tmp_path, function(body), names) as pac:
        assert await asked(pac, "secret.example") == ["http seen:1"]
        assert await asked(pac, "plain.example", 8080) == ["https seen:2"]
        assert await asked(pac, "wiki.corp.example") == ["socks5 inside:3", "direct"]
        assert await asked(pac, "x.gone") == ["http gone:4"]
        assert await asked(pac, "2001:db8::5") == ["http 4.example:5"]
        assert await asked(pac, "else.example") == ["direct"]


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "x.localhost", "0.0.0.0", "abc.invalid"])
async def test_this_machine_is_no_scripts_business(tmp_path: Path, host: str) -> None:
    async with scripted(tmp_path, "nonsense(") as pac:
        assert await asked(pac, host) == ["direct"]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("function (", "SyntaxError"),
        ("var x = 1", "it has no function FindProxyForURL"),
        (function("return missing(host)"), "missing"),
        (function("return weekdayRange('NEVER')"), "weekdayRange"),
        (function("throw 'no'"), "no"),
        (function("return (function f() { return f() })()"), "RangeError"),
    ],
)
async def test_a_script_that_fails_lets_nothing_through(tmp_path: Path, script: str, reason: str) -> None:
    async with scripted(tmp_path, script) as pac:
        for _ in range(2):
            with pytest.raises(CdpFetchError, match=r"script of browser\.proxy_pac failed for a\.example: ") as caught:
                await pac.ways(target_of("a.example", 80))
            assert caught.value.code == "connection_failed"
            assert reason in caught.value.reason


@pytest.mark.parametrize("where", ["for (;;) {}", function("if (host === 'evil.example') for (;;) {} return 'DIRECT'")])
async def test_a_script_that_never_ends_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    monkeypatch.setattr(process, "ANSWER", 0.3)
    monkeypatch.setattr(process, "START", 3.0)
    async with scripted(tmp_path, where) as pac:
        with pytest.raises(CdpFetchError, match="it gave no answer within"):
            await pac.ways(target_of("evil.example", 80))
        assert pac._process._process is None
        if "evil" in where:
            assert await asked(pac, "good.example") == ["direct"]


async def test_a_script_that_takes_all_memory_ends_alone(tmp_path: Path) -> None:
    body = "if (host !== 'evil.example') return 'DIRECT'; var a = ['x']; for (;;) a.push(a.join('y') + a.length)"
    async with scripted(tmp_path, function(body)) as pac:
        with pytest.raises(CdpFetchError):
            await pac.ways(target_of("evil.example", 80))
        assert await asked(pac, "good.example") == ["direct"]


async def test_a_script_reaches_nothing_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDPFETCH_PROXY_AUTH", "user:secret")
    (tmp_path / "secret.js").write_text("module.exports = 'secret'")
    looks = """
        var found = [];
        for (var name of ['require', 'process', 'console', 'std', 'os', 'XMLHttpRequest', 'fetch'])
            if (typeof globalThis[name] !== 'undefined') found.push(name);
        try { call_python('dukpy.load_module', './secret'); found.push('load_module') } catch (e) {}
        return 'PROXY ' + (found.join('-') || 'nothing') + ':1';
    """
    monkeypatch.chdir(tmp_path)
    async with scripted(tmp_path, function(looks)) as pac:
        assert await asked(pac, "a.example") == ["http nothing:1"]
        running = pac._process._process
        assert running is not None
        environ = Path(f"/proc/{running.pid}/environ")
        if environ.exists():
            assert b"secret" not in environ.read_bytes()


async def test_a_cancelled_question_leaves_no_process_in_doubt(tmp_path: Path) -> None:
    async with scripted(tmp_path, function("if (host === 'slow.example') for (;;) {} return 'PROXY p:1'")) as pac:
        assert await asked(pac, "a.example") == ["http p:1"]
        asking = asyncio.create_task(pac.ways(target_of("slow.example", 80)))
        await asyncio.sleep(0.05)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        assert await asked(pac, "a.example") == ["http p:1"]


async def test_the_script_comes_by_http(tmp_path: Path) -> None:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(function("return 'PROXY far.example:1'").encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        pac = Pac.of(f"http://127.0.0.1:{server.server_address[1]}/x.pac?key=1", {}, None, Resolver(Names()).resolve)
        assert await asked(pac, "a.example") == ["http far.example:1"]
        thread.join()
        assert await asked(pac, "b.example") == ["http far.example:1"], "it is read once"
        assert "key" not in pac.label
        await pac.close()


@pytest.mark.parametrize("body", [b"", b"x" * (1 << 20) + b"x", None])
async def test_a_script_that_can_not_be_read_lets_nothing_through(tmp_path: Path, body: bytes | None) -> None:
    path = tmp_path / "proxy.pac"
    if body is not None:
        path.write_bytes(body)
    pac = Pac.of(str(path), {}, None, Resolver(Names()).resolve)
    with pytest.raises(CdpFetchError, match=r"the script of browser\.proxy_pac can't be read: "):
        await pac.ways(target_of("a.example", 80))


def test_without_the_package_the_setting_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "dukpy" else find(name))
    with pytest.raises(ConfigError) as caught:
        App(Home("/nonexistent"), Config(browser=Browser(proxy_pac=str(tmp_path / "x.pac"))))
    assert "pip install 'cdpfetch[pac]'" in str(caught.value)


def test_a_proxy_and_a_script_exclude_each_other(tmp_path: Path) -> None:
    browser = Browser(proxy="http://p.example", proxy_pac=str(tmp_path / "x.pac"))
    with pytest.raises(ConfigError, match="both set"):
        App(Home("/nonexistent"), Config(browser=browser))


# ---- in the guard


async def _connect_proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """An HTTP proxy that says what it was asked for, and serves that itself."""
    head = await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + head.split(b"\r\n")[0])
    await writer.drain()
    await reader.read()


async def _refusing_proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 403 Not for you\r\n\r\n")
    await writer.drain()


@asynccontextmanager
async def guarded(tmp_path: Path, body: str, *allow: str) -> AsyncIterator[World]:
    async with scripted(tmp_path, function(body)) as pac, world(*allow, upstream=pac) as w:
        yield w


def closed_port() -> int:
    import socket

    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


async def test_ways_are_tried_in_order(tmp_path: Path) -> None:
    dead = closed_port()
    async with Listener(_connect_proxy) as proxy:
        body = f"return 'PROXY 127.0.0.1:{dead}; PROXY 127.0.0.1:{proxy.port}; DIRECT'"
        async with guarded(tmp_path, body) as w:
            for _ in range(2):
                async with w.visit("far.example", 443) as (reader, _writer):
                    assert await reader.read(100) == b"CONNECT far.example:443 HTTP/1.1"
            # The second time, who could not be reached was not asked first.
            assert w.network.dialled == [("127.0.0.1", dead), ("127.0.0.1", proxy.port), ("127.0.0.1", proxy.port)]
            assert str(w.guard.status()["upstream"]).startswith("PAC ")


async def test_the_direct_way_after_a_proxy_is_judged_as_ever(tmp_path: Path) -> None:
    dead = closed_port()
    async with Listener() as site, guarded(tmp_path, f"return 'PROXY 127.0.0.1:{dead}; DIRECT'") as w:
        w.names.known = {"far.example": ["93.184.216.34"], "inner.example": ["10.0.0.5"]}
        w.network.leads = {"93.184.216.34": site.port, "10.0.0.5": site.port}
        async with w.visit("far.example", 80) as (reader, writer):
            writer.write(b"hello")
            assert await reader.read(5) == b"hello"
        with pytest.raises(Refused):
            async with w.visit("inner.example", 80):
                pass
        assert "10.0.0.5" not in w.network.addresses
        fault = w.guard.fault("main", "inner.example", 80)
        assert fault is not None and fault.code == "blocked_address"


@pytest.mark.parametrize("host", ["10.0.0.5", "inner.example", "wiki.internal", "169.254.169.254"])
async def test_private_names_do_not_go_to_a_scripts_proxy(tmp_path: Path, host: str) -> None:
    async with (
        Listener(_connect_proxy) as proxy,
        guarded(tmp_path, f"return 'PROXY 127.0.0.1:{proxy.port}'") as w,
    ):
        w.names.known = {"inner.example": ["10.0.0.5"]}
        with pytest.raises(Refused):
            async with w.visit(host, 80):
                pass
        assert proxy.arrived == 0
        fault = w.guard.fault("main", host, 80)
        assert fault is not None and fault.code == "blocked_address"


async def test_a_proxy_that_refuses_is_the_answer(tmp_path: Path) -> None:
    async with (
        Listener(_refusing_proxy) as no,
        Listener(_connect_proxy) as yes,
        guarded(tmp_path, f"return 'PROXY 127.0.0.1:{no.port}; PROXY 127.0.0.1:{yes.port}'") as w,
    ):
        with pytest.raises(Refused):
            async with w.visit("far.example", 443):
                pass
        assert yes.arrived == 0
        fault = w.guard.fault("main", "far.example", 443)
        assert fault is not None and "403 Not for you" in fault.reason


async def test_the_guard_is_no_proxy_of_its_own(tmp_path: Path) -> None:
    async with guarded(tmp_path, "return 'SOCKS5 127.0.0.1:' + host.split('.')[0].slice(1)") as w:
        port = w.guard.port("main")
        with pytest.raises(Refused):
            async with w.visit(f"p{port}.example", 443):
                pass
        assert w.network.dialled == []
        fault = w.guard.fault("main", f"p{port}.example", 443)
        assert fault is not None and "is the guard itself" in fault.reason


async def test_an_avoided_proxy_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ways, "AVOID", 0.0)
    async with scripted(tmp_path, function("return 'PROXY a:1; PROXY b:2'")) as pac:
        (first, _) = await pac.ways(target_of("x.example", 80))
        assert first is not None
        pac.gone(first)
        assert await asked(pac, "x.example") == ["http a:1", "http b:2"]
