"""The HTTP engine through the whole command: the same documents, without a browser, or with one where it is needed."""

from __future__ import annotations

from threading import Thread
from typing import Any

import pytest
from commands import Command, wait_for
from documents import body, codes, fetch
from testsite import PDF, PIXEL, Site, TlsSite

from cdpfetch.client import Client

SAID = "fetched without a browser"


def plain(command: Command, site: Site, path: str, *more: str, engine: str = "http") -> dict[str, Any]:
    """A fetch by the HTTP engine, in a lane of its own."""
    return fetch(command, site, path, "--engine", engine, "--allow", site.netloc, *more)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/page?word=quay", "# The quay"),
        ("/redirect?left=5", "# The end"),
        ("/undeclared", "Größe, façade – 夏 and Ж"),
        ("/undeclared-latin", "Größe, façade"),
        ("/gzip", "# Packed"),
        ("/deep", "WHELK-8"),
        ("/huge?mb=5", "# Huge"),
        ("/polling", "The keeper counted"),
        ("/article-about-walls", "bot walls annoy"),
    ],
)
def test_pages_that_are_well(command: Command, site: Site, path: str, words: str) -> None:
    document = plain(command, site, path)
    assert document["ok"], document["error"]
    assert (document["kind"], document["source"], document["status"]) == ("local.page", "local", 200)
    assert SAID in document["facts"]
    assert words in body(document)
    assert list(document["timings"]) == ["queue", "navigate", "settle", "capture", "extract", "total"]


@pytest.mark.parametrize(
    ("path", "code", "verdict"),
    [
        ("/status/404", "http_error", "error_page"),
        ("/status/503", "http_error", "error_page"),
        ("/auth", "auth_required", "error_page"),
        ("/wall", "challenge", "challenge"),
        ("/members", "login_required", "login_required"),
        ("/script", "no_content", "thin"),
        ("/bad-gzip", "download_failed", "ok"),
        ("/bomb?mb=200", "too_large", "ok"),
        ("/blob?size=5000&sent=100", "download_failed", "ok"),
        ("/redirect-loop", "too_many_redirects", "ok"),
        ("/reset", "empty_response", "ok"),
        ("/status/204", "empty_response", "ok"),
    ],
)
def test_pages_that_are_not(command: Command, site: Site, path: str, code: str, verdict: str) -> None:
    document = plain(command, site, path)
    assert not document["ok"]
    assert (document["error"]["code"], document["verdict"]) == (code, verdict)
    assert [attempt["source"] for attempt in document["attempts"]] == ["local"]


@pytest.mark.parametrize(
    ("path", "name", "data", "kind"),
    [
        ("/file.pdf", "file.pdf", PDF, "application/pdf"),
        ("/pixel.png", "pixel.png", PIXEL, "image/png"),
        ("/named?disposition=attachment%3B%20filename%3D%22tide.bin%22", "tide.bin", None, "application/octet-stream"),
    ],
)
def test_files_are_kept_exactly(
    command: Command, site: Site, path: str, name: str, data: bytes | None, kind: str
) -> None:
    document = plain(command, site, path)
    (original,) = (one for one in document["bodies"] if one["role"] == "original")
    assert (original["name"], document["content_type"]) == (name, kind)
    with open(original["path"], "rb") as file:
        assert file.read() == (b"\x00\x01binary\xff" * 40 if data is None else data)


def test_a_shell_says_what_would_help(command: Command, site: Site) -> None:
    document = plain(command, site, "/script")
    assert document["error"]["reason"] == "the page has scripts and shows only 0 characters without them"
    assert "--engine browser" in document["error"]["hint"]
    assert codes(plain(command, site, "/meta-refresh")) == ["needs_scripts"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/script?delay=100", "no_content"),
        ("/meta-refresh", "no_content"),
        ("/status/404", "http_error"),
        ("/soft-404", "no_content"),
    ],
)
def test_auto_asks_a_browser_where_that_may_help(command: Command, site: Site, path: str, code: str) -> None:
    document = plain(command, site, path, engine="auto")
    assert SAID not in document["facts"]
    assert document["attempts"][0] == {**document["attempts"][0], "source": "http", "code": code}
    assert document["ok"] is (path != "/status/404")


def test_auto_does_without_one_where_it_may(command: Command, site: Site) -> None:
    document = plain(command, site, "/page", engine="auto")
    assert SAID in document["facts"]
    assert document["attempts"] == []
    # What shares the profile may have cookies there.
    document = fetch(command, site, "/page", "--engine", "auto")
    assert SAID not in document["facts"]
    assert document["attempts"] == []
    document = plain(command, site, "/page", "--wait-for", "h1", engine="auto")
    assert SAID not in document["facts"]


def test_what_needs_a_browser_is_not_asked_of_it(command: Command, site: Site) -> None:
    document = plain(command, site, "/page", "--wait-for", "h1")
    assert document["error"]["code"] == "invalid_request"
    assert site.requests == []


def test_no_cookie_is_sent_even_in_the_profiles_lane(command: Command, site: Site) -> None:
    assert fetch(command, site, "/set-cookie?name=tide")["ok"]
    site.requests.clear()
    assert fetch(command, site, "/page", "--engine", "http")["ok"]
    assert fetch(command, site, "/page")["ok"]
    sent = [dict(headers).get("Cookie") for _, path, headers in site.requests if path == "/page"]
    assert sent[0] is None
    assert sent[1] is not None


def test_private_addresses_need_leave(command: Command, site: Site) -> None:
    other = f"http://127.0.0.2:{site.netloc.rpartition(':')[2]}/page"
    (document,) = command("fetch", "--json", "--engine", "http", other).documents
    assert document["error"]["code"] == "blocked_address"
    document = fetch(command, site, "/redirect?left=1&to=" + other, "--engine", "http")
    assert document["error"]["code"] == "blocked_address"
    assert not any(path == "/page" for _, path, _ in site.requests)


def test_a_redirect_to_another_host_may_be_left(command: Command, site: Site) -> None:
    document = plain(command, site, "/redirect?left=1&to=http://localhost:1/", "--redirects", "same-host")
    assert document["kind"] == "local.redirect"
    assert document["link"] == "http://localhost:1/"


def test_certificates(command: Command, tls_site: TlsSite) -> None:
    document = plain(command, tls_site, "/page")
    assert document["error"]["code"] == "tls_failed"
    assert SAID in plain(command, tls_site, "/page", "--insecure")["facts"]


def test_the_same_fetch_by_two_clients_is_one_run(command: Command, site: Site) -> None:
    options = {"output_dir": command.home.artifacts, "deadline": 20.0, "share": True}
    spelled = [site.url("/gated?gate=shared"), site.url("/x/../gated?gate=shared").replace("http", "HTTP", 1)]

    def ask(url: str, stages: list[str], found: list[dict[str, Any]]) -> None:
        with Client(command.home) as client:
            found += client.fetch_documents([url], on_status=lambda _, event: stages.append(event["stage"]), **options)

    asked: list[list[str]] = [[], []]
    found: list[list[dict[str, Any]]] = [[], []]
    threads = [Thread(target=ask, args=one) for one in zip(spelled, asked, found, strict=True)]
    for thread, stages in zip(threads, asked, strict=True):
        thread.start()
        wait_for(lambda stages=stages: "navigating" in stages)
    site.gate("shared").set()
    for thread in threads:
        thread.join()
    (first,), (second,) = found
    assert (first["url"], second["url"]) == tuple(spelled)
    assert first["ok"], first["error"]
    assert first == {**second, "url": first["url"]}
    assert [path for _, path, _ in site.requests if path != "/favicon.ico"] == ["/gated?gate=shared"]


def test_no_chrome_is_started(own: Command, site: Site) -> None:
    own.configure(f'[network]\nallow = ["{site.netloc}"]\n[browser]\nexecutable_path = "/nowhere/chrome"\n')
    document = fetch(own, site, "/page?word=quay", "--engine", "http")
    assert document["ok"], document["error"]
    assert "Chrome/" in site.requests[0][2]["User-Agent"]
    assert fetch(own, site, "/page")["error"]["code"] == "browser_not_found"
