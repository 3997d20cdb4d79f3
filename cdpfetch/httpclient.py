"""HTTP for the client's side (fetchers, search, answers): httpx, whose every connection the address policy judges.

A name is resolved here, each address judged, and a judged one dialled, so that no redirect and no DNS answer leads to
a private address.  The origin of ``base_url`` may be private, since the user's settings name it; nothing else may,
unless ``network.allow`` opens it.  Failures are CdpFetchError.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from typing import Any, cast

import httpcore
import httpx

from cdpfetch import certificates
from cdpfetch._version import __version__
from cdpfetch.config import Config
from cdpfetch.errors import ConfigError
from cdpfetch.httperrors import MAX_REDIRECTS, reported, too_large
from cdpfetch.httpproxies import Origin, Proxies
from cdpfetch.judge import Judge, Route, target_of
from cdpfetch.policy import Policy
from cdpfetch.resolver import Resolver
from cdpfetch.urls import parse_url

CONNECT_SECONDS = 10.0
# Seconds that an address has before the next one is tried.
_TURN_SECONDS = 2.5
_CONNECTIONS = 16


def open_client(
    config: Config,
    *,
    base_url: str | None = None,
    headers: Mapping[str, str] | None = None,
    secrets: Mapping[str, str] | None = None,
    timeout: float = 30.0,
    trust_hosts: Iterable[str] = (),
    max_bytes: int | None = None,
    allow: Iterable[str] = (),
    environ: Mapping[str, str] | None = None,
    resolver: Resolver | None = None,
) -> Client:
    """A client, to be used as an async context manager; redirects are followed, at most ten.

    Args:
        config: its ``network`` and ``browser.proxy`` count, and ``fetch.max_bytes`` where ``max_bytes`` is None.
        base_url: what relative URLs are joined to; its origin may be private.
        headers: for every request.
        secrets: headers (keys, tokens) for the origins of ``base_url`` and ``trust_hosts`` only; they are added when
            a request leaves, so that no redirect, repr, error or log carries them.
        timeout: seconds for each read and write (at most ten to connect); a deadline for the whole is the caller's.
        trust_hosts: further URLs (``https://raw.example``) whose origins are those of the same service.
        max_bytes: the most that a response may have, decoded; see ``read_limited`` for one that is streamed.
        allow: entries that open private addresses, beside ``network.allow``.
        environ: where proxies are looked up; default: this process's.
        resolver: stands for the system's in tests; it is closed with the client.

    Raises ConfigError for an allow list or a secret that can't be used; requests do for such a proxy.
    """
    trusted = frozenset(Origin.of(parse_url(url)) for url in (base_url, *trust_hosts) if url)
    opened = (origin.entry for origin in trusted)
    policy = Policy((*config.network.allow, *allow, *opened), config.network.deny)
    transport = _Transport(
        _Gate(policy, trusted, resolver or Resolver()),
        Proxies(config.browser.proxy, os.environ if environ is None else environ),
        _encoded(secrets or {}),
        config.network.ca_bundle,
    )
    return Client(
        transport=transport,
        base_url=base_url or "",
        headers={"user-agent": f"cdpfetch/{__version__}", "accept-encoding": "gzip, deflate", **(headers or {})},
        timeout=httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS)),
        follow_redirects=True,
        max_redirects=MAX_REDIRECTS,
        trust_env=False,
        max_bytes=config.fetch.max_bytes if max_bytes is None else max_bytes,
    )


def _encoded(secrets: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Secrets as headers.  What can't be one is refused here, since errors of the libraries would show it."""
    for name, value in secrets.items():
        if not (value.isascii() and value.isprintable()):
            raise ConfigError(f"the secret for the header {name} has characters that no header takes", "write it anew")
    return [(name.lower().encode("ascii"), value.strip().encode("ascii")) for name, value in secrets.items()]


class Client(httpx.AsyncClient):
    """httpx's client, with our errors, and a limit on what a response that is not streamed may have (decoded)."""

    def __init__(self, *, max_bytes: int, **options: Any) -> None:
        super().__init__(**options)
        self.max_bytes = max_bytes

    async def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> httpx.Response:
        """As httpx's, raising CdpFetchError."""
        with reported(request.url.host):
            response = await super().send(request, stream=True, **options)
        if stream:
            return response
        try:
            body = await read_limited(response, self.max_bytes)
        finally:
            await response.aclose()
        headers = [(name, value) for name, value in response.headers.multi_items() if name not in _OF_THE_TRANSFER]
        return httpx.Response(
            response.status_code,
            headers=headers,
            content=body,
            request=response.request,
            extensions={name: value for name, value in response.extensions.items() if name != "network_stream"},
            history=response.history,
        )


_OF_THE_TRANSFER = frozenset({"content-encoding", "content-length", "transfer-encoding"})


async def read_limited(response: httpx.Response, limit: int) -> bytes:
    """The decoded body of a streamed response.  Raises CdpFetchError: ``too_large`` over ``limit`` bytes."""
    async with contextlib.aclosing(iter_limited(response, limit)) as chunks:
        return b"".join([chunk async for chunk in chunks])


async def iter_limited(response: httpx.Response, limit: int) -> AsyncGenerator[bytes]:
    """The decoded chunks of a streamed response.  Raises CdpFetchError: ``too_large`` over ``limit`` bytes."""
    host = response.request.url.host
    declared = "" if "content-encoding" in response.headers else response.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        raise too_large(host, int(declared), limit)
    size = 0
    # Closed at once: an error's traceback would keep it, and what it reads from, for as long as the error is kept.
    with reported(host):
        async with contextlib.aclosing(cast(AsyncGenerator[bytes], response.aiter_bytes())) as chunks:
            async for chunk in chunks:
                size += len(chunk)
                if size > limit:
                    raise too_large(host, size, limit)
                yield chunk


class _Gate:
    """Judges where connections go; ``trusted`` are the origins that get the secrets."""

    def __init__(self, policy: Policy, trusted: frozenset[Origin], resolver: Resolver) -> None:
        self.trusted = trusted
        self.resolver = resolver
        self._policy = policy
        self._judge = Judge(resolver, ())

    async def route(self, host: str, port: int, *, by_name: bool = False) -> Route:
        """The permitted addresses; none when a proxy is to resolve the name.  Raises CdpFetchError."""
        return await self._judge.judge(self._policy, target_of(host, port), by_name=by_name)


class _Backend(httpcore.AsyncNetworkBackend):
    """Dials what the gate permits, and nothing that it did not see."""

    def __init__(self, gate: _Gate) -> None:
        self._gate = gate
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        route = await self._gate.route(host, port)
        loop = asyncio.get_running_loop()
        end = loop.time() + (CONNECT_SECONDS if timeout is None else timeout)
        *others, last = route.addresses
        for address in others:
            try:
                turn = min(_TURN_SECONDS, max(0.01, end - loop.time()))
                return await self._inner.connect_tcp(address, port, turn, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._inner.connect_tcp(last, port, max(0.01, end - loop.time()), local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _Transport(httpx.AsyncBaseTransport):
    """Sends requests over judged connections."""

    def __init__(
        self, gate: _Gate, proxies: Proxies, secrets: list[tuple[bytes, bytes]], ca_bundle: str | None
    ) -> None:
        self._gate = gate
        self._ca_bundle = ca_bundle
        self._proxies = proxies
        self._secrets = secrets
        # Scheme and proxy ("" is none) -> the pool, made by the first request that needs it.
        self._pools: dict[tuple[str, str], httpcore.AsyncConnectionPool] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        host = url.raw_host.decode("ascii").lower().removesuffix(".")
        origin = Origin(url.scheme, host, url.port or (443 if url.scheme == "https" else 80))
        pool = await self._pool_for(origin)
        headers = list(request.headers.raw)
        if origin in self._gate.trusted:
            headers += self._secrets
        sent = httpcore.Request(
            method=request.method,
            url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=headers,
            content=request.stream,
            extensions=request.extensions,
        )
        with reported(url.host):
            got = await pool.handle_async_request(sent)
        return httpx.Response(
            got.status, headers=got.headers, stream=_Body(got.stream, url.host), extensions=got.extensions
        )

    async def _pool_for(self, origin: Origin) -> httpcore.AsyncConnectionPool:
        proxy = self._proxies.of(origin)
        if proxy is not None:
            route = await self._gate.route(origin.host, origin.port, by_name=True)
            if route.addresses:  # this machine itself, which to the proxy would be another
                proxy = None
        key = (origin.scheme, "" if proxy is None else str(proxy.url))
        if key not in self._pools:
            self._pools[key] = self._make_pool(proxy, _tls(self._ca_bundle) if origin.scheme == "https" else None)
        return self._pools[key]

    def _make_pool(self, proxy: httpx.Proxy | None, context: ssl.SSLContext | None) -> httpcore.AsyncConnectionPool:
        if proxy is None:
            return httpcore.AsyncConnectionPool(
                ssl_context=context, max_connections=_CONNECTIONS, network_backend=_Backend(self._gate)
            )
        url = httpcore.URL(
            scheme=proxy.url.raw_scheme, host=proxy.url.raw_host, port=proxy.url.port, target=proxy.url.raw_path
        )
        if proxy.url.scheme.startswith("socks5"):
            return httpcore.AsyncSOCKSProxy(
                url, proxy_auth=proxy.raw_auth, ssl_context=context, max_connections=_CONNECTIONS
            )
        return httpcore.AsyncHTTPProxy(
            url,
            proxy_auth=proxy.raw_auth,
            ssl_context=context,
            proxy_ssl_context=_tls(self._ca_bundle) if url.scheme == b"https" else None,
            max_connections=_CONNECTIONS,
        )

    async def aclose(self) -> None:
        pools, self._pools = list(self._pools.values()), {}
        for pool in pools:
            await pool.aclose()
        await self._gate.resolver.close()


@functools.lru_cache(maxsize=4)
def _tls(ca_bundle: str | None) -> ssl.SSLContext:
    """httpx's authorities (or those of SSL_CERT_FILE), those that this machine's owner has installed, and a file's."""
    context = httpx.create_ssl_context()
    context.load_default_certs()
    if ca_bundle is not None:
        certificates.add(context, ca_bundle)
    return context


class _Body(httpx.AsyncByteStream):
    """A response's body as it comes, with our errors."""

    def __init__(self, stream: Any, host: str) -> None:
        self._stream = stream
        self._host = host

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with reported(self._host, reading=True):
            async for part in self._stream:
                yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
