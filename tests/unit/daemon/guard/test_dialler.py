"""Racing addresses, with a network that does what the test says."""

from __future__ import annotations

import asyncio
import errno
import socket

import pytest
from guards import Listener

from cdpfetch.daemon.guard.dialler import Dialler, connect, in_order
from cdpfetch.errors import CdpFetchError


class Wires:
    """A connect whose outcome is told per address: an error, a future, or (by default) a socket."""

    def __init__(self) -> None:
        self.outcomes: dict[str, BaseException | asyncio.Future[None]] = {}
        self.tried: list[str] = []
        self.ends: list[socket.socket] = []

    async def __call__(self, address: str, port: int) -> socket.socket:
        self.tried.append(address)
        outcome = self.outcomes.get(address)
        if isinstance(outcome, BaseException):
            raise outcome
        if outcome is not None:
            await outcome
        near, far = socket.socketpair()
        self.ends.append(far)
        return near

    def close(self) -> None:
        for end in self.ends:
            end.close()


@pytest.fixture
def wires() -> Wires:
    return Wires()


def test_families_take_turns() -> None:
    assert in_order(["1.1.1.1", "1.0.0.1", "8.8.8.8", "2606::1", "2606::2"]) == [
        "2606::1", "1.1.1.1", "2606::2", "1.0.0.1", "8.8.8.8",
    ]  # fmt: skip
    assert in_order([f"1.1.1.{n}" for n in range(20)]) == [f"1.1.1.{n}" for n in range(8)]


async def test_the_first_address_that_answers_is_it(wires: Wires) -> None:
    wires.outcomes["2606::1"] = OSError(errno.ENETUNREACH, "Network is unreachable")
    dialled = await Dialler(wires, head_start=60).dial("x.example", ["1.1.1.1", "2606::1"], 443)
    dialled.sock.close()
    wires.close()
    assert dialled.address == "1.1.1.1"
    assert wires.tried == ["2606::1", "1.1.1.1"]


async def test_a_silent_address_gets_company_and_its_late_socket_is_closed(wires: Wires) -> None:
    wires.outcomes["2606::1"] = asyncio.get_running_loop().create_future()
    dialled = await Dialler(wires, head_start=0.01).dial("x.example", ["2606::1", "1.1.1.1"], 443)
    assert dialled.address == "1.1.1.1"
    assert wires.outcomes["2606::1"].cancelled()
    dialled.sock.close()
    wires.close()


async def test_of_two_that_answer_at_once_one_is_closed(wires: Wires) -> None:
    gate = asyncio.get_running_loop().create_future()
    wires.outcomes = {"2606::1": gate, "1.1.1.1": gate}
    dialling = asyncio.create_task(Dialler(wires, head_start=0.001).dial("x.example", ["2606::1", "1.1.1.1"], 443))
    while len(wires.tried) < 2:
        await asyncio.sleep(0.002)
    gate.set_result(None)
    dialled = await dialling
    dialled.sock.close()
    for far in wires.ends:  # both near ends are closed: the far ones see the end
        far.settimeout(1)
        assert far.recv(1) == b""
    wires.close()


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [
        (errno.ECONNREFUSED, "connection_failed", "the connection was refused"),
        (errno.EHOSTUNREACH, "connection_failed", "the host can't be reached"),
        (errno.ETIMEDOUT, "timeout", "Connection timed out"),
    ],
)
async def test_the_first_failure_is_told(wires: Wires, number: int, code: str, words: str) -> None:
    wires.outcomes = {
        "1.1.1.1": OSError(number, "Connection timed out"),
        "1.0.0.1": OSError(errno.ENETUNREACH, "unreachable"),
    }
    with pytest.raises(CdpFetchError) as caught:
        await Dialler(wires).dial("x.example", ["1.1.1.1", "1.0.0.1"], 81)
    assert (caught.value.code, caught.value.reason) == (code, f"x.example:81: {words}")


async def test_all_silence_is_a_timeout(wires: Wires) -> None:
    wires.outcomes["1.1.1.1"] = asyncio.get_running_loop().create_future()
    with pytest.raises(CdpFetchError, match=r"x\.example:80 did not accept a connection within 0\.03 s") as caught:
        await Dialler(wires, limit=0.03).dial("x.example", ["1.1.1.1"], 80)
    assert caught.value.code == "timeout"


async def test_cancelling_ends_the_attempts(wires: Wires) -> None:
    pending = wires.outcomes["1.1.1.1"] = asyncio.get_running_loop().create_future()
    dialling = asyncio.create_task(Dialler(wires).dial("x.example", ["1.1.1.1"], 80))
    while not wires.tried:
        await asyncio.sleep(0)
    dialling.cancel()
    await asyncio.wait({dialling})
    assert dialling.cancelled()
    assert pending.cancelled()


async def test_a_bug_is_not_taken_for_a_network(wires: Wires) -> None:
    wires.outcomes["1.1.1.1"] = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        await Dialler(wires).dial("x.example", ["1.1.1.1"], 80)


async def test_connecting_takes_addresses_only() -> None:
    async with Listener() as listener:
        sock = await connect("127.0.0.1", listener.port)
        assert sock.getpeername() == ("127.0.0.1", listener.port)
        assert sock.gettimeout() == 0
        await listener.reached()
        sock.close()
        with pytest.raises(socket.gaierror):
            await connect("localhost", listener.port)
