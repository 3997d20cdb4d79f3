"""The WebSocket transport against a real local server: attach, large messages, and every way to end."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fake_chrome import VERSION
from websockets.asyncio.server import ServerConnection, serve

from cdpfetch.cdp.browser import Browser
from cdpfetch.cdp.connection import Connection
from cdpfetch.cdp.errors import ConnectionClosed, LaunchError
from cdpfetch.cdp.transport import WebSocketTransport

Handler = Callable[[ServerConnection], Awaitable[None]]


async def answer_all(websocket: ServerConnection) -> None:
    """Answer each command with its parameters, and Browser.getVersion as Chrome does."""
    async for text in websocket:
        message = json.loads(text)
        result = VERSION if message["method"] == "Browser.getVersion" else message.get("params", {})
        await websocket.send(json.dumps({"id": message["id"], "result": result}))


@asynccontextmanager
async def served(handler: Handler) -> AsyncIterator[str]:
    async with serve(handler, "127.0.0.1", 0, max_size=None, ping_interval=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        yield f"ws://127.0.0.1:{port}/devtools/browser/fake"


@asynccontextmanager
async def connected(handler: Handler) -> AsyncIterator[Connection]:
    async with served(handler) as url:
        connection = Connection(await WebSocketTransport.open(url))
        try:
            yield connection
        finally:
            await connection.close()


async def test_commands_and_events() -> None:
    async def handler(websocket: ServerConnection) -> None:
        await websocket.send(json.dumps({"method": "E.x", "params": {"n": 1}}))
        await answer_all(websocket)

    async with connected(handler) as connection:
        seen: list[dict[str, Any]] = []
        connection.root.on("E.x", seen.append)
        results = await asyncio.gather(*(connection.root.execute("A.echo", {"n": n}) for n in range(50)))
        assert results == [{"n": n} for n in range(50)]
        assert seen == [{"n": 1}]


async def test_a_binary_frame_is_a_message_too() -> None:
    async def handler(websocket: ServerConnection) -> None:
        message = json.loads(await websocket.recv())
        await websocket.send(json.dumps({"id": message["id"], "result": {"binary": True}}).encode())
        await websocket.wait_closed()

    async with connected(handler) as connection:
        assert await connection.root.execute("A.x") == {"binary": True}


async def test_large_messages_both_ways() -> None:
    text = "x" * 20_000_000
    async with connected(answer_all) as connection:
        assert await connection.root.execute("A.echo", {"text": text}) == {"text": text}


async def test_a_server_that_closes_fails_what_waits() -> None:
    async def handler(websocket: ServerConnection) -> None:
        await websocket.recv()
        await websocket.close(1001, "going away")

    async with connected(handler) as connection:
        with pytest.raises(ConnectionClosed, match="the WebSocket"):
            await connection.root.execute("A.x")
        with pytest.raises(ConnectionClosed, match="the WebSocket"):
            await connection.root.execute("A.more")


async def test_a_server_that_vanishes_fails_what_waits() -> None:
    async def handler(websocket: ServerConnection) -> None:
        await websocket.recv()
        websocket.transport.abort()

    async with connected(handler) as connection:
        with pytest.raises(ConnectionClosed, match="the WebSocket broke"):
            await connection.root.execute("A.x")


async def test_closing_ends_what_waits() -> None:
    async def handler(websocket: ServerConnection) -> None:
        await websocket.wait_closed()

    async with connected(handler) as connection:
        future = connection.root.send("A.x")
        await connection.close("the tests are over")
        await connection.close()
        with pytest.raises(ConnectionClosed, match="the tests are over"):
            await future


async def test_a_browser_is_attached_to_and_left_running() -> None:
    methods: list[str] = []
    ended = asyncio.Event()

    async def handler(websocket: ServerConnection) -> None:
        async for text in websocket:
            message = json.loads(text)
            methods.append(message["method"])
            result = VERSION if message["method"] == "Browser.getVersion" else {}
            await websocket.send(json.dumps({"id": message["id"], "result": result}))
        ended.set()

    async with served(handler) as url:
        browser = await Browser.attach(url)
        assert browser.product == "Chrome/156.0.8078.114"
        assert browser.process is None
        await browser.close()
        await ended.wait()
    assert "Browser.close" not in methods


async def test_nothing_listens_there() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"ws://127.0.0.1:{unused.getsockname()[1]}/"
        with pytest.raises(LaunchError, match=f"cannot attach to {url}"):
            await Browser.attach(url)


async def test_what_listens_there_is_no_browser() -> None:
    async def handler(websocket: ServerConnection) -> None:
        await websocket.recv()

    async with served(handler) as url:
        with pytest.raises(LaunchError, match=f"the browser at {url} does not answer"):
            await Browser.attach(url)


async def test_a_handshake_that_is_never_answered_ends_in_time() -> None:
    # The kernel connects, and nobody speaks.
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(TimeoutError):
        await WebSocketTransport.open(f"ws://127.0.0.1:{silent.getsockname()[1]}/", connect_timeout=0.1)
