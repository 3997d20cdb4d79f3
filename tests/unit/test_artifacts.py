"""Documents on disk: what is written, what is found again, and what a crash or a full disk leaves."""

import errno
import json
import os
import stat

import pytest

from cdpfetch import artifacts
from cdpfetch.errors import CdpFetchError

ID = "example.com-hello-0123abcd"


def commit(root, fetch_id=ID, *, index_root=None, text="# Hi\n\nfirst\nlast"):
    with artifacts.Draft(str(root), fetch_id) as draft:
        draft.write("content.md", "content", text, "text/markdown")
        document = {**artifacts.new_document("https://example.com/hello"), "ok": True}
        return draft.commit(document, index_root=str(index_root) if index_root else None)


@pytest.mark.parametrize(
    ("url", "slug"),
    [
        ("https://example.com/plain-hello", "example.com-plain-hello"),
        ("https://user:secret@Example.com/a/b/Report%20final.PDF?x=1#y", "example.com-report-20final.pdf"),
        ("http://127.0.0.1:8700/case/x/", "127.0.0.1-8700-x"),
        ("http://[::1]/", "1"),
        ("https://bücher.example/ä/ö", "b-cher.example"),
        ("https://e.example/..", "e.example"),
        ("", "document"),
        ("https://h.example/" + "long" * 100, ("h.example-" + "long" * 100)[:60]),
    ],
)
def test_an_id_names_host_and_last_segment(url, slug):
    fetch_id = artifacts.new_fetch_id(url)
    assert fetch_id[:-9] == slug
    assert artifacts.is_fetch_id(fetch_id)
    assert len(fetch_id) <= 69


def test_ids_differ():
    assert len({artifacts.new_fetch_id("https://a.example/") for _ in range(500)}) == 500


@pytest.mark.parametrize(
    "text", ["", ".", "..", "../etc-12345678", "a/b-12345678", "A-12345678", "a-1234", "-12345678"]
)
def test_other_texts_are_no_ids(text):
    assert not artifacts.is_fetch_id(text)


def test_a_committed_document_is_whole_and_private(tmp_path):
    document = commit(tmp_path / "deep" / "out")
    directory = tmp_path / "deep" / "out" / ID
    assert document["dir"] == str(directory)
    assert document["bodies"] == [
        {
            "name": "content.md",
            "path": str(directory / "content.md"),
            "role": "content",
            "content_type": "text/markdown",
            "lines": 4,
            "bytes": 16,
        }
    ]
    assert json.loads((directory / "metadata.json").read_text()) == document
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / "content.md").stat().st_mode) == 0o600
    assert os.listdir(directory.parent) == [ID]


def test_leaving_without_commit_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError), artifacts.Draft(str(tmp_path), ID) as draft:
        draft.write("content.md", "content", "x", None)
        raise RuntimeError
    assert os.listdir(tmp_path) == []
    draft.discard()


def test_lines_are_counted_for_text_only(tmp_path):
    with artifacts.Draft(str(tmp_path), ID) as draft:
        draft.write("data.csv", "original", b"a\nb\n", "text/csv")
        draft.write("api.json", "original", b"{}", "application/problem+json")
        draft.write("pixel.png", "original", b"\n\n\n", "image/png")
        draft.write("text.txt", "text", "", "text/plain")
        document = draft.commit(artifacts.new_document("https://example.com/"))
    assert [body["lines"] for body in document["bodies"]] == [2, 1, None, 0]


@pytest.mark.parametrize(
    ("name", "role", "given"),
    [
        ("content.md", "content", "content.md"),
        ("content.md", "original", "content-2.md"),
        ("Content.MD", "original", "Content-2.MD"),
        ("page.html", "original", "page-2.html"),
        ("metadata.json", "original", "metadata-2.json"),
        ("metadata.json", "content", "metadata-2.json"),
        ("../../etc/passwd", "original", "passwd"),
        ("..", "original", "download"),
    ],
)
def test_names_are_safe_and_owned(tmp_path, name, role, given):
    with artifacts.Draft(str(tmp_path), ID) as draft:
        assert draft.reserve(name, role) == os.path.join(draft.path, given)


def test_names_never_collide(tmp_path):
    with artifacts.Draft(str(tmp_path), ID) as draft:
        os.symlink("/etc/passwd", os.path.join(draft.path, "c.pdf"))
        names = [os.path.basename(draft.reserve(name)) for name in ("a.pdf", "A.pdf", "a.pdf", "c.pdf")]
    assert names == ["a.pdf", "A-2.pdf", "a-3.pdf", "c-2.pdf"]


def test_only_regular_files_inside_become_bodies(tmp_path):
    outside = tmp_path / "secret"
    outside.write_text("s")
    with artifacts.Draft(str(tmp_path / "out"), ID) as draft:
        link = os.path.join(draft.path, "link")
        os.symlink(outside, link)
        for path in (str(outside), link, os.path.join(draft.path, "..", "..", "secret")):
            with pytest.raises(CdpFetchError) as caught:
                draft.add(path, "original", None)
            assert caught.value.code == "invalid_request"


def test_a_body_can_be_added_once_and_removed(tmp_path):
    with artifacts.Draft(str(tmp_path), ID) as draft:
        path = draft.reserve("a.bin")
        with open(path, "wb") as file:
            file.write(b"12345")
        draft.add(path, "original", "application/octet-stream")
        draft.add(path, "original", "application/pdf")
        draft.write("content.md", "content", "x", "text/markdown")
        draft.remove("content")
        document = draft.commit(artifacts.new_document("https://example.com/"))
    assert [(body["name"], body["bytes"]) for body in document["bodies"]] == [("a.bin", 5)]
    assert sorted(os.listdir(document["dir"])) == ["a.bin", "metadata.json"]


def test_a_document_elsewhere_is_found_by_its_pointer(tmp_path):
    index = tmp_path / "index"
    commit(tmp_path / "out", index_root=index)
    assert os.listdir(index) == [ID + ".ref"]
    assert artifacts.locate(str(index), ID) == str(tmp_path / "out" / ID)
    assert artifacts.load(str(index), ID)["url"] == "https://example.com/hello"


def test_no_pointer_when_the_index_is_the_place(tmp_path):
    commit(tmp_path, index_root=tmp_path)
    assert os.listdir(tmp_path) == [ID]


def test_a_pointer_can_only_name_a_document_of_its_id(tmp_path):
    commit(tmp_path / "out")
    (tmp_path / "other-0123abcd.ref").write_text(str(tmp_path / "out" / ID) + "\n")
    with pytest.raises(CdpFetchError):
        artifacts.locate(str(tmp_path), "other-0123abcd")


def test_load_gives_the_paths_of_today(tmp_path):
    commit(tmp_path / "a")
    os.rename(tmp_path / "a", tmp_path / "b")
    document = artifacts.load(str(tmp_path / "b"), ID)
    assert document["dir"] == str(tmp_path / "b" / ID)
    assert document["bodies"][0]["path"] == str(tmp_path / "b" / ID / "content.md")


@pytest.mark.parametrize("wrong", ["../secret", "nothing-00000000", "x", ".incoming-" + ID])
def test_an_unknown_id_is_explained(tmp_path, wrong):
    commit(tmp_path)
    with pytest.raises(CdpFetchError) as caught:
        artifacts.load(str(tmp_path), wrong)
    assert caught.value.code == "invalid_request"
    assert wrong in caught.value.reason
    assert ID in (caught.value.hint or "")


def test_half_a_document_is_no_document(tmp_path):
    os.mkdir(tmp_path / ID)
    (tmp_path / ID / "content.md").write_text("half")
    with pytest.raises(CdpFetchError):
        artifacts.locate(str(tmp_path), ID)


@pytest.mark.parametrize("damage", ["{", "[]", "{}", '{"bodies": 1}'])
def test_damaged_metadata_is_an_error_of_ours(tmp_path, damage):
    commit(tmp_path)
    (tmp_path / ID / "metadata.json").write_text(damage)
    with pytest.raises(CdpFetchError) as caught:
        artifacts.load(str(tmp_path), ID)
    assert caught.value.code == "invalid_request"


@pytest.mark.parametrize("below", ["", "sub", "sub/sub"])
def test_a_file_as_directory_is_refused(tmp_path, below):
    blocker = tmp_path / "file"
    blocker.write_text("mine")
    with pytest.raises(CdpFetchError) as caught:
        artifacts.Draft(os.path.join(blocker, below), ID)
    assert caught.value.code == "invalid_request"
    assert f"{blocker} is not a directory" in caught.value.reason
    assert blocker.read_text() == "mine"


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, "disk_full"),
        (errno.EDQUOT, "disk_full"),
        (errno.EROFS, "invalid_request"),
        (errno.EACCES, "invalid_request"),
    ],
)
def test_a_place_that_fails_is_told(tmp_path, monkeypatch, number, code):
    def fail(*_args, **_keywords):
        raise OSError(number, os.strerror(number))

    draft = artifacts.Draft(str(tmp_path), ID)
    monkeypatch.setattr(os, "open", fail)
    with pytest.raises(CdpFetchError) as caught:
        draft.write("content.md", "content", "x", None)
    assert caught.value.code == code
    assert caught.value.hint
    with pytest.raises(CdpFetchError) as caught:
        draft.commit(artifacts.new_document("https://example.com/"))
    assert caught.value.code == code
    monkeypatch.undo()
    draft.discard()
    assert os.listdir(tmp_path) == []


def test_a_full_device_is_disk_full(tmp_path):
    with artifacts.Draft(str(tmp_path), ID) as draft:
        path = draft.reserve("x")
        assert artifacts.write_error(path, OSError(errno.ENOSPC, "No space left on device")).code == "disk_full"


def test_lone_surrogates_do_not_stop_a_document(tmp_path):
    with artifacts.Draft(str(tmp_path), ID) as draft:
        draft.write("content.md", "content", "a\ud800b", "text/markdown")
        draft.commit({**artifacts.new_document("https://example.com/"), "title": "\udfff"})
    assert os.path.isfile(tmp_path / ID / "metadata.json")
