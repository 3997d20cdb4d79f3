"""What around cdpfetch is warned of, on made-up surroundings."""

from __future__ import annotations

import json
import os
import plistlib
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cdpfetch import surroundings
from cdpfetch.surroundings import daemons_environment, display, key_ring, policies


def test_a_display_is_needed_on_linux(tmp_path: Path) -> None:
    (tmp_path / "X3").touch()
    sockets = str(tmp_path)
    for environ in ({"DISPLAY": ":3"}, {"DISPLAY": ":3.0"}, {"DISPLAY": "far:10.0"}, {"WAYLAND_DISPLAY": "wayland-0"}):
        assert display(environ, "linux", sockets) == []
    assert display({}, "darwin", sockets) == []
    (none,) = display({"DISPLAY": ""}, "linux", sockets)
    assert "no display" in none.detail
    assert "Xvfb" in none.hint
    (dead,) = display({"DISPLAY": ":4"}, "linux", sockets)
    assert dead.detail == "DISPLAY is :4, where no X server listens"


def test_the_daemons_environment_is_compared() -> None:
    mine = {"DISPLAY": ":0", "HTTPS_PROXY": "http://proxy:3128"}
    assert daemons_environment(mine, None) == []
    assert daemons_environment(mine, {**mine, "OTHER": "x"}) == []
    assert daemons_environment({}, mine | {"HTTPS_PROXY": ""}) == []
    assert daemons_environment({"https_proxy": "http://proxy:3128"}, {"HTTPS_PROXY": "http://proxy:3128"}) == []
    screen, proxy = daemons_environment(mine, {"no_proxy": "x"})
    assert screen == ("the daemon runs without a display, so walls that need a window fail", "cdpfetch restart")
    assert "another https_proxy, no_proxy than" in proxy.detail
    assert "browser.proxy" in proxy.hint
    (managed,) = daemons_environment({"WAYLAND_DISPLAY": "w"}, {"INVOCATION_ID": "1"})
    assert "a service manager started it" in managed.detail
    assert "import-environment DISPLAY" in managed.hint


def cookies(path: Path, *values: bytes) -> str:
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE cookies (encrypted_value BLOB)")
        database.executemany("INSERT INTO cookies VALUES (?)", [(value,) for value in values])
        database.commit()
    return str(path)


@pytest.mark.parametrize("place", ["Default/Cookies", "Default/Network/Cookies"])
def test_cookies_of_a_key_ring(place: str, tmp_path: Path) -> None:
    assert key_ring((), str(tmp_path)) == []
    cookies(tmp_path / place, b"v10basic", b"v11ring", b"v11other", b"")
    (found,) = key_ring(("--password-store=basic",), str(tmp_path))
    assert found.detail.startswith("2 cookies of the profile")
    assert "open-browser" in found.hint


def test_a_cookie_store_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "Default").mkdir()
    (tmp_path / "Default" / "Cookies").write_bytes(b"none" * 500)
    assert key_ring((), str(tmp_path)) == []


def test_a_flag_for_a_key_ring(tmp_path: Path) -> None:
    (found,) = key_ring(("--mute-audio", "--password-store=gnome-libsecret"), str(tmp_path))
    assert "--password-store=gnome-libsecret" in found.detail


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ({"RemoteDebuggingAllowed": False}, "RemoteDebuggingAllowed is false"),
        ({"HeadlessMode": 2}, "HeadlessMode is 2"),
        ({"DefaultCookiesSetting": 4}, "DefaultCookiesSetting"),
        ({"DefaultCookiesSetting": 2}, "DefaultCookiesSetting"),
        ({"ClearBrowsingDataOnExitList": ["cookies_and_other_site_data"]}, "ClearBrowsingDataOnExitList"),
        ({"UserDataDir": "/srv/profiles"}, "UserDataDir"),
        ({"RemoteDebuggingAllowed": True, "HeadlessMode": 1, "DefaultCookiesSetting": 1}, None),
        ({"ClearBrowsingDataOnExitList": ["browsing_history"]}, None),
        (["no", "object"], None),
    ],
)
def test_managed_policies(policy: Any, told: str | None, tmp_path: Path) -> None:
    for directory in surroundings.POLICY_DIRECTORIES:
        path = tmp_path / directory.lstrip("/") / "site.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(policy))
        (path.parent / "broken.json").write_text("{")
        (path.parent / "readme.txt").write_text('{"HeadlessMode": 2}')
    found = policies("linux", str(tmp_path))
    assert len(found) == (len(surroundings.POLICY_DIRECTORIES) if told else 0)
    assert all(told in seen.detail and "site.json" in seen.detail and seen.hint for seen in found if told)


def test_managed_policies_of_a_mac(tmp_path: Path) -> None:
    base = tmp_path / "Library" / "Managed Preferences"
    (base / "ada").mkdir(parents=True)
    (base / "com.google.Chrome.plist").write_bytes(plistlib.dumps({"RemoteDebuggingAllowed": False}))
    (base / "ada" / "com.microsoft.Edge.plist").write_bytes(plistlib.dumps({"HeadlessMode": 2}))
    (base / "org.chromium.Chromium.plist").write_bytes(b"no plist")
    assert len(policies("darwin", str(tmp_path), "ada")) == 2
    (machine,) = policies("darwin", str(tmp_path))
    assert "com.google.Chrome.plist" in machine.detail
    assert policies("linux", str(tmp_path)) == []


def test_the_environment_of_a_process() -> None:
    if not os.path.isdir("/proc/self"):
        pytest.skip("this system does not tell it")
    found = surroundings.environment_of(os.getppid())
    assert found is None or all(isinstance(value, str) for value in found.values())
    assert surroundings.environment_of(2**22 + 1) is None
