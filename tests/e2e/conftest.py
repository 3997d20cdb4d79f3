"""The command with a real daemon and a real Chrome, against a site on loopback."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import display
import leaks
import pytest
from commands import Command, end, process_of_window, wait_for
from display import Display
from testsite import Site, TlsSite

from cdpfetch import process


class HangUpSite(Site):
    """A site that can hang up on a browser that keeps its connections for later."""

    def __init__(self) -> None:
        super().__init__()
        self.connections: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.add(request)
        super().process_request(request, client_address)

    def hang_up(self) -> None:
        """End every connection; the threads that serve them close the sockets."""
        while self.connections:
            with contextlib.suppress(OSError):
                self.connections.pop().shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="session")
def shared_site() -> Iterator[HangUpSite]:
    with HangUpSite() as site:
        yield site


@pytest.fixture(autouse=True)
def no_leaks(shared_site: HangUpSite) -> Iterator[None]:
    """The leak check, for tests that share a site: it is started before the check looks."""
    before = leaks.snapshot()
    yield
    found = leaks.leaked(before)
    assert not found, "left behind: " + "; ".join(found)


@pytest.fixture
def site(shared_site: HangUpSite) -> Iterator[Site]:
    shared_site.requests.clear()
    yield shared_site
    shared_site.hang_up()


@pytest.fixture(scope="session")
def shared_command(chrome: str, shared_site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    """A command whose daemon goes on from test to test."""
    command = Command(tmp_path_factory.mktemp("shared") / "home", [shared_site.netloc])
    assert command("fetch", shared_site.url("/page")).status == 0
    yield command
    end(command)


@pytest.fixture
def command(shared_command: Command) -> Command:
    return shared_command


@pytest.fixture
def own(chrome: str, shared_site: Site, tmp_path: Path) -> Iterator[Command]:
    """A command with a cold home, whose daemon is gone after the test."""
    made = Command(tmp_path / "home", [shared_site.netloc])
    yield made
    end(made)


@pytest.fixture(scope="session")
def shared_tls_site() -> Iterator[TlsSite]:
    folder = Path(__file__).parents[1] / "fixtures" / "tls"
    with TlsSite(str(folder / "cert.pem"), str(folder / "key.pem")) as site:
        yield site


@pytest.fixture
def tls_site(shared_tls_site: TlsSite) -> TlsSite:
    shared_tls_site.requests.clear()
    return shared_tls_site


@pytest.fixture(scope="session")
def screen(chrome: str) -> Iterator[Display]:
    display.require()
    with Display() as made:
        yield made


@pytest.fixture
def desk(screen: Display, shared_site: Site, tmp_path: Path) -> Iterator[Command]:
    """A command with a cold home and a display; daemon and window are gone after the test."""
    made = Command(tmp_path / "home", [shared_site.netloc])
    made.display = screen.name
    shared_site.members.clear()
    yield made
    found = process_of_window(made)
    if found is not None:
        os.kill(found.pid, signal.SIGTERM)
        wait_for(lambda: not process.is_alive(found))
    end(made)
