"""Which documents are listed and which go."""

import os

import pytest

from cdpfetch import artifacts, retention

DAY = 86400
NOW = 1_800_000_000.0


def make(root, name, *, age_days=0.0, size=10, index=None):
    fetch_id = f"{name}-0123abcd"
    with artifacts.Draft(str(root), fetch_id) as draft:
        draft.write("content.md", "content", "x" * size, "text/markdown")
        document = {**artifacts.new_document(f"https://{name}.example/"), "ok": True, "title": name}
        draft.commit(document, index_root=str(index or root))
    when = NOW - age_days * DAY
    os.utime(os.path.join(root, fetch_id, "metadata.json"), (when, when))
    return fetch_id


def test_complete_documents_are_listed_newest_first(tmp_path):
    old, new = make(tmp_path, "old", age_days=2), make(tmp_path, "new")
    away = make(tmp_path / "out", "away", age_days=1, index=tmp_path)
    os.mkdir(tmp_path / "half-0123abcd")
    (tmp_path / "notes.txt").write_text("mine")
    listed = retention.list_documents(str(tmp_path))
    assert [(entry["fetch_id"], entry["elsewhere"]) for entry in listed] == [(new, False), (away, True), (old, False)]
    assert listed[0]["url"] == "https://new.example/"
    assert listed[0]["bytes"] > 10


def test_no_index_holds_nothing(tmp_path):
    assert retention.list_documents(str(tmp_path / "none")) == []
    assert retention.prune(str(tmp_path / "none"), 7, 1, NOW)["removed"] == []


def test_age_decides_first(tmp_path):
    old, new = make(tmp_path, "old", age_days=8), make(tmp_path, "new", age_days=6)
    done = retention.prune(str(tmp_path), 7, 1000, NOW)
    assert done["removed"] == [old]
    assert done["kept"] == 1
    assert os.listdir(tmp_path) == [new]


def test_then_size_oldest_first(tmp_path):
    names = [make(tmp_path, f"d{age}", age_days=age, size=400_000) for age in (4, 3, 2, 1)]
    done = retention.prune(str(tmp_path), 7, 1, NOW)
    assert done["removed"] == names[:2]
    assert done["total_bytes"] <= 1_000_000 < done["total_bytes"] + done["freed_bytes"]


def test_what_is_not_ours_stays(tmp_path):
    strange = tmp_path / "holiday-pictures1"
    strange.mkdir()
    (strange / "metadata.json").write_text('{"fetch_id": "something-else00"}')
    other = tmp_path / "elsewhere"
    kept = make(other, "kept", age_days=100, index=tmp_path)
    os.symlink(other / kept, tmp_path / "link-0123abcd")
    assert retention.prune(str(tmp_path), 1, 0, NOW)["removed"] == []
    assert strange.exists()
    assert (other / kept / "content.md").exists()
    assert artifacts.locate(str(tmp_path), kept)


@pytest.mark.parametrize(("age", "stays"), [(0.5, True), (2.0, False)])
def test_leftovers_go_after_a_day(tmp_path, age, stays):
    leftover = tmp_path / ".incoming-x-0123abcd"
    leftover.mkdir()
    (leftover / "content.md").write_text("half")
    dangling = tmp_path / "gone-0123abcd.ref"
    dangling.write_text("/nowhere/gone-0123abcd\n")
    for path in (leftover, dangling):
        os.utime(path, (NOW - age * DAY,) * 2)
    trash = tmp_path / ".trash-y-0123abcd"
    trash.mkdir()
    retention.prune(str(tmp_path), 7, 1000, NOW)
    assert leftover.exists() is stays
    assert dangling.exists() is stays
    assert not trash.exists()
