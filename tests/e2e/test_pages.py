"""Awkward pages through the whole command: what comes, and what is said of it."""

from __future__ import annotations

import os

import pytest
from commands import Command
from documents import body, codes, fetch
from testsite import PDF, PIXEL, Site


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/page?word=quay", "# The quay"),
        ("/script?delay=800", "Rendered late"),
        ("/polling", "The keeper counted"),
        ("/hanging-image", "The keeper counted"),
        ("/meta-refresh", "# The moved"),
        ("/refresh-header", "# The moved"),
        ("/script-redirect", "# The landed"),
        ("/redirect?left=5", "# The end"),
        ("/closed-shadow", "OYSTER-6"),
        ("/frames", "# The outer"),
        ("/undeclared", "Größe, façade – 夏 and Ж"),
        ("/undeclared-latin", "Größe, façade"),
        ("/gzip", "# Packed"),
        ("/deep", "WHELK-8"),
        ("/nodes?count=100000", "WHELK-9"),
        ("/huge?mb=5", "# Huge"),
        ("/consent", "Shown after refusing."),
        ("/box-beside", "The keeper counted"),
        ("/article-about-walls", "bot walls annoy"),
    ],
)
def test_pages_that_are_well(command: Command, site: Site, path: str, words: str) -> None:
    document = fetch(command, site, path)
    assert document["ok"], document["error"]
    assert (document["verdict"], document["status"]) == ("ok", 200)
    assert words in body(document)


@pytest.mark.parametrize("path", ["/consent", "/own-banner"])
def test_cookie_banners_stay_out(command: Command, site: Site, path: str) -> None:
    document = fetch(command, site, path)
    assert "BANNER" not in body(document)
    assert "# Article" in body(document)
    assert document["title"] != "accepted"


@pytest.mark.parametrize(
    "name",
    ["print", "permissions", "history", "leaving", "fullscreen", "prompts", "poison"],
)
def test_weapons_that_change_nothing(command: Command, site: Site, name: str) -> None:
    document = fetch(command, site, f"/weapon/{name}")
    assert document["ok"], document["error"]
    assert document["verdict"] == "ok"
    assert "# Weapon" in body(document)


def test_workers_that_burn_every_core_cost_time_only(command: Command, site: Site) -> None:
    document = fetch(command, site, "/weapon/workers")
    assert document["ok"], document["error"]
    # Twenty endless loops share the cores with the page: it may not settle in its time, and is said to be partial then.
    assert document["verdict"] in ("ok", "partial")
    assert "# Weapon" in body(document)
    assert fetch(command, site, "/page")["ok"]


@pytest.mark.parametrize("name", ["growth", "reload"])
def test_weapons_that_never_rest_give_what_there_is(command: Command, site: Site, name: str) -> None:
    document = fetch(command, site, f"/weapon/{name}")
    assert document["ok"], document["error"]
    assert (document["verdict"], codes(document)) == ("partial", ["partial"])
    assert "# Weapon" in body(document)
    assert fetch(command, site, "/page")["ok"]


def test_a_cut_body_is_partial_with_both_lengths(command: Command, site: Site) -> None:
    document = fetch(command, site, "/truncated")
    assert document["verdict"] == "partial"
    (text,) = (warning["message"] for warning in document["warnings"] if warning["code"] == "partial")
    assert text.endswith("bytes") and " of the declared 50000 bytes" in text
    assert "# Cut off" in body(document)


@pytest.mark.parametrize(
    ("path", "code", "status"),
    [
        ("/empty", "no_content", 200),
        ("/status/204", "empty_response", 204),
        ("/status/404", "http_error", 404),
        ("/status/500", "http_error", 500),
        ("/auth", "auth_required", 401),
        ("/redirect-loop", "too_many_redirects", 302),
        ("/bad-gzip", "download_failed", 200),
        ("/reset", "empty_response", None),
        ("/blob?size=0", "empty_response", 200),
        ("/redirect-out?to=mailto:a@b.example", "unsupported_scheme", 302),
        ("/redirect-out?to=http://10.0.0.1/", "blocked_address", 302),
        ("/redirect-out?to=http://user:pass@localhost/", "invalid_url", 302),
    ],
)
def test_failures_by_name(command: Command, site: Site, path: str, code: str, status: int | None) -> None:
    document = fetch(command, site, path)
    assert not document["ok"]
    assert (document["error"]["code"], document["status"]) == (code, status)
    assert document["attempts"] == [{"source": "local", "code": code, "reason": document["error"]["reason"]}]


def test_when_to_come_back_is_in_the_hint(command: Command, site: Site) -> None:
    assert "Retry-After: 77" in fetch(command, site, "/status/429?retry=77")["error"]["hint"]
    assert "Retry-After: 9" in fetch(command, site, "/status/503?retry=9")["error"]["hint"]


@pytest.mark.parametrize("path", ["/members", "/members-in-place"])
def test_a_sign_in_page_names_its_origin_and_the_command(command: Command, site: Site, path: str) -> None:
    document = fetch(command, site, path)
    assert (document["error"]["code"], document["verdict"]) == ("login_required", "login_required")
    assert f"http://{site.netloc}" in document["error"]["reason"]
    assert document["error"]["hint"] == f"sign in once: cdpfetch open-browser {site.url(path)}"


def test_a_wall_that_clears_is_waited_for(command: Command, site: Site) -> None:
    document = fetch(command, site, "/wall?header=1&clears=1")
    assert (document["ok"], document["status"], document["verdict"]) == (True, 200, "ok")
    assert "# Behind the wall" in body(document)


def test_a_wall_that_does_not_clear_is_no_page(own: Command, site: Site) -> None:
    own.configure(f"[network]\nallow = ['{site.netloc}']\n[fetch.challenge]\nheadless_wait = 1\n")
    for path in ("/wall?header=1", "/wall"):
        document = fetch(own, site, path)
        assert (document["error"]["code"], document["verdict"]) == ("challenge", "challenge")
        assert [one["role"] for one in document["bodies"]] == ["page"]
        assert "open-browser" in document["error"]["hint"]


def test_an_error_with_a_good_status_is_said(command: Command, site: Site) -> None:
    document = fetch(command, site, "/soft-404")
    assert (document["ok"], document["verdict"], codes(document)) == (True, "error_page", ["soft_error"])


def test_the_first_picture_of_a_camera(command: Command, site: Site) -> None:
    document = fetch(command, site, "/camera")
    assert (document["content_type"], document["bytes"]) == ("image/png", len(PIXEL))
    assert document["verdict"] == "partial"
    (original,) = (one for one in document["bodies"] if one["role"] == "original")
    with open(original["path"], "rb") as file:
        assert file.read() == PIXEL


def test_answers_of_a_service_worker(command: Command, site: Site) -> None:
    assert fetch(command, site, "/worker")["ok"]
    page = fetch(command, site, "/from-worker")
    assert "# By the worker" in body(page)
    document = fetch(command, site, "/file.pdf")
    assert (document["kind"], document["bytes"]) == ("local.file", len(PDF))


def test_redirects_to_another_host_can_be_left_to_the_caller(command: Command, site: Site) -> None:
    assert fetch(command, site, "/redirect?left=3", "--redirects", "same-host")["title"] == "About end"
    other = f"http://localhost:{site.netloc.rpartition(':')[2]}/page?word=other"
    for path, status in ((f"/redirect-out?to={other}", 302), (f"/script-redirect?to={other}", 200)):
        site.requests.clear()
        document = fetch(command, site, path, "--redirects", "same-host", "--allow", other.split("/")[2])
        assert (document["ok"], document["kind"], document["status"]) == (True, "local.redirect", status)
        assert document["link"] == other
        assert site.url(path.partition("?")[0]) in body(document) and other in body(document)
        assert site.asked("/page") == 0


def test_waiting_for_an_element(command: Command, site: Site) -> None:
    document = fetch(command, site, "/late-element", "--wait-for", "#late")
    assert document["verdict"] == "ok"
    assert "It came late" in body(document)
    for path in ("/page", "/script?delay=0"):
        never = fetch(command, site, path, "--wait-for", "#never")
        assert (never["ok"], never["verdict"]) == (True, "partial")
        assert "nothing matched #never" in [warning["message"] for warning in never["warnings"]]
    assert fetch(command, site, "/page", "--wait-for", "###")["error"]["code"] == "invalid_request"


def test_a_short_deadline_gives_what_there_is(command: Command, site: Site) -> None:
    document = fetch(command, site, "/hang-body", "--deadline", "3")
    assert (document["ok"], document["verdict"]) == (True, "partial")
    assert "# Half a page" in body(document)
    late = fetch(command, site, "/hang", "--deadline", "1")
    assert late["error"]["code"] == "timeout"


def test_a_picture_of_the_whole_page(own: Command, site: Site) -> None:
    document = fetch(own, site, "/many?rows=200", "--screenshot")
    (picture,) = (one for one in document["bodies"] if one["role"] == "screenshot")
    with open(picture["path"], "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    assert width == 1280
    assert height > 3000, "all 200 rows are in it"
    assert picture["content_type"] == "image/png"


def test_the_page_can_be_left_out(own: Command, site: Site) -> None:
    own.configure(f"[network]\nallow = ['{site.netloc}']\n[artifacts]\nkeep_page = false\n")
    assert [one["role"] for one in fetch(own, site, "/page")["bodies"]] == ["content"]
    assert {one["role"] for one in fetch(own, site, "/page", "--keep-page")["bodies"]} == {"content", "page"}
    assert [one["role"] for one in fetch(own, site, "/status/404")["bodies"]] == ["page", "content"]


def test_markdown_is_asked_for_where_the_setting_says_so(own: Command, command: Command, site: Site) -> None:
    assert "# As HTML" in body(fetch(command, site, "/markdown"))
    own.configure(f"[network]\nallow = ['{site.netloc}']\n[fetch]\naccept_markdown = true\n")
    document = fetch(own, site, "/markdown")
    assert document["content_type"] == "text/markdown"
    assert body(document) == "# As Markdown\n\nThe same page, negotiated.\n"
    assert fetch(own, site, "/page")["ok"]


def test_bad_certificates_are_accepted_for_one_call_only(command: Command, tls_site: Site) -> None:
    url, allow = tls_site.url("/page"), ("--allow", tls_site.netloc)
    (refused,) = command("fetch", "--json", *allow, url).documents
    assert refused["error"]["code"] == "tls_failed"
    (accepted,) = command("fetch", "--json", *allow, "--insecure", url).documents
    assert accepted["ok"]
    (again,) = command("fetch", "--json", *allow, url).documents
    assert again["error"]["code"] == "tls_failed"


def test_headers_go_to_the_origin_that_was_asked_for_only(command: Command, site: Site) -> None:
    other = f"http://localhost:{site.netloc.rpartition(':')[2]}/headers"
    allow = ("--allow", other.split("/")[2], "--header", "Authorization: Bearer secret")
    (document,) = command("fetch", "--json", *allow, site.url(f"/redirect-out?to={other}")).documents
    assert "Bearer secret" not in body(document)
    assert "Bearer secret" in body(fetch(command, site, "/headers", "--header", "Authorization: Bearer secret"))
    assert all("Authorization" not in headers for _, path, headers in site.requests if path == "/pixel.png")


def test_pages_leave_nothing_in_the_download_folder(command: Command) -> None:
    assert os.listdir(os.path.join(command.home.artifacts, ".downloads")) == []


def test_a_page_that_leads_on_to_nowhere_is_read_itself(command: Command, site: Site) -> None:
    document = fetch(command, site, "/leads-nowhere")
    assert document["ok"], document["error"]
    assert "# Leads on" in body(document)
    assert "partial" in codes(document)
    said = next(note["message"] for note in document["warnings"] if note["code"] == "partial")
    assert "http://nowhere.invalid/, which failed" in said
