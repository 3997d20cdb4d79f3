"""The connection against a scripted Chrome: routing, order, faults of the peer, and the end of everything."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fake_chrome import FakeChrome, encode

from cdpfetch.cdp.connection import Connection
from cdpfetch.cdp.errors import CallTimeout, ConnectionClosed, ProtocolError, SessionClosed
from cdpfetch.cdp.transport import PipeTransport


@asynccontextmanager
async def connected(last_words: str = "") -> AsyncIterator[tuple[FakeChrome, Connection]]:
    chrome, ours = await FakeChrome.open()
    connection = Connection(await PipeTransport.open(ours), last_words=lambda: last_words)
    try:
        yield chrome, connection
    finally:
        await connection.close()
        chrome.die()
        await chrome.gone
    assert connection.pending == 0
    assert connection.sessions == 0


# answers


async def test_a_command_and_its_result() -> None:
    async with connected() as (chrome, connection):
        chrome.answer("Page.navigate", {"frameId": "f"})
        assert await connection.root.execute("Page.navigate", {"url": "http://x.example/ü"}) == {"frameId": "f"}
        assert chrome.received == [{"id": 1, "method": "Page.navigate", "params": {"url": "http://x.example/ü"}}]
        assert connection.pending == 0


async def test_answers_in_any_order_reach_their_commands() -> None:
    async with connected() as (chrome, connection):
        chrome.answer("A.echo", lambda params: params)
        for nth in range(1, 101):
            chrome.plan("A.echo", "hold", nth)
        futures = [connection.root.send("A.echo", {"n": n}) for n in range(100)]
        await chrome.saw("A.echo", 100)
        assert connection.pending == 100
        chrome.release(reverse=True)
        assert await asyncio.gather(*futures) == [{"n": n} for n in range(100)]


async def test_the_nth_command_fails_and_the_others_do_not() -> None:
    async with connected() as (chrome, connection):
        chrome.plan("A.x", "drop", 2)
        results = await asyncio.gather(
            *(connection.root.execute("A.x", timeout=0.2) for _ in range(3)), return_exceptions=True
        )
        assert results[0] == results[2] == {}
        assert str(results[1]) == "A.x: no answer within 0.2 s"


async def test_a_refused_command_raises_what_chrome_said() -> None:
    async with connected() as (chrome, connection):
        chrome.refuse("Target.attachToTarget", "No target with given id found", -32602)
        with pytest.raises(ProtocolError, match="No target with given id found") as caught:
            await connection.root.execute("Target.attachToTarget", {"targetId": "x"})
        assert caught.value.code == -32602


async def test_a_peer_that_answers_nothing_costs_the_deadline_and_no_more() -> None:
    async with connected() as (chrome, connection):
        for nth in (1, 2, 3):
            chrome.plan("A.mute", "hold", nth)
        started = time.monotonic()
        slow = connection.root.send("A.mute", timeout=20)
        with pytest.raises(CallTimeout, match=r"A\.mute: no answer within 0\.05 s"):
            await connection.root.execute("A.mute", timeout=0.05)
        with pytest.raises(CallTimeout):
            await connection.root.execute("A.mute", timeout=0.01)
        assert time.monotonic() - started < 5
        chrome.release()  # two of these come too late
        assert await slow == {}
        assert await connection.root.execute("A.alive") == {}
        assert connection.pending == 0


async def test_a_cancelled_command_is_forgotten_and_its_late_answer_ignored() -> None:
    async with connected() as (chrome, connection):
        chrome.plan("A.slow", "hold")
        task = asyncio.create_task(connection.root.execute("A.slow"))
        await chrome.saw("A.slow")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert connection.pending == 0
        chrome.release()
        assert await connection.root.execute("A.alive") == {}


async def test_a_failed_command_that_nobody_awaits_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async with connected() as (chrome, connection):
        chrome.refuse("A.chore", "no")
        connection.root.send("A.chore")
        await connection.root.execute("A.alive")
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


# what the peer should not send


@pytest.mark.parametrize(
    "noise",
    [
        encode({"id": 4242, "result": {}}),
        encode({"id": 4242, "error": {"code": 1, "message": "late"}}),
        encode({"method": "Unknown.event", "params": {}}),
        encode({"method": "Page.loadEventFired", "params": {}, "sessionId": "never-attached"}),
        encode({"method": "Target.detachedFromTarget", "params": {"sessionId": "never-attached"}}),
        encode({"method": "No.params"}),
        b"\0",
        b"not json\0",
        b"\xff\xfe\0",
        b'{"id": 1\0',
        b"[1, 2]\0",
        b"17\0",
        b"null\0",
        b'"text"\0',
        encode({"id": None, "result": {}}),
        encode({"id": [1], "result": {}}),
        encode({}),
        encode({"method": "Target.attachedToTarget", "params": {}}),
        encode({"method": "Target.detachedFromTarget", "params": {"sessionId": []}}),
        encode({"method": "Page.x", "params": [], "sessionId": {}}),
        b'{"method": "Page.x", "params": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\0",
    ],
    ids=lambda noise: noise[:40].decode("latin-1"),
)
async def test_what_is_not_understood_does_no_harm(noise: bytes) -> None:
    async with connected() as (chrome, connection):
        chrome.raw(noise)
        assert await connection.root.execute("A.alive") == {}
        assert connection.closed is None


async def test_an_answer_that_comes_twice_counts_once() -> None:
    async with connected() as (chrome, connection):
        chrome.plan("A.twice", "twice")
        assert await connection.root.execute("A.twice") == {}
        assert await connection.root.execute("A.alive") == {}


# events


async def test_events_reach_their_session_in_order() -> None:
    async with connected() as (chrome, connection):
        one, two = connection.attach("s1", "t1"), connection.attach("s2", "t2")
        assert connection.attach("s1", "t1") is one
        seen: list[tuple[str, Any]] = []
        one.on("Page.x", lambda params: seen.append(("one", params["n"])))
        two.on("Page.x", lambda params: seen.append(("two", params["n"])))
        connection.root.on("Page.x", lambda params: seen.append(("root", params["n"])))
        for n, session in enumerate(["s1", "s2", None, "s1", "s3"]):
            chrome.event("Page.x", {"n": n}, session)
        await one.execute("A.alive")
        assert seen == [("one", 0), ("two", 1), ("root", 2), ("one", 3)]
        assert chrome.received[-1]["sessionId"] == "s1"
        one.close(SessionClosed("closed"))
        two.close(SessionClosed("closed"))


async def test_a_handler_may_fail_send_and_unsubscribe(caplog: pytest.LogCaptureFixture) -> None:
    async with connected() as (chrome, connection):
        root = connection.root
        seen: list[str] = []

        def fails(params: dict[str, Any]) -> None:
            raise RuntimeError("a handler's own mistake")

        def sends(params: dict[str, Any]) -> None:
            seen.append("sends")
            root.send("A.from-handler")
            off()

        root.on("E.x", fails)
        off = root.on("E.x", sends)
        root.on("E.x", lambda params: seen.append("last"))
        chrome.event("E.x")
        chrome.event("E.x")
        await chrome.saw("A.from-handler")
        await root.execute("A.alive")
        off()
        assert seen == ["sends", "last", "last"]
        assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == [
            "a handler of E.x failed"
        ] * 2


async def test_ten_thousand_events_a_second() -> None:
    async with connected() as (chrome, connection):
        seen: list[int] = []
        connection.root.on("Network.dataReceived", lambda params: seen.append(params["n"]))
        params = {"requestId": "r" * 30, "timestamp": 1.5, "dataLength": 1400, "encodedDataLength": 1400}
        events = b"".join(
            encode({"method": "Network.dataReceived", "params": {**params, "n": n}}) for n in range(10_000)
        )
        started = time.process_time()
        chrome.raw(events)
        await connection.root.execute("A.behind-them", timeout=10)
        assert seen == list(range(10_000))
        assert time.process_time() - started < 1.0  # both ends together


async def test_events_that_nobody_wants_cost_no_memory_and_hold_nothing_up() -> None:
    async with connected() as (chrome, connection):
        chrome.raw(encode({"method": "Network.noise", "params": {"data": "x" * 500}}) * 10_000)
        assert await connection.root.execute("A.behind-them") == {}
        assert "0 sessions, <PendingCalls 0 []>" in repr(connection)


# size


async def test_a_message_of_a_hundred_megabytes() -> None:
    size = 100 << 20
    chrome, ours = await FakeChrome.open()
    connection = Connection(await PipeTransport.open(ours))
    started = time.process_time()
    future = connection.root.send("Fetch.getResponseBody")
    await chrome.saw("Fetch.getResponseBody")
    chrome.raw(b'{"id": 2, "result": {"body": "' + b"x" * size + b'"}}\0')
    alive = connection.root.send("A.alive")
    assert await future == {}
    body = (await alive)["body"]
    # Linear: a few copies and one parse.
    assert time.process_time() - started < 6
    assert len(body) == size
    await connection.close()
    await chrome.gone


async def test_a_long_command_is_sent_whole() -> None:
    async with connected() as (chrome, connection):
        chrome.answer("A.size", lambda params: {"length": len(params["text"])})
        assert await connection.root.execute("A.size", {"text": "ü" * 3_000_000}) == {"length": 3_000_000}


# sessions


async def test_a_detached_target_fails_its_own_commands_only() -> None:
    async with connected() as (chrome, connection):
        chrome.event("Target.attachedToTarget", {"sessionId": "s1", "targetInfo": {"targetId": "t1", "type": "page"}})
        await connection.root.execute("A.alive")
        assert connection.sessions == 1
        session = connection.attach("s1", "t1")
        causes: list[Exception] = []
        session.on_closed(causes.append)
        for method in ("A.mine", "A.root"):
            chrome.plan(method, "hold")
        mine, root = session.send("A.mine"), connection.root.send("A.root")
        await chrome.saw("A.root")
        chrome.event("Target.detachedFromTarget", {"sessionId": "s1"})
        with pytest.raises(SessionClosed, match=r"the target is gone \(detached\)"):
            await mine
        chrome.release()
        assert await root == {}
        assert causes == [session.closed]
        with pytest.raises(SessionClosed):
            await session.execute("A.more")
        late: list[Exception] = []
        session.on_closed(late.append)
        assert late == causes
        session.close(ConnectionClosed("a second cause"))
        assert isinstance(session.closed, SessionClosed)


# the end


async def test_a_dead_peer_fails_everything_with_its_last_words() -> None:
    async with connected("exit status 21: profile is broken") as (chrome, connection):
        session = connection.attach("s1", "t1")
        causes: list[Exception] = []
        session.on_closed(causes.append)
        connection.root.on_closed(causes.append)
        chrome.plan("A.one", "drop")
        chrome.plan("A.two", "die")
        futures = [connection.root.send("A.one"), session.send("A.two")]
        results = await asyncio.gather(*futures, return_exceptions=True)
        expected = "the pipe was closed; the browser's last words: exit status 21: profile is broken"
        assert [str(result) for result in results] == [expected, expected]
        assert causes == [connection.closed, connection.closed]
        with pytest.raises(ConnectionClosed, match="the pipe was closed"):
            await connection.root.execute("A.more")
        with pytest.raises(ConnectionClosed, match="the pipe was closed"):
            await session.execute("A.more")


async def test_an_end_in_the_middle_of_a_message_is_said() -> None:
    async with connected() as (chrome, connection):
        chrome.plan("A.cut", "truncate")
        with pytest.raises(ConnectionClosed, match=r"in the middle of a message \(\d+ bytes of it had come\)"):
            await connection.root.execute("A.cut")


async def test_closing_keeps_the_first_cause_and_is_idempotent() -> None:
    async with connected() as (chrome, connection):
        chrome.plan("A.one", "drop")
        future = connection.root.send("A.one")
        await connection.close("the tests are over")
        await connection.close("again")
        with pytest.raises(ConnectionClosed, match=r"^the tests are over$"):
            await future
        assert str(connection.closed) == "the tests are over"
        await chrome.gone


async def test_what_came_before_the_start_is_not_lost() -> None:
    chrome, ours = await FakeChrome.open()
    chrome.event("Early.event", {"n": 1})
    transport = await PipeTransport.open(ours)
    await asyncio.sleep(0)
    connection = Connection(transport)
    seen: list[dict[str, Any]] = []
    connection.root.on("Early.event", seen.append)
    await connection.root.execute("A.alive")
    assert seen == [{"n": 1}]
    await connection.close()
    await chrome.gone


async def test_a_peer_that_is_gone_before_the_start_is_noticed() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    connection = Connection(await PipeTransport.open(ours))
    with pytest.raises(ConnectionClosed, match="the pipe"):
        await connection.root.execute("A.one")
    await connection.close()


async def test_a_peer_that_reads_nothing_does_not_block_the_sender() -> None:
    ours, theirs = socket.socketpair()
    with contextlib.closing(theirs):
        connection = Connection(await PipeTransport.open(ours))
        with pytest.raises(CallTimeout):
            await connection.root.execute("A.big", {"text": "x" * 10_000_000}, timeout=0.05)
        await connection.close()  # does not wait for what is queued


async def test_an_ended_pipe_holds_no_buffers() -> None:
    ours, theirs = socket.socketpair()
    transport = await PipeTransport.open(ours)
    ended = asyncio.get_running_loop().create_future()
    transport.start(lambda message: None, ended.set_result)
    theirs.sendall(b"x" * 1000)
    theirs.close()
    assert "1000 bytes of it had come" in await asyncio.wait_for(ended, 5.0)
    assert (len(transport._buffer), len(transport._view), transport._framer.pending) == (0, 0, 0)
    await transport.close()
