"""Fixtures of the client's tests."""

import json
import os
import signal
import sys

import pytest

from cdpfetch import paths, process, starting, wire

STRANGER = 54321  # the number of another user
FAKE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fake_daemon.py")


class FakeHome:
    """A home whose daemons are scripted ones; what they noted can be read."""

    def __init__(self, root):
        self.root = str(root)
        self.home = paths.Home(self.root)

    def script(self, **behaviour):
        """How daemons that start from now on behave."""
        with open(os.path.join(self.root, "fake.json"), "w", encoding="utf-8") as file:
            json.dump(behaviour, file)

    def lines(self, name):
        try:
            with open(os.path.join(self.root, name), encoding="utf-8") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    @property
    def starts(self):
        return [int(line) for line in self.lines("starts")]

    @property
    def requests(self):
        return [json.loads(line) for line in self.lines("requests")]


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """A home with scripted daemons, which are gone when the test is."""
    home = FakeHome(tmp_path / "h")
    os.mkdir(home.root, 0o700)
    monkeypatch.setattr(starting, "daemon_command", lambda: [sys.executable, "-S", FAKE, "cdpfetch.daemon"])
    monkeypatch.setenv("CDPFETCH_HOME", home.root)
    yield home
    for name in ("starts", "browser"):
        for line in home.lines(name):
            pid = int(line)
            command = process.command_line(pid)
            if "fake_daemon" in command or "--remote-debugging-pipe" in command:
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def short_silence(monkeypatch):
    """A wedged daemon is noticed within half a second."""
    monkeypatch.setattr(wire, "SILENCE", 0.5)


@pytest.fixture
def foreign(monkeypatch):
    """Makes something another user's: for real where this user may, else by being somebody else."""

    def change(path):
        if os.geteuid() == 0:
            os.chown(path, STRANGER, STRANGER, follow_symlinks=False)
        else:
            monkeypatch.setattr(os, "getuid", lambda: STRANGER)

    return change
