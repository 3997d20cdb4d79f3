"""``cdpfetch batch`` as a process: killed, stopped, resumed, refused."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from commands import Command, wait_for
from testsite import Site

pytestmark = pytest.mark.chrome
COUNT = 200
FAST = ("--delay", "0", "--per-host", "8", "--concurrency", "8")


def done(out: Path) -> int:
    try:
        with sqlite3.connect(f"file:{out}/manifest.sqlite?mode=ro", uri=True) as db:
            found = int(db.execute("SELECT count(*) FROM items WHERE state = 2").fetchone()[0])
        db.close()
        return found
    except sqlite3.OperationalError:
        return 0


def rows(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted(out.glob("results-*")) for line in file.read_text().splitlines()]


def on_disk(out: Path) -> set[str]:
    return {str(path.relative_to(out)) for path in out.glob("*/*/*")}


def input_of(site: Site, folder: Path, count: int) -> tuple[Path, list[str]]:
    urls = [site.url(f"/page?n={number}") for number in range(count)]
    (folder / "urls").write_text("\n".join(urls) + "\n")
    return folder / "urls", urls


@pytest.mark.timeout(170)
def test_each_url_has_one_result_and_one_document_after_three_kills(
    command: Command, site: Site, tmp_path: Path
) -> None:
    file, urls = input_of(site, tmp_path, COUNT)
    out = tmp_path / "out"
    words = ("batch", str(file), "-o", str(out), "--fetch-engine", "http", *FAST)
    for at in sorted(random.Random(7).sample(range(5, COUNT - 40), 3)):
        with command.start(*words) as running:
            wait_for(lambda at=at: done(out) >= at, 40.0)
            running.send_signal(signal.SIGKILL)
    ended = command(*words, "--json")
    assert ended.status == 0, ended.err
    summary = json.loads(ended.out)
    assert (summary["urls"], summary["ok"], summary["left"]) == (COUNT, COUNT, 0)
    assert sorted(row["url"] for row in rows(out)) == sorted(urls)
    assert on_disk(out) == {row["dir"] for row in rows(out)}
    assert all(os.path.isfile(out / row["dir"] / "content.md") for row in rows(out))


def test_a_stop_finishes_what_is_under_way_and_the_next_run_goes_on(
    command: Command, site: Site, tmp_path: Path
) -> None:
    file, urls = input_of(site, tmp_path, 30)
    out = tmp_path / "out"
    words = ("batch", str(file), "-o", str(out), "--fetch-engine", "http", "--delay", "0.1", "--per-host", "2")
    with command.start(*words) as running:
        wait_for(lambda: done(out) >= 3, 30.0)
        running.send_signal(signal.SIGINT)
        text, _ = running.communicate(timeout=30)
    assert running.returncode == 130
    assert "stopped: by SIGINT" in text
    assert 3 <= len(rows(out)) < 30
    other = tmp_path / "other"
    other.write_text("https://other.example/\n")
    refused = command("batch", str(other), "-o", str(out))
    assert refused.status == 2
    assert "not the input that this batch was begun with" in refused.err
    with file.open("a") as more:
        more.write(f"{urls[0]}\nno url\n" + json.dumps({"url": site.url("/missing"), "id": "m"}) + "\n")
    ended = command(*words, "--json", "--retries", "0")
    summary = json.loads(ended.out)
    assert ended.status == 1
    assert (summary["ok"], summary["errors"], summary["duplicates"]) == (30, {"invalid_url": 1, "http_error": 1}, 1)
    (missing,) = [row for row in rows(out) if row["id"] == "m"]
    assert (missing["status"], missing["error"]["code"]) == (404, "http_error")
    again = command(*words, "--json", "--retries", "0", "--retry-failed")
    assert json.loads(again.out)["fetched"] == 1
    assert len(rows(out)) == 32
    assert on_disk(out) == {row["dir"] for row in rows(out) if row["dir"]}


def test_robots_and_parquet(command: Command, site: Site, tmp_path: Path) -> None:
    import pyarrow.parquet

    file, _ = input_of(site, tmp_path, 3)
    out = tmp_path / "out"
    ended = command("batch", str(file), "-o", str(out), "--results", "parquet", *FAST)
    assert ended.status == 0, ended.err
    table = pyarrow.parquet.read_table(out / "results-00000.parquet").to_pylist()
    assert [row["ok"] for row in table] == [True] * 3
    assert "content.md" in [body["name"] for body in table[0]["bodies"]]
    assert "/robots.txt" in [path for _, path, _ in site.requests]
