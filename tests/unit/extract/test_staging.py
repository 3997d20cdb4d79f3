"""What goes into a worker's folder and what comes out of it, even when the worker has been taken over."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from cdpfetch.errors import InvalidRequest
from cdpfetch.extract.staging import Staging


@pytest.fixture
def staging(tmp_path: Path) -> Staging:
    (tmp_path / "root").mkdir()
    (tmp_path / "draft").mkdir()
    return Staging(str(tmp_path / "root"))


@pytest.fixture(params=["linked", "copied"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of moving a file: on one file system, and to another one."""

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EXDEV, "another file system")

    if request.param == "copied":
        monkeypatch.setattr(os, "link", refuse)
        real = os.replace
        monkeypatch.setattr(os, "replace", lambda a, b: refuse() if "/root/out/" in str(a) else real(a, b))
    return str(request.param)


def answer(name: str = "content.md", role: str = "content") -> dict[str, Any]:
    return {"content": {"name": name, "role": role}, "bodies": []}


async def test_a_job_sees_its_file_and_gives_its_bodies(staging: Staging, tmp_path: Path, way: str) -> None:
    (tmp_path / "draft" / "a.pdf").write_bytes(b"pdf")
    job = {"path": str(tmp_path / "draft" / "a.pdf"), "out_dir": str(tmp_path / "draft"), "op": "file"}
    staged = await staging.put(job)
    root = tmp_path / "root"
    assert staged == {"path": str(root / "in" / "a.pdf"), "out_dir": str(root / "out"), "op": "file"}
    assert (root / "in" / "a.pdf").read_bytes() == b"pdf"
    assert os.stat(job["path"]).st_nlink == (2 if way == "linked" else 1)
    staging.release()
    assert os.stat(job["path"]).st_nlink == 1
    (root / "out" / "content.md").write_text("text")
    await staging.take(answer(), job["out_dir"])
    assert (tmp_path / "draft" / "content.md").read_text() == "text"
    assert sorted(os.listdir(tmp_path / "draft")) == ["a.pdf", "content.md"]
    assert list((root / "out").iterdir()) == []


@pytest.mark.parametrize("name", ["../draft/content.md", "/etc/passwd", "..", "", "in/x"])
async def test_a_name_is_a_name(staging: Staging, tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="names a body"):
        await staging.take(answer(name), str(tmp_path / "draft"))
    assert os.listdir(tmp_path / "draft") == []


@pytest.mark.parametrize("kind", ["symlink", "link", "fifo", "directory"])
async def test_only_files_of_its_own_are_taken(staging: Staging, tmp_path: Path, kind: str) -> None:
    secret, planted = tmp_path / "secret", tmp_path / "root" / "out" / "content.md"
    secret.write_text("very-secret")
    make = {"symlink": os.symlink, "link": os.link, "fifo": lambda _, to: os.mkfifo(to)}
    make.get(kind, lambda _, to: os.mkdir(to))(secret, planted)
    with pytest.raises((InvalidRequest, OSError)):
        await staging.take(answer(), str(tmp_path / "draft"))
    assert os.listdir(tmp_path / "draft") == []


@pytest.mark.parametrize(("name", "role"), [("page.html", "content"), ("a.pdf", "original"), ("metadata.json", "text")])
async def test_what_others_have_written_is_not_replaced(staging: Staging, tmp_path: Path, name: str, role: str) -> None:
    (tmp_path / "draft" / name).write_text("first")
    (tmp_path / "root" / "out" / name).write_text("second")
    with pytest.raises(FileExistsError):
        await staging.take(answer(name, role), str(tmp_path / "draft"))
    assert (tmp_path / "draft" / name).read_text() == "first"


@pytest.mark.parametrize("kind", ["fifo", "directory", "none"])
async def test_an_input_is_a_file(staging: Staging, tmp_path: Path, kind: str) -> None:
    source = tmp_path / "source"
    {"fifo": os.mkfifo, "directory": os.mkdir, "none": lambda _: None}[kind](source)
    with pytest.raises(OSError, match=r"not a regular file|No such file"):
        await staging.put({"path": str(source), "out_dir": str(tmp_path)})
