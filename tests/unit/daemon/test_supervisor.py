"""The browser's owner, with a fake Chrome as a program: starts, idling, crashes, and settings that forbid."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from supervised import executable, starts, supervised

from cdpfetch.daemon import profile
from cdpfetch.daemon import supervisor as supervisor_module
from cdpfetch.daemon.guard import canary
from cdpfetch.daemon.guard.guard import Guard
from cdpfetch.daemon.lanes import PROFILE
from cdpfetch.daemon.supervisor import CRASHES_MAX, StillAtWork
from cdpfetch.errors import CdpFetchError


@pytest.fixture(autouse=True)
def proof(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The proof that traffic passes the guard, which a fake Chrome can't give; says that it was asked for."""
    asked: list[str] = []

    async def prove(guard: Guard, lane: str, tab: object) -> None:
        asked.append(lane)

    monkeypatch.setattr(canary, "prove", prove)
    return asked


async def test_the_first_use_starts_it_and_all_share_it(tmp_path: Path) -> None:
    async with supervised(tmp_path) as s:
        assert s.state == "closed"

        async def use() -> Any:
            async with s.use() as browser:
                assert s.state == "running"
                return browser

        browsers = await asyncio.gather(*(use() for _ in range(10)))
        assert len({id(browser) for browser in browsers}) == 1
        assert len(starts(tmp_path)) == 1
        assert browsers[0].product == "Chrome/156.0.8078.114"
        (line,) = starts(tmp_path)
        assert f"--user-data-dir={tmp_path / 'home' / 'profile'}" in line
        assert (tmp_path / "home" / "profile").stat().st_mode & 0o777 == 0o700


async def test_it_is_led_through_the_guard_and_must_prove_it(
    tmp_path: Path, proof: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with supervised(tmp_path) as s:
        async with s.use():
            assert proof == [PROFILE]
        (line,) = starts(tmp_path)
        assert "--proxy-server=socks5://127.0.0.1:" in line
        assert "--proxy-bypass-list=<-loopback>" in line

    async def failing(guard: Guard, lane: str, tab: object) -> None:
        raise CdpFetchError("browser_failed", "Chrome's traffic does not pass the guard: sabotage")

    monkeypatch.setattr(canary, "prove", failing)
    async with supervised(tmp_path) as s:
        with pytest.raises(CdpFetchError, match="does not pass the guard"):
            async with s.use():
                pass
        assert s.state == "closed"


async def test_it_is_closed_when_idle_and_started_again(tmp_path: Path) -> None:
    async with supervised(tmp_path, headless_idle=0.02) as s:
        async with s.use() as first:
            pass
        assert first.process is not None
        await first.process.wait()
        async with s.use() as second:
            assert second is not first
        assert s.restarts == 0
        assert len(starts(tmp_path)) == 2


async def test_it_is_not_idle_while_it_is_used(tmp_path: Path) -> None:
    async with supervised(tmp_path, headless_idle=0.02) as s:
        async with s.use() as browser:
            async with s.use():
                pass
            assert browser.process is not None
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await browser.process.wait()
        await browser.process.wait()


async def test_what_ends_by_itself_is_started_again_and_counted(tmp_path: Path) -> None:
    async with supervised(tmp_path) as s:
        async with s.use() as browser:
            assert browser.process is not None
            browser.process.kill(signal.SIGKILL)
            await browser.process.wait()
        async with s.use() as other:
            assert other is not browser
            assert s.restarts == 1


async def test_a_crash_loop_pauses_with_its_reason_and_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profile_dir = tmp_path / "home" / "profile" / "Default"
    profile_dir.mkdir(parents=True)
    (tmp_path / "home").chmod(0o700)
    (profile_dir / "Cookies").write_text("logins")
    async with supervised(tmp_path, executable_path=executable(tmp_path, "crash")) as s:
        for _ in range(CRASHES_MAX):
            with pytest.raises(CdpFetchError, match="did not come up"):
                async with s.use():
                    pass
        with pytest.raises(CdpFetchError, match=f"Chrome ended by itself {CRASHES_MAX} times") as caught:
            async with s.use():
                pass
        assert caught.value.code == "browser_failed"
        assert len(starts(tmp_path)) == CRASHES_MAX
        monkeypatch.setattr(supervisor_module, "CRASHES_PAUSE", 0.0)
        with pytest.raises(CdpFetchError, match="did not come up"):
            async with s.use():
                pass
        assert len(starts(tmp_path)) == CRASHES_MAX + 1
    assert (profile_dir / "Cookies").read_text() == "logins", "a profile is never given up to get going again"


async def test_a_start_that_is_sent_away_is_a_profile_in_use_and_no_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile, "holder", lambda directory: profile.Holder("elsewhere", 4711))
    async with supervised(tmp_path, executable_path=executable(tmp_path, "crash")) as s:
        for _ in range(CRASHES_MAX + 1):
            with pytest.raises(CdpFetchError, match="process 4711 on elsewhere") as caught:
                async with s.use():
                    pass
            assert caught.value.code == "profile_in_use"


async def test_it_can_be_started_before_it_is_used(tmp_path: Path) -> None:
    async with supervised(tmp_path) as s:
        await s.warm()
        assert s.state == "running"
        async with s.use():
            assert len(starts(tmp_path)) == 1


async def test_no_browser_is_said(tmp_path: Path) -> None:
    async with supervised(tmp_path, executable_path=str(tmp_path / "missing")) as s:
        await s.warm()  # nobody to tell yet
        with pytest.raises(CdpFetchError) as caught:
            async with s.use():
                pass
        assert caught.value.code == "browser_not_found"
        assert s.state == "closed"


async def test_a_flag_that_the_daemon_decides_is_refused(tmp_path: Path) -> None:
    async with supervised(tmp_path, extra_args=("--remote-debugging-port=1",)) as s:
        with pytest.raises(CdpFetchError, match="--remote-debugging-port=1") as caught:
            async with s.use():
                pass
        assert caught.value.code == "config_error"
        assert starts(tmp_path) == []


@pytest.mark.parametrize(("uid", "without"), [(0, True), (1000, False)])
async def test_the_sandbox_is_left_out_for_root_only(
    uid: int, without: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    async with supervised(tmp_path) as s:
        async with s.use():
            pass
        assert ("--no-sandbox" in starts(tmp_path)[0].split()) is without
        assert [warning["code"] for warning in s.warnings] == (["no_sandbox"] if without else [])


async def test_the_sandbox_may_be_required(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    async with supervised(tmp_path, sandbox="require") as s:
        with pytest.raises(CdpFetchError, match=r'browser\.sandbox is "require"') as caught:
            async with s.use():
                pass
        assert caught.value.code == "config_error"
        assert starts(tmp_path) == []


async def test_nothing_is_started_once_it_is_closed(tmp_path: Path) -> None:
    async with supervised(tmp_path) as s:
        async with s.use() as browser:
            await s.close()
            assert browser.closed is not None
        with pytest.raises(CdpFetchError, match="the daemon is stopping"):
            async with s.use():
                pass
        assert len(starts(tmp_path)) == 1


async def test_a_start_that_is_cancelled_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with supervised(tmp_path, executable_path=executable(tmp_path, "mute")) as s:

        async def use() -> None:
            async with s.use():
                pass

        using = asyncio.create_task(use())
        while not starts(tmp_path):
            await asyncio.sleep(0.01)
        using.cancel()
        with pytest.raises(asyncio.CancelledError):
            await using
        assert s.browser is None


async def test_what_an_earlier_daemon_left_is_removed(tmp_path: Path) -> None:
    async with supervised(tmp_path) as s:
        left = Path(s.download_dir, "guid-of-before")
        left.parent.mkdir(parents=True, mode=0o700)
        left.write_bytes(b"partial")
        async with s.use():
            assert not left.exists()


async def test_the_version_is_asked_for_once(tmp_path: Path) -> None:
    async with supervised(tmp_path, headless_idle=0.01) as s:
        for _ in range(2):
            async with s.use() as browser:
                pass
            assert browser.process is not None
            await browser.process.wait()
        agents = {word for line in starts(tmp_path) for word in line.split() if word.startswith("Chrome/")}
        assert agents == {"Chrome/156.0.0.0"}
        assert (tmp_path / "home" / "run" / "chrome.json").exists()


def told() -> CdpFetchError:
    return CdpFetchError("interactive_open", "the window is open")


async def test_a_bar_lets_users_end_and_refuses_others(tmp_path: Path) -> None:
    async with supervised(tmp_path) as s:
        async with s.use() as browser:
            barring = asyncio.create_task(s.bar(told, 20))
            await asyncio.sleep(0)
            with pytest.raises(CdpFetchError, match="the window is open"):
                async with s.use():
                    pass
            assert browser.closed is None
        await barring
        assert browser.process is not None
        assert browser.process.returncode is not None
        assert s.state == "closed"
        with pytest.raises(CdpFetchError, match="the window is open"):
            async with s.use():
                pass
        s.unbar()
        async with s.use():
            assert s.state == "running"


async def test_a_bar_cuts_off_whoever_stays_too_long(tmp_path: Path) -> None:
    async with supervised(tmp_path) as s:

        async def stay() -> None:
            async with s.use() as browser:
                while browser.closed is None:
                    await asyncio.sleep(0.01)
                await browser.connection.root.execute("Page.navigate", {"url": "https://example.com/"})

        async def wait_for_images() -> None:
            async with s.use(images=True):
                pass

        async with s.use():
            staying = asyncio.create_task(stay())
            waiting = asyncio.create_task(wait_for_images())  # for the one that stays, with the lock
            await asyncio.sleep(0.05)
            barring = asyncio.create_task(s.bar(told, 0.05))
            with pytest.raises(CdpFetchError) as cut:
                await staying
            assert cut.value.code == "interactive_open"
        with pytest.raises(CdpFetchError) as refused:
            await waiting
        assert refused.value.code == "interactive_open"
        await barring
        assert s.browser is None


async def test_a_hold_closes_the_browser_and_lets_others_wait(tmp_path: Path) -> None:
    async with supervised(tmp_path) as s:
        async with s.use() as browser:
            holding = s.hold(20)
            entering = asyncio.create_task(holding.__aenter__())
            await asyncio.sleep(0)
            assert s.held
            assert browser.closed is None

            async def use() -> Any:
                async with s.use() as other:
                    return other

            late = asyncio.create_task(use())
        await entering
        assert browser.process is not None
        assert browser.process.returncode is not None
        assert (s.state, s.restarts, late.done()) == ("closed", 0, False)
        waited: list[str] = []
        serving = asyncio.create_task(s.served(lambda: waited.append("waits")))
        await asyncio.sleep(0)
        with pytest.raises(StillAtWork):
            async with s.hold(20):
                pass
        assert (waited, serving.done()) == (["waits"], False)
        await holding.__aexit__(None, None, None)
        await serving
        assert await late is not browser
        assert not s.held


async def test_a_hold_cuts_nobody_off(tmp_path: Path) -> None:
    async with supervised(tmp_path) as s, s.use() as browser:
        with pytest.raises(StillAtWork, match=r"still under way after 0\.01 s"):
            async with s.hold(0.01):
                pass
        assert not s.held
        assert browser.closed is None


async def test_the_installed_version_is_looked_for_once_in_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str | None] = []

    def find(path: str | None) -> str:
        looked.append(path)
        return executable(tmp_path)

    monkeypatch.setattr(supervisor_module, "find_chrome", find)
    async with supervised(tmp_path) as s:
        first = await s.chrome_version()
        assert first is not None
        assert [await s.chrome_version() for _ in range(5)] == [first] * 5
        assert len(looked) == 1
    monkeypatch.setattr(supervisor_module, "VERSION_KEPT", 0.0)
    async with supervised(tmp_path) as s:
        assert [await s.chrome_version() for _ in range(2)] == [first] * 2
    assert len(looked) == 3


async def test_a_browser_that_is_not_there_is_looked_for_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str | None] = []

    def find(path: str | None) -> str:
        looked.append(path)
        raise CdpFetchError("browser_not_found", "there is none")

    monkeypatch.setattr(supervisor_module, "find_chrome", find)
    async with supervised(tmp_path) as s:
        assert [await s.chrome_version() for _ in range(2)] == [None, None]
        assert len(looked) == 2
