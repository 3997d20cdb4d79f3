"""Each check of the doctor, made to find what it looks for."""

import json
import os
import socket
import stat
import subprocess
import sys
import time

import pytest

from cdpfetch import client, doctor, paths, process
from cdpfetch.cli import main


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("CDPFETCH_")]:
        monkeypatch.delenv(name)
    os.makedirs(tmp_path / "h" / "run", 0o700)
    os.chmod(tmp_path / "h", 0o700)
    return paths.Home(str(tmp_path / "h"))


def configure(home, text):
    with open(home.config, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(home.config, 0o600)


def one(check, home):
    (found,) = list(doctor._guarded(check, home))
    return found


def test_exit_status():
    ok, warn = doctor.Check("a", doctor.OK, ""), doctor.Check("b", doctor.WARN, "", "x")
    assert doctor.exit_status([ok, warn]) == 0
    assert doctor.exit_status([ok, doctor.Check("c", doctor.FAIL, "", "x", "disk_full")]) == 1
    assert doctor.exit_status([doctor.Check("c", doctor.FAIL, "", "x", "browser_not_found")]) == 3


def test_a_private_home_is_well_and_a_loose_one_is_narrowed(home):
    assert one(doctor.check_home, home).status == doctor.OK
    os.chmod(home.root, 0o755)
    os.mkdir(home.artifacts)
    os.chmod(home.artifacts, 0o755)
    check = one(doctor.check_home, home)
    assert check.status == doctor.WARN
    assert f"{home.artifacts} has mode 0755" in check.detail
    assert f"chmod -R go= {home.root}" in check.hint
    assert stat.S_IMODE(os.stat(home.root).st_mode) == 0o700


def test_a_home_that_is_a_file_fails(tmp_path):
    (tmp_path / "file").write_text("")
    check = one(doctor.check_home, paths.Home(str(tmp_path / "file")))
    assert (check.status, check.code) == (doctor.FAIL, "config_error")
    assert check.hint


def test_settings_that_differ_are_named_and_bad_ones_fail(home):
    assert one(doctor.check_config, home).detail == "all at their defaults"
    configure(home, "[fetch]\ntabs = 2\n")
    assert one(doctor.check_config, home).detail == "changed: fetch.tabs (config.toml)"
    configure(home, "[fetch]\ntabs = 0\n")
    check = one(doctor.check_config, home)
    assert (check.name, check.status, check.code) == ("settings", doctor.FAIL, "config_error")
    assert "a whole number" in check.hint


def test_a_browser_that_is_not_there_or_says_nothing(home, tmp_path):
    configure(home, f"[browser]\nexecutable_path = '{tmp_path}/none'\n")
    check = one(doctor.check_chrome, home)
    assert (check.status, check.code) == (doctor.FAIL, "browser_not_found")
    assert "browser.executable_path" in check.hint
    mute = tmp_path / "mute"
    mute.write_text("#!/bin/sh\n")
    mute.chmod(0o755)
    configure(home, f"[browser]\nexecutable_path = '{mute}'\n")
    assert one(doctor.check_chrome, home).code == "browser_failed"
    mute.write_text("#!/bin/sh\necho Chromium 156.0.1.2 built on a rock\n")
    assert one(doctor.check_chrome, home).detail == f"{mute}, version 156.0.1.2"


def test_the_sandbox_as_root(home, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(sys, "platform", "linux")
    assert one(doctor.check_sandbox, home).status == doctor.WARN
    configure(home, "[browser]\nsandbox = 'require'\n")
    assert one(doctor.check_sandbox, home).status == doctor.FAIL


def test_the_sandbox_where_user_namespaces_are_closed(home, monkeypatch, tmp_path):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    switch = tmp_path / "switch"
    switch.write_text("1\n")
    monkeypatch.setattr(doctor, "_USERNS_SWITCHES", {str(switch): "1"})
    assert one(doctor.check_sandbox, home).status == doctor.WARN
    switch.write_text("0\n")
    assert one(doctor.check_sandbox, home).status == doctor.OK


def test_the_lock_of_the_profile(home):
    os.mkdir(home.profile)
    assert one(doctor.check_profile, home).detail == f"{home.profile} is free"
    lock = os.path.join(home.profile, "SingletonLock")
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as other:
        os.symlink(f"{socket.gethostname()}-{other.pid}", lock)
        check = one(doctor.check_profile, home)
        assert (check.status, check.code) == (doctor.FAIL, "profile_in_use")
        assert str(other.pid) in check.hint
    assert process.start_time(other.pid) is None
    assert "a browser that is gone" in one(doctor.check_profile, home).detail
    os.unlink(lock)
    os.symlink("another-host-4242", lock)
    assert one(doctor.check_profile, home).status == doctor.OK


@pytest.mark.parametrize(
    ("free", "files", "status"),
    [
        (50_000_000_000, 10**6, doctor.OK),
        (500_000_000, 10**6, doctor.WARN),
        (5_000_000, 10**6, doctor.FAIL),
        (10**10, 3, doctor.FAIL),
    ],
)
def test_room_on_the_disk(home, monkeypatch, free, files, status):
    class Disk:
        f_frsize = 1
        f_bavail = free
        f_files = 10**7
        f_favail = files

    monkeypatch.setattr(os, "statvfs", lambda path: Disk)
    check = one(doctor.check_space, home)
    assert check.status == status
    assert (check.hint is None) == (status == doctor.OK)


def test_the_daemon_that_runs(fake):
    assert "none runs" in one(doctor.check_daemon, fake.home).detail
    assert fake.starts == []
    fake.script(version="9.9.9")
    from cdpfetch import starting

    starting.start(fake.home)
    check = one(doctor.check_daemon, fake.home)
    assert (check.status, check.hint) == (doctor.WARN, "cdpfetch restart")


def test_a_fetch_that_fails_shows_why(fake):
    fake.script(start="refuse")
    check = one(doctor.check_fetch, fake.home)
    assert (check.status, check.code, check.detail, check.hint) == (
        doctor.FAIL,
        "browser_not_found",
        "no Chrome",
        "install",
    )


def test_the_command_prints_lines_or_json(fake, capfdbinary):
    fake.script(start="refuse")
    assert main(["doctor"]) == 3
    out = capfdbinary.readouterr().out.decode()
    assert "failed   fetch     no Chrome\n" in out
    assert "→ install\n" in out
    assert main(["doctor", "--json"]) == 3
    report = json.loads(capfdbinary.readouterr().out)
    assert report["ok"] is False
    assert report["checks"][-1]["hint"] == "install"


def test_no_fetch_is_tried_with_bad_settings(fake):
    with open(fake.home.config, "w", encoding="utf-8") as file:
        file.write("[fetch]\ntabs = 0\n")
    checks = doctor.run(fake.home)
    assert "not tried" in checks[-1].detail
    assert fake.starts == []


AT = 1_800_000_000
WHEN = time.strftime("%H:%M:%S", time.localtime(AT))
PROVED = f"lanes profile, anonymous; Chrome has proved to pass it, last at {WHEN}; 3 connections made, 2 refused"
LANES = [{"name": "profile", "proved": AT}, {"name": "anonymous", "proved": None}]
GUARD = {"lanes": LANES, "opened": 3, "refused": 2, "checks_owner": True}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"guard": GUARD}, [("guard", doctor.OK, PROVED)]),
        (
            {"guard": {**GUARD, "upstream": "PAC http://wpad/x.pac"}},
            [("guard", doctor.OK, f"{PROVED}; the way out is PAC http://wpad/x.pac")],
        ),
        ({"guard": {}}, [("guard", doctor.FAIL, "the daemon has none")]),
        ({"guard": {**GUARD, "checks_owner": False}}, [("guard", doctor.WARN, "lanes profile, anonymous; Chrome has")]),
        (
            {"guard": GUARD, "warnings": [{"code": "unguarded", "message": "somebody else's"}]},
            [("guard", doctor.WARN, "lanes profile, anonymous; somebody else's")],
        ),
        (
            {"guard": GUARD, "warnings": [{"code": "workers_exposed", "message": "only Python does"}]},
            [("guard", doctor.OK, "lanes"), ("workers", doctor.WARN, "only Python does")],
        ),
        (
            {"guard": GUARD, "warnings": [{"code": "workers_see_files", "message": "the kernel does not"}]},
            [("guard", doctor.OK, "lanes"), ("workers", doctor.WARN, "the kernel does not")],
        ),
        (
            {"guard": GUARD, "browser": {"state": "closed"}},
            [
                (
                    "guard",
                    doctor.OK,
                    "lanes profile, anonymous; no Chrome runs to prove it; 3 connections made, 2 refused",
                )
            ],
        ),
    ],
)
def test_the_guard_is_shown(home, monkeypatch, status, expected):
    given = {"browser": {"state": "running"}, "warnings": [], **status}
    monkeypatch.setattr(client.Client, "status", lambda self: given)
    found = list(doctor._guarded(doctor.check_guard, home))
    assert len(found) == len(expected)
    for check, (name, state, start) in zip(found, expected, strict=True):
        assert (check.name, check.status) == (name, state)
        assert check.detail.startswith(start)
