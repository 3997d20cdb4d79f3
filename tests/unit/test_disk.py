"""Places that somebody else has prepared: links, names that are taken, disks that are nearly full."""

import errno
import hashlib
import os
import stat
import subprocess
import sys

import pytest

from cdpfetch import artifacts, disk
from cdpfetch.daemon.assembly import _take_file
from cdpfetch.errors import CdpFetchError, InvalidRequest
from cdpfetch.extract.result import Extraction, content_body

ID = "example.com-hello-0123abcd"


@pytest.fixture
def victim(tmp_path):
    """A directory that nothing may be written into."""
    place = tmp_path / "victim"
    place.mkdir()
    (place / "metadata.json").write_text("mine")
    yield place
    assert os.listdir(place) == ["metadata.json"]
    assert (place / "metadata.json").read_text() == "mine"


def commit(root):
    with artifacts.Draft(str(root), ID) as draft:
        draft.write("content.md", "content", "# Hi\n", "text/markdown")
        return draft.commit(artifacts.new_document("https://example.com/hello"))


def test_a_link_of_ours_to_a_directory_is_a_legitimate_output(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")
    document = commit(tmp_path / "out")
    assert document["dir"] == str(tmp_path / "out" / ID)
    assert (tmp_path / "real" / ID / "content.md").read_text() == "# Hi\n"


@pytest.mark.parametrize("where", ["out", "out/deep", "out/deep/deeper"])
def test_a_foreign_link_at_the_output_or_above_it_is_refused(tmp_path, victim, foreign, where):
    (tmp_path / "out").symlink_to(victim)
    foreign(tmp_path / "out")
    with pytest.raises(InvalidRequest, match=r"out is a symbolic link of user \d+"):
        commit(tmp_path / where)


def test_a_foreign_link_behind_a_link_of_ours_is_refused(tmp_path, victim, foreign):
    (tmp_path / "theirs").symlink_to(victim)
    foreign(tmp_path / "theirs")
    (tmp_path / "out").symlink_to("./theirs/../theirs")
    with pytest.raises(InvalidRequest, match="theirs is a symbolic link"):
        commit(tmp_path / "out")


def test_a_directory_in_which_anybody_may_rename_is_refused_and_a_sticky_one_is_not(tmp_path):
    (tmp_path / "open").mkdir()
    os.chmod(tmp_path / "open", 0o777)
    with pytest.raises(InvalidRequest, match="any user may replace"):
        commit(tmp_path / "open")
    assert stat.S_IMODE(os.stat(tmp_path / "open").st_mode) == 0o777  # refused, not repaired
    os.chmod(tmp_path / "open", 0o1777)
    assert commit(tmp_path / "open")["bodies"]


def test_a_circle_of_links_ends(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(CdpFetchError):
        commit(tmp_path / "a")


@pytest.mark.parametrize("kind", ["link", "dangling", "file", "directory"])
def test_what_stands_at_the_final_name_is_not_replaced(tmp_path, victim, kind):
    final = tmp_path / "out" / ID
    (tmp_path / "out").mkdir()
    if kind == "link":
        final.symlink_to(victim)
    elif kind == "dangling":
        final.symlink_to(tmp_path / "nowhere")
    elif kind == "file":
        final.write_text("mine")
    else:
        final.mkdir()
    before = os.lstat(final)
    with pytest.raises(CdpFetchError):
        commit(tmp_path / "out")
    assert os.path.samestat(before, os.lstat(final))
    assert os.listdir(tmp_path / "out") == [ID]


def test_renaming_replaces_nothing_where_the_system_has_no_call_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "_rename_exclusively", lambda source, target: False)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with pytest.raises(FileExistsError):
        disk.rename_new(str(tmp_path / "a"), str(tmp_path / "b"))
    disk.rename_new(str(tmp_path / "a"), str(tmp_path / "c"))
    assert sorted(os.listdir(tmp_path)) == ["b", "c"]


@pytest.mark.parametrize("name", ["content.md", "metadata.json", "text.txt"])
@pytest.mark.parametrize("hard", [False, True])
def test_a_link_planted_at_a_bodys_name_is_not_followed(tmp_path, name, hard):
    target = tmp_path / "target"
    target.write_text("mine")
    with artifacts.Draft(str(tmp_path / "out"), ID) as draft:
        planted = os.path.join(draft.path, name)
        os.link(target, planted) if hard else os.symlink(target, planted)
        path = draft.write(name, "content", "theirs", "text/markdown")
        assert path != planted
        with pytest.raises(CdpFetchError):
            draft.add(planted, "content", None)
        if name == "metadata.json":
            with pytest.raises(CdpFetchError):
                draft.commit(artifacts.new_document("https://example.com/"))
    assert target.read_text() == "mine"


@pytest.mark.parametrize("hard", [False, True])
def test_the_worker_follows_no_link_either(tmp_path, hard):
    target = tmp_path / "target"
    target.write_text("mine")
    out = tmp_path / "out"
    out.mkdir()
    os.link(target, out / "content.md") if hard else os.symlink(target, out / "content.md")
    with pytest.raises((OSError, InvalidRequest)):
        Extraction(content_body("theirs")).save(str(out))
    assert target.read_text() == "mine"


@pytest.mark.parametrize("step", ["write", "add", "commit"])
def test_an_incoming_directory_that_was_swapped_is_noticed(tmp_path, victim, step):
    draft = artifacts.Draft(str(tmp_path / "out"), ID)
    os.rename(draft.path, tmp_path / "away")
    os.symlink(victim, draft.path)
    with pytest.raises(InvalidRequest, match="was replaced"):
        if step == "write":
            draft.write("content.md", "content", "x", None)
        elif step == "add":
            draft.add(os.path.join(draft.path, "metadata.json"), "original", None)
        else:
            draft.commit(artifacts.new_document("https://example.com/"))
    draft.discard()


def test_a_download_is_moved_with_its_hash(tmp_path):
    (tmp_path / "guid").write_bytes(b"abc")
    size, digest = _take_file(str(tmp_path / "guid"), str(tmp_path / "name"))
    assert (size, digest) == (3, hashlib.sha256(b"abc").hexdigest())
    assert os.listdir(tmp_path) == ["name"]


def test_a_download_is_copied_where_it_cannot_be_linked(tmp_path, monkeypatch):
    def fail(*_args, **_keywords):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr(os, "link", fail)
    (tmp_path / "guid").write_bytes(b"abc")
    _take_file(str(tmp_path / "guid"), str(tmp_path / "name"))
    assert (tmp_path / "name").read_bytes() == b"abc"
    assert stat.S_IMODE(os.stat(tmp_path / "name").st_mode) == 0o600
    (tmp_path / "guid").write_bytes(b"other")
    with pytest.raises(FileExistsError):
        _take_file(str(tmp_path / "guid"), str(tmp_path / "name"))
    assert (tmp_path / "name").read_bytes() == b"abc"


@pytest.mark.parametrize("kind", ["symlink", "hard link", "directory", "fifo"])
def test_a_download_that_is_no_plain_file_is_refused(tmp_path, kind):
    secret = tmp_path / "secret"
    secret.write_text("mine")
    source = tmp_path / "guid"
    if kind == "symlink":
        source.symlink_to(secret)
    elif kind == "hard link":
        os.link(secret, source)
    elif kind == "directory":
        source.mkdir()
    else:
        os.mkfifo(source)
    with pytest.raises((OSError, InvalidRequest)):
        _take_file(str(source), str(tmp_path / "name"))
    assert not os.path.lexists(tmp_path / "name")
    assert secret.read_text() == "mine"


def test_a_link_is_not_even_opened(tmp_path):
    (tmp_path / "secret").write_text("mine")
    (tmp_path / "guid").symlink_to("secret")
    with pytest.raises(OSError) as caught:
        disk.open_regular(str(tmp_path / "guid"))
    assert caught.value.errno == errno.ELOOP


@pytest.mark.parametrize("kind", ["symlink", "dangling", "file"])
def test_a_download_overwrites_nothing(tmp_path, kind):
    (tmp_path / "guid").write_bytes(b"abc")
    target = tmp_path / "name"
    if kind == "file":
        target.write_text("mine")
    else:
        (tmp_path / "mine").write_text("mine") if kind == "symlink" else None
        target.symlink_to(tmp_path / "mine")
    with pytest.raises(FileExistsError):
        _take_file(str(tmp_path / "guid"), str(target))
    assert (tmp_path / "guid").read_bytes() == b"abc"
    assert kind == "dangling" or target.read_text() == "mine"


class Full:
    """What statvfs says of a disk with little space."""

    def __init__(self, free):
        self.f_bavail, self.f_frsize = free // 4096, 4096


def test_little_space_refuses_before_anything_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "statvfs", lambda path: Full(50_000_000))
    with pytest.raises(CdpFetchError) as caught:
        artifacts.Draft(str(tmp_path / "deep" / "out"), ID, 100_000_000)
    assert caught.value.code == "disk_full"
    assert "49 MB" in caught.value.reason
    assert "min_free_mb asks for 100" in caught.value.reason
    assert os.listdir(tmp_path) == []
    artifacts.Draft(str(tmp_path / "out"), ID, 0).discard()


def test_little_space_refuses_to_commit(tmp_path, monkeypatch):
    with artifacts.Draft(str(tmp_path), ID, 100_000_000) as draft:
        draft.write("content.md", "content", "x", None)
        monkeypatch.setattr(os, "statvfs", lambda path: Full(99_000_000))
        with pytest.raises(CdpFetchError, match="98 MB"):
            draft.commit(artifacts.new_document("https://example.com/"))
    assert os.listdir(tmp_path) == []


def test_a_lost_race_cannot_plant_a_link(tmp_path):
    """The exclusive rename is one step: it fails although the name was free a moment before."""
    script = "import sys; from cdpfetch import disk; disk.rename_new(*sys.argv[1:])"
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to(tmp_path / "nowhere")
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "a", tmp_path / "b"], capture_output=True, check=False
    )
    assert b"FileExistsError" in done.stderr
