"""The HTTP client of the fetchers: where it connects to, what it sends along, and what its failures are called."""

from __future__ import annotations

import asyncio
import gzip
import logging
from collections.abc import Callable
from typing import Any

import pytest
from fake_http import Seen, answer, serving, silence
from guards import Names

from cdpfetch.config import Config, NetworkAccess
from cdpfetch.errors import CdpFetchError, ConfigError
from cdpfetch.httpclient import iter_limited, open_client, read_limited
from cdpfetch.resolver import Resolver

SECRET = "s3cr3t-K-77"


async def failure(call: Any) -> CdpFetchError:
    with pytest.raises(CdpFetchError) as caught:
        await call
    return caught.value


def to(location: str, status: int = 302) -> Callable[[Seen], bytes]:
    return lambda seen: answer(status, location=location)


async def test_a_request_is_sent_as_it_is_written() -> None:
    async with serving(lambda seen: answer(body=b"{}", content_type="application/json")) as fake:
        async with open_client(
            Config(), base_url=fake.url + "/v1", headers={"accept": "application/json"}, secrets={"x-api-key": SECRET}
        ) as client:
            response = await client.post("/extract", json={"a": 1})
        assert (response.status_code, response.json()) == (200, {})
        assert fake.seen[0].raw == (
            b"POST /v1/extract HTTP/1.1\r\n"
            + f"Host: 127.0.0.1:{fake.port}\r\n".encode()
            + b"Connection: keep-alive\r\n"
            b"user-agent: cdpfetch/0.1.0\r\n"
            b"accept-encoding: gzip, deflate\r\n"
            b"accept: application/json\r\n"
            b"Content-Length: 7\r\n"
            b"Content-Type: application/json\r\n"
            b"x-api-key: s3cr3t-K-77\r\n\r\n"
            b'{"a":1}'
        )


async def test_private_addresses_are_refused_but_for_the_configured_origin() -> None:
    async with serving(lambda seen: answer(body=b"here")) as fake, serving(lambda seen: answer(body=b"there")) as other:
        async with open_client(Config(), base_url=fake.url) as client:
            assert (await client.get("/")).text == "here"
            error = await failure(client.get(other.url))
        assert (error.code, other.seen) == ("blocked_address", [])
        assert "loopback" in error.reason
        async with open_client(Config(network=NetworkAccess(allow=("127.0.0.0/8",)))) as client:
            assert (await client.get(other.url)).text == "there"
        async with open_client(Config(network=NetworkAccess(deny=("127.0.0.0/8",))), base_url=fake.url) as client:
            assert (await failure(client.get("/"))).code == "blocked_address"


async def test_a_redirect_to_a_private_address_is_refused() -> None:
    async with serving(lambda seen: answer(body=b"metadata")) as other, serving(to(other.url + "/x")) as fake:
        async with open_client(Config(), base_url=fake.url) as client:
            assert (await failure(client.get("/"))).code == "blocked_address"
        assert other.seen == []


async def test_a_name_that_resolves_to_a_private_address_is_refused() -> None:
    names = Names()
    names.known["api.example"] = ["10.0.0.7"]
    async with (
        serving(lambda seen: answer()) as fake,
        open_client(Config(), base_url=fake.url, resolver=Resolver(names)) as client,
    ):
        error = await failure(client.get("http://api.example/"))
        assert (error.code, "10.0.0.7" in error.reason) == ("blocked_address", True)
        assert (await failure(client.get("http://unknown.example/"))).code == "dns_failed"


async def test_a_configured_name_opens_private_addresses_but_not_this_machine() -> None:
    names = Names()
    names.known["llm.corp.example"] = ["127.0.0.1"]
    async with serving(lambda seen: answer()) as fake:
        base = f"http://llm.corp.example:{fake.port}"
        async with open_client(Config(), base_url=base, resolver=Resolver(names)) as client:
            assert (await failure(client.get("/"))).code == "blocked_address"
        allow = [f"127.0.0.1:{fake.port}"]
        async with open_client(Config(), base_url=base, resolver=Resolver(names), allow=allow) as client:
            assert (await client.get("/")).status_code == 200


async def test_the_next_address_is_tried_when_one_refuses() -> None:
    names = Names()
    names.known["localhost"] = ["::1", "127.0.0.1"]
    async with (
        serving(lambda seen: answer(body=b"four")) as fake,
        open_client(Config(), base_url=f"http://localhost:{fake.port}", resolver=Resolver(names)) as client,
    ):
        assert (await client.get("/")).text == "four"


async def test_secrets_go_to_the_configured_origins_only_and_are_nowhere_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    async with serving(lambda seen: answer(body=b"x")) as other, serving(to(other.url + "/x")) as fake:
        async with open_client(
            Config(),
            base_url=fake.url,
            secrets={"Authorization": f"Bearer {SECRET}"},
            allow=[f"127.0.0.1:{other.port}"],
        ) as client:
            response = await client.get("/")
            assert SECRET not in repr((client, client.headers, response.request, response.request.headers, response))
        assert fake.seen[0].headers["authorization"] == f"Bearer {SECRET}"
        assert "authorization" not in other.seen[0].headers
        async with open_client(
            Config(), base_url=fake.url, secrets={"Authorization": SECRET}, trust_hosts=[other.url]
        ) as client:
            await client.get("/")
        assert other.seen[1].headers["authorization"] == SECRET
    assert SECRET not in caplog.text


async def test_redirects_end_after_ten() -> None:
    async with serving(to("/again")) as fake, open_client(Config(), base_url=fake.url) as client:
        error = await failure(client.get("/"))
    assert (error.code, len(fake.seen)) == ("too_many_redirects", 11)
    assert "10 times" in error.reason


async def test_a_body_has_a_limit_declared_or_not_packed_or_not() -> None:
    async def endless(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()

    bomb = gzip.compress(b"0" * 5_000_000)
    answers: dict[str, Any] = {
        "/declared": answer(body=b"x" * 2000),
        "/endless": endless,
        "/bomb": answer(body=bomb, content_encoding="gzip"),
        "/small": answer(body=gzip.compress(b"small"), content_encoding="gzip"),
        "/broken": answer(body=b"no gzip", content_encoding="gzip"),
    }
    async with (
        serving(lambda seen: answers[seen.target]) as fake,
        open_client(Config(), base_url=fake.url, max_bytes=1000) as client,
    ):
        for path in ("/declared", "/endless"):
            assert (await failure(client.get(path))).code == "too_large"
        client.max_bytes = 100_000
        error = await failure(client.get("/bomb"))
        assert (error.code, len(bomb) < 100_000) == ("too_large", True)
        small = await client.get("/small")
        assert (small.content, small.headers.get("content-encoding")) == (b"small", None)
        assert (await failure(client.get("/broken"))).code == "download_failed"
        async with client.stream("GET", "/small") as response:
            assert await read_limited(response, 5) == b"small"
        async with client.stream("GET", "/small") as response:
            assert (await failure(read_limited(response, 4))).code == "too_large"
        async with client.stream("GET", "/endless") as response:
            async for chunk in iter_limited(response, 10_000_000):
                assert chunk
                break


async def test_failures_have_our_names() -> None:
    async def half(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf")
        await writer.drain()

    answers: dict[str, Any] = {"/silent": silence, "/half": half, "/garbage": b"SSH-2.0\r\n", "/nothing": b""}
    async with (
        serving(lambda seen: answers[seen.target]) as fake,
        open_client(Config(), base_url=fake.url, timeout=0.3) as client,
    ):
        found = {path: (await failure(client.get(path))).code for path in answers}
        scheme = await failure(client.get("ftp://127.0.0.1/"))
    assert found == {
        "/silent": "timeout",
        "/half": "download_failed",
        "/garbage": "connection_failed",
        "/nothing": "connection_failed",
    }
    assert scheme.code == "unsupported_scheme"
    async with open_client(Config(), base_url=fake.url) as client:
        gone = await failure(client.get("/"))
    assert (gone.code, gone.reason) == ("connection_failed", "cannot connect to 127.0.0.1: Connection refused")


async def test_a_service_that_speaks_no_tls_is_named() -> None:
    async def plain(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    async with server:
        base = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with open_client(Config(), base_url=base) as client:
            error = await failure(client.get("/"))
    assert (error.code, "SSL_CERT_FILE" in (error.hint or "")) == ("tls_failed", True)


async def test_cancelling_hangs_up() -> None:
    async with serving(lambda seen: silence) as fake, open_client(Config(), base_url=fake.url) as client:
        task = asyncio.ensure_future(client.get("/"))
        while not fake.seen:
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        while not fake.hung_up:
            await asyncio.sleep(0.01)


async def test_the_environments_proxy_carries_public_names_and_no_private_ones() -> None:
    names = Names()
    names.known |= {"public.example": ["93.184.216.34"], "private.example": ["10.0.0.1"]}
    async with serving(lambda seen: answer(body=b"by proxy")) as proxy:
        environ = {"HTTP_PROXY": f"http://u:{SECRET}@127.0.0.1:{proxy.port}", "NO_PROXY": "direct.example"}
        async with open_client(Config(), environ=environ, resolver=Resolver(names)) as client:
            assert (await client.get("http://public.example/x")).text == "by proxy"
            assert (await client.get("http://unknown-here.example/")).text == "by proxy"
            for url in ("http://private.example/", "http://10.0.0.1/", "http://unknown.internal/"):
                assert (await failure(client.get(url))).code == "blocked_address"
            assert (await failure(client.get("http://direct.example/"))).code == "dns_failed"
            assert SECRET not in repr(client)
    assert [seen.target for seen in proxy.seen] == ["http://public.example/x", "http://unknown-here.example/"]
    assert proxy.seen[0].headers["proxy-authorization"].startswith("Basic ")


async def test_the_configured_origin_on_this_machine_needs_no_proxy() -> None:
    async with serving(lambda seen: answer(body=b"direct")) as fake, serving(lambda seen: answer(502)) as proxy:
        environ = {"ALL_PROXY": f"http://127.0.0.1:{proxy.port}"}
        async with open_client(Config(), base_url=fake.url, environ=environ) as client:
            assert (await client.get("/")).text == "direct"


async def test_a_proxy_that_can_not_be_used_is_an_error() -> None:
    async with open_client(Config(), environ={"http_proxy": "quic://x:1"}) as client:
        with pytest.raises(ConfigError, match="HTTP_PROXY"):
            await client.get("http://93.184.216.34/")
