"""One HTTP request through a lane of the guard: the only way out."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING

from cdpfetch.cdp.landing import ResponseHead
from cdpfetch.daemon.guard.guard import HOST, Guard
from cdpfetch.daemon.plain import faults, requests
from cdpfetch.errors import CdpFetchError

if TYPE_CHECKING:
    import httpx

    from cdpfetch.urls import Url

# Seconds without a byte after which an answer has stalled.
STALL = 30.0


class Answer:
    """An answer whose body is still to come: ``head``, and ``parts()`` of the body as sent (codings not undone)."""

    def __init__(self, head: ResponseHead, response: httpx.Response) -> None:
        self.head = head
        self._response = response

    async def parts(self) -> AsyncGenerator[bytes, None]:
        """The body.  Raises BrokenOff when it ends before its end, or stalls."""
        import httpx

        try:
            async for part in self._response.stream:  # type: ignore[union-attr]
                yield part
        except httpx.TimeoutException:
            raise BrokenOff(f"nothing more came for {STALL:g} s") from None
        except httpx.HTTPError as error:
            raise BrokenOff("the connection was closed") from error


class BrokenOff(Exception):
    """A body that is not whole."""


class Connections:
    """Opens connections by ``guard``; TLS is checked against the system's authorities and those that ship with httpx,
    or those of ``SSL_CERT_FILE``.
    """

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._contexts: dict[bool, ssl.SSLContext] = {}  # by whether certificates are checked; made when first needed

    @contextlib.asynccontextmanager
    async def get(
        self, url: Url, lane: str, headers: list[tuple[str, str]], *, insecure: bool
    ) -> AsyncIterator[Answer]:
        """The answer to a GET request; redirects are answers like any other.

        Raises CdpFetchError: what the guard says when it refused, else what became of the connection.
        """
        context = await self._context(insecure)  # also imports httpx, in a thread
        import httpx

        since = asyncio.get_running_loop().time()
        proxy = httpx.Proxy(f"socks5://{HOST}:{self._guard.port(lane)}")
        async with httpx.AsyncHTTPTransport(verify=context, proxy=proxy) as transport:
            try:
                response = await transport.handle_async_request(_request(url, headers))
            except httpx.HTTPError as error:
                explained = self._guard.explain(lane, url.href, since)
                raise (explained or faults.public_error(error, url.host)) from error
            try:
                yield Answer(_head(url, response), response)
            finally:
                await response.aclose()

    async def _context(self, insecure: bool) -> ssl.SSLContext:
        if insecure not in self._contexts:
            self._contexts[insecure] = await asyncio.to_thread(_context, insecure)
        return self._contexts[insecure]


def _context(insecure: bool) -> ssl.SSLContext:
    import httpx

    try:
        context = httpx.create_ssl_context(verify=not insecure)
    except OSError as error:
        raise CdpFetchError("config_error", f"the certificate authorities can't be read: {error}") from error
    if not insecure:
        context.load_default_certs()
    return context


def _request(url: Url, headers: list[tuple[str, str]]) -> httpx.Request:
    import httpx

    host = f"[{url.host}]" if ":" in url.host else url.host
    timeout = {"connect": None, "read": STALL, "write": STALL, "pool": None}
    return httpx.Request(
        "GET",
        f"{url.scheme}://{host}:{url.port}/",
        headers=[(name.encode("ascii"), value.encode("latin-1")) for name, value in headers],
        # httpx would spell some characters of a path in another way than browsers do.
        extensions={"target": requests.target(url), "timeout": timeout},
    )


def _head(url: Url, response: httpx.Response) -> ResponseHead:
    pairs = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw)
    return ResponseHead(url.href, response.status_code, pairs, False)
