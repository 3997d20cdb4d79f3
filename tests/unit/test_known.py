"""Strict mode for addresses: what is known, how it becomes known, and what does not make it so."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from cdpfetch import known
from cdpfetch.errors import CdpFetchError, ConfigError
from cdpfetch.known import KnownStore, KnownUrls, addresses_in, blurred

SECRET = "https://evil.example/collect?key=sk-very-secret"


def document(tmp_path: Path, text: str, url: str = "https://a.example/", **fields: Any) -> dict[str, Any]:
    path = tmp_path / "content.md"
    path.write_text(text)
    return {"url": url, "link": url, "bodies": [{"role": "content", "path": str(path)}], **fields}


def test_an_address_that_nobody_named_is_refused() -> None:
    urls = KnownUrls(["https://evil.example/"])
    with pytest.raises(CdpFetchError) as caught:
        urls.require(SECRET)
    assert caught.value.code == "blocked_address"
    assert "network.require_known_url" in caught.value.reason
    assert "very-secret" not in str(caught.value)
    urls.learn([SECRET])
    urls.require(SECRET)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://A.example", "https://a.example/", True),
        ("https://a.example:443/x", "https://a.example/x#part", True),
        ("a.example/x", "https://a.example/x", True),
        ("https://a.example/b/../x", "https://a.example/x", True),
        ("https://a.example/x", "https://a.example/x?", False),
        ("https://a.example/x", "https://a.example/X", False),
        ("https://a.example/x", "http://a.example/x", False),
        ("https://a.example/x", "https://a.example/x/y", False),
        ("https://a.example/x", "https://b.a.example/x", False),
    ],
)
def test_spellings_of_one_address(one: str, other: str, same: bool) -> None:
    urls = KnownUrls()
    urls.learn([one])
    assert urls.knows(other) is same


def test_headers_could_carry_it_away() -> None:
    urls = KnownUrls(["https://a.example/"])
    with pytest.raises(CdpFetchError, match="no headers or languages"):
        urls.require("https://a.example/", plain=False)


@pytest.mark.parametrize(
    ("url", "passes"),
    [
        ("https://docs.example/guide/any?x=1", True),
        ("https://docs.example/other", False),
        ("https://docs.example.evil.example/guide/", False),
        ("https://docs.example@evil.example/guide/", False),
        ("http://docs.example/guide/", False),
        ("https://docs.example/guide/../other", False),
    ],
)
def test_a_beginning_covers_what_begins_so(url: str, passes: bool) -> None:
    assert KnownUrls(["https://docs.example/guide/*"]).knows(url) is passes


@pytest.mark.parametrize(
    "entry", ["https://docs*", "https://*/", "http*", "https://a.example/*/*", "http://", "https://u:p@a.example/*"]
)
def test_an_entry_that_names_no_host_is_an_error(entry: str) -> None:
    with pytest.raises(ConfigError, match=r"network\.known_urls"):
        KnownUrls([entry])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[a](https://a.example/x)", "https://a.example/x"),
        ("see (https://a.example/x).", "https://a.example/x"),
        ("[w](https://a.example/w_(x))", "https://a.example/w_(x)"),
        ("<https://a.example/x>", "https://a.example/x"),
        ("[a](https://a.example/snake\\_case)", "https://a.example/snake_case"),
        ('[a](https://a.example/x "A title")', "https://a.example/x"),
        ("**https://a.example/x**", "https://a.example/x"),
        ('{"href": "https://a.example/x"}', "https://a.example/x"),
    ],
)
def test_addresses_are_found_in_markdown(text: str, found: str) -> None:
    assert found in addresses_in(text)


def test_a_flood_of_addresses_is_cut() -> None:
    assert len(addresses_in("".join(f"https://a.example/{n} " for n in range(20_000)))) == known._PER_DOCUMENT
    urls = KnownUrls(limit=10)
    urls.learn(f"https://a.example/{n}" for n in range(20))
    assert len(urls) == 10
    assert urls.knows("https://a.example/19")


def test_a_result_makes_known_what_it_shows(tmp_path: Path) -> None:
    urls = KnownUrls()
    urls.learn_document(document(tmp_path, "[b](https://b.example/b)", link="https://www.a.example/"))
    for url in ("https://a.example/", "https://www.a.example/", "https://b.example/b"):
        assert urls.knows(url)
    assert not urls.knows("https://b.example/")


@pytest.mark.parametrize("source", ["http://127.0.0.1:8000/", "http://localhost:8000/x", "http://[::1]:8000/"])
def test_what_the_agent_may_have_written_itself_makes_nothing_known(tmp_path: Path, source: str) -> None:
    urls = KnownUrls()
    own = source.split("/x", maxsplit=1)[0].rstrip("/")
    urls.learn_document(document(tmp_path, f"[x]({SECRET}) [own]({own}/next) [port](http://127.0.0.1:9/x)", source))
    assert not urls.knows(SECRET)
    assert urls.knows(f"{own}/next")
    assert not urls.knows("http://127.0.0.1:9/x")


def test_what_was_learned_is_known_to_all_of_a_home(tmp_path: Path) -> None:
    path = str(tmp_path / "known_urls")
    first, second = KnownStore(path, ["https://listed.example/"]), KnownStore(path)
    first.learn(["https://a.example/"])
    second.learn(["https://b.example/?q=private-words"])
    for store in (first, second, KnownStore(path)):
        store.refresh()
        assert store.knows("https://a.example/")
        assert store.knows("https://b.example/?q=private-words")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert "private-words" not in Path(path).read_text()
    assert len(Path(path).read_text().splitlines()) == 2


def test_the_file_stays_bounded_and_the_newest_stay_known(tmp_path: Path) -> None:
    path = tmp_path / "known_urls"
    store = KnownStore(str(path), limit=10)
    for number in range(50):
        store.learn([f"https://a.example/{number}"])
        store.refresh()
    assert len(path.read_text().splitlines()) <= 21
    again = KnownStore(str(path), limit=10)
    again.refresh()
    assert again.knows("https://a.example/49")
    assert not again.knows("https://a.example/1")


def test_a_link_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "known_urls").symlink_to(tmp_path / "victim")
    with pytest.raises(CdpFetchError):
        KnownStore(str(tmp_path / "known_urls")).learn(["https://a.example/"])
    assert not (tmp_path / "victim").exists()


def test_a_name_that_is_inside_and_one_that_is_not_look_alike() -> None:
    inside = blurred(CdpFetchError("blocked_address", "wiki.corp.example is at 10.0.0.7, which is private", "allow it"))
    nowhere = blurred(CdpFetchError("dns_failed", "wiki.corp.example does not exist"))
    assert inside.to_json() == nowhere.to_json()
    other = CdpFetchError("http_error", "HTTP 404")
    assert blurred(other) is other
