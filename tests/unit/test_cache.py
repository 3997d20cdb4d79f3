"""What was fetched lately comes from disk, and only what should."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import pytest
from fetching import Scripted, call_of, saved

from cdpfetch import artifacts, cache, calls, disk, retention
from cdpfetch.config import Browser, Config
from cdpfetch.errors import CdpFetchError
from cdpfetch.fetchers.contract import Request
from cdpfetch.paths import Home
from cdpfetch.router import Router, Routing

URL = "https://x.example/a"
NOW = 1_800_000_000.0


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(str(tmp_path / "home"))


def document(home: Home, url: str = URL, **changes: Any) -> dict[str, Any]:
    return saved(Request(url, url), call_of(home), **changes)


def key(home: Home, url: str = URL, profile: str | None = None, source: str = "", **options: Any) -> str:
    return cache.key(url, calls.fetch_fields(home, options), profile or home.profile, source)


def test_a_document_is_found_until_it_is_too_old(home: Home) -> None:
    made, entry = document(home), key(home)
    cache.record(home.artifacts, entry, made, NOW)
    found = cache.find(home.artifacts, entry, 60, NOW + 35)
    assert found is not None
    assert found == {**made, "facts": ["cached 35 s ago"]}
    assert cache.find(home.artifacts, entry, 60, NOW + 61) is None
    assert cache.find(home.artifacts, entry, 60, NOW - 3600) is None  # the clock was turned back
    assert cache.find(home.artifacts, key(home, "https://x.example/b"), 60, NOW) is None


@pytest.mark.parametrize(("age", "words"), [(0, "0 s"), (119, "119 s"), (600, "10 min"), (86400, "24 h")])
def test_the_age_is_told_in_words(home: Home, age: float, words: str) -> None:
    cache.record(home.artifacts, "e", document(home), NOW)
    found = cache.find(home.artifacts, "e", 1e9, NOW + age)
    assert found is not None
    assert found["facts"] == [f"cached {words} ago"]


def test_one_url_has_one_key_and_what_shapes_the_result_has_others(home: Home) -> None:
    usual = key(home)
    same = [
        key(home, URL + "#part"),
        key(home, deadline=7, digest=True),
        key(home, format="markdown", redirects="follow", screenshot=False, extractor="auto"),
    ]
    other = [
        key(home, URL + "?"),
        key(home, URL + "#/route"),
        key(home, "http://x.example/a"),
        key(home, profile="/elsewhere"),
        key(home, source="jina"),
        key(home, output_dir="/out"),
        key(home, format="text"),
        key(home, extractor="trafilatura"),
        key(home, screenshot=True),
        key(home, wait_for="#x"),
        key(home, redirects="same-host"),
        key(home, insecure=True),
        key(home, keep_page=True),
        key(home, headers={"authorization": "s3cret"}),
        key(home, accept_language="de"),
        key(home, allow=["10.0.0.1"]),
    ]
    assert set(same) == {usual}
    assert len({usual, *other}) == 1 + len(other)
    assert all(len(name) == 64 and name.isalnum() for name in other)


@pytest.mark.parametrize(
    "changes", [{"ok": False}, {"verdict": "challenge"}, {"verdict": "login_required"}, {"verdict": "partial"}]
)
def test_failures_and_what_is_not_the_page_are_never_remembered(home: Home, changes: dict[str, Any]) -> None:
    cache.record(home.artifacts, "e", document(home, **changes), NOW)
    assert not os.path.exists(os.path.join(home.artifacts, cache.FOLDER))


def test_what_is_gone_changed_or_broken_is_not_found(home: Home) -> None:
    made = document(home)
    cache.record(home.artifacts, "e", made, NOW)
    path = Path(made["bodies"][0]["path"])
    whole = path.read_bytes()
    path.write_bytes(whole + b"more")
    assert cache.find(home.artifacts, "e", 60, NOW) is None
    path.write_bytes(whole)
    assert cache.find(home.artifacts, "e", 60, NOW) is not None
    path.unlink()
    assert cache.find(home.artifacts, "e", 60, NOW) is None
    for data in (b"", b"[]", b"{", b'{"fetch_id": "../../x", "time": 1}', b'{"fetch_id": 7, "time": "x"}'):
        Path(home.artifacts, cache.FOLDER, "e").write_bytes(data)
        assert cache.find(home.artifacts, "e", 60, NOW) is None


def test_an_entry_is_private_and_holds_no_address(home: Home) -> None:
    cache.record(home.artifacts, key(home, headers={"cookie": "s3cret"}), document(home), NOW)
    folder = Path(home.artifacts, cache.FOLDER)
    (entry,) = folder.iterdir()
    assert (folder.stat().st_mode & 0o777, entry.stat().st_mode & 0o777) == (0o700, 0o600)
    assert set(json.loads(entry.read_bytes())) == {"fetch_id", "time"}
    assert [found["url"] for found in retention.list_documents(home.artifacts)] == [URL]


def test_entries_go_with_their_documents(home: Home) -> None:
    gone, old, kept = document(home), document(home), document(home)
    for name, made in (("gone", gone), ("old", old), ("kept", kept)):
        cache.record(home.artifacts, name, made, time.time())
    artifacts.remove_tree(gone["dir"])
    os.utime(os.path.join(home.artifacts, cache.FOLDER, "old"), (NOW, NOW - 8 * 86400))
    for made in (old, kept):
        os.utime(os.path.join(made["dir"], "metadata.json"), (NOW, NOW))
    os.utime(os.path.join(home.artifacts, cache.FOLDER, "kept"), (NOW, NOW))
    retention.prune(home.artifacts, 7, 1000, NOW)
    assert os.listdir(os.path.join(home.artifacts, cache.FOLDER)) == ["kept"]


def write_many(root: str, first: int) -> None:
    home = Home(root)
    for number in range(first, first + 50):
        cache.record(home.artifacts, f"entry{number}", document(home), NOW)
        cache.record(home.artifacts, "shared", document(home), NOW)


def test_processes_lose_no_entry_to_each_other(home: Home) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write_many, args=(home.root, 50 * number)) for number in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(30)
    for name in [*(f"entry{number}" for number in range(150)), "shared"]:
        assert cache.find(home.artifacts, name, 60, NOW) is not None
    assert len(os.listdir(os.path.join(home.artifacts, cache.FOLDER))) == 151


# In the chain


async def test_the_chain_takes_from_the_cache_what_it_may(home: Home) -> None:
    local = Scripted("local")
    chain = Router([local])

    async def fetch(url: str = URL, **routing: Any) -> dict[str, Any]:
        return (await chain.fetch([url], call_of(home), Routing(**routing)))[0]

    first = await fetch(max_age=60)
    again = await fetch("https://X.example:443/a#top", max_age=60)
    assert (again["fetch_id"], again["url"]) == (first["fetch_id"], "https://X.example:443/a#top")
    assert again["facts"] == ["cached 0 s ago"]
    assert len(local.asked) == 1
    assert (await fetch())["fetch_id"] != first["fetch_id"]
    fresh = await fetch(max_age=60, fresh=True)
    assert fresh["fetch_id"] != first["fetch_id"]
    assert (await fetch(max_age=60))["fetch_id"] == fresh["fetch_id"]
    assert len(local.asked) == 3


async def test_failures_and_other_profiles_are_not_taken_from_the_cache(home: Home) -> None:
    local = Scripted("local", lambda request, call: CdpFetchError("timeout", "late"))
    for _ in range(2):
        await Router([local]).fetch([URL], call_of(home), Routing(max_age=60))
    good = Scripted("local")
    for profile in ("/one", "/two", "/one"):
        await Router([good]).fetch(
            [URL], call_of(home, Config(browser=Browser(profile_dir=profile))), Routing(max_age=60)
        )
    assert (len(local.asked), len(good.asked)) == (2, 2)


# What is read stays


def test_what_somebody_reads_is_not_pruned(home: Home) -> None:
    made = document(home)
    with disk.held(made["dir"]) as mine, disk.held(made["dir"]) as another:
        assert (mine, another) == (True, True)
        assert retention.prune(home.artifacts, 0, 0, time.time() + 10)["removed"] == []
    assert retention.prune(home.artifacts, 0, 0, time.time() + 10)["removed"] == [made["fetch_id"]]


def test_what_is_fresh_is_spared_where_that_is_asked(home: Home) -> None:
    made = document(home)
    assert retention.prune(home.artifacts, 7, 0, time.time(), spare=600)["removed"] == []
    assert retention.prune(home.artifacts, 7, 0, time.time() + 700, spare=600)["removed"] == [made["fetch_id"]]


def test_a_hit_makes_a_document_one_of_now(home: Home) -> None:
    made = document(home)
    path = os.path.join(made["dir"], "metadata.json")
    now = time.time()
    os.utime(path, (now, now - 1000))
    cache.record(home.artifacts, "e", made, now)
    assert cache.find(home.artifacts, "e", 60, now) is not None
    assert os.stat(path).st_mtime > now - 100


def test_changed_metadata_is_replaced_in_one_step(home: Home) -> None:
    made = document(home)
    changed = artifacts.amend(made, attempts=[{"source": "jina", "code": "timeout", "reason": "late"}])
    assert artifacts.load(home.artifacts, made["fetch_id"]) == changed
    assert sorted(os.listdir(made["dir"])) == ["content.md", "metadata.json"]
    artifacts.remove_tree(made["dir"])
    assert artifacts.amend(made, title="t")["title"] == "t"
    assert not os.path.exists(made["dir"])
