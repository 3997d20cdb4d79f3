"""Whose a connection is."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator

import pytest

from cdpfetch.daemon.guard import owner
from cdpfetch.daemon.guard.owner import Ends, can_tell, uid_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whose a TCP connection is")


@pytest.fixture
def ends() -> Iterator[Ends]:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as client:
        accepted, peer = listener.accept()
        with accepted:
            assert peer == client.getsockname()
            yield Ends(peer, accepted.getsockname())


def test_the_kernel_tells(ends: Ends) -> None:
    assert uid_of(ends) == os.geteuid()


def test_the_table_tells_the_same(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, "_SOCK_DIAG", 9999)  # no such netlink family
    assert uid_of(ends) == os.geteuid()


def test_a_socket_that_does_not_exist_is_nobodys(ends: Ends) -> None:
    assert uid_of(Ends(("127.0.0.1", 1), ends.other)) is None


def test_where_nothing_tells_nothing_is_told(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, "_PLATFORM", "plan9")
    assert uid_of(ends) is None


def test_whether_it_can_be_told_is_tried() -> None:
    assert can_tell(uid_of) is True
    assert can_tell(lambda ends: None) is False


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
def test_another_user_is_seen() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        os.seteuid(65534)
        try:
            client = socket.create_connection(listener.getsockname())
        finally:
            os.seteuid(0)
        with client:
            accepted, peer = listener.accept()
            with accepted:
                assert uid_of(Ends(peer, accepted.getsockname())) == 65534
