"""The asyncio client against scripted daemons."""

import asyncio
import os
import signal

import pytest

from cdpfetch import process, starting
from cdpfetch.aclient import AsyncClient
from cdpfetch.client import Client
from cdpfetch.connection import NotRunning
from cdpfetch.errors import CdpFetchError, DaemonUnavailable, FetchError


def alive(pid):
    return process.start_time(pid) is not None


def codes(outcomes):
    return [outcome.error.code if outcome.error else "ok" for outcome in outcomes]


def test_one_client_serves_many_tasks(fake):
    async def main():
        async with AsyncClient() as client:
            documents = await asyncio.gather(*(client.fetch(f"fake:ok:{number}") for number in range(100)))
            assert [document.title for document in documents] == [str(number) for number in range(100)]
            outcomes = await client.fetch_many(["fake:wait:0.1 ok:A", "fake:error:timeout", "fake:ok:C"])
            assert codes(outcomes) == ["ok", "timeout", "ok"]
            assert outcomes[0].document.title == "A"

    asyncio.run(main())
    assert len(fake.starts) == 1


def test_options_and_progress(fake, tmp_path):
    seen = []

    async def main():
        async with AsyncClient(fake.root) as client:
            document = await client.fetch(
                "fake:status:2 ok",
                on_status=lambda url, event: seen.append(event["stage"]),
                output_dir=tmp_path / "out",
            )
            assert document.dir == str(tmp_path / "out")
            with pytest.raises(CdpFetchError, match="unknown option 'colour'"):
                await client.fetch("fake:ok", colour=1)

    asyncio.run(main())
    assert seen == ["queued", "downloading", "downloading"]


def test_a_failure_raises_with_its_trail(fake):
    async def main():
        async with AsyncClient() as client:
            with pytest.raises(FetchError) as caught:
                await client.fetch("fake:error:dns_failed")
            assert caught.value.attempts[0]["code"] == "dns_failed"

    asyncio.run(main())


def test_cancelling_a_call_cancels_its_request_only(fake):
    async def main():
        async with AsyncClient() as client:
            slow = asyncio.create_task(client.fetch("fake:stall"))
            other = asyncio.create_task(client.fetch("fake:wait:0.3 ok:other"))
            await client.fetch("fake:ok")
            slow.cancel()
            with pytest.raises(asyncio.CancelledError):
                await slow
            assert (await other).title == "other"

    asyncio.run(main())
    stalled = next(request["id"] for request in fake.requests if request.get("url") == "fake:stall")
    cancelled = [request["target"] for request in fake.requests if request.get("op") == "cancel"]
    assert cancelled == [stalled]


def test_a_timeout_is_an_error_of_ours(fake):
    async def main():
        async with AsyncClient() as client:
            with pytest.raises(CdpFetchError, match=r"no answer within 0\.1 s"):
                await client.request("fetch", url="fake:stall", downloadDir="/x", timeout=0.1)

    asyncio.run(main())


def test_a_dying_daemon_fails_all_at_once_and_the_next_call_works(fake):
    async def main():
        async with AsyncClient() as client:
            async with asyncio.timeout(10):
                outcomes = await client.fetch_many(["fake:stall", "fake:wait:0.1 die", "fake:stall"])
            assert codes(outcomes) == ["daemon_unavailable"] * 3
            assert "while 3 requests were under way" in outcomes[0].error.reason
            assert (await client.fetch("fake:ok")).ok

    asyncio.run(main())
    assert len(fake.starts) == 2


def test_an_idle_daemon_that_left_is_replaced_unseen(fake):
    async def main():
        async with AsyncClient() as client:
            await client.fetch("fake:ok")
            os.kill(fake.starts[0], signal.SIGKILL)
            assert (await client.fetch("fake:ok")).ok

    asyncio.run(main())


def test_a_wedged_daemon_is_ended_and_replaced(fake, short_silence):
    async def main():
        async with AsyncClient() as client:
            await client.fetch("fake:ok")
            os.kill(fake.starts[0], signal.SIGSTOP)
            outcomes = await client.fetch_many(["fake:ok", "fake:ok"])
            assert codes(outcomes) == ["daemon_unavailable"] * 2
            assert "was ended" in outcomes[0].error.reason
            assert not alive(fake.starts[0])
            assert (await client.fetch("fake:ok")).ok

    asyncio.run(main())


def test_a_wedged_daemon_is_found_while_connecting(fake, short_silence):
    async def main():
        async with AsyncClient() as client:
            assert (await client.fetch("fake:ok")).ok

    with Client() as client:
        client.fetch("fake:ok")
    os.kill(fake.starts[0], signal.SIGSTOP)
    asyncio.run(main())
    assert not alive(fake.starts[0])


def test_a_slow_request_is_kept_alive_and_idleness_is_no_silence(fake, short_silence):
    async def main():
        async with AsyncClient() as client:
            assert (await client.fetch("fake:wait:1.0 ok:slow")).title == "slow"
            await asyncio.sleep(0.8)
            assert (await client.fetch("fake:ok:again")).title == "again"

    asyncio.run(main())
    assert len(fake.starts) == 1


def test_an_older_daemon_is_replaced(fake):
    fake.script(version="0.0.1")
    starting.start(fake.home)
    fake.script()

    async def main():
        async with AsyncClient() as client:
            assert (await client.fetch("fake:ok")).ok

    asyncio.run(main())
    assert len(fake.starts) == 2
    assert not alive(fake.starts[0])


def test_a_newer_protocol_is_an_error(fake):
    fake.script(version="9.0.0", protocol=2)

    async def main():
        async with AsyncClient() as client:
            with pytest.raises(DaemonUnavailable, match="newer than this one"):
                await client.request("status")

    asyncio.run(main())


def test_another_program_on_the_socket_is_named(fake):
    fake.script(hello="garbage")

    async def main():
        async with AsyncClient() as client:
            with pytest.raises(DaemonUnavailable, match="not a cdpfetch daemon"):
                await client.request("status")

    asyncio.run(main())


def test_status_starts_nothing_and_stop_and_restart_work(fake):
    async def main():
        async with AsyncClient() as client:
            with pytest.raises(NotRunning):
                await client.status()
            assert await client.stop() is False
            await client.fetch("fake:ok")
            assert (await client.status())["pid"] == fake.starts[0]
            assert (await client.restart())["pid"] == fake.starts[1]
            assert await client.stop() is True

    asyncio.run(main())
    assert not alive(fake.starts[1])


def test_closing_fails_what_is_under_way(fake):
    async def main():
        client = AsyncClient()
        call = asyncio.create_task(client.request("fetch", url="fake:stall", downloadDir="/x"))
        await client.request("status")
        await client.close()
        with pytest.raises(CdpFetchError) as caught:
            await call
        assert caught.value.code in ("cancelled", "daemon_unavailable")

    asyncio.run(main())
