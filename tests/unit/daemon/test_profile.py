"""The profile's lock and preferences, and the daemon's own lock, pidfile and socket."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdpfetch import paths, process
from cdpfetch.daemon import profile
from cdpfetch.daemon.lock import InstanceLock
from cdpfetch.errors import CdpFetchError

GONE = 2**22 - 3  # above the usual largest process id


def hold(directory: Path, host: str, pid: int) -> None:
    directory.mkdir(exist_ok=True)
    os.symlink(f"{host}-{pid}", directory / "SingletonLock")
    os.symlink("somewhere", directory / "SingletonSocket")


def preferences(directory: Path) -> dict[str, object]:
    found = json.loads((directory / "Default" / "Preferences").read_text())
    assert isinstance(found, dict)
    return found


def test_a_fresh_profile_keeps_session_cookies(tmp_path: Path) -> None:
    profile.prepare(str(tmp_path))
    assert preferences(tmp_path) == {"session": {"restore_on_startup": 1}}


def test_other_preferences_stay(tmp_path: Path) -> None:
    (tmp_path / "Default").mkdir()
    file = tmp_path / "Default" / "Preferences"
    file.write_text(json.dumps({"session": {"startup_urls": ["x"]}, "browser": {"theme": 1}}))
    profile.prepare(str(tmp_path))
    assert preferences(tmp_path) == {
        "session": {"startup_urls": ["x"], "restore_on_startup": 1},
        "browser": {"theme": 1},
    }
    before = file.stat().st_mtime_ns
    profile.prepare(str(tmp_path))
    assert file.stat().st_mtime_ns == before


def test_damaged_preferences_are_left_to_chrome(tmp_path: Path) -> None:
    (tmp_path / "Default").mkdir()
    (tmp_path / "Default" / "Preferences").write_text("{ damaged")
    profile.prepare(str(tmp_path))
    assert (tmp_path / "Default" / "Preferences").read_text() == "{ damaged"


def test_a_lock_of_a_living_process_is_respected(tmp_path: Path) -> None:
    hold(tmp_path, socket.gethostname(), os.getpid())
    with pytest.raises(CdpFetchError, match=f"in use by process {os.getpid()} on") as caught:
        profile.prepare(str(tmp_path))
    assert caught.value.code == "profile_in_use"
    assert (tmp_path / "SingletonLock").is_symlink()


@pytest.mark.parametrize("host", [socket.gethostname(), "a-container-of-yesterday"])
def test_a_lock_that_was_left_behind_is_removed(host: str, tmp_path: Path) -> None:
    hold(tmp_path, host, GONE)
    profile.prepare(str(tmp_path))
    assert not (tmp_path / "SingletonLock").is_symlink()
    assert not (tmp_path / "SingletonSocket").is_symlink()


def test_a_lock_of_another_host_on_a_shared_disk_is_respected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile, "on_network", lambda path: True)
    hold(tmp_path, "another-host", GONE)
    with pytest.raises(CdpFetchError, match="another-host"):
        profile.prepare(str(tmp_path))


@pytest.mark.parametrize(
    ("target", "holder"),
    [
        ("host-12", profile.Holder("host", 12)),
        ("a-host-with-dashes-7", profile.Holder("a-host-with-dashes", 7)),
        ("nonsense", None),
        ("-5", None),
        ("host-x", None),
    ],
)
def test_who_holds_a_lock(target: str, holder: profile.Holder | None, tmp_path: Path) -> None:
    os.symlink(target, tmp_path / "SingletonLock")
    assert profile.holder(str(tmp_path)) == holder


def test_no_lock_has_no_holder(tmp_path: Path) -> None:
    assert profile.holder(str(tmp_path)) is None


def test_the_file_system_decides_what_is_shared(tmp_path: Path) -> None:
    real = os.path.realpath(tmp_path)
    mounts = tmp_path / "mountinfo"
    lines = ["1 0 8:1 / / rw - ext4 /dev/sda rw", f"2 1 0:9 / {real}/nfs\\040share rw - nfs4 server:/ rw"]
    mounts.write_text("\n".join(lines) + "\n")
    assert not profile.on_network(f"{real}/local", str(mounts))
    assert profile.on_network(f"{real}/nfs share/profile", str(mounts))
    assert not profile.on_network(f"{real}/nfs share too", str(mounts))
    assert not profile.on_network(real, str(tmp_path / "missing"))


# the daemon's own


@pytest.fixture
def home(tmp_path: Path) -> paths.Home:
    return paths.Home(str(tmp_path / "home"))


@pytest.fixture
def lock(home: paths.Home) -> Iterator[InstanceLock]:
    made = InstanceLock(home)
    made.acquire()
    yield made
    made.release()
    made.release()


def test_only_one_holds_the_lock(lock: InstanceLock, home: paths.Home) -> None:
    other = InstanceLock(home)
    with pytest.raises(CdpFetchError, match="another daemon holds the lock") as caught:
        other.acquire()
    assert caught.value.code == "daemon_unavailable"
    lock.release()
    other.acquire()
    other.release()


def test_the_pidfile_tells_who_it_is(lock: InstanceLock, home: paths.Home) -> None:
    lock.write_pidfile("0.1.0")
    record = json.loads(Path(home.pidfile).read_text())
    assert record == {"pid": os.getpid(), "started": process.start_time(os.getpid()), "version": "0.1.0"}
    assert stat.S_IMODE(os.stat(home.pidfile).st_mode) == 0o600
    lock.release()
    assert not os.path.exists(home.pidfile)


@pytest.mark.parametrize("name", ["lock", "pidfile"])
def test_a_link_is_not_followed(name: str, home: paths.Home, tmp_path: Path) -> None:
    paths.ensure_private_dir(home.root)
    paths.ensure_private_dir(home.run)
    target = tmp_path / "target"
    target.write_text("precious")
    os.symlink(target, getattr(home, name) + ("" if name == "lock" else ".new"))
    made = InstanceLock(home)
    with pytest.raises((CdpFetchError, OSError)):
        made.acquire()
        made.write_pidfile("0.1.0")
    made.release()
    assert target.read_text() == "precious"


def test_the_socket_is_private_and_taken_over_from_the_dead(lock: InstanceLock, home: paths.Home) -> None:
    with lock.bind() as first:
        assert stat.S_IMODE(os.stat(home.socket).st_mode) == 0o600
        with pytest.raises(CdpFetchError, match="something answers"):
            lock.bind()
        assert first.fileno() >= 0
    with lock.bind() as second, socket.socket(socket.AF_UNIX) as client:
        client.connect(home.socket)
        assert second.fileno() >= 0


def test_what_is_no_socket_is_left_alone(lock: InstanceLock, home: paths.Home) -> None:
    Path(home.socket).write_text("precious")
    with pytest.raises(CdpFetchError, match="is not a socket"):
        lock.bind()
    assert Path(home.socket).read_text() == "precious"


def test_no_tab_of_before_is_reopened(tmp_path: Path) -> None:
    profile.forget_tabs(str(tmp_path))
    folder = tmp_path / "Default" / "Sessions"
    folder.mkdir(parents=True)
    for name in ("Session_13410", "Tabs_13411", "other"):
        (folder / name).write_bytes(b"SNSS")
    profile.forget_tabs(str(tmp_path))
    assert os.listdir(folder) == ["other"]


async def test_the_chrome_of_a_killed_daemon_is_waited_for(tmp_path: Path) -> None:
    code = "import sys; sys.stdin.read()"
    command = [sys.executable, "-S", "-c", code, "--remote-debugging-pipe"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as leftover:
        os.symlink(f"{socket.gethostname()}-{leftover.pid}", tmp_path / "SingletonLock")
        waiting = asyncio.create_task(profile.await_leftover(str(tmp_path), 20))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        assert leftover.stdin is not None
        leftover.stdin.close()
        await waiting
        profile.prepare(str(tmp_path))
    # Any other Chrome is somebody's: nothing is waited for.
    os.symlink(f"{socket.gethostname()}-{os.getpid()}", tmp_path / "SingletonLock")
    await profile.await_leftover(str(tmp_path), 20)


def test_the_socket_of_a_killed_chrome_goes_with_its_lock(tmp_path: Path) -> None:
    profile_dir, folder = tmp_path / "profile", tmp_path / "org.chromium.Chromium.a1B2c3"
    for directory in (profile_dir, folder):
        directory.mkdir()
    for name in ("SingletonSocket", "SingletonCookie"):
        (folder / name).touch()
    (profile_dir / "SingletonLock").symlink_to(f"{socket.gethostname()}-{2**22 + 1}")
    (profile_dir / "SingletonSocket").symlink_to(folder / "SingletonSocket")
    profile.prepare(str(profile_dir))
    assert not folder.exists()
    assert not os.path.lexists(profile_dir / "SingletonSocket")


@pytest.mark.parametrize("name", ["home", "org.chromium.Chromium", "org.chromium.Other.a1B2c3"])
def test_no_other_directory_goes(name: str, tmp_path: Path) -> None:
    profile_dir, folder = tmp_path / "profile", tmp_path / name
    for directory in (profile_dir, folder):
        directory.mkdir()
    (folder / "SingletonSocket").touch()
    (profile_dir / "SingletonLock").symlink_to(f"{socket.gethostname()}-{2**22 + 1}")
    (profile_dir / "SingletonSocket").symlink_to(folder / "SingletonSocket")
    profile.prepare(str(profile_dir))
    assert (folder / "SingletonSocket").exists()
