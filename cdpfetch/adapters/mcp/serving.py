"""Serving: over standard input and output, or over HTTP on loopback behind a token."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from typing import Any

from mcp.server.stdio import stdio_server

from cdpfetch.adapters.mcp.server import build
from cdpfetch.errors import CdpFetchError, InvalidRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

HOST = "127.0.0.1"
PATH = "/mcp"
VARIABLE = "CDPFETCH_MCP_TOKEN"
_MIN_TOKEN = 16


async def serve_stdio(home: str | None = None) -> None:
    """Serve one client until it closes our standard input."""
    server = build(home)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def serve_http(
    tell: Callable[[str], None], *, port: int = 0, token: str | None = None, home: str | None = None
) -> None:
    """Serve clients on loopback until interrupted; who has not the token gets 401.

    ``port`` 0 takes a free one.  Without a ``token`` a fresh one is made; ``tell`` gets the address, and a fresh token,
    a line each.  Raises InvalidRequest for a token that can be guessed, CdpFetchError(connection_failed) when the
    port is taken.
    """
    import socket

    import uvicorn

    if token is not None and len(token) < _MIN_TOKEN:
        raise InvalidRequest(f"the token has {len(token)} characters", f"take at least {_MIN_TOKEN}, or none")
    secret = token or secrets.token_urlsafe(24)
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            raise CdpFetchError(
                "connection_failed", f"port {port}: {error.strerror}", "choose another --port"
            ) from error
        app = TokenGate(build(home).streamable_http_app(streamable_http_path=PATH, host=HOST), secret)
        config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=5)
        tell(f"cdpfetch: MCP at http://{HOST}:{listener.getsockname()[1]}{PATH}")
        if token is None:
            tell(f"cdpfetch: header: Authorization: Bearer {secret}")
        asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))


class TokenGate:
    """ASGI middleware: HTTP requests without ``Authorization: Bearer TOKEN`` are refused (RFC 6750)."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._admits(scope):
            await _refuse(send)
            return
        await self.app(scope, receive, send)

    def _admits(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(given) == 1 and hmac.compare_digest(given[0], self._expected)


async def _refuse(send: Send) -> None:
    headers: list[Any] = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": b"a bearer token is needed\n"})
