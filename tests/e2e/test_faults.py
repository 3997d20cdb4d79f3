"""Daemons that die, hang and race, seen from the client's side."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from commands import Command, wait_for

from cdpfetch import process, starting, wire
from cdpfetch.client import Client

if TYPE_CHECKING:
    import pytest
    from testsite import Site


def test_twenty_cold_calls_give_one_daemon_and_twenty_results(own: Command, site: Site) -> None:
    urls = [site.url(f"/page?word=n{number}") for number in range(20)]
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(own.start("fetch", "--json", url)) for url in urls]
        printed = [one.communicate(timeout=50) for one in running]
    assert [one.returncode for one in running] == [0] * 20, printed
    assert [json.loads(out)["title"] for out, _ in printed] == [f"About n{number}" for number in range(20)]
    daemon = own.daemon
    status = json.loads(own("status", "--json").out)
    assert (status["pid"], status["requests"]["served"]) == (daemon.pid, 20)


def test_a_killed_daemon_fails_its_calls_at_once_and_leaves_no_chrome(own: Command, site: Site) -> None:
    assert own("fetch", site.url("/page")).status == 0
    before = own.processes()
    assert len(before) > 2
    with own.start("fetch", "--json", site.url("/hang"), site.url("/hang")) as running:
        wait_for(lambda: site.asked("/hang"))
        killed = time.monotonic()
        os.kill(own.daemon.pid, signal.SIGKILL)
        out, err = running.communicate(timeout=20)
    assert time.monotonic() - killed < 5
    assert (running.returncode, err) == (3, "")
    documents = [json.loads(line) for line in out.splitlines()]
    assert [document["error"]["code"] for document in documents] == ["daemon_unavailable"] * 2
    assert documents[0]["error"]["hint"]
    assert own("fetch", site.url("/page")).status == 0
    wait_for(lambda: not any(process.is_alive(one) for one in before))


def test_a_wedged_daemon_is_ended_and_replaced(own: Command, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    # The daemon's heart beats every 5 s, but no request here takes that long.
    monkeypatch.setattr(wire, "SILENCE", 3.0)
    for name, value in own.environment.items():
        monkeypatch.setenv(name, value)
    with Client(own.home) as client:
        assert client.fetch(site.url("/page")).ok
        before = own.processes()
        os.kill(before[0].pid, signal.SIGSTOP)
        outcome = client.fetch_many([site.url("/page")])[0]
        assert outcome.error is not None
        assert outcome.error.code == "daemon_unavailable"
        assert "was ended" in outcome.error.reason
        assert not any(process.is_alive(one) for one in before)
        assert client.fetch(site.url("/page")).ok
        os.kill(own.daemon.pid, signal.SIGSTOP)
    with Client(own.home) as client:
        assert client.fetch(site.url("/page")).ok


def test_an_idle_daemon_leaves_and_the_next_call_brings_it_back(own: Command, site: Site) -> None:
    own.configure(f"[network]\nallow = ['{site.netloc}']\n[fetch]\ndaemon_idle = 1\n")
    assert own("fetch", site.url("/page")).status == 0
    before = own.processes()
    wait_for(lambda: starting.read_pidfile(own.home) is None)
    wait_for(lambda: not any(process.is_alive(one) for one in before))
    assert not os.path.exists(own.home.socket)
    assert own("fetch", site.url("/page")).status == 0


def test_stop_ends_a_stopped_daemon(own: Command, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "SILENCE", 1.0)
    assert own("fetch", site.url("/page")).status == 0
    before = own.processes()
    os.kill(before[0].pid, signal.SIGSTOP)
    with Client(own.home) as client:
        assert client.stop() is True
    assert not any(process.is_alive(one) for one in before)


def test_a_stop_lets_what_is_under_way_end(own: Command, site: Site) -> None:
    assert own("fetch", site.url("/page")).status == 0
    with own.start("fetch", "--json", site.url("/gated?gate=stop")) as running:
        wait_for(lambda: site.asked("/gated"))
        with own.start("stop") as stopping:
            wait_for(lambda: not os.path.exists(own.home.socket) or own("status").status == 3)
            site.gate("stop").set()
            out, _ = running.communicate(timeout=20)
            assert stopping.communicate(timeout=30)[0] == "stopped\n"
    assert json.loads(out)["title"] == "Gated"


def test_a_call_without_standard_streams_starts_a_daemon_too(own: Command, site: Site) -> None:
    words = ["sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', sys.executable, "-m", "cdpfetch", "fetch", site.url("/page")]
    assert subprocess.run(words, env=own.environment, timeout=50, check=False).returncode == 0
    assert own.daemon.pid
    assert site.asked("/page")
