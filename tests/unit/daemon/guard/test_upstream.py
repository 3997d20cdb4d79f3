"""Upstream proxies: what is said to them, which targets they get, and the way through a real one."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any

import certs
import pytest
from guards import PUBLIC, Listener, Refused, socks_connect, world
from hypothesis import given
from hypothesis import strategies as st

from cdpfetch.daemon.guard import upstream
from cdpfetch.daemon.guard.dialogues import Dialogue, HttpConnect, SocksConnect
from cdpfetch.daemon.guard.guard import Guard
from cdpfetch.daemon.guard.lane import Lane
from cdpfetch.daemon.guard.upstream import Upstream
from cdpfetch.errors import CdpFetchError, ConfigError
from cdpfetch.judge import target_of
from cdpfetch.policy import Policy
from cdpfetch.resolver import Resolver

TARGET = target_of("x.example", 443)
SIX = target_of("2606:4700::1", 80)


class TestHttp:
    def test_it_asks_by_name(self) -> None:
        assert HttpConnect(TARGET, None).start() == b"CONNECT x.example:443 HTTP/1.1\r\nHost: x.example:443\r\n\r\n"
        assert HttpConnect(SIX, None).start().startswith(b"CONNECT [2606:4700::1]:80 HTTP/1.1\r\n")

    def test_it_logs_in(self) -> None:
        assert b"\r\nProxy-Authorization: Basic dXNlcjpww6Rzcw==\r\n" in HttpConnect(TARGET, "user:päss").start()

    @pytest.mark.parametrize("size", [1, 5, 1000])
    def test_it_hears_the_answer_in_pieces_and_keeps_the_rest(self, size: int) -> None:
        dialogue = HttpConnect(TARGET, None)
        answer, rest = b"HTTP/1.0 100 Wait\r\n\r\nHTTP/1.1 200 OK\r\nVia: me\r\n\r\n", b"banner"
        for start in range(0, len(answer), size):
            piece = answer[start : start + size]
            dialogue.feed(piece + rest if start + size >= len(answer) else piece)
        assert dialogue.done
        assert dialogue.rest == rest

    @pytest.mark.parametrize(
        ("answer", "reason", "hint"),
        [
            (b"HTTP/1.1 403 Forbidden\r\n\r\n", "the proxy does not connect to x.example:443: 403 Forbidden", "proxy"),
            (b"HTTP/1.1 502\r\n\r\n", "the proxy does not connect to x.example:443: 502", "browser.proxy"),
            (
                b"HTTP/1.1 407 Who?\r\n\r\n",
                "the proxy asks for a user name and a password (407 Who?)",
                "CDPFETCH_PROXY_AUTH",
            ),
            (b"SSH-2.0-x\r\n\r\n", "the proxy does not speak HTTP: b'SSH-2.0-x'", "browser.proxy"),
            (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 5000, "the proxy's answer has no end", "browser.proxy"),
        ],
    )
    def test_it_says_why_not(self, answer: bytes, reason: str, hint: str) -> None:
        dialogue = HttpConnect(TARGET, None)
        with pytest.raises(CdpFetchError) as caught:
            dialogue.feed(answer)
        assert (caught.value.code, caught.value.reason) == ("connection_failed", reason)
        assert hint in (caught.value.hint or "")
        assert not dialogue.done


class TestSocks:
    def test_it_asks_by_name(self) -> None:
        dialogue = SocksConnect(TARGET, None)
        assert dialogue.start() == b"\x05\x01\x00"
        assert dialogue.feed(b"\x05") == b""
        assert dialogue.feed(b"\x00") == b"\x05\x01\x00\x03\x09x.example\x01\xbb"
        assert dialogue.feed(b"\x05\x00\x00\x01\0\0\0\0\0") == b""
        assert not dialogue.done
        assert dialogue.feed(b"\0banner") == b""
        assert (dialogue.done, dialogue.rest) == (True, b"banner")

    def test_it_logs_in(self) -> None:
        dialogue = SocksConnect(SIX, "user:pass")
        assert dialogue.start() == b"\x05\x02\x00\x02"
        assert dialogue.feed(b"\x05\x02") == b"\x01\x04user\x04pass"
        assert dialogue.feed(b"\x01\x00") == b"\x05\x01\x00\x04" + b"\x26\x06\x47\x00" + b"\0" * 11 + b"\x01\0\x50"

    @pytest.mark.parametrize(
        ("answers", "reason"),
        [
            ([b"\x05\xff"], "the proxy asks for a user name and a password, or refuses the one given"),
            ([b"HT"], "the proxy does not speak SOCKS5"),
            ([b"\x05\x00", b"HTTP/"], "the proxy does not speak SOCKS5"),
            (
                [b"\x05\x00", b"\x05\x05\0\x01\0"],
                "the proxy does not connect to x.example:443: the connection was refused",
            ),
            ([b"\x05\x00", b"\x05\x63\0\x01\0"], "the proxy does not connect to x.example:443: error 99"),
            ([b"\x05\x00", b"\x05\x00\0\x09\0"], "the proxy does not speak SOCKS5"),
        ],
    )
    def test_it_says_why_not(self, answers: list[bytes], reason: str) -> None:
        dialogue = SocksConnect(TARGET, None)
        with pytest.raises(CdpFetchError) as caught:
            for answer in answers:
                dialogue.feed(answer)
        assert caught.value.reason == reason

    def test_a_refused_password_is_said(self) -> None:
        dialogue = SocksConnect(TARGET, "a:b")
        dialogue.feed(b"\x05\x02")
        with pytest.raises(CdpFetchError, match="refuses the user name and password"):
            dialogue.feed(b"\x01\x01")


@pytest.mark.parametrize("kind", [HttpConnect, SocksConnect])
@given(pieces=st.lists(st.binary(max_size=200), max_size=8))
def test_no_answer_breaks_a_dialogue(kind: type[HttpConnect | SocksConnect], pieces: list[bytes]) -> None:
    dialogue: Dialogue = kind(TARGET, "a:b")
    try:
        for piece in pieces:
            dialogue.feed(piece)
    except CdpFetchError as error:
        assert error.code == "connection_failed"


class TestSetting:
    @pytest.mark.parametrize(
        ("setting", "shown"),
        [
            ("http://proxy.corp.example:3128", "http://proxy.corp.example:3128"),
            ("http://Proxy.example", "http://proxy.example:80"),
            ("http://proxy.example:80/", "http://proxy.example:80"),
            ("https://proxy.example", "https://proxy.example:443"),
            ("socks5://127.0.0.1:1081", "socks5://127.0.0.1:1081"),
            ("socks5://[::1]", "socks5://::1:1080"),
        ],
    )
    def test_it_is_understood(self, setting: str, shown: str) -> None:
        assert repr(Upstream.of(setting, {})) == f"<Upstream {shown}>"

    @pytest.mark.parametrize("setting", [None, ""])
    def test_none_is_none(self, setting: str | None) -> None:
        assert Upstream.of(setting, {"NO_PROXY": "*"}) is None

    @pytest.mark.parametrize(
        ("setting", "words"),
        [
            ("socks4://p.example", "scheme 'socks4'"),
            ("ftp://p.example", "scheme 'ftp'"),
            ("p.example:80", "not a URL"),
            ("http://", "not a URL"),
            ("http://user:secret@[", "not a URL"),
            ("http://user:secret@p.example", "carries a user name or a password"),
        ],
    )
    def test_what_is_wrong_is_named_and_no_secret(self, setting: str, words: str) -> None:
        with pytest.raises(ConfigError) as caught:
            Upstream.of(setting, {})
        assert words in caught.value.reason
        assert "secret" not in str(caught.value)

    def test_control_characters_in_the_password_are_refused(self) -> None:
        with pytest.raises(ConfigError, match="CDPFETCH_PROXY_AUTH has control characters"):
            Upstream.of("http://p.example", {"CDPFETCH_PROXY_AUTH": "a:b\r\nX: y"})

    @pytest.mark.parametrize(
        ("no_proxy", "host", "port", "covered"),
        [
            ("", "x.example", 80, True),
            ("*", "x.example", 80, False),
            ("corp.example", "corp.example", 80, False),
            ("corp.example", "wiki.corp.example", 80, False),
            (".corp.example", "wiki.corp.example", 80, False),
            (" *.Corp.example , other.example", "wiki.corp.example", 80, False),
            ("corp.example", "evilcorp.example", 80, True),
            ("corp.example:8080", "corp.example", 80, True),
            ("corp.example:8080", "corp.example", 8080, False),
            ("10.0.0.0/8,192.168.1.1", "10.1.2.3", 80, False),
            ("10.0.0.0/8,192.168.1.1", "192.168.1.1", 80, False),
            ("10.0.0.0/8,192.168.1.1", "192.168.1.2", 80, True),
            ("[2606:4700::1]:80", "2606:4700::1", 80, False),
            ("2606:4700::/32", "2606:4700::1", 80, False),
        ],
    )
    def test_no_proxy_takes_targets_out(self, no_proxy: str, host: str, port: int, covered: bool) -> None:
        proxy = Upstream.of("http://p.example", {"no_proxy": no_proxy})
        assert proxy is not None
        assert proxy.covers(target_of(host, port)) is covered


class Proxy:
    """An HTTP proxy's CONNECT: notes what was asked, answers, and leads everybody to one port."""

    def __init__(self, leads_to: int, answer: bytes = b"HTTP/1.1 200 Connected\r\n\r\n") -> None:
        self.leads_to = leads_to
        self.answer = answer
        self.asked: list[bytes] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(self.answer)
        if b" 200 " not in self.answer:
            return
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.leads_to)
        try:
            await asyncio.gather(self._copy(reader, far_writer), self._copy(far_reader, writer))
        finally:
            far_writer.close()
            await far_writer.wait_closed()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.write_eof() if writer.can_write_eof() else writer.close()


def through(port: int, environ: dict[str, str] | None = None, scheme: str = "http") -> dict[str, Any]:
    return {"upstream": Upstream.of(f"{scheme}://127.0.0.1:{port}", environ or {})}


async def test_the_way_through_a_proxy() -> None:
    async with Listener() as site:
        proxy = Proxy(site.port)
        async with Listener(proxy) as front, world(**through(front.port, {"CDPFETCH_PROXY_AUTH": "u:p"})) as w:
            w.names.known["x.example"] = [PUBLIC]
            async with w.visit("x.example", 443) as (reader, writer):
                writer.write(b"hello")
                assert await reader.readexactly(5) == b"hello"
                writer.write_eof()
                assert await reader.read() == b""
            assert proxy.asked[0].startswith(b"CONNECT x.example:443 HTTP/1.1\r\n")
            assert b"Proxy-Authorization: Basic dTpw" in proxy.asked[0]
            assert w.network.dialled == [("127.0.0.1", front.port)]


async def test_private_targets_never_come_to_the_proxy() -> None:
    async with Listener() as front, world(**through(front.port)) as w:
        w.names.known = {"inner.example": ["10.0.0.1"], "localhost": ["127.0.0.1"]}
        for host in ("inner.example", "10.0.0.1", "localhost", "printer", "127.0.0.1"):
            with pytest.raises(Refused) as caught:
                async with w.visit(host):
                    pass
            assert caught.value.code == 2
        assert front.arrived == 0


async def test_no_proxy_goes_directly() -> None:
    async with Listener() as site, Listener() as front, world(**through(front.port, {"NO_PROXY": "x.example"})) as w:
        w.names.known["x.example"] = [PUBLIC]
        w.network.leads[PUBLIC] = site.port
        async with w.visit("x.example"):
            pass
        assert (site.arrived, front.arrived) == (1, 0)


async def test_the_proxys_refusal_is_in_the_ledger() -> None:
    proxy = Proxy(9, b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
    async with Listener(proxy) as front, world(**through(front.port)) as w:
        w.names.known["x.example"] = [PUBLIC]
        with pytest.raises(Refused):
            async with w.visit("x.example"):
                pass
        error = w.guard.explain("main", "http://x.example/")
        assert error is not None
        assert error.reason == "the proxy asks for a user name and a password (407 Proxy Authentication Required)"


async def test_a_proxy_that_says_nothing_or_hangs_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "TIMEOUT", 0.05)

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def rude(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")

    for serve, code, words in ((silent, "timeout", "did not answer within"), (rude, "connection_failed", "broke off")):
        async with Listener(serve) as front, world(**through(front.port)) as w:
            w.names.known["x.example"] = [PUBLIC]
            with pytest.raises(Refused):
                async with w.visit("x.example"):
                    pass
            fault = w.guard.fault("main", "x.example", 80)
            assert fault is not None
            assert fault.code == code
            assert words in fault.reason


async def test_a_proxy_that_is_not_there_is_named() -> None:
    async with world(upstream=Upstream.of("http://203.0.113.9:3128", {})) as w:
        w.names.known["x.example"] = [PUBLIC]
        with pytest.raises(Refused):
            async with w.visit("x.example"):
                pass
        fault = w.guard.fault("main", "x.example", 80)
        assert fault is not None
        assert fault.reason == "the proxy 203.0.113.9:3128: the connection was refused"
        assert fault.hint == "check browser.proxy, or what browser.proxy_pac says: cdpfetch config show"


async def test_a_socks_proxy_is_another_guard() -> None:
    async with Listener() as site, world() as far:
        far.names.known["x.example"] = [PUBLIC]
        far.network.leads[PUBLIC] = site.port
        names = Resolver(far.names, keep=0)
        near = Guard([Lane("near", Policy())], resolver=names, **through(far.guard.port("main"), scheme="socks5"))
        async with near, socks_connect(near.port("near"), "x.example", 80) as (reader, writer):
            writer.write(b"hello")
            assert await reader.readexactly(5) == b"hello"
        assert far.network.dialled == [(PUBLIC, 80)]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that nobody has signed, and its key."""
    return certs.make(tmp_path_factory.mktemp("tls"), "IP:127.0.0.1")


@pytest.mark.parametrize("trusted", ["SSL_CERT_FILE", "network.ca_bundle", None])
async def test_a_proxy_behind_tls(
    certificate: tuple[Path, Path], trusted: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    ca_bundle = str(certificate[0]) if trusted == "network.ca_bundle" else None
    if trusted == "SSL_CERT_FILE":
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    async with Listener() as site:
        proxy = Proxy(site.port)
        async with (
            Listener(proxy, tls=context) as front,
            world(upstream=Upstream.of(f"https://127.0.0.1:{front.port}", {}, ca_bundle)) as w,
        ):
            w.names.known["x.example"] = [PUBLIC]
            if not trusted:
                with pytest.raises(Refused):
                    async with w.visit("x.example", 443):
                        pass
                fault = w.guard.fault("main", "x.example", 443)
                assert fault is not None
                assert "certificate verify failed" in fault.reason
                return
            body = bytes(range(256)) * 8000
            async with w.visit("x.example", 443) as (reader, writer):
                writer.write(body)
                assert await reader.readexactly(len(body)) == body
                writer.write_eof()
                assert await reader.read() == b""
