"""The guard as a whole, over real loopback sockets, in a world whose names and addresses the test makes."""

from __future__ import annotations

import asyncio
import logging
import os

import pytest
from guards import PUBLIC, Listener, Refused, socks_connect, world

from cdpfetch.daemon.guard import guard as guards
from cdpfetch.daemon.guard import visitor
from cdpfetch.daemon.guard.guard import Guard
from cdpfetch.daemon.guard.lane import Lane
from cdpfetch.daemon.guard.owner import Ends
from cdpfetch.errors import CdpFetchError
from cdpfetch.policy import Policy


async def echoed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, words: bytes = b"hello") -> bool:
    writer.write(words)
    return await reader.readexactly(len(words)) == words


async def closed(reader: asyncio.StreamReader) -> None:
    """The far end closes the connection."""
    try:
        while await reader.read(65536):
            pass
    except ConnectionError:
        pass


async def test_a_public_name_is_dialled_and_relayed() -> None:
    async with Listener() as site, world() as w:
        w.names.known["x.example"] = [PUBLIC]
        w.network.leads[PUBLIC] = site.port
        async with w.visit("x.example", 8080) as (reader, writer):
            assert await echoed(reader, writer)
            assert w.guard.status()["lanes"][0]["connections"] == 1
        assert w.network.dialled == [(PUBLIC, 8080)]
        dialled = w.guard.ledger.dialled[0]
        assert dialled[:4] == ("main", "x.example", 8080, PUBLIC)


@pytest.mark.parametrize(
    ("host", "code", "reply"),
    [
        ("127.0.0.1", "blocked_address", 2),
        ("inner.example", "blocked_address", 2),
        ("no.example", "dns_failed", 4),
        ("dead.example", "connection_failed", 5),
        ("bad host", "invalid_url", 2),
    ],
)
async def test_a_refusal_is_in_the_ledger(host: str, code: str, reply: int) -> None:
    async with world() as w:
        w.names.known = {"inner.example": ["10.0.0.1"], "dead.example": [PUBLIC]}
        with pytest.raises(Refused) as caught:
            async with w.visit(host):
                pass
        assert caught.value.code == reply
        fault = w.guard.fault("main", host, 80)
        assert fault is not None
        assert fault.code == code
        assert w.network.addresses == ([PUBLIC] if host == "dead.example" else [])


async def test_a_refused_private_port_looks_the_same_open_or_closed() -> None:
    async with Listener() as private, world() as w:
        seen = []
        for port in (private.port, 9):
            with pytest.raises(Refused) as caught:
                async with w.visit("127.0.0.1", port):
                    pass
            seen.append(caught.value.code)
        assert seen == [2, 2]
        assert w.network.dialled == []
        assert private.arrived == 0


async def test_the_reason_is_found_by_url_however_it_is_spelled() -> None:
    async with world() as w:
        w.names.known["inner.example"] = ["10.0.0.1"]
        before = asyncio.get_running_loop().time()
        with pytest.raises(Refused):
            async with w.visit("inner.example", 443):
                pass
        error = w.guard.explain("main", "https://INNER.example./path?q#f", before)
        assert error is not None
        assert error.code == "blocked_address"
        assert error.reason == "inner.example is at 10.0.0.1, which is private (RFC 1918)"
        assert "--allow inner.example:443" in (error.hint or "")
        assert w.guard.explain("main", "http://inner.example/") is None
        assert w.guard.explain("main", "https://inner.example/", asyncio.get_running_loop().time() + 1) is None
        assert w.guard.explain("main", "about:blank") is None
        assert w.guard.explain("main", "https://[") is None


async def test_rebinding_never_reaches_loopback() -> None:
    async with Listener() as site, Listener() as private, world() as w:
        w.names.known["rebind.example"] = [[PUBLIC], ["127.0.0.1"]]
        w.network.leads[PUBLIC] = site.port
        async with w.visit("rebind.example", private.port) as (reader, writer):
            assert await echoed(reader, writer)
        with pytest.raises(Refused):
            async with w.visit("rebind.example", private.port):
                pass
        assert w.network.addresses == [PUBLIC]
        assert private.arrived == 0


async def test_its_own_listeners_are_refused_whatever_is_allowed() -> None:
    async with world("127.0.0.0/8", "localhost", more=(Lane("other", Policy()),)) as w:
        w.names.known["localhost"] = ["127.0.0.1"]
        for lane in ("main", "other"):
            for host in ("127.0.0.1", "localhost"):
                with pytest.raises(Refused) as caught:
                    async with w.visit(host, w.guard.port(lane)):
                        pass
                assert caught.value.code == 2
        assert w.network.dialled == []
        with w.guard.forbidden(4444), pytest.raises(Refused):
            async with w.visit("127.0.0.1", 4444):
                pass
        assert w.network.dialled == []


async def test_lanes_are_apart() -> None:
    async with Listener() as private, world(more=(Lane("inner", Policy(["127.0.0.1"])),)) as w:
        async with w.visit("127.0.0.1", private.port, lane="inner") as (reader, writer):
            assert await echoed(reader, writer)
        with pytest.raises(Refused):
            async with w.visit("127.0.0.1", private.port, lane="main"):
                pass
        assert private.arrived == 1
        assert w.guard.fault("inner", "127.0.0.1", private.port) is None
        assert w.guard.fault("main", "127.0.0.1", private.port) is not None


async def test_a_lane_opens_and_closes_while_others_live() -> None:
    async with Listener() as site, world("127.0.0.1") as w:
        port = await w.guard.open(Lane("call", Policy(["127.0.0.1"])))
        async with w.visit("127.0.0.1", site.port) as main, w.visit("127.0.0.1", site.port, "call") as call:
            assert await echoed(*main)
            assert await echoed(*call)
            await w.guard.close_lane("call")
            await closed(call[0])
            assert await echoed(*main)
        with pytest.raises(ConnectionRefusedError):
            async with socks_connect(port, "127.0.0.1", site.port):
                pass
        await w.guard.close_lane("call")
        with pytest.raises(KeyError):
            w.guard.port("call")


async def test_a_name_is_a_lanes_only_once() -> None:
    async with world() as w:
        with pytest.raises(CdpFetchError, match="has a lane 'main' already"):
            await w.guard.open(Lane("main", Policy()))


async def test_a_new_policy_closes_what_it_forbids_and_nothing_else() -> None:
    async with Listener() as one, Listener() as two, world("127.0.0.1") as w:
        async with w.visit("127.0.0.1", one.port) as stays, w.visit("127.0.0.1", two.port) as goes:
            assert await echoed(*stays)
            assert await echoed(*goes)
            assert w.guard.set_policy("main", Policy([f"127.0.0.1:{one.port}"])) == 1
            await closed(goes[0])
            assert await echoed(*stays)
        with pytest.raises(Refused):
            async with w.visit("127.0.0.1", two.port):
                pass


async def test_a_policy_that_changes_during_the_dial_counts() -> None:
    async with Listener() as site, world() as w:
        w.names.known["x.example"] = [PUBLIC]
        gate, dialling = asyncio.Event(), asyncio.Event()

        async def slow(address: str, port: int):
            dialling.set()
            await gate.wait()
            return await w.network(address, port)

        w.network.leads[PUBLIC] = site.port
        w.guard._dialler._connect = slow

        async def visit() -> int:
            try:
                async with w.visit("x.example"):
                    return 0
            except Refused as refused:
                return refused.code

        visiting = asyncio.create_task(visit())
        await dialling.wait()
        w.guard.set_policy("main", Policy([], ["x.example"]))
        gate.set()
        assert await visiting == 2


async def test_dropping_closes_all_and_begins_the_budget_anew() -> None:
    async with Listener() as site, world("127.0.0.1", total_bytes=2000) as w:
        async with w.visit("127.0.0.1", site.port) as connection:
            assert await echoed(*connection, b"x" * 900)
            w.guard.drop("main")
            await closed(connection[0])
        async with w.visit("127.0.0.1", site.port) as connection:
            assert await echoed(*connection, b"x" * 900)


@pytest.mark.parametrize(
    ("limits", "who"), [({"connection_bytes": 1000}, "a connection"), ({"total_bytes": 1000}, "the lane")]
)
async def test_a_budget_is_exact_and_explained(limits: dict[str, int], who: str) -> None:
    async with Listener() as site, world("127.0.0.1", **limits) as w:
        async with w.visit("127.0.0.1", site.port) as (reader, writer):
            assert await echoed(reader, writer, b"x" * 500)
            writer.write(b"y")
            await closed(reader)
        fault = w.guard.fault("main", "127.0.0.1", site.port)
        assert fault is not None
        assert (fault.code, fault.reason) == ("too_large", f"127.0.0.1 sent more bytes than {who} may carry")


async def test_visits_bring_bytes_and_hear_when_they_are_spent() -> None:
    told: list[str] = []
    async with Listener() as site, world("127.0.0.1", total_bytes=0) as w:
        with pytest.raises(Refused):
            async with w.visit("127.0.0.1", site.port):
                pass
        fault = w.guard.fault("main", "127.0.0.1", site.port)
        assert fault is not None and fault.code == "too_large"
        with w.guard.visit("main", 1000, lambda: told.append("spent")):
            async with w.visit("127.0.0.1", site.port) as (reader, writer):
                assert await echoed(reader, writer, b"x" * 500)
                assert told == []
                writer.write(b"y")
                await closed(reader)
        assert told == ["spent"]
        assert w.guard.status()["lanes"][0]["bytes_left"] == 0


async def test_other_users_are_refused() -> None:
    users: list[int | None] = [os.geteuid()]

    def owner(ends: Ends) -> int | None:
        return users[0]

    async with Listener() as site, world("127.0.0.1", owner=owner) as w:
        assert w.guard.status()["checks_owner"] is True
        async with w.visit("127.0.0.1", site.port):
            pass
        for stranger in (65534, None):
            users[0] = stranger
            with pytest.raises(Refused) as caught:
                async with w.visit("127.0.0.1", site.port):
                    pass
            assert caught.value.code == -1
        assert w.guard.strangers == 2
        assert site.arrived == 1


async def test_where_owners_cannot_be_told_nobody_is_refused_for_it() -> None:
    async with Listener() as site, world("127.0.0.1", owner=lambda ends: None) as w:
        assert w.guard.status()["checks_owner"] is False
        async with w.visit("127.0.0.1", site.port) as connection:
            assert await echoed(*connection)


async def test_garbage_and_silence_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitor, "NEGOTIATION", 0.05)
    async with world() as w:
        for words in (b"GET http://127.0.0.1/ HTTP/1.1\r\n\r\n", b"\x05\x02\x01\x02", b"\x05", b""):
            reader, writer = await asyncio.open_connection("127.0.0.1", w.guard.port("main"))
            writer.write(words)
            await closed(reader)
            writer.close()
            await writer.wait_closed()
        while w.guard.status()["lanes"][0]["connections"]:
            await asyncio.sleep(0.002)


async def test_a_client_that_goes_away_ends_the_dial() -> None:
    async with world() as w:
        w.names.known["x.example"] = [PUBLIC]
        dialling, cancelled = asyncio.Event(), asyncio.Event()

        async def endless(address: str, port: int):
            dialling.set()
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                cancelled.set()

        w.guard._dialler._connect = endless
        _, writer = await asyncio.open_connection("127.0.0.1", w.guard.port("main"))
        writer.write(b"\x05\x01\x00\x05\x01\x00\x03\x09x.example\x00\x50")
        await dialling.wait()
        # Reading is paused meanwhile, so that the end is seen with a reset only, or when the dial is over.
        writer.transport.abort()
        await w.guard.close_lane("main")
        assert cancelled.is_set()


async def test_too_many_connections_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "MAX_CONNECTIONS", 2)
    async with Listener() as site, world("127.0.0.1") as w:
        async with w.visit("127.0.0.1", site.port), w.visit("127.0.0.1", site.port):
            with pytest.raises(Refused):
                async with w.visit("127.0.0.1", site.port):
                    pass
        while w.guard.status()["lanes"][0]["connections"]:
            await asyncio.sleep(0.002)
        async with w.visit("127.0.0.1", site.port) as connection:
            assert await echoed(*connection)


async def test_an_error_inside_lets_nothing_through(caplog: pytest.LogCaptureFixture) -> None:
    async with world("127.0.0.1") as w:

        async def broken(address: str, port: int):
            raise ZeroDivisionError("oops")

        w.guard._dialler._connect = broken
        with caplog.at_level(logging.CRITICAL), pytest.raises(Refused) as caught:
            async with w.visit("127.0.0.1", 4321):
                pass
        assert caught.value.code == 1
        error = w.guard.explain("main", "http://127.0.0.1:4321/")
        assert error is not None
        assert (error.code, error.reason) == ("internal", "the guard failed: ZeroDivisionError: oops")


async def test_closing_ends_everything_and_can_be_repeated() -> None:
    async with Listener() as site:
        async with world("127.0.0.1") as w:
            port = w.guard.port("main")
            async with w.visit("127.0.0.1", site.port) as (reader, _):
                await w.guard.close()
                await closed(reader)
            await w.guard.close()
            with pytest.raises(CdpFetchError, match="closed"):
                await w.guard.open(Lane("late", Policy()))
        with pytest.raises(ConnectionRefusedError):
            async with socks_connect(port, "127.0.0.1", site.port):
                pass


async def test_a_guard_without_lanes_closes() -> None:
    async with Guard() as guard:
        assert guard.status()["lanes"] == []
