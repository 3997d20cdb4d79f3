"""The socket's side of the protocol, with handlers that the test holds: order, faults of clients, endings."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from cdpfetch import wire
from cdpfetch.daemon import server as server_module
from cdpfetch.daemon.server import Client, Server
from cdpfetch.errors import CdpFetchError

HELLO = wire.encode(wire.hello("0.1.0"))


class Handling:
    """What the daemon would do: notes requests, and answers when told."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.cancelled: list[Any] = []
        self.gates: dict[Any, asyncio.Event] = {}
        self.came = asyncio.Event()

    async def handle(self, client: Client, message: wire.Message) -> wire.Message:
        request_id = message["id"]
        self.seen.append(request_id)
        self.came.set()
        if message["op"] == "cancel":
            client.requests[message["target"]].cancel()
        if message["op"] == "fetch":
            client.send(wire.status_event(request_id, "started"))
            try:
                await self.gate(request_id).wait()
            except asyncio.CancelledError:
                self.cancelled.append(request_id)
                raise
        if message.get("url") == "fail":
            raise CdpFetchError("timeout", "it took too long", "wait")
        if message.get("url") == "break":
            raise ZeroDivisionError("a mistake")
        return wire.result_event(request_id, message["op"])

    def gate(self, request_id: Any) -> asyncio.Event:
        return self.gates.setdefault(request_id, asyncio.Event())

    async def until(self, count: int) -> None:
        while len(self.seen) < count:
            self.came.clear()
            await self.came.wait()


class Peer:
    """A client's end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, *messages: wire.Message | bytes) -> None:
        for message in messages:
            self.writer.write(message if isinstance(message, bytes) else wire.encode(message))

    async def read(self) -> Any:
        """The next message, or None at the end."""
        line = await self.reader.readline()
        return json.loads(line) if line else None

    async def close(self) -> None:
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()


class Served:
    """A server on a socket."""

    def __init__(self, path: Path) -> None:
        self.handling = Handling()
        self.server = Server(self.handling.handle, "0.1.0")
        self._path = path
        self._peers: list[Peer] = []

    async def start(self) -> None:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self._path))
        listener.listen()
        await self.server.start(listener)

    async def peer(self, hello: bytes = HELLO) -> Peer:
        peer = Peer(*await asyncio.open_unix_connection(str(self._path), limit=1 << 26))
        self._peers.append(peer)
        assert (await peer.read())["hello"] == "cdpfetch"
        peer.send(hello)
        return peer

    async def close(self) -> None:
        for peer in self._peers:
            await peer.close()
        await self.server.close()
        await self.server.close()


@asynccontextmanager
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    made = Served(tmp_path / "s")
    await made.start()
    try:
        yield made
    finally:
        await made.close()
    assert made.server.active == 0
    assert made.server.clients == 0


def fetch(request_id: Any, url: str = "http://x.example/") -> wire.Message:
    return {"id": request_id, "op": "fetch", "url": url, "downloadDir": "/tmp"}


async def test_both_sides_say_hello(tmp_path: Path) -> None:
    async with served(tmp_path):
        peer = Peer(*await asyncio.open_unix_connection(str(tmp_path / "s")))
        hello = await peer.read()
        assert hello == {"hello": "cdpfetch", "protocol": wire.PROTOCOL, "version": "0.1.0", "pid": os.getpid()}
        peer.send(HELLO, {"id": 1, "op": "status"})
        assert await peer.read() == {"id": 1, "event": "result", "op": "status"}
        await peer.close()


async def test_requests_run_side_by_side_and_are_told_apart(tmp_path: Path) -> None:
    async with served(tmp_path) as s:
        peer = await s.peer()
        peer.send(fetch("a"), fetch(2))
        await s.handling.until(2)
        s.handling.gate(2).set()
        events = [await peer.read() for _ in range(3)]
        assert [(e["id"], e["event"]) for e in events] == [("a", "status"), (2, "status"), (2, "result")]
        s.handling.gate("a").set()
        assert await peer.read() == {"id": "a", "event": "result", "op": "fetch"}


@pytest.mark.parametrize(
    ("line", "request_id", "reason"),
    [
        (b"not json\n", None, "a line is not JSON"),
        (b"[1]\n", None, "a line holds a JSON list"),
        (b'{"op": "status"}\n', None, "a request needs an id"),
        (b'{"id": true, "op": "status"}\n', True, "a request needs an id"),
        (b'{"id": 1, "op": "fly"}\n', 1, "unknown op 'fly'"),
        (b'{"id": 1, "op": "status", "extra": 1}\n', 1, "unknown field 'extra' of op status"),
        (b'{"id": 1, "op": "fetch", "url": "x"}\n', 1, "field 'downloadDir' of op fetch is missing"),
        (b'{"id": 1, "op": "fetch", "url": 5, "downloadDir": "/tmp"}\n', 1, "field 'url' of op fetch is a int"),
        (b"\xff\xfe\n", None, "a line is not JSON"),
    ],
)
async def test_a_bad_request_is_refused_and_the_next_one_served(
    line: bytes, request_id: Any, reason: str, tmp_path: Path
) -> None:
    async with served(tmp_path) as s:
        peer = await s.peer()
        peer.send(line, {"id": 2, "op": "status"})
        refused = await peer.read()
        assert (refused["event"], refused["code"]) == ("error", "invalid_request")
        assert refused["id"] == request_id
        assert reason in refused["reason"]
        assert (await peer.read())["id"] == 2


@pytest.mark.parametrize(
    "hello", [b"\n", b"{}\n", b'{"hello": "other", "protocol": 1, "version": "1"}\n', b"x" * 10 + b"\n"]
)
async def test_a_stranger_is_hung_up_on(hello: bytes, tmp_path: Path) -> None:
    async with served(tmp_path) as s:
        peer = await s.peer(hello)
        assert (await peer.read())["code"] == "invalid_request"
        assert await peer.read() is None


async def test_a_client_that_never_says_hello_is_hung_up_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "HELLO_TIMEOUT", 0.05)
    async with served(tmp_path) as s:
        peer = await s.peer(b"")
        assert (await peer.read())["reason"] == "no hello came"
        assert await peer.read() is None


async def test_a_line_without_end_is_cut_off(tmp_path: Path) -> None:
    async with served(tmp_path) as s:
        peer = await s.peer()
        peer.send(b'{"id": 1, "op": "' + b"x" * (wire.MAX_LINE + 10))
        refused = await peer.read()
        assert refused["reason"] == f"a line is longer than {wire.MAX_LINE} bytes"
        # The rest of the line lies unread, so the end may come as a reset.
        with suppress(ConnectionResetError):
            assert await peer.read() is None


async def test_an_id_under_way_is_not_given_twice(tmp_path: Path) -> None:
    async with served(tmp_path) as s:
        peer = await s.peer()
        peer.send(fetch(1), fetch(1))
        events = [await peer.read() for _ in range(2)]
        assert sorted(e["event"] for e in events) == ["error", "status"]
        s.handling.gate(1).set()
        assert (await peer.read())["event"] == "result"
        peer.send(fetch(1))
        assert (await peer.read())["event"] == "status"


async def test_errors_become_events(tmp_path: Path) -> None:
    async with served(tmp_path) as s:
        peer = await s.peer()
        for number, url in enumerate(("fail", "break")):
            s.handling.gate(number).set()
            peer.send(fetch(number, url))
        events = [e for e in [await peer.read() for _ in range(4)] if e["event"] == "error"]
        assert events == [
            {"id": 0, "event": "error", "code": "timeout", "reason": "it took too long", "hint": "wait"},
            {
                "id": 1,
                "event": "error",
                "code": "internal",
                "reason": "ZeroDivisionError: a mistake",
                "hint": "see: cdpfetch logs",
            },
        ]


# endings


async def test_a_client_that_hangs_up_cancels_its_requests_and_no_others(tmp_path: Path) -> None:
    async with served(tmp_path) as s:
        leaving, staying = await s.peer(), await s.peer()
        leaving.send(fetch("l1"), fetch("l2"))
        staying.send(fetch("s"))
        await s.handling.until(3)
        await leaving.close()
        while s.server.clients > 1:
            s.server.changed.clear()
            await s.server.changed.wait()
        assert sorted(s.handling.cancelled) == ["l1", "l2"]
        assert s.server.active == 1
        s.handling.gate("s").set()
        assert [(await staying.read())["event"] for _ in range(2)] == ["status", "result"]


async def test_a_cancelled_request_says_so(tmp_path: Path) -> None:
    async with served(tmp_path) as s:
        peer = await s.peer()
        peer.send(fetch(1))
        await s.handling.until(1)
        peer.send({"id": 2, "op": "cancel", "target": 1})
        events = {e["id"]: e for e in [await peer.read() for _ in range(3)] if e["event"] != "status"}
        assert events[1]["code"] == "cancelled"
        assert events[2]["event"] == "result"


async def test_heartbeats_come_while_a_request_is_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "HEARTBEAT", 0.02)
    async with served(tmp_path) as s:
        peer = await s.peer()
        peer.send(fetch(1))
        assert [(await peer.read())["event"] for _ in range(4)] == ["status", "heartbeat", "heartbeat", "heartbeat"]
        s.handling.gate(1).set()
        while (event := await peer.read())["event"] == "heartbeat":
            pass
        assert event["event"] == "result"
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await peer.read()


async def test_a_flood_waits_and_nobody_else_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "MAX_PENDING", 3)
    async with served(tmp_path) as s:
        flood, quiet = await s.peer(), await s.peer()
        flood.send(*(fetch(n) for n in range(10)))
        await s.handling.until(3)
        quiet.send({"id": "q", "op": "status"})
        assert (await quiet.read())["id"] == "q"
        assert s.server.active == 3
        for n in range(10):
            s.handling.gate(n).set()
        results = [e["id"] for e in [await flood.read() for _ in range(20)] if e["event"] == "result"]
        assert sorted(results) == list(range(10))


async def test_a_client_that_reads_nothing_is_hung_up_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "MAX_OUTBOX", 1 << 16)
    async with served(tmp_path) as s:
        peer = await s.peer()
        peer.send(fetch("x" * 1000))
        await s.handling.until(1)
        (client,) = s.server._clients
        peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
        while not client._writer.is_closing():
            client.send(wire.status_event("x" * 10_000, "settling"))
        while s.server.clients:
            s.server.changed.clear()
            await s.server.changed.wait()
        assert s.handling.cancelled == ["x" * 1000]


async def test_another_user_is_not_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "peer_uid", lambda sock: os.getuid() + 1)
    async with served(tmp_path):
        peer = Peer(*await asyncio.open_unix_connection(str(tmp_path / "s")))
        assert await peer.read() is None
        await peer.close()


async def test_draining_lets_requests_end(tmp_path: Path) -> None:
    async with served(tmp_path) as s:
        peer = await s.peer()
        peer.send(fetch(1))
        await s.handling.until(1)
        await s.server.stop_accepting()
        draining = asyncio.create_task(s.server.drain(20.0))
        s.handling.gate(1).set()
        await draining
        assert [(await peer.read())["event"] for _ in range(2)] == ["status", "result"]
        with pytest.raises(OSError, match=r"refused|No such file"):
            await asyncio.open_unix_connection(str(tmp_path / "s"))


async def test_draining_has_an_end(tmp_path: Path) -> None:
    async with served(tmp_path) as s:
        peer = await s.peer()
        peer.send(fetch(1))
        await s.handling.until(1)
        await s.server.drain(0.02)
        assert s.server.active == 1
        await s.server.close()
        assert s.handling.cancelled == [1]
