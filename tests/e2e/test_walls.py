"""Bot walls that only a visible window passes, on a virtual display, with a real Chrome."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands import Command, process_of_window, wait_for
from display import Display
from testsite import Site

from cdpfetch import process

# Several starts of Chrome each, and every one may be slow on a busy machine.
pytestmark = pytest.mark.timeout(240)
FOR_WINDOW = "/wall?header=1&clears=0.1&for=window"
PASSED = "passed a bot wall in a visible window"


def configure(desk: Command, site: Site, headed_wait: float = 30, headless_wait: float = 0.5, more: str = "") -> None:
    desk.configure(
        f'[network]\nallow = ["{site.netloc}"]\n[fetch.challenge]\n'
        f"headless_wait = {headless_wait}\nheaded_wait = {headed_wait}\n{more}"
    )


def fetched(command: Command, *arguments: str) -> dict[str, Any]:
    (document,) = command("fetch", "--json", *arguments).documents
    return document


def document_of(running: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = running.communicate(timeout=100)
    assert out, err
    document: dict[str, Any] = json.loads(out)
    return document


def browser(command: Command) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(command("status", "--json").out)["browser"]
    return found


def note(document: dict[str, Any]) -> str:
    (text,) = [warning["message"] for warning in document["warnings"] if warning["code"] == "challenge"]
    return str(text)


def assert_no_window(desk: Command) -> None:
    wait_for(lambda: process_of_window(desk) is None, 20)
    wait_for(lambda: not os.path.exists(os.path.join(desk.home.run, "interactive.json")), 20)


def test_a_wall_is_passed_in_a_window_while_others_wait(desk: Command, site: Site, screen: Display) -> None:
    configure(desk, site)
    with (
        desk.start("fetch", "--json", site.url("/gated?gate=peer")) as peer,
        desk.start("fetch", "--json", "--deadline", "100", site.url(FOR_WINDOW)) as walled,
    ):
        wait_for(lambda: site.asked("/gated") and site.asked("/wall"), 30)
        wait_for(lambda: browser(desk)["state"] == "challenge", 30)
        assert process_of_window(desk) is None  # who is at work comes first
        with desk.start("fetch", "--json", site.url("/page")) as late:
            site.gate("peer").set()
            assert document_of(peer)["title"] == "Gated"
            wait_for(lambda: process_of_window(desk), 40)
            found = process_of_window(desk)
            assert found is not None
            assert "remote-debugging" not in found.command
            assert "--proxy-server=socks5://127.0.0.1:" in found.command
            document = document_of(walled)
            assert document_of(late)["ok"]
    assert (document["ok"], document["title"], document["status"]) == (True, "Behind", 200)
    assert PASSED in document["facts"]
    assert "Behind the wall" in Path(document["bodies"][0]["path"]).read_text()
    assert not process.is_alive(found)
    assert_no_window(desk)
    # The cookie is the profile's now: no window the next time, not even after an end of everything.
    again = fetched(desk, site.url(FOR_WINDOW))
    assert (again["ok"], PASSED in again["facts"]) == (True, False)
    assert desk("stop").status == 0
    assert PASSED not in fetched(desk, site.url(FOR_WINDOW))["facts"]


def test_a_wall_that_clears_by_itself_opens_no_window(desk: Command, site: Site, screen: Display) -> None:
    configure(desk, site, headless_wait=20)
    document = fetched(desk, site.url("/wall?header=1&clears=0.5"))
    assert (document["ok"], document["title"]) == (True, "Behind")
    assert not os.path.exists(os.path.join(desk.home.logs, "window.log"))


def test_a_wall_that_never_clears(desk: Command, site: Site, screen: Display) -> None:
    configure(desk, site, headed_wait=5)
    document = fetched(desk, site.url("/wall?header=1&a=b"))
    assert (document["error"]["code"], document["verdict"], document["status"]) == ("challenge", "challenge", 403)
    assert document["error"]["hint"].endswith(f"cdpfetch open-browser '{site.url('/wall?header=1&a=b')}'")
    assert note(document) == "the wall did not clear by itself, nor in a visible window within 5 s"
    assert os.path.exists(os.path.join(desk.home.logs, "window.log"))
    assert_no_window(desk)
    assert fetched(desk, site.url("/page"))["ok"]


def test_two_walls_at_once(desk: Command, site: Site, screen: Display) -> None:
    configure(desk, site)
    urls = [site.url(f"{FOR_WINDOW}&n={n}") for n in range(2)]
    ended = desk("fetch", "--json", "--deadline", "200", *urls)
    assert [document["title"] for document in ended.documents] == ["Behind", "Behind"], ended.out
    assert_no_window(desk)


def test_where_no_window_may_be(desk: Command, site: Site, screen: Display) -> None:
    configure(desk, site, more='escalation = "never"\n')
    assert "escalation" in note(fetched(desk, site.url(FOR_WINDOW)))
    assert desk("stop").status == 0

    configure(desk, site)
    document = fetched(desk, "--deadline", "5", site.url(FOR_WINDOW))
    assert "too little of the deadline" in note(document)
    assert desk("stop").status == 0

    desk.display = None
    document = fetched(desk, site.url(FOR_WINDOW))
    assert document["error"]["code"] == "challenge"
    assert "no display" in note(document)
    assert not os.path.exists(os.path.join(desk.home.logs, "window.log"))


def test_the_users_own_window_comes_first(desk: Command, site: Site, screen: Display) -> None:
    configure(desk, site)
    assert desk("open-browser").status == 0
    assert fetched(desk, site.url(FOR_WINDOW))["error"]["code"] == "interactive_open"
    assert desk("close-browser").status == 0


@pytest.mark.parametrize("phase", ["headless", "draining", "window"])
def test_a_fetch_at_a_wall_is_cancelled(phase: str, desk: Command, site: Site, screen: Display) -> None:
    configure(desk, site, headless_wait=30 if phase == "headless" else 0.5)
    with (
        desk.start("fetch", "--json", site.url("/gated?gate=" + phase)) as peer,
        desk.start("fetch", "--json", "--deadline", "100", site.url("/wall?header=1")) as walled,
    ):
        wait_for(lambda: site.asked("/gated") and site.asked("/wall"), 30)
        if phase != "headless":
            wait_for(lambda: browser(desk)["state"] == "challenge", 30)
        if phase == "window":
            site.gate(phase).set()
            wait_for(lambda: process_of_window(desk), 40)
        walled.send_signal(signal.SIGINT)
        walled.communicate(timeout=30)
        site.gate(phase).set()
        assert document_of(peer)["ok"]
    assert_no_window(desk)
    wait_for(lambda: browser(desk)["state"] != "challenge", 20)
    assert fetched(desk, site.url("/page"))["ok"]


def test_the_window_of_a_daemon_that_was_killed_is_closed(desk: Command, site: Site, screen: Display) -> None:
    configure(desk, site)
    with desk.start("fetch", "--json", "--deadline", "100", site.url("/wall?header=1")) as walled:
        wait_for(lambda: process_of_window(desk), 60)
        found = process_of_window(desk)
        assert found is not None
        killed = desk.daemon
        walled.kill()
        os.kill(killed.pid, signal.SIGKILL)
        walled.communicate(timeout=30)
    wait_for(lambda: not process.is_alive(killed))
    assert process.is_alive(found)
    assert fetched(desk, site.url("/page"))["ok"]
    assert not process.is_alive(found)
    assert_no_window(desk)


def test_a_window_that_somebody_closes_ends_the_wait(desk: Command, site: Site, screen: Display) -> None:
    configure(desk, site, headed_wait=80)
    with desk.start("fetch", "--json", "--deadline", "200", site.url("/wall?header=1")) as walled:
        wait_for(lambda: process_of_window(desk), 60)
        found = process_of_window(desk)
        assert found is not None
        wait_for(lambda: screen.hands("search", "--onlyvisible", "--pid", str(found.pid)), 30)
        os.kill(found.pid, signal.SIGINT)
        document = document_of(walled)
    assert note(document) == "the wall did not clear by itself, nor after a visible window"
