"""The call table: every command ends, by its answer, its deadline, its session or the end of all."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cdpfetch.cdp.calls import PendingCalls
from cdpfetch.cdp.errors import CallTimeout, ConnectionClosed, ProtocolError, SessionClosed


def future() -> asyncio.Future[dict[str, Any]]:
    return asyncio.get_running_loop().create_future()


async def test_an_answer_reaches_its_command() -> None:
    calls = PendingCalls()
    first, second = future(), future()
    one = calls.add("A.one", None, 5, 0.0, first)
    two = calls.add("A.two", None, 5, 0.0, second)
    assert one != two
    assert repr(calls) == "<PendingCalls 2 [A.one, A.two]>"
    assert calls.resolve({"id": two, "result": {"x": 2}})
    assert second.result() == {"x": 2}
    assert calls.resolve({"id": one})
    assert first.result() == {}
    assert len(calls) == 0


async def test_an_error_becomes_an_exception_that_names_the_command() -> None:
    calls = PendingCalls()
    refused = future()
    one = calls.add("Page.navigate", None, 5, 0.0, refused)
    assert calls.resolve({"id": one, "error": {"code": -32602, "message": "no such page"}})
    with pytest.raises(ProtocolError, match=r"^Page\.navigate: no such page \(-32602\)$") as caught:
        refused.result()
    assert (caught.value.method, caught.value.code, caught.value.message) == ("Page.navigate", -32602, "no such page")


async def test_an_answer_to_nothing_is_told_apart() -> None:
    calls = PendingCalls()
    one = calls.add("A.one", None, 5, 0.0, future())
    assert not calls.resolve({"id": one + 1})
    assert calls.resolve({"id": one})
    assert not calls.resolve({"id": one})


async def test_deadlines_pass_in_order_and_the_next_one_is_told() -> None:
    calls = PendingCalls()
    slow, fast, middle = future(), future(), future()
    calls.add("A.slow", None, 30, 0.0, slow)
    calls.add("A.fast", None, 1, 0.0, fast)
    answered = calls.add("A.middle", None, 2, 0.0, middle)
    assert calls.expire(0.5) == 1.0
    assert not fast.done()
    assert calls.expire(1.0) == 2.0
    with pytest.raises(CallTimeout, match=r"^A\.fast: no answer within 1 s$"):
        fast.result()
    calls.resolve({"id": answered})
    assert calls.expire(5.0) == 30.0
    assert middle.result() == {}
    assert calls.expire(30.0) is None
    assert isinstance(slow.exception(), CallTimeout)
    assert len(calls) == 0


async def test_a_late_answer_is_ignored() -> None:
    calls = PendingCalls()
    late = future()
    one = calls.add("A.late", None, 1, 0.0, late)
    calls.expire(2.0)
    assert not calls.resolve({"id": one, "result": {}})
    assert isinstance(late.exception(), CallTimeout)


async def test_a_command_whose_caller_has_gone_is_forgotten() -> None:
    calls = PendingCalls()
    cancelled, forgotten = future(), future()
    one = calls.add("A.one", None, 1, 0.0, cancelled)
    two = calls.add("A.two", None, 1, 0.0, forgotten)
    cancelled.cancel()
    calls.forget(two)
    calls.forget(two)
    assert calls.resolve({"id": one, "result": {}})
    assert not calls.resolve({"id": two, "result": {}})
    assert calls.expire(0.5) is None


async def test_the_end_of_a_session_fails_its_commands_only() -> None:
    calls = PendingCalls()
    root, mine, other = future(), future(), future()
    calls.add("A.root", None, 5, 0.0, root)
    calls.add("A.mine", "s1", 5, 0.0, mine)
    calls.add("A.other", "s2", 5, 0.0, other)
    calls.fail(SessionClosed("crashed"), "s1")
    assert isinstance(mine.exception(), SessionClosed)
    assert not root.done()
    assert not other.done()
    cause = ConnectionClosed("gone")
    calls.fail(cause)
    assert root.exception() is cause
    assert other.exception() is cause
    assert len(calls) == 0
