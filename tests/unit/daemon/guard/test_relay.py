"""Two real connections joined."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest

from cdpfetch.daemon.guard import relay as relays
from cdpfetch.daemon.guard.relay import Budget, Relay


class Joined:
    """A relay between two socket pairs; the test holds the far ends."""

    def __init__(self, client: socket.socket, remote: socket.socket) -> None:
        self.client = client
        self.remote = remote
        self.ended: list[Relay] = []
        self.over: list[Relay] = []
        self.relay: Relay | None = None

    async def end(self) -> None:
        """The relay is over."""
        while not self.ended:
            await asyncio.sleep(0.002)


def _tcp_pair() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        one = socket.create_connection(listener.getsockname())
        two, _ = listener.accept()
    one.setblocking(False)
    two.setblocking(False)
    return one, two


@contextlib.asynccontextmanager
async def joined(*budgets: Budget, heard: bytes = b"", said: bytes = b"") -> AsyncIterator[Joined]:
    loop = asyncio.get_running_loop()
    (client, near), (remote, far) = _tcp_pair(), _tcp_pair()
    pair = Joined(client, remote)
    pair.relay = Relay(budgets, pair.ended.append, pair.over.append)
    await loop.create_connection(lambda: pair.relay.client, sock=near)
    await loop.create_connection(lambda: pair.relay.remote, sock=far)
    pair.relay.start(heard, said)
    try:
        yield pair
    finally:
        client.close()
        remote.close()
        pair.relay.abort()
        await pair.end()
        assert pair.ended == [pair.relay]


async def read(sock: socket.socket, size: int) -> bytes:
    loop, got = asyncio.get_running_loop(), b""
    while len(got) < size:
        piece = await loop.sock_recv(sock, size - len(got))
        if not piece:
            break
        got += piece
    return got


async def test_bytes_pass_both_ways() -> None:
    loop = asyncio.get_running_loop()
    async with joined() as pair:
        await loop.sock_sendall(pair.client, b"question")
        assert await read(pair.remote, 8) == b"question"
        await loop.sock_sendall(pair.remote, b"answer")
        assert await read(pair.client, 6) == b"answer"


async def test_what_was_said_before_comes_first() -> None:
    loop = asyncio.get_running_loop()
    async with joined(heard=b"early ", said=b"banner ") as pair:
        await loop.sock_sendall(pair.client, b"late")
        await loop.sock_sendall(pair.remote, b"news")
        assert await read(pair.remote, 10) == b"early late"
        assert await read(pair.client, 11) == b"banner news"


async def test_megabytes_pass_unchanged() -> None:
    loop, body = asyncio.get_running_loop(), bytes(range(256)) * 40000
    async with joined() as pair:
        sending = asyncio.create_task(loop.sock_sendall(pair.remote, body))
        assert await read(pair.client, len(body)) == body
        await sending


async def test_a_client_that_does_not_read_stops_the_sender() -> None:
    loop = asyncio.get_running_loop()
    async with joined() as pair:
        sent = 0

        async def send() -> None:
            nonlocal sent
            while True:
                sent += await _send_some(loop, pair.remote)

        sending = asyncio.create_task(send())
        before = -1
        while sent != before:  # until nothing more is taken
            before = sent
            await asyncio.sleep(0.1)
        transport = pair.relay.client.transport
        assert relays.HIGH_WATER <= transport.get_write_buffer_size() <= relays.HIGH_WATER + 512 * 1024
        received = 0
        while received < before:  # it goes on as soon as the client reads
            received += len(await loop.sock_recv(pair.client, 1 << 20))
        sending.cancel()
        await asyncio.wait({sending})


async def _send_some(loop: asyncio.AbstractEventLoop, sock: socket.socket) -> int:
    while True:
        try:
            return sock.send(b"x" * 65536)
        except BlockingIOError:
            await asyncio.sleep(0.001)


async def test_a_half_closed_connection_still_answers() -> None:
    loop = asyncio.get_running_loop()
    async with joined() as pair:
        await loop.sock_sendall(pair.client, b"all I have")
        pair.client.shutdown(socket.SHUT_WR)
        assert await read(pair.remote, 100) == b"all I have"
        await loop.sock_sendall(pair.remote, b"your answer")
        pair.remote.shutdown(socket.SHUT_WR)
        assert await read(pair.client, 100) == b"your answer"
        await pair.end()


async def test_a_server_that_ends_first_is_heard_out() -> None:
    loop = asyncio.get_running_loop()
    async with joined() as pair:
        await loop.sock_sendall(pair.remote, b"x" * 3_000_000)
        pair.remote.close()
        assert len(await read(pair.client, 4_000_000)) == 3_000_000


async def test_a_reset_stays_a_reset() -> None:
    async with joined() as pair:
        pair.remote.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, relays._RESET)
        pair.remote.close()
        with pytest.raises(ConnectionResetError):
            await read(pair.client, 1)
        await pair.end()


async def test_a_client_that_never_takes_the_rest_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relays, "LINGER", 0.05)
    loop = asyncio.get_running_loop()
    async with joined() as pair:
        sending = asyncio.create_task(loop.sock_sendall(pair.remote, b"x" * 50_000_000))
        while pair.relay.client.transport.get_write_buffer_size() < relays.HIGH_WATER:
            await asyncio.sleep(0.002)
        sending.cancel()
        await asyncio.wait({sending})
        pair.relay.remote.abort()
        await pair.end()


@pytest.mark.parametrize("which", [0, 1])
async def test_a_budget_ends_the_connection(which: int) -> None:
    loop = asyncio.get_running_loop()
    budgets = [Budget(None), Budget(None)]
    budgets[which] = Budget(1000)
    async with joined(*budgets) as pair:
        await loop.sock_sendall(pair.client, b"x" * 600)
        assert len(await read(pair.remote, 600)) == 600
        await loop.sock_sendall(pair.remote, b"x" * 600)
        await pair.end()
        assert pair.over == [pair.relay]
        assert [budget.used for budget in budgets] == [1200, 1200]
        with pytest.raises(ConnectionResetError):
            await read(pair.client, 1)


def test_a_budget_without_limit_counts() -> None:
    budget = Budget()
    assert budget.spend(10**12)
    assert budget.used == 10**12
