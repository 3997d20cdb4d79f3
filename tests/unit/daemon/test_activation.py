"""The listening socket that a service manager passes, and what it is told."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdpfetch import paths
from cdpfetch.daemon import activation
from cdpfetch.daemon.lock import InstanceLock


@pytest.fixture
def passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """A listening socket as systemd would pass it: its path, and its descriptor."""
    path = str(tmp_path / "daemon.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        fd = os.dup(listener.fileno())
        os.set_inheritable(fd, True)
        monkeypatch.setattr(activation, "FIRST_FD", fd)
        yield path, fd


def environment(**more: str) -> dict[str, str]:
    return {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1", "LISTEN_FDNAMES": "x", "PATH": "/bin", **more}


def test_the_passed_socket_is_taken(passed: tuple[str, int]) -> None:
    path, fd = passed
    environ = environment()
    found = activation.listener(path, environ)
    assert found is not None
    with found:
        assert found.fileno() == fd
        assert not os.get_inheritable(fd)
        assert found.getblocking() is False
        assert environ == {"PATH": "/bin"}
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            found.accept()[0].close()


def test_variables_for_another_process_are_not_ours(passed: tuple[str, int]) -> None:
    path, fd = passed
    assert activation.listener(path, environment(LISTEN_PID="1")) is None
    assert activation.listener(path, environment(LISTEN_FDS="many")) is None
    assert activation.listener(path, {}) is None
    os.close(fd)
    assert activation.listener(path, environment()) is None


def test_a_socket_of_another_place_is_closed(passed: tuple[str, int]) -> None:
    path, fd = passed
    assert activation.listener(path + "-other", environment()) is None
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


@pytest.mark.parametrize("abstract", [False, True])
def test_systemd_hears_that_we_are_ready(tmp_path: Path, abstract: bool) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        name = f"@cdpfetch-test-{os.getpid()}" if abstract else str(tmp_path / "ear")
        ear.bind("\0" + name[1:] if abstract else name)
        assert activation.notify("READY=1", {"NOTIFY_SOCKET": name})
        assert ear.recv(100) == b"READY=1"


def test_nobody_to_tell_is_no_failure(tmp_path: Path) -> None:
    assert not activation.notify("READY=1", {})
    assert not activation.notify("READY=1", {"NOTIFY_SOCKET": "vsock:2:1"})
    assert not activation.notify("READY=1", {"NOTIFY_SOCKET": str(tmp_path / "gone")})


def test_the_managers_socket_file_is_left_to_it(tmp_path: Path) -> None:
    home = paths.Home(str(tmp_path))
    lock = InstanceLock(home)
    lock.acquire()
    lock.write_pidfile("0")
    Path(home.socket).touch()
    lock.release()
    assert os.path.exists(home.socket)
    assert not os.path.exists(home.pidfile)
