"""Names to addresses."""

from __future__ import annotations

import asyncio

import pytest
from guards import Names

from cdpfetch.errors import CdpFetchError
from cdpfetch.resolver import Resolver


async def test_each_address_is_told_once() -> None:
    names = Names()
    names.known["x.example"] = ["1.1.1.1", "2606:4700::1", "1.1.1.1"]
    assert await Resolver(names).resolve("x.example") == ["1.1.1.1", "2606:4700::1"]


async def test_the_system_knows_this_machine_and_literals() -> None:
    resolver = Resolver()
    assert await resolver.resolve("127.0.0.1") == ["127.0.0.1"]
    assert "127.0.0.1" in await resolver.resolve("localhost")
    await resolver.close()


async def test_what_the_system_does_not_know_is_said() -> None:
    with pytest.raises(CdpFetchError, match=r"^dns_failed: nowhere\.invalid does not resolve: ") as caught:
        await Resolver().resolve("nowhere.invalid")
    assert caught.value.hint == "check the host name"


@pytest.mark.parametrize("known", [[], [[]]])
async def test_no_answer_is_an_error(known: list[list[str]]) -> None:
    names = Names()
    names.known["x.example"] = known
    with pytest.raises(CdpFetchError, match=r"x\.example does not resolve"):
        await Resolver(names).resolve("x.example")


async def test_silence_is_given_up() -> None:
    async def silent(host: str) -> list[str]:
        return await asyncio.get_running_loop().create_future()

    with pytest.raises(CdpFetchError, match=r"slow\.example did not resolve within 0\.05 s"):
        await Resolver(silent, limit=0.05).resolve("slow.example")


async def test_questions_under_way_are_shared_and_answers_kept_for_a_moment() -> None:
    names = Names()
    names.known["x.example"] = ["1.1.1.1"]
    resolver = Resolver(names, keep=60)
    await asyncio.gather(*(resolver.resolve("x.example") for _ in range(5)))
    await resolver.resolve("x.example")
    assert names.asked == ["x.example"]


async def test_nothing_is_kept_when_told_so_and_no_failure_ever() -> None:
    names = Names()
    names.known["x.example"] = [["1.1.1.1"], ["127.0.0.1"]]
    resolver = Resolver(names, keep=0)
    assert await resolver.resolve("x.example") == ["1.1.1.1"]
    assert await resolver.resolve("x.example") == ["127.0.0.1"]
    keeping = Resolver(names)
    for _ in range(2):
        with pytest.raises(CdpFetchError):
            await keeping.resolve("no.example")
    assert names.asked.count("no.example") == 2


async def test_one_who_gives_up_leaves_the_others_their_answer() -> None:
    gate = asyncio.Event()

    async def gated(host: str) -> list[str]:
        await gate.wait()
        return ["1.1.1.1"]

    resolver = Resolver(gated)
    first = asyncio.create_task(resolver.resolve("x.example"))
    second = asyncio.create_task(resolver.resolve("x.example"))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait({first})
    gate.set()
    assert await second == ["1.1.1.1"]
    assert first.cancelled()


async def test_closing_ends_the_questions_under_way() -> None:
    async def silent(host: str) -> list[str]:
        return await asyncio.get_running_loop().create_future()

    resolver = Resolver(silent)
    asking = asyncio.create_task(resolver.resolve("x.example"))
    await asyncio.sleep(0)
    await resolver.close()
    with pytest.raises(asyncio.CancelledError):
        await asking
