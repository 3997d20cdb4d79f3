"""The network of the HTTP engine: a lane of the guard, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import httpcore

from cdpfetch.daemon.guard import socks
from cdpfetch.daemon.guard.guard import HOST

# The length of the guard's answer to a request.
_REPLY = len(socks.SUCCEEDED)


class GuardedNetwork(httpcore.AsyncNetworkBackend):
    """Connects through the guard's listener on ``port``; raises httpcore.ProxyError where the guard refuses."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        stream = await self._inner.connect_tcp(HOST, self._port, timeout)
        try:
            await stream.write(socks.GREETING + socks.request(host, port), timeout)
            answer = b""
            while len(answer) < len(socks.GREETED) + _REPLY:
                more = await stream.read(64, timeout)
                if not more:
                    raise httpcore.ProxyError("the guard closed the connection")
                answer += more
            if answer != socks.GREETED + socks.SUCCEEDED:
                raise httpcore.ProxyError("the guard refuses the connection")
        except BaseException:
            await stream.aclose()
            raise
        return stream

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
