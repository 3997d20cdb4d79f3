"""Browsers that are killed, locked out, crashed or full; fetches that are cancelled in every phase."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from commands import Command, wait_for
from testsite import PDF, Site

from cdpfetch import process, wire
from cdpfetch.cdp import flags
from cdpfetch.client import Client


@pytest.fixture
def client(own: Command, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A client of a home of its own, whose daemon it starts."""
    for name, value in own.environment.items():
        monkeypatch.setenv(name, value)
    with Client(own.home) as made:
        yield made


class Raw:
    """The bare socket, for what the client would not do."""

    def __init__(self, own: Command) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(40)
        self._socket.connect(own.home.socket)
        self._file = self._socket.makefile("rb")
        self.directory = own.home.artifacts
        assert json.loads(self._file.readline())["hello"] == "cdpfetch"
        self.send(wire.hello("0.1.0"))

    def send(self, message: dict[str, Any]) -> None:
        self._socket.sendall(wire.encode(message))

    def fetch(self, number: int, url: str, **fields: Any) -> None:
        self.send({"id": number, "op": "fetch", "url": url, "downloadDir": self.directory, **fields})

    def receive(self) -> dict[str, Any]:
        line = self._file.readline()
        assert line, "the daemon hung up"
        found: dict[str, Any] = json.loads(line)
        return found if found.get("event") != "heartbeat" else self.receive()

    def terminal(self, number: int) -> dict[str, Any]:
        """The next terminal message, which must be of this request."""
        while (message := self.receive())["event"] == "status":
            pass
        assert message["id"] == number
        return message

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def browser_pid(client: Client) -> int:
    return int(client.status()["browser"]["pid"])


def idle(client: Client) -> bool:
    """Whether no fetch has a tab, and none is open but two spare ones and six that wait for a page of their origin."""
    status = client.status()
    return status["requests"] == {**status["requests"], "active": 0, "queued": 0} and status["browser"]["tabs"] <= 8


# ---- killed


@pytest.mark.parametrize(
    ("path", "reached"),
    [("/gated?gate=KILLED", "/gated"), ("/blob?size=3000000&rate=600000", "/blob")],
    ids=["navigation", "download"],
)
def test_a_killed_browser_is_started_again_for_its_fetch(
    client: Client, own: Command, site: Site, path: str, reached: str
) -> None:
    assert client.fetch(site.url("/page")).ok
    pid = browser_pid(client)
    with own.start("fetch", "--json", site.url(path)) as running:
        wait_for(lambda: site.asked(reached))
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: site.asked(reached) == 2, 30)
        site.gate("KILLED").set()
        document = json.loads(running.communicate(timeout=30)[0])
    assert document["ok"]
    (attempt,) = document["attempts"]
    assert (attempt["source"], attempt["code"]) == ("local", "browser_failed")
    assert "SIGKILL" in attempt["reason"]
    assert browser_pid(client) != pid
    wait_for(lambda: not os.listdir(os.path.join(own.home.artifacts, ".downloads")))


def test_a_fetch_is_repeated_once(client: Client, own: Command, site: Site) -> None:
    assert client.fetch(site.url("/page")).ok
    with own.start("fetch", "--json", site.url("/gated?gate=TWICE")) as running:
        for times in (1, 2):
            wait_for(lambda wanted=times: site.asked("/gated") == wanted, 30)
            os.kill(browser_pid(client), signal.SIGKILL)
        document = json.loads(running.communicate(timeout=30)[0])
    site.gate("TWICE").set()
    assert document["error"]["code"] == "browser_failed"
    assert "SIGKILL" in document["error"]["reason"]
    assert len(document["attempts"]) == 2
    assert client.fetch(site.url("/page")).ok


def test_a_killed_renderer_costs_a_second_visit(client: Client, own: Command, site: Site) -> None:
    assert client.fetch(site.url("/page")).ok
    browser = browser_pid(client)

    def renderers() -> set[int]:
        return {one.pid for one in process.descendants(browser) if "--type=renderer" in one.command}

    with own.start("fetch", "--json", site.url("/polling-gate?gate=RENDERER")) as running:
        wait_for(lambda: site.asked("/gated"), 30)
        for pid in renderers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_for(lambda: site.asked("/polling-gate") >= 2 and site.asked("/gated") >= 2, 30)
        site.gate("RENDERER").set()
        document = json.loads(running.communicate(timeout=30)[0])
    assert document["ok"]
    assert [attempt["code"] for attempt in document["attempts"]] == ["tab_crashed"]
    assert browser_pid(client) == browser


def test_browsers_that_keep_dying_are_not_started_for_ever(client: Client, site: Site) -> None:
    for _ in range(4):
        assert client.fetch(site.url("/page")).ok
        os.kill(browser_pid(client), signal.SIGKILL)
        wait_for(lambda: client.status()["browser"]["state"] == "closed")
    error = client.fetch_many([site.url("/page")])[0].error
    assert error is not None
    assert error.code == "browser_failed"
    assert "4 times within 60 s" in error.reason


# ---- the profile


def test_a_profile_that_another_chrome_has(client: Client, own: Command, site: Site, chrome: str) -> None:
    os.makedirs(own.home.profile, 0o700)
    argv = flags.headless(chrome, own.home.profile, no_sandbox=os.geteuid() == 0, platform=sys.platform)
    argv.remove("--remote-debugging-pipe")
    argv.remove("--no-startup-window")
    lock = os.path.join(own.home.profile, "SingletonLock")
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*argv, "about:blank"], start_new_session=True, **quiet) as other:  # type: ignore[call-overload]
        try:
            wait_for(lambda: os.path.islink(lock))
            holder = int(os.readlink(lock).rpartition("-")[2])
            error = client.fetch_many([site.url("/page")])[0].error
            assert error is not None
            assert error.code == "profile_in_use"
            assert str(holder) in error.reason
            assert process.start_time(holder), "the other browser is not ours to end"
        finally:
            other.terminate()
            other.wait(20)
    wait_for(lambda: not os.path.islink(lock) or process.start_time(holder) is None)
    assert client.fetch(site.url("/page")).ok


@pytest.mark.parametrize("target", ["otherhost-4242", f"{socket.gethostname()}-999999999"])
def test_a_lock_that_a_crash_left(client: Client, own: Command, site: Site, target: str) -> None:
    os.makedirs(own.home.profile, 0o700)
    os.symlink(target, os.path.join(own.home.profile, "SingletonLock"))
    assert client.fetch(site.url("/page")).ok


# ---- the disk


def test_a_full_disk_is_named_and_leaves_nothing(client: Client, own: Command, site: Site, tmp_path: Path) -> None:
    own.configure(f"[network]\nallow = ['{site.netloc}']\n[artifacts]\nmin_free_mb = 0\n")  # no floor: let it fill
    disk = tmp_path / "disk"
    disk.mkdir()
    with small_disk(disk, 256 * 1024):
        fetched = client.fetch_many([site.url("/blob?size=1000000"), site.url("/page")], output_dir=str(disk))
        error = fetched[0].error
        assert error is not None
        assert error.code == "disk_full"
        assert os.listdir(disk) == [os.path.basename(fetched[1].document.dir)]
        assert client.fetch(site.url("/page")).ok


@contextlib.contextmanager
def small_disk(directory: Path, size: int) -> Iterator[None]:
    """A file system of so many bytes at a directory."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(directory)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"only root may mount a small disk: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(directory)], check=True)


def test_a_directory_that_cannot_be_written(client: Client, site: Site, tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("in the way")
    error = client.fetch_many([site.url("/page")], output_dir=str(blocker / "below"))[0].error
    assert error is not None
    assert error.code == "invalid_request"
    assert str(blocker) in error.reason
    assert client.fetch(site.url("/page")).ok


# ---- renderers


def test_a_page_that_devours_memory_costs_itself_only(client: Client, own: Command, site: Site) -> None:
    own.configure(
        f"[network]\nallow = ['{site.netloc}']\n[browser]\nextra_args = ['--js-flags=--max-old-space-size=64']\n"
    )
    devoured, fine = client.fetch_many([site.url("/devour"), site.url("/page")])
    assert fine.error is None
    assert devoured.error is not None
    assert devoured.error.code == "tab_crashed"
    assert client.fetch(site.url("/page")).ok


def test_a_page_whose_scripts_never_yield(client: Client, site: Site) -> None:
    busy, fine = client.fetch_many([site.url("/busy"), site.url("/page")])
    assert busy.error is None
    assert busy.document.verdict == "partial"
    assert "Busy" in busy.document.text()
    assert fine.error is None


# ---- clients


def test_a_client_that_hangs_up_cancels_what_it_asked(client: Client, own: Command, site: Site) -> None:
    assert client.fetch(site.url("/page")).ok
    with Raw(own) as raw:
        for number in range(9):
            raw.fetch(number, site.url(f"/hang?{number}"))
        wait_for(lambda: site.asked("/hang") == 6)
        status = client.status()["requests"]
        assert (status["active"], status["queued"]) == (6, 3)
    wait_for(lambda: idle(client))
    assert client.fetch(site.url("/page")).ok


def test_one_clients_flood_does_not_starve_another(client: Client, own: Command, site: Site) -> None:
    assert client.fetch(site.url("/page")).ok
    with Raw(own) as flood:
        for number in range(60):
            flood.fetch(number, site.url(f"/gated?gate=flood{number}"))
        wait_for(lambda: site.asked("/gated") == 6)
        with own.start("fetch", "--json", site.url("/page?word=other")) as other:
            wait_for(lambda: client.status()["requests"]["queued"] == 55)
            # One of sixty ends: the other client's turn comes, though 54 were there before it.
            site.gate("flood0").set()
            out, _ = other.communicate(timeout=20)
        assert json.loads(out)["title"] == "About other"
        assert flood.terminal(0)["event"] == "result"
    for number in range(60):
        site.gate(f"flood{number}").set()
    wait_for(lambda: idle(client))


@pytest.mark.parametrize(
    ("stage", "path"),
    [
        ("queued", "/page"),
        ("started", "/hang"),
        ("navigating", "/hang"),
        ("settling", "/script?delay=3000"),
        ("downloading", "/blob?size=50000000&rate=500000"),
        ("extracting", "/many?rows=4000"),
    ],
)
def test_a_fetch_can_be_cancelled_in_every_phase(
    client: Client, own: Command, site: Site, stage: str, path: str
) -> None:
    assert client.fetch(site.url("/page")).ok
    before = sorted(os.listdir(own.home.artifacts))
    with Raw(own) as raw:
        if stage == "queued":
            for number in range(100, 106):
                raw.fetch(number, site.url(f"/hang?{number}"))
            wait_for(lambda: site.asked("/hang") == 6)
        raw.fetch(1, site.url(path))
        while (message := raw.receive())["id"] != 1 or message.get("stage") != stage:
            assert message["event"] == "status", message
        raw.send({"id": 2, "op": "cancel", "target": 1})
        answers: list[dict[str, Any]] = []
        while len(answers) < 2:
            message = raw.receive()
            if message["event"] != "status" and message["id"] in (1, 2):
                answers.append(message)
        cancelled = next(answer for answer in answers if answer["id"] == 1)
        assert (cancelled["event"], cancelled["code"]) == ("error", "cancelled")
        assert next(answer for answer in answers if answer["id"] == 2)["event"] == "result"
    wait_for(lambda: idle(client))
    assert sorted(os.listdir(own.home.artifacts)) == before, "nothing half written stays"
    wait_for(lambda: not os.listdir(os.path.join(own.home.artifacts, ".downloads")))
    assert client.fetch(site.url("/page")).ok


# ---- endings


def test_an_idle_browser_is_closed_and_comes_back(client: Client, own: Command, site: Site) -> None:
    own.configure(f"[network]\nallow = ['{site.netloc}']\n[browser]\nheadless_idle = 0.3\n")
    assert client.fetch(site.url("/page")).ok
    wait_for(lambda: client.status()["browser"]["state"] == "closed")
    wait_for(lambda: not any("--remote-debugging-pipe" in one.command for one in own.processes()))
    assert client.fetch(site.url("/page")).ok


@contextlib.contextmanager
def foreign_browser(chrome: str, profile: Path) -> Iterator[tuple[str, str]]:
    """A browser that is not ours, with a debugging port: (host:port, path of its WebSocket)."""
    argv = flags.headless(chrome, str(profile), no_sandbox=os.geteuid() == 0, platform=sys.platform)
    argv[argv.index("--remote-debugging-pipe")] = "--remote-debugging-port=0"
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*argv, "about:blank"], start_new_session=True, **quiet) as foreign:  # type: ignore[call-overload]
        try:
            port_file = profile / "DevToolsActivePort"
            wait_for(lambda: port_file.exists() and port_file.read_text().count("\n") >= 1)
            port, path = port_file.read_text().split("\n")[:2]
            yield f"127.0.0.1:{port}", path
            assert foreign.poll() is None, "it is not ours to end"
        finally:
            foreign.terminate()
            foreign.wait(20)


def test_a_browser_that_somebody_else_runs(
    own: Command, site: Site, chrome: str, tmp_path: Path, client: Client
) -> None:
    with foreign_browser(chrome, tmp_path / "foreign") as (netloc, path):
        own.configure(
            f"[network]\nallow = ['{site.netloc}']\n[browser]\ncdp_url = 'ws://{netloc}{path}'\nheadless_idle = 0.3\n"
        )
        document = client.fetch(site.url("/page?word=foreign"))
        assert document.title == "About foreign"
        assert client.fetch(site.url("/file.pdf")).bytes == len(PDF)
        assert client.status()["browser"]["pid"] is None
        wait_for(lambda: client.status()["browser"]["state"] == "closed")


def test_the_command_line_names_the_browser_to_attach_to(
    own: Command, site: Site, chrome: str, tmp_path: Path, client: Client
) -> None:
    with (
        foreign_browser(chrome, tmp_path / "foreign") as (netloc, _),
        own.start("daemon", "--cdp-url", f"http://{netloc}") as daemon,
    ):
        wait_for(lambda: os.path.exists(own.home.socket))
        assert client.fetch(site.url("/page?word=attached")).title == "About attached"
        assert client.status()["browser"]["pid"] is None
        daemon.terminate()
        daemon.communicate(timeout=20)
    refused = own("daemon", "--cdp-url", "ftp://x.example/")
    assert refused.status == 2
    assert "browser.cdp_url" in refused.err
