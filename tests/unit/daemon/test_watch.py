"""The proof that is repeated while a browser runs, with a fake Chrome as a program and the proof as told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from supervised import starts, supervised

from cdpfetch.daemon import watch as watch_module
from cdpfetch.daemon.contexts import Contexts
from cdpfetch.daemon.guard import canary
from cdpfetch.daemon.guard.guard import Guard
from cdpfetch.daemon.guard.lane import Lane
from cdpfetch.daemon.lanes import ANONYMOUS, PROFILE
from cdpfetch.daemon.supervisor import Supervisor
from cdpfetch.daemon.tabpool import TabPool
from cdpfetch.daemon.watch import Watch
from cdpfetch.errors import CdpFetchError
from cdpfetch.policy import Policy

_PAST = "Chrome's traffic does not pass the guard: sabotage"


class Proofs:
    """What proofs find: ``outcomes`` are raised one by one (None is a success), afterwards all succeed."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.outcomes: list[Exception | None] = []

    async def __call__(self, guard: Guard, lane: str, tab: object) -> None:
        self.asked.append(lane)
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if outcome is not None:
            raise outcome


@pytest.fixture
def proofs(monkeypatch: pytest.MonkeyPatch) -> Proofs:
    made = Proofs()
    monkeypatch.setattr(canary, "prove", made)
    return made


@asynccontextmanager
async def watched(tmp_path: Path) -> AsyncIterator[tuple[Supervisor, TabPool, Watch]]:
    async with supervised(tmp_path) as supervisor:
        await supervisor._guard.open(Lane(ANONYMOUS, Policy()))
        tabs = TabPool(supervisor, supervisor._guard, 1)
        try:
            yield supervisor, tabs, Watch(supervisor, tabs)
        finally:
            await tabs.close()


async def test_without_a_browser_there_is_nothing_to_prove(tmp_path: Path, proofs: Proofs) -> None:
    async with watched(tmp_path) as (supervisor, _, watch):
        await watch.look()
        assert (proofs.asked, supervisor.state) == ([], "closed")


async def test_every_context_in_use_is_proved_again(tmp_path: Path, proofs: Proofs) -> None:
    async with watched(tmp_path) as (supervisor, tabs, watch):
        async with tabs.tab(ANONYMOUS):
            pass
        proofs.asked.clear()
        await watch.look()
        assert proofs.asked == [PROFILE, ANONYMOUS]
        assert supervisor.state == "running"


@pytest.mark.parametrize("lane", [PROFILE, ANONYMOUS])
async def test_a_browser_that_fails_is_closed_and_its_users_hear_why(tmp_path: Path, proofs: Proofs, lane: str) -> None:
    async with watched(tmp_path) as (supervisor, tabs, watch):
        with pytest.raises(CdpFetchError, match=_PAST) as caught:
            async with tabs.tab(ANONYMOUS) as tab:
                proofs.outcomes = [None] * (lane == ANONYMOUS) + [CdpFetchError("browser_failed", _PAST, "look")]
                await watch.look()
                await tab.session.execute("Page.enable")  # what the fetch does next
        assert (caught.value.code, caught.value.hint) == ("browser_failed", "look")
        assert supervisor.state == "closed"
        # The next one starts another, which has to prove itself, and it was no crash.
        proofs.asked.clear()
        async with supervisor.use():
            assert proofs.asked == [PROFILE]
        assert (supervisor.restarts, len(starts(tmp_path))) == (0, 2)


async def test_a_proof_that_can_not_be_made_gets_a_second_chance(tmp_path: Path, proofs: Proofs) -> None:
    async with watched(tmp_path) as (supervisor, _, watch):
        async with supervisor.use():
            pass
        late = canary.Unproved("browser_failed", "it is not known", None)
        proofs.outcomes = [late]
        await watch.look()
        assert supervisor.state == "running"
        proofs.outcomes = [late, late]
        await watch.look()
        assert supervisor.state == "closed"


async def test_a_lane_that_ends_meanwhile_condemns_nobody(
    tmp_path: Path, proofs: Proofs, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with watched(tmp_path) as (supervisor, _, _), supervisor.use() as browser:
        contexts = Contexts(browser, supervisor._guard)
        tab = await contexts.new_tab(ANONYMOUS)

        async def ending(guard: Guard, lane: str, tab: object) -> None:
            if lane == ANONYMOUS:
                contexts.end(ANONYMOUS)
                raise CdpFetchError("browser_failed", _PAST)

        monkeypatch.setattr(canary, "prove", ending)
        await contexts.prove()
        await tab.close()


async def test_it_looks_again_and_again(tmp_path: Path, proofs: Proofs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_module, "EVERY", 0.01)
    async with watched(tmp_path) as (supervisor, _, watch), supervisor.use():
        proofs.asked.clear()
        watching = asyncio.create_task(watch.run())
        while len(proofs.asked) < 3:
            await asyncio.sleep(0.005)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
