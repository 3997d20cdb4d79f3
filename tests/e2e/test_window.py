"""The window in which the user signs in, on a virtual display, with a real Chrome and real keys."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands import Command, process_of_window, wait_for
from display import Display
from testsite import Site

from cdpfetch import paths, process, starting
from cdpfetch.cdp import flags

# Several starts of Chrome each, and every one may be slow on a busy machine.
pytestmark = pytest.mark.timeout(240)
SENTENCE = "interactive browser is open — quit Chrome to resume fetching"


def window_of(command: Command) -> process.Process:
    found = process_of_window(command)
    assert found is not None
    return found


def fetched(command: Command, url: str) -> dict[str, Any]:
    (document,) = command("fetch", "--json", url).documents
    return document


def state(command: Command) -> Any:
    return json.loads(command("status", "--json").out)["browser"]["state"]


def is_member(command: Command, site: Site) -> bool:
    """Whether a fetch is let in, with the cookie and with the token that a script has kept."""
    ended = command("fetch", "--print", site.url("/members/private"))
    assert ended.status in (0, 1), ended.err
    good = "GANNET-41" in ended.out
    assert good == ("The token is good." in ended.out), ended.out
    return good


def sign_in(command: Command, site: Site, screen: Display) -> None:
    """Sign in through the window, and close it."""
    assert command("open-browser", site.url("/members/private")).status == 0
    screen.sign_in("tide", "Members")
    ended = command("close-browser")
    assert (ended.status, ended.out) == (0, "the browser is closed\n"), ended.err


def test_a_sign_in_page_closes_the_circle(desk: Command, site: Site, screen: Display) -> None:
    wanted = site.url("/members/private?room=1&floor=2")
    refused = fetched(desk, wanted)
    assert refused["error"]["code"] == "login_required"
    assert site.netloc in refused["error"]["reason"]
    _, _, words = refused["error"]["hint"].partition("cdpfetch ")
    assert shlex.split(words) == ["open-browser", wanted]

    with desk.start(*shlex.split(words), "--wait") as waiting:
        screen.await_title("Sign in")
        wait_for(lambda: state(desk) == "interactive")
        found = window_of(desk)
        assert "remote-debugging" not in found.command
        assert os.getsid(found.pid) == found.pid
        status = json.loads(desk("status", "--json").out)["browser"]
        assert (status["state"], status["pid"]) == ("interactive", found.pid)
        for url in (wanted, site.url("/page"), "http://10.0.0.1/"):
            document = fetched(desk, url)
            assert (document["error"]["code"], document["error"]["reason"]) == ("interactive_open", SENTENCE)
        assert waiting.poll() is None
        screen.sign_in("tide", "Members")
        assert desk("close-browser").status == 0
        out, err = waiting.communicate(timeout=30)
    assert (waiting.returncode, err) == (0, "")
    assert out.splitlines() == [
        "the browser is open; quit it to resume fetching",
        "the browser is closed; the profile is signed in to 1 site",
    ]
    assert not process.is_alive(found)
    assert is_member(desk, site)
    record = Path(desk.home.sessions)
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert json.loads(record.read_text())["sites"] == ["127.0.0.1"]
    (member,) = site.members
    for path in (record, Path(desk.home.log), Path(desk.home.logs) / "window.log"):
        assert member not in path.read_text()
    assert not os.path.exists(os.path.join(desk.home.run, "interactive.json"))

    # The window is still signed in when it comes back, and shows nothing of what was fetched or open before.
    assert desk("open-browser").status == 0
    screen.await_title("New Tab")
    assert desk("open-browser", wanted).status == 0
    screen.await_title("Members")
    screen.hands("key", "ctrl+w")
    screen.await_title("New Tab")
    screen.hands("key", "ctrl+w")
    wait_for(lambda: process_of_window(desk) is None, 20)
    wait_for(lambda: state(desk) != "interactive", 20)
    assert is_member(desk, site)


@pytest.mark.timeout(400)
def test_a_session_survives_every_end(desk: Command, site: Site, screen: Display) -> None:
    def configure(**fetch: float) -> None:
        lines = "".join(f"{name} = {value}\n" for name, value in fetch.items())
        desk.configure(f'[network]\nallow = ["{site.netloc}"]\n[browser]\nheadless_idle = 2\n[fetch]\n{lines}')

    configure()
    sign_in(desk, site, screen)
    assert is_member(desk, site)
    wait_for(lambda: state(desk) == "closed", 20)  # Chrome's idle end
    assert is_member(desk, site)
    browser = json.loads(desk("status", "--json").out)["browser"]
    os.kill(browser["pid"], signal.SIGKILL)
    wait_for(lambda: state(desk) == "closed", 20)  # a fetch in the same moment would be cut off with it
    assert is_member(desk, site)
    killed = desk.daemon
    os.kill(killed.pid, signal.SIGKILL)
    wait_for(lambda: not process.is_alive(killed))
    assert is_member(desk, site)
    assert desk("stop").status == 0
    configure(daemon_idle=1)
    assert is_member(desk, site)
    wait_for(lambda: starting.read_pidfile(desk.home) is None, 20)  # the daemon's idle end
    configure()
    assert is_member(desk, site)
    assert desk("restart").status == 0
    assert is_member(desk, site)
    # A reboot: nobody got the time to end, and what lies in run/ is of no process any more.
    cut_off = desk.processes()
    for one in cut_off:
        with contextlib.suppress(ProcessLookupError):
            os.kill(one.pid, signal.SIGKILL)
    wait_for(lambda: not any(process.is_alive(one) for one in cut_off))
    shutil.rmtree(desk.home.run)
    assert is_member(desk, site)

    assert fetched(desk, site.url("/members/sign-out"))["title"] == "Signed out"
    assert not is_member(desk, site)


def test_sessions_are_listed_and_cleared(desk: Command, site: Site, screen: Display) -> None:
    assert "no site has cookies" in desk("sessions").out
    sign_in(desk, site, screen)
    (member,) = site.members
    shown = desk("sessions", "--json")
    (entry,) = shown.documents
    assert (entry["site"], entry["recorded"], entry["origins"]) == ("127.0.0.1", True, [f"http://{site.netloc}"])
    (cookie,) = entry["cookies"]
    assert (cookie["name"], cookie["path"], cookie["http_only"], cookie["expires"]) == ("member", "/", True, None)
    assert member not in shown.out
    assert desk("sessions").out == "127.0.0.1\n   member (127.0.0.1/): session\n"
    assert desk("sessions", "clear", "example.com").status == 2
    assert is_member(desk, site)
    assert desk("sessions", "clear", site.url("/")).out == "removed 1 cookie of 1 site\n"
    assert json.loads(Path(desk.home.sessions).read_text())["sites"] == []
    assert not is_member(desk, site)

    sign_in(desk, site, screen)
    assert is_member(desk, site)
    assert desk("sessions", "clear").out == "removed 1 cookie of 1 site\n"
    assert not is_member(desk, site)


def test_a_session_without_any_cookie_is_recorded(desk: Command, site: Site, screen: Display) -> None:
    assert "Seal: **none**" in desk("fetch", "--print", site.url("/vault")).out
    assert desk("open-browser", site.url("/vault")).status == 0
    screen.await_title("Vault")
    assert desk("close-browser").status == 0
    (entry,) = desk("sessions", "--json").documents
    assert entry == {"site": "127.0.0.1", "recorded": True, "origins": [f"http://{site.netloc}"], "cookies": []}
    assert "Seal: **WHELK-12**" in desk("fetch", "--print", site.url("/vault")).out
    # It is not forgotten when the next window is about something else.
    assert desk("open-browser").status == 0
    assert desk("close-browser").status == 0
    assert desk("sessions").out == (
        "127.0.0.1\n   no cookies; it was visited in the window, and may keep its session elsewhere\n"
    )
    assert desk("sessions", "clear", "127.0.0.1").out == "removed 0 cookies of 1 site\n"
    assert "Seal: **none**" in desk("fetch", "--print", site.url("/vault")).out


def test_a_window_outlives_its_daemon(desk: Command, site: Site, screen: Display) -> None:
    assert desk("open-browser", site.url("/page?word=first")).status == 0
    screen.await_title("About first")
    window = window_of(desk)
    killed = desk.daemon
    os.kill(killed.pid, signal.SIGKILL)
    wait_for(lambda: not process.is_alive(killed))
    assert process.is_alive(window)
    assert fetched(desk, site.url("/page"))["error"]["reason"] == SENTENCE
    assert desk("stop").status == 0
    assert process.is_alive(window)
    # Another address goes to the window that is there.
    assert desk("open-browser", site.url("/page?word=second")).status == 0
    screen.await_title("About second")
    assert window_of(desk) == window
    os.kill(window.pid, signal.SIGKILL)
    wait_for(lambda: state(desk) != "interactive", 20)
    assert fetched(desk, site.url("/page"))["ok"]


def test_a_window_that_closes_while_no_daemon_runs(desk: Command, site: Site, screen: Display) -> None:
    assert desk("open-browser", site.url("/members/private")).status == 0
    screen.sign_in("tide", "Members")
    assert desk("stop").status == 0
    window = window_of(desk)
    os.kill(window.pid, signal.SIGINT)
    wait_for(lambda: not process.is_alive(window))
    assert not os.path.exists(desk.home.sessions)
    assert is_member(desk, site)
    assert json.loads(Path(desk.home.sessions).read_text())["sites"] == ["127.0.0.1"]


def test_the_daemon_stays_while_the_window_is_open(desk: Command, site: Site, screen: Display) -> None:
    desk.configure(f'[network]\nallow = ["{site.netloc}"]\n[fetch]\ndaemon_idle = 1\n')
    assert desk("open-browser").status == 0
    daemon = desk.daemon
    with pytest.raises(AssertionError, match="never came true"):
        wait_for(lambda: not process.is_alive(daemon), 3)
    os.kill(window_of(desk).pid, signal.SIGINT)
    wait_for(lambda: not process.is_alive(daemon), 30)


def test_fetches_under_way_may_end(desk: Command, site: Site, screen: Display) -> None:
    with desk.start("fetch", "--json", site.url("/gated?gate=quay")) as fetching:
        wait_for(lambda: site.asked("/gated"), 30)
        with desk.start("open-browser") as opening:
            wait_for(lambda: state(desk) == "interactive")
            assert fetched(desk, site.url("/page"))["error"]["code"] == "interactive_open"
            site.gate("quay").set()
            out, _ = fetching.communicate(timeout=30)
            assert json.loads(out)["title"] == "Gated"
            opening.communicate(timeout=40)
    assert opening.returncode == 0
    assert process_of_window(desk) is not None
    assert desk("close-browser").status == 0


def test_fetches_that_take_too_long_are_cut_off(desk: Command, site: Site, screen: Display) -> None:
    with desk.start("fetch", "--json", site.url("/gated?gate=cut")) as fetching:
        wait_for(lambda: site.asked("/gated"), 30)
        assert desk("open-browser").status == 0
        out, _ = fetching.communicate(timeout=30)
    site.gate("cut").set()
    assert json.loads(out)["error"]["reason"] == SENTENCE
    with desk.start("open-browser", "--wait") as waiting:
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == "the browser is open; quit it to resume fetching\n"
        assert desk("stop").status == 0
        _, err = waiting.communicate(timeout=30)
    assert waiting.returncode == 3
    assert "the browser window stays open" in err
    assert desk("doctor").status == 1
    assert desk("close-browser").out == "the browser is closed\n"


def test_without_a_display_it_says_so(desk: Command, site: Site) -> None:
    desk.display = None
    ended = desk("open-browser", site.url("/page"))
    assert ended.status == 2
    assert "no display" in ended.err
    assert "hint: " in ended.err
    assert fetched(desk, site.url("/page"))["ok"]
    assert desk("close-browser").out == "no browser window was open\n"


def test_an_address_must_be_of_the_web(desk: Command) -> None:
    ended = desk("open-browser", "file:///etc/passwd")
    assert ended.status == 1
    assert "only http and https" in ended.err
    assert process_of_window(desk) is None


def test_another_chrome_on_the_profile(desk: Command, site: Site, screen: Display, chrome: str) -> None:
    paths.ensure_private_dir(desk.home.profile)
    argv = flags.headed(chrome, desk.home.profile, no_sandbox=os.geteuid() == 0)
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(argv, env={**os.environ, "DISPLAY": screen.name}, **quiet) as other:
        wait_for(lambda: process_of_window(desk), 20)
        ended = desk("open-browser", site.url("/page"))
        assert ended.status == 1
        assert f"process {other.pid}" in ended.err
        assert state(desk) == "closed"
        assert fetched(desk, site.url("/page"))["error"]["code"] == "profile_in_use"
        other.terminate()
        other.wait(20)
    assert fetched(desk, site.url("/page"))["ok"]
