"""Finding Chrome, asking its version once, and its command line."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cdpfetch.cdp import discovery, flags
from cdpfetch.cdp.discovery import VersionCache, candidates, find_chrome, read_version
from cdpfetch.errors import CdpFetchError

SAYS = "#!/bin/sh\necho 'Chromium 156.0.8078.114 built on Debian GNU/Linux 12 (bookworm)'\n"


def program(path: Path, text: str = SAYS) -> str:
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_a_setting_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    program(tmp_path / "google-chrome")
    mine = program(tmp_path / "mine")
    assert find_chrome(mine) == mine
    assert find_chrome("mine") == mine  # a command is looked for on PATH


@pytest.mark.parametrize("name", ["missing", "plain"])
def test_a_setting_that_is_no_program_is_said(name: str, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("not executable")
    with pytest.raises(CdpFetchError) as caught:
        find_chrome(str(tmp_path / name))
    assert caught.value.code == "browser_not_found"
    assert str(tmp_path / name) in caught.value.reason
    assert "browser.executable_path" in caught.value.reason


def test_the_better_browser_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    program(tmp_path / "microsoft-edge")
    chromium = program(tmp_path / "chromium")
    assert find_chrome() == chromium
    chrome = program(tmp_path / "google-chrome")
    assert find_chrome() == chrome


def test_no_browser_names_the_setting_and_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "candidates", lambda platform, home: ["no-such-browser-anywhere"])
    with pytest.raises(CdpFetchError) as caught:
        find_chrome()
    assert caught.value.code == "browser_not_found"
    assert caught.value.hint is not None
    assert "browser.executable_path" in caught.value.hint


def test_the_places_of_a_mac() -> None:
    places = candidates("darwin", "/Users/me")
    assert places[0] == "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
    assert "/Users/me/Applications/Chromium.app/Contents/MacOS/Chromium" in places


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (SAYS, "156.0.8078.114"),
        ("#!/bin/sh\necho 'Google Chrome for Testing 131.0.6778.85 '\n", "131.0.6778.85"),
        ("#!/bin/sh\necho 'no version here'\n", None),
        ("#!/bin/sh\nexit 3\n", None),
        ("no script\0", None),
    ],
)
def test_the_version_that_a_program_prints(text: str, version: str | None, tmp_path: Path) -> None:
    assert read_version(program(tmp_path / "chrome", text)) == version


def test_a_program_that_prints_nothing_in_time(tmp_path: Path) -> None:
    assert read_version(program(tmp_path / "chrome", "#!/bin/sh\nexec sleep 60\n"), timeout=0.1) is None


def test_the_version_is_asked_once(tmp_path: Path) -> None:
    executable = program(tmp_path / "chrome", f"#!/bin/sh\necho asked >> {tmp_path}/log\necho Chromium 1.2.3.4\n")
    cache = VersionCache(str(tmp_path / "version.json"))
    assert [cache.version(executable) for _ in range(3)] == ["1.2.3.4"] * 3
    assert (tmp_path / "log").read_text() == "asked\n"
    # Another program in its place is asked again.
    program(tmp_path / "chrome", f"#!/bin/sh\necho asked >> {tmp_path}/log\necho Chromium 20.0.0.1\n")
    os.utime(executable, (1, 1))
    assert cache.version(executable) == "20.0.0.1"


def test_who_asks_meanwhile_waits_for_the_same_answer(tmp_path: Path) -> None:
    executable = program(
        tmp_path / "chrome", f"#!/bin/sh\necho asked >> {tmp_path}/log\nsleep 0.2\necho Chromium 1.2.3.4\n"
    )
    path = str(tmp_path / "version.json")
    with ThreadPoolExecutor() as pool:
        assert list(pool.map(lambda _: VersionCache(path).version(executable), range(4))) == ["1.2.3.4"] * 4
    assert (tmp_path / "log").read_text() == "asked\n"


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"stamp": 1, "version": 2}', "\0"])
def test_a_damaged_memory_is_no_memory(content: str, tmp_path: Path) -> None:
    (tmp_path / "version.json").write_text(content)
    executable = program(tmp_path / "chrome")
    assert VersionCache(str(tmp_path / "version.json")).version(executable) == "156.0.8078.114"


def test_a_memory_that_can_not_be_written_costs_nothing_else(tmp_path: Path) -> None:
    executable = program(tmp_path / "chrome")
    assert VersionCache(str(tmp_path / "no" / "folder" / "version.json")).version(executable) == "156.0.8078.114"


# the command line


def test_the_command_line_says_what_was_chosen() -> None:
    argv = flags.headless("/usr/bin/chromium", "/home/me/profile", version="156.0.8078.114", locale="de")
    assert argv[0] == "/usr/bin/chromium"
    assert {"--headless", "--remote-debugging-pipe", "--user-data-dir=/home/me/profile", "--lang=de"} <= set(argv)
    assert not any(flag.startswith("--remote-debugging-port") for flag in argv)
    assert "--no-sandbox" not in argv
    (agent,) = [flag for flag in argv if flag.startswith("--user-agent=")]
    assert "Chrome/156.0.0.0" in agent
    assert "Headless" not in agent


def test_the_sandbox_is_left_out_only_when_told() -> None:
    assert "--no-sandbox" in flags.headless("c", "p", no_sandbox=True)


def test_flags_of_the_users_own_come_last() -> None:
    assert flags.headless("c", "p", extra=["--force-dark-mode"])[-1] == "--force-dark-mode"


@pytest.mark.parametrize(
    "flag",
    [
        "--user-data-dir=/elsewhere",
        "--remote-debugging-port=9222",
        "--remote-debugging-pipe",
        "--headless=new",
        "--no-sandbox",
        "--proxy-server=http://x.example",
        "--proxy-bypass-list=*",
        "--no-proxy-server",
        "--webrtc-ip-handling-policy=default",
        "--host-resolver-rules=MAP * 127.0.0.1",
        "--load-extension=/x",
        "--disable-web-security",
        "--proxy-pac-url=http://x.example/pac",
        "--proxy-auto-detect",
        "--host-rules=MAP * 127.0.0.1",
        "--dns-over-https-templates=https://x.example/q",
        "--profile-directory=Other",
        "--incognito",
        "--disable-site-isolation-trials",
        "--ignore-certificate-errors",
        "--",
        "-no-proxy-server",
    ],
)
def test_what_the_daemon_decides_is_not_the_users_to_give(flag: str) -> None:
    (refused,) = flags.reserved(["--force-dark-mode", "--disable-features=Translate", flag]).items()
    assert refused[0] == flag
    assert refused[1].startswith("it ")


def test_what_the_user_disables_stays_disabled_together_with_ours() -> None:
    argv = flags.headless("c", "p", extra=["--disable-features=Mine,Other", "--force-dark-mode"])
    (disabled,) = [flag for flag in argv if flag.startswith("--disable-features=")]
    features = disabled.partition("=")[2].split(",")
    assert {"Mine", "Other", "HttpsUpgrades", "Translate"} <= set(features)


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_the_user_agent_is_that_of_a_window(platform: str) -> None:
    agent = flags.user_agent("156.0.8078.114", platform)
    assert agent.startswith("Mozilla/5.0 (")
    assert agent.endswith("Chrome/156.0.0.0 Safari/537.36")
    assert ("Macintosh" in agent) is (platform == "darwin")
