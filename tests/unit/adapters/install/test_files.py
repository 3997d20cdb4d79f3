"""Settings on disk: what they were is kept, the mode and the link stay, and nothing is half written."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from cdpfetch.adapters.install import files
from cdpfetch.errors import CdpFetchError, InvalidRequest


def replaced(path: Path, data: bytes) -> str | None:
    return files.replace(files.read(str(path)), data)


def test_a_new_file_is_private_and_has_no_copy(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "mcp.json"
    assert replaced(path, b"new") is None
    assert path.read_bytes() == b"new" and path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(path.parent) == ["mcp.json"]
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_what_was_there_is_kept_under_a_name_of_its_own_each_time(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"1")
    path.chmod(0o640)
    copies = [replaced(path, data) for data in (b"2", b"3", b"4")]
    assert [Path(copy or "").read_bytes() for copy in copies] == [b"1", b"2", b"3"]
    assert all(re.fullmatch(r".*/a\.json\.bak-\d{8}-\d{6}(\.\d)?", copy or "") for copy in copies)
    assert {one.stat().st_mode & 0o777 for one in tmp_path.iterdir()} == {0o640}
    assert len(os.listdir(tmp_path)) == 4


def test_a_link_stays_and_its_file_changes(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    real, link = tmp_path / "dotfiles" / "real.json", tmp_path / "link.json"
    real.write_bytes(b"1")
    link.symlink_to(real)
    copy = replaced(link, b"2")
    assert link.is_symlink() and real.read_bytes() == b"2"
    assert Path(copy or "").parent == real.parent


def test_somebody_elses_link_is_not_followed(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can make another user's link")
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "real.json")
    os.lchown(link, 12345, 12345)
    with pytest.raises(InvalidRequest, match="symbolic link of user 12345"):
        files.read(str(link))


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(InvalidRequest, match="not a regular file"):
        files.read(str(tmp_path / "fifo"))
    with pytest.raises(InvalidRequest, match="not a regular file"):
        files.read(str(tmp_path))


def test_what_another_program_wrote_meanwhile_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"1")
    found = files.read(str(path))
    path.write_bytes(b"theirs")
    with pytest.raises(InvalidRequest, match="changed by another program"):
        files.replace(found, b"2")
    assert path.read_bytes() == b"theirs"
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".new")]


def test_a_text_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(InvalidRequest, match="not in UTF-8"):
        _ = files.read(str(tmp_path / "a.json")).text


def test_what_the_system_refuses_names_the_path(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(CdpFetchError, match=r"cannot read .*/a/b\.json: Not a directory"):
        files.read(str(tmp_path / "a" / "b.json"))


def test_removing_says_whether_there_was_something(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    assert files.remove(str(tmp_path / "a"))
    assert not files.remove(str(tmp_path / "a"))
