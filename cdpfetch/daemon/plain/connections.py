"""One HTTP request through a lane of the guard: the only way out."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING

from cdpfetch import certificates
from cdpfetch.cdp.landing import ResponseHead
from cdpfetch.daemon.guard.guard import Guard
from cdpfetch.daemon.plain import requests

if TYPE_CHECKING:
    import httpcore

    from cdpfetch.urls import Url

# Seconds without a byte after which an answer has stalled.
STALL = 30.0


class BrokenOff(Exception):
    """A body that is not whole."""


class Answer:
    """An answer whose body is still to come: ``head``, and ``parts()`` of the body as sent (codings not undone)."""

    def __init__(self, head: ResponseHead, response: httpcore.Response) -> None:
        self.head = head
        self._response = response

    async def parts(self) -> AsyncGenerator[bytes, None]:
        """The body; to be closed by who does not read it to its end.

        Raises BrokenOff when it ends before its end, or stalls.
        """
        import httpcore

        body = self._response.aiter_stream()
        try:
            async for part in body:
                yield part
        except httpcore.TimeoutException:
            raise BrokenOff(f"nothing more came for {STALL:g} s") from None
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            raise BrokenOff("the connection was closed") from error
        finally:
            # Its generators end by themselves when the connection does; left alone they would end at some later time.
            await self._response.extensions["network_stream"].aclose()
            with contextlib.suppress(httpcore.NetworkError, httpcore.ProtocolError):
                async for _ in body:
                    pass


class Connections:
    """Opens connections by ``guard``; TLS is checked against the system's authorities and those that ship with httpx,
    or those of ``SSL_CERT_FILE``, and those of ``ca_bundle``.
    """

    def __init__(self, guard: Guard, ca_bundle: str | None = None) -> None:
        self._guard = guard
        self._ca_bundle = ca_bundle
        self._contexts: dict[bool, ssl.SSLContext] = {}  # by whether certificates are checked; made when first needed

    @contextlib.asynccontextmanager
    async def get(
        self, url: Url, lane: str, headers: list[tuple[str, str]], *, insecure: bool
    ) -> AsyncIterator[Answer]:
        """The answer to a GET request; redirects are answers like any other.

        Raises CdpFetchError: what the guard says when it refused, else what became of the connection.
        """
        context = await self._context(insecure)  # which also imports httpcore, in a thread
        import httpcore

        from cdpfetch.daemon.plain import faults
        from cdpfetch.daemon.plain.backend import GuardedNetwork

        since = asyncio.get_running_loop().time()
        network = GuardedNetwork(self._guard.port(lane))
        async with httpcore.AsyncConnectionPool(ssl_context=context, network_backend=network) as pool:
            try:
                response = await pool.handle_async_request(_request(url, headers))
            except faults.HTTP_ERRORS as error:
                explained = self._guard.explain(lane, url.href, since)
                raise (explained or faults.public_error(error, url.host)) from error
            try:
                yield Answer(_head(url, response), response)
            finally:
                await response.aclose()

    async def _context(self, insecure: bool) -> ssl.SSLContext:
        if insecure not in self._contexts:
            self._contexts[insecure] = await asyncio.to_thread(_context, insecure, self._ca_bundle)
        return self._contexts[insecure]


def _context(insecure: bool, ca_bundle: str | None) -> ssl.SSLContext:
    import httpx

    context = httpx.create_ssl_context(verify=not insecure)
    if not insecure:
        context.load_default_certs()
        if ca_bundle is not None:
            certificates.add(context, ca_bundle)
    return context


def _request(url: Url, headers: list[tuple[str, str]]) -> httpcore.Request:
    import httpcore

    return httpcore.Request(
        "GET",
        httpcore.URL(scheme=url.scheme, host=url.host, port=url.port, target=requests.target(url)),
        headers=[(name.encode("ascii"), value.encode("latin-1")) for name, value in headers],
        extensions={"timeout": {"connect": None, "read": STALL, "write": STALL, "pool": None}},
    )


def _head(url: Url, response: httpcore.Response) -> ResponseHead:
    pairs = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers)
    return ResponseHead(url.href, response.status, pairs, False)
