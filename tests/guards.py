"""What the guard's tests share: listeners that count, a SOCKS client, a resolver and a network that are not there."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any, Self

from cdpfetch.daemon.guard.dialler import Dialler, connect
from cdpfetch.daemon.guard.guard import Guard
from cdpfetch.daemon.guard.lane import Lane
from cdpfetch.policy import Policy
from cdpfetch.resolver import Resolver

PUBLIC = "93.184.216.34"


class Names:
    """A resolver's lookup that answers what it was told; a list of lists gives one answer per question."""

    def __init__(self, **_: Any) -> None:
        self.known: dict[str, list[str] | list[list[str]]] = {}
        self.asked: list[str] = []

    async def __call__(self, host: str) -> list[str]:
        self.asked.append(host)
        answers = self.known.get(host)
        if not answers:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        if isinstance(answers[0], list):
            return list(answers.pop(0) if len(answers) > 1 else answers[0])
        return [str(address) for address in answers]


class Network:
    """A dialler's connect: addresses lead to ports of this machine as told; all calls are noted."""

    def __init__(self) -> None:
        self.leads: dict[str, int] = {}  # address -> port of 127.0.0.1 that stands for it, whatever port is asked
        self.ports: dict[tuple[str, int], int] = {}  # (address, port) -> port of 127.0.0.1; counts before leads
        self.dialled: list[tuple[str, int]] = []

    async def __call__(self, address: str, port: int) -> socket.socket:
        self.dialled.append((address, port))
        if (address, port) in self.ports:
            return await connect("127.0.0.1", self.ports[address, port])
        if address in self.leads:
            return await connect("127.0.0.1", self.leads[address])
        if address == "127.0.0.1":
            return await connect(address, port)
        raise ConnectionRefusedError(111, "Connection refused")

    @property
    def addresses(self) -> list[str]:
        """The addresses that were dialled."""
        return [address for address, _ in self.dialled]


class World:
    """A guard with one lane, ``main``, in a world of its own."""

    def __init__(self, guard: Guard, names: Names, network: Network) -> None:
        self.guard = guard
        self.names = names
        self.network = network

    def visit(self, host: str, port: int = 80, lane: str = "main") -> Any:
        """A connection through the guard."""
        return socks_connect(self.guard.port(lane), host, port)


@contextlib.asynccontextmanager
async def world(
    *allow: str, deny: tuple[str, ...] = (), more: tuple[Lane, ...] = (), **options: Any
) -> AsyncIterator[World]:
    """A guard whose lane ``main`` allows ``allow``."""
    names, network = Names(), Network()
    limits = {key: options.pop(key) for key in ("limit", "head_start") if key in options}
    lane = Lane("main", Policy(allow, deny), options.pop("connection_bytes", None), options.pop("total_bytes", None))
    guard = Guard([lane, *more], resolver=Resolver(names, keep=0), dialler=Dialler(network, **limits), **options)
    async with guard:
        yield World(guard, names, network)


class Listener:
    """A server on loopback: counts what arrives, echoes, or does what ``serve`` does."""

    def __init__(
        self,
        serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.arrived = 0
        self.port = 0
        self._serve = serve or self._echo
        self._tls = tls
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._arrive, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._server is not None
        self._server.close()
        while self._writers:
            for writer in self._writers:
                writer.transport.abort()
            await asyncio.sleep(0.01)

    async def reached(self) -> None:
        """Somebody has arrived."""
        while not self.arrived:
            await asyncio.sleep(0.002)

    async def _arrive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.arrived += 1
        self._writers.add(writer)
        try:
            with contextlib.suppress(ConnectionError):
                await self._serve(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()
            self._writers.discard(writer)

    async def _echo(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()


class Refused(Exception):
    """The guard's answer was not success: ``code`` of SOCKS, or -1 for a connection that was closed."""

    def __init__(self, code: int) -> None:
        super().__init__(f"SOCKS reply {code}")
        self.code = code


@contextlib.asynccontextmanager
async def socks_connect(
    proxy: int, host: str, port: int
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a target by name, through a SOCKS5 port of this machine, as Chrome makes it.  Raises Refused."""
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy)
    try:
        try:
            writer.write(b"\x05\x01\x00")
            assert await reader.readexactly(2) == b"\x05\x00"
            name = host.encode("ascii")
            writer.write(b"\x05\x01\x00\x03" + bytes((len(name),)) + name + port.to_bytes(2, "big"))
            answer = await reader.readexactly(10)
        except (asyncio.IncompleteReadError, ConnectionError):
            raise Refused(-1) from None
        if answer[1] != 0:
            raise Refused(answer[1])
        yield reader, writer
    finally:
        writer.transport.abort()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
