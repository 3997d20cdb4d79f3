"""Directories and files that only we may use: what is not ours is refused and left as it is."""

import logging
import os
import socket
import stat
import subprocess
import sys
import tempfile

import pytest

from cdpfetch import paths, starting
from cdpfetch.daemon.__main__ import set_up_log
from cdpfetch.daemon.lock import InstanceLock
from cdpfetch.errors import CdpFetchError

STRANGER = 54321


@pytest.fixture
def home(tmp_path):
    made = paths.Home(str(tmp_path / "h"))
    for directory in (made.root, made.run, made.logs):
        paths.ensure_private_dir(directory)
    return made


def lock(home):
    made = InstanceLock(home)
    try:
        made.acquire()
        made.write_pidfile("0")
    finally:
        made.release()


def start_lock(home):
    with starting._start_lock(home, 0.0):
        pass


def log(home):
    logger = logging.getLogger()
    handlers, level = list(logger.handlers), logger.level
    try:
        set_up_log(home, False)
        logging.getLogger("cdpfetch.test").warning("a line")
    finally:
        for handler in set(logger.handlers) - set(handlers):
            logger.removeHandler(handler)
            handler.close()
        logger.setLevel(level)


FILES = [("lock", lock), ("pidfile", lock), ("start_lock", start_lock), ("log", log)]


def path_of(home, name):
    return getattr(home, name) + (".new" if name == "pidfile" else "")


def test_a_wide_directory_of_ours_is_narrowed(tmp_path):
    (tmp_path / "wide").mkdir(mode=0o777)
    os.chmod(tmp_path / "wide", 0o777)
    paths.ensure_private_dir(str(tmp_path / "wide"))
    assert stat.S_IMODE(os.stat(tmp_path / "wide").st_mode) == 0o700


def test_a_foreign_directory_is_refused_and_stays_as_it_is(tmp_path, foreign):
    place = tmp_path / "theirs"
    place.mkdir()
    os.chmod(place, 0o777)
    foreign(place)
    before = os.stat(place)
    with pytest.raises(CdpFetchError, match="belongs to user") as caught:
        paths.ensure_private_dir(str(place))
    assert caught.value.code == "config_error"
    after = os.stat(place)
    assert (after.st_uid, after.st_mode) == (before.st_uid, before.st_mode)


def test_a_link_in_place_of_a_directory_is_refused(tmp_path):
    (tmp_path / "real").mkdir()
    os.chmod(tmp_path / "real", 0o755)
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(CdpFetchError):
        paths.ensure_private_dir(str(tmp_path / "link"))
    assert stat.S_IMODE(os.stat(tmp_path / "real").st_mode) == 0o755


@pytest.mark.parametrize(("name", "use"), FILES)
def test_our_files_are_made_private(home, name, use):
    old = os.umask(0)
    try:
        use(home)
    finally:
        os.umask(old)
    if name != "pidfile":
        assert stat.S_IMODE(os.stat(getattr(home, name)).st_mode) == 0o600


@pytest.mark.parametrize("kind", ["symlink", "hard link", "fifo", "directory"])
@pytest.mark.parametrize(("name", "use"), FILES)
def test_what_is_planted_at_their_names_is_refused(home, tmp_path, name, use, kind):
    target = tmp_path / "target"
    target.write_text("precious")
    path = path_of(home, name)
    if kind == "symlink":
        os.symlink(target, path)
    elif kind == "hard link":
        os.link(target, path)
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        os.mkdir(path)
    with pytest.raises(CdpFetchError) as caught:
        use(home)
    assert caught.value.code == "config_error"
    assert target.read_text() == "precious"
    assert os.path.lexists(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
@pytest.mark.parametrize(("name", "use"), FILES)
def test_a_file_of_another_user_is_refused(home, foreign, name, use):
    path = path_of(home, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("theirs")
    foreign(path)
    with pytest.raises(CdpFetchError, match="not a plain file of ours"):
        use(home)
    with open(path, encoding="utf-8") as file:
        assert file.read() == "theirs"
    assert os.stat(path).st_uid == STRANGER


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a socket to another user")
def test_a_socket_of_another_user_is_not_removed(home, foreign):
    with socket.socket(socket.AF_UNIX) as theirs:
        theirs.bind(home.socket)
    foreign(home.socket)
    made = InstanceLock(home)
    made.acquire()
    try:
        with pytest.raises(CdpFetchError, match="not a socket of ours"):
            made.bind()
        assert os.path.exists(home.socket)
    finally:
        made.release()


_CLIENT = """
import os, socket, sys
os.setgid({uid}); os.setuid({uid})
with socket.socket(socket.AF_UNIX) as s:
    s.settimeout(10)
    s.connect({path!r})
    print(len(s.recv(100)))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
@pytest.mark.parametrize(("uid", "served"), [(STRANGER, False), (os.getuid(), True)])
async def test_another_user_is_hung_up_on_even_where_the_socket_is_open_to_all(uid, served):
    import asyncio

    from cdpfetch.daemon.server import Server

    async def handle(client, message):
        raise AssertionError(message)

    place = tempfile.mkdtemp()
    path = os.path.join(place, "s")
    server = Server(handle, "0")
    listener = socket.socket(socket.AF_UNIX)
    try:
        os.chmod(place, 0o777)
        listener.bind(path)
        os.chmod(path, 0o666)
        listener.listen()
        listener.setblocking(False)
        await server.start(listener)
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-c", _CLIENT.format(uid=uid, path=path), stdout=subprocess.PIPE
        )
        out, _ = await child.communicate()
        assert child.returncode == 0
        assert (int(out) > 0) is served
    finally:
        await server.close()
        listener.close()
        os.unlink(path)
        os.rmdir(place)
