"""Input and manifest."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdpfetch.artifacts import new_document
from cdpfetch.batch import recovery
from cdpfetch.batch.input import Block, Source
from cdpfetch.batch.manifest import Finish, Manifest, Postpone, result_row
from cdpfetch.batch.store import Directory
from cdpfetch.errors import InvalidRequest

LINES = b'https://a.example/1\n\n# no\n{"url": "https://b.example/", "id": 7}\nhttps://A.example/1#x\nftp://c/\n{"a"\n'


def opened(folder: Path, results: str = "jsonl") -> Manifest:
    return Manifest(str(folder / "m.sqlite"), {"results": results})


def test_lines_become_items_once(tmp_path: Path) -> None:
    manifest = opened(tmp_path)
    manifest.add(Block.of(LINES), 1)
    assert (manifest.items, manifest.pending, manifest.unwritten) == (4, 2, 2)
    assert manifest.next_host("") == ("a.example:443", 0.0)
    assert manifest.next_host("a.example:443") == ("b.example:443", 0.0)
    assert manifest.next_host("b.example:443") is None
    (second,) = manifest.due("b.example:443", 0.0, 9)
    assert (second.url, second.name) == ("https://b.example/", "7")
    assert list(manifest.duplicates()) == [(5, "https://A.example/1#x", None, 1)]
    assert {code for _, code, _, _ in manifest.totals()} == {None, "unsupported_scheme", "invalid_url"}
    manifest.close()


def test_rows_go_into_one_file_though_writing_it_is_repeated(tmp_path: Path) -> None:
    manifest, store = opened(tmp_path), Directory(str(tmp_path))
    manifest.add(Block.of(b"https://a.example/1\nhttps://a.example/2\n"), 1)
    items = manifest.due("a.example:443", 0.0, 9)
    manifest.commit([], [item.id for item in items])
    assert manifest.due("a.example:443", 0.0, 9) == []
    document = {**new_document(items[0].url), "ok": True}
    manifest.commit([Finish(items[0].id, 1, result_row(items[0], document, "00/00"))], [])
    manifest.gather(10)
    manifest.close()  # as if killed before the file was written
    manifest = opened(tmp_path)
    assert [item.id for item in manifest.leased()] == [items[1].id]
    assert recovery.adopt(manifest, store) == 1
    recovery.write_results(manifest, store, "jsonl")
    first = (tmp_path / "results-00000.jsonl").read_bytes()
    recovery.write_results(manifest, store, "jsonl")
    assert (tmp_path / "results-00000.jsonl").read_bytes() == first
    assert first.count(b"\n") == 1
    assert (manifest.pending, manifest.unwritten) == (1, 0)
    manifest.close()


def test_what_is_postponed_is_due_later(tmp_path: Path) -> None:
    manifest = opened(tmp_path)
    manifest.add(Block.of(b"https://a.example/1\n"), 1)
    manifest.commit([], [1])
    manifest.commit([Postpone(1, 1, 50.0)], [])
    assert manifest.due("a.example:443", 49.0, 9) == []
    assert manifest.next_host("") == ("a.example:443", 50.0)
    assert manifest.due("a.example:443", 50.0, 9)[0].tries == 1
    manifest.close()


def test_other_results_and_other_versions_are_refused(tmp_path: Path) -> None:
    opened(tmp_path).close()
    with pytest.raises(InvalidRequest, match="begun with results 'jsonl'"):
        opened(tmp_path, "parquet")


def test_a_known_input_is_passed_over_and_another_refused(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"one\ntwo\nthree")
    source = Source(str(tmp_path / "in"))
    block = source.next(1.0)
    assert block is not None
    assert block.data == b"one\ntwo\n"
    source.close()
    source = Source(str(tmp_path / "in"))
    source.skip(len(block.data), block.digest)
    assert source.next(1.0) is None
    last = source.next(1.0)
    assert last is not None
    assert (last.data, source.ended) == (b"three", True)
    source.close()
    (tmp_path / "in").write_bytes(b"one\nTwo\nthree")
    source = Source(str(tmp_path / "in"))
    with pytest.raises(InvalidRequest, match="not the input"):
        source.skip(len(block.data), block.digest)
    source.close()
