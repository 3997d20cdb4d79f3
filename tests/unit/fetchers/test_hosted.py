"""What is told to hosted services, and what becomes of their answers."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import fake_hosted
import httpx
import pytest
from fake_http import Fake, Seen, answer, serving
from fetching import Scripted, call_of
from guards import Names
from hypothesis import given, settings
from hypothesis import strategies as st

from cdpfetch.config import Config, Fetch, Github, Jina, NetworkAccess, Parallel
from cdpfetch.errors import CdpFetchError
from cdpfetch.fetchers import hosted
from cdpfetch.fetchers.contract import Call, Request
from cdpfetch.fetchers.jina import JinaFetcher, parse
from cdpfetch.fetchers.parallel import ParallelFetcher
from cdpfetch.paths import Home
from cdpfetch.router import Router, Routing
from cdpfetch.urls import parse_url

KEY = "k3y-PELICAN"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    os.mkdir(tmp_path / "home", 0o700)
    return Home(str(tmp_path / "home"))


def known(**hosts: list[str]) -> Names:
    names = Names()
    names.known = {"x.example": ["93.184.216.34"], **hosts}  # type: ignore[assignment]
    return names


def request(url: str) -> Request:
    return Request(url, parse_url(url).href)


def both(fake: Fake | None = None, **settings: Any) -> Config:
    url = fake.url if fake else None
    return Config(parallel=Parallel(api_key=KEY, base_url=url), jina=Jina(True, KEY, url), **settings)


async def outcomes(fetcher: Any, call: Call, *urls: str) -> dict[str, dict[str, Any] | CdpFetchError]:
    found: dict[str, dict[str, Any] | CdpFetchError] = {}

    def deliver(request: Request, outcome: dict[str, Any] | CdpFetchError) -> None:
        assert request.url not in found
        found[request.url] = outcome

    await fetcher.fetch([request(url) for url in urls], call, deliver)
    return found


# Whom a URL is told to


@pytest.mark.parametrize(
    ("url", "settings", "options"),
    [
        ("http://127.0.0.1/", {}, {}),
        ("http://[::1]:8000/", {}, {}),
        ("http://10.1.2.3/", {}, {}),
        ("http://0x7f.1/", {}, {}),
        ("http://169.254.169.254/latest", {}, {}),
        ("http://intranet/", {}, {}),
        ("http://localhost:3000/", {}, {}),
        ("http://printer.local/", {}, {}),
        ("http://wiki.corp/", {}, {}),
        ("http://nas.home.arpa/", {}, {}),
        ("http://db.internal/", {}, {}),
        ("http://x.example:22/", {}, {}),
        ("https://x.example/", {"network": NetworkAccess(deny=("x.example",))}, {}),
        ("https://wiki.x.example/", {"network": NetworkAccess(allow=("*.x.example",))}, {}),
        ("https://93.184.216.34/", {"network": NetworkAccess(allow=("93.184.216.0/24",))}, {}),
        ("https://x.example/", {"fetch": Fetch(force_local=("x.example",))}, {}),
        ("https://a.x.example/", {"fetch": Fetch(force_local=("*.x.example",))}, {}),
        ("https://x.example/", {"fetch": Fetch(force_local=("*.X.Example",))}, {}),
        ("https://x.example:8443/", {"fetch": Fetch(force_local=("x.example:8443",))}, {}),
        ("https://x.example/private/a", {"fetch": Fetch(force_local=("https://x.example/private/*",))}, {}),
        ("https://x.example/private/a", {"fetch": Fetch(force_local=("x.example/private/",))}, {}),
        ("https://mail.x.example/", {"fetch": Fetch(profile_sites=("x.example",))}, {}),
        ("https://x.example/#/route", {}, {}),
        ("https://x.example/", {}, {"format": "html"}),
        ("https://x.example/", {}, {"format": "source"}),
        ("https://x.example/", {}, {"redirects": "same-host"}),
        ("https://x.example/", {}, {"accept_language": "de"}),
        ("https://x.example/", {}, {"extractor": "trafilatura"}),
        ("https://x.example/", {}, {"allow": ["10.0.0.1"]}),
        ("https://code.x.example/a/b", {"github": Github(api_url="https://code.x.example/api/v3")}, {}),
    ],
)
def test_what_is_private_stays_here(home: Home, url: str, settings: dict[str, Any], options: dict[str, Any]) -> None:
    call = call_of(home, both(**settings), **options)
    assert not ParallelFetcher().can_fetch(request(url), call)
    assert not JinaFetcher().can_fetch(request(url), call)


@pytest.mark.parametrize("url", ["https://x.example/a?b=c", "http://x.example:8080/", "https://notx.example/"])
def test_what_is_public_may_be_told(home: Home, url: str) -> None:
    config = both(fetch=Fetch(force_local=("corp.example", "*.y.example", "x.example:1", "x.example/private/")))
    call = call_of(home, config, format="text", redirects="follow")
    assert ParallelFetcher().can_fetch(request(url), call)
    assert JinaFetcher().can_fetch(request(url), call)


def test_a_site_with_a_session_stays_here_and_so_does_all_when_that_is_unknown(home: Home) -> None:
    call, fetcher = call_of(home, both()), JinaFetcher()
    Path(home.sessions).write_text(json.dumps({"sites": ["x.example"]}))
    told = [
        url
        for url in ("https://x.example/", "https://a.x.example/", "https://y.example/")
        if fetcher.can_fetch(request(url), call)
    ]
    assert told == ["https://y.example/"]
    Path(home.sessions).write_text("{")
    assert not fetcher.can_fetch(request("https://y.example/"), call)


def test_without_a_key_or_the_setting_nothing_is_told(home: Home) -> None:
    url = request("https://x.example/")
    assert not ParallelFetcher().can_fetch(url, call_of(home, Config()))
    assert ParallelFetcher().can_fetch(url, call_of(home, Config(), {"PARALLEL_API_KEY": KEY}))
    assert not JinaFetcher().can_fetch(url, call_of(home, Config(jina=Jina(False, KEY)), {"JINA_API_KEY": KEY}))
    assert JinaFetcher().can_fetch(url, call_of(home, Config(jina=Jina(True))))


@pytest.mark.parametrize("fetcher", [ParallelFetcher, JinaFetcher])
async def test_a_name_that_is_private_here_is_not_told(home: Home, fetcher: Any) -> None:
    names = known(**{"wiki.example": ["10.0.0.7"], "mixed.example": ["93.184.216.34", "192.168.0.1"]})
    async with serving(lambda seen: answer(500)) as fake:
        call = call_of(home, both(fake))
        found = await outcomes(fetcher(names), call, "https://wiki.example/", "https://mixed.example/")
    assert fake.seen == []
    assert [error.code for error in found.values() if isinstance(error, CdpFetchError)] == ["blocked_address"] * 2


# Parallel


async def test_parallel_is_asked_as_its_api_is_documented(home: Home) -> None:
    async with serving(fake_hosted.parallel()) as fake:
        call = call_of(home, both(fake), objective="what it costs", deadline=9.0)
        found = await outcomes(ParallelFetcher(known()), call, "https://X.example/a", "https://x.example/b?q=ü")
    (seen,) = fake.seen
    body = (
        b'{"urls":["https://x.example/a","https://x.example/b?q=%C3%BC"],'
        b'"advanced_settings":{"full_content":true},"objective":"what it costs"}'
    )
    assert seen.raw == (
        b"POST /v1/extract HTTP/1.1\r\n" + f"Host: 127.0.0.1:{fake.port}\r\n".encode() + b"Accept: */*\r\n"
        b"Connection: keep-alive\r\nuser-agent: cdpfetch/0.1.0\r\naccept-encoding: gzip, deflate\r\n"
        + f"Content-Length: {len(body)}\r\n".encode()
        + b"Content-Type: application/json\r\nx-api-key: k3y-PELICAN\r\n\r\n"
        + body
    )
    document = found["https://X.example/a"]
    assert isinstance(document, dict)
    assert (document["title"], document["source"], document["kind"]) == ("A title", "parallel", "parallel.page")
    assert document["facts"] == ["published 2026-03-04", "by parallel"]
    assert (document["url"], document["link"]) == ("https://X.example/a", "https://x.example/a")
    assert [body["name"] for body in document["bodies"]] == ["content.md", "highlights.md"]
    assert Path(document["bodies"][0]["path"]).read_text() == "# A\n\nText.\n"
    assert document["outline"] == [{"level": 1, "text": "A", "line": 1}]
    assert (document["status"], document["bytes"], document["excerpt"]) == (200, 11, "Text.")
    assert KEY not in Path(document["dir"], "metadata.json").read_text()


async def test_parallel_gets_twenty_urls_a_request(home: Home) -> None:
    async with serving(fake_hosted.parallel()) as fake:
        urls = [f"https://x.example/{number}" for number in range(45)]
        found = await outcomes(ParallelFetcher(known()), call_of(home, both(fake)), *urls)
    assert sorted(len(json.loads(seen.body)["urls"]) for seen in fake.seen) == [5, 20, 20]
    assert len(found) == 45
    assert all(isinstance(outcome, dict) for outcome in found.values())


async def test_parallel_fails_single_urls(home: Home) -> None:
    results = {
        "https://x.example/404": {"error_type": "fetch_error", "http_status_code": 404},
        "https://x.example/error": {"error_type": "timeout"},
        "https://x.example/missing": None,
        "https://x.example/empty": {"full_content": " ", "excerpts": []},
        "https://x.example/none": {"full_content": None, "excerpts": ["only this"]},
        "https://x.example/wall": {"title": "Just a moment...", "full_content": "Verify you are human"},
        "https://x.example/types": {"full_content": 7, "title": [], "excerpts": None},
        "https://x.example/good": {"full_content": "good\u200b", "title": None, "publish_date": None},
    }
    async with serving(fake_hosted.parallel(**results)) as fake:
        found = await outcomes(ParallelFetcher(known()), call_of(home, both(fake)), *results)
    told = {
        url.rpartition("/")[2]: outcome.code for url, outcome in found.items() if isinstance(outcome, CdpFetchError)
    }
    assert told == {
        "404": "http_error",
        "error": "download_failed",
        "missing": "no_content",
        "empty": "no_content",
        "none": "no_content",
        "wall": "challenge",
        "types": "no_content",
    }
    good = found["https://x.example/good"]
    assert isinstance(good, dict)
    assert [warning["code"] for warning in good["warnings"]] == ["invisible_characters"]


async def test_with_an_objective_parallels_passages_will_do(home: Home) -> None:
    results = {"https://x.example/": {"full_content": None, "excerpts": ["one", "two"]}}
    async with serving(fake_hosted.parallel(**results)) as fake:
        found = await outcomes(ParallelFetcher(known()), call_of(home, both(fake), objective="x"), *results)
    document = found["https://x.example/"]
    assert isinstance(document, dict)
    assert Path(document["bodies"][0]["path"]).read_text() == "one\n\n---\n\ntwo\n"
    assert document["warnings"][0]["code"] == "source_warning"


# Jina


async def test_jina_is_asked_as_its_reader_is_documented(home: Home) -> None:
    lines = ("Published Time: 2026-01-02", "Number of Pages: 3", "Warning: This is a cached snapshot")
    async with serving(lambda seen: fake_hosted.reader("# A\r\n\r\nText.", *lines)) as fake:
        call = call_of(home, both(fake), deadline=9.5)
        found = await outcomes(JinaFetcher(known()), call, "https://x.example/a b?q=1&r=%20#top")
    (seen,) = fake.seen
    assert seen.raw == (
        b"GET /https://x.example/a%20b?q=1&r=%20#top HTTP/1.1\r\n".replace(b"#top", b"")
        + f"Host: 127.0.0.1:{fake.port}\r\n".encode()
        + b"Connection: keep-alive\r\nuser-agent: cdpfetch/0.1.0\r\naccept-encoding: gzip, deflate\r\n"
        b"accept: text/plain\r\ndnt: 1\r\nx-timeout: 9\r\nauthorization: Bearer k3y-PELICAN\r\n\r\n"
    )
    (document,) = found.values()
    assert isinstance(document, dict)
    assert (document["title"], document["link"]) == ("A title", "https://x.example/a")
    assert document["facts"] == ["published 2026-01-02", "3 pages", "by jina"]
    assert document["warnings"] == [{"code": "source_warning", "message": "This is a cached snapshot"}]
    assert Path(document["bodies"][0]["path"]).read_text() == "# A\n\nText.\n"


async def test_jina_needs_no_key_and_can_be_told_to_look_anew(home: Home) -> None:
    async with serving(lambda seen: fake_hosted.reader()) as fake:
        config = Config(jina=Jina(True, None, fake.url + "/base/"))
        await outcomes(JinaFetcher(known()), call_of(home, config, fresh=True), "https://x.example/")
    assert fake.seen[0].target == "/base/https://x.example/"
    assert "authorization" not in fake.seen[0].headers
    assert fake.seen[0].headers["x-no-cache"] == "true"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (
            "Title: T\n\nURL Source: u\n\nWarning: Target URL returned error 404: Not Found\n\nMarkdown Content:\nx",
            "http_error",
        ),
        ("# No metadata at all", "download_failed"),
        ("Something: else\nMarkdown Content:\nx", "download_failed"),
        ("", "download_failed"),
    ],
)
def test_a_readers_answer_is_judged(text: str, code: str) -> None:
    with pytest.raises(CdpFetchError) as caught:
        parse(text)
    assert caught.value.code == code


def test_a_mark_in_the_text_does_not_end_the_metadata_twice() -> None:
    content = parse(
        "\ufeffTitle: A: b\n\nURL Source: https://x.example/\n\nMarkdown Content:\n\n\nTitle: x\nMarkdown Content:\ny"
    )
    assert (content.title, content.text) == ("A: b", "Title: x\nMarkdown Content:\ny")


async def test_too_many_requests_are_explained(home: Home) -> None:
    async with serving(fake_hosted.sick("too many")) as fake:
        (error,) = (await outcomes(JinaFetcher(known()), call_of(home, both(fake)), "https://x.example/")).values()
    assert isinstance(error, CdpFetchError)
    assert error.reason == "Jina answered 429, too many requests; it may be asked again in 17 s"
    assert "JINA_API_KEY" in (error.hint or "")


# Whatever they do


@pytest.mark.parametrize("kind", list(fake_hosted.SICK))
async def test_sick_services_still_leave_every_url_to_the_browser(
    home: Home, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "slow":
        monkeypatch.setattr("cdpfetch.router._SHARE_MAX", 0.5)
    monkeypatch.setattr(hosted, "MAX_ANSWER", 1_000_000)
    async with serving(fake_hosted.sick(kind)) as fake:
        chain = Router([ParallelFetcher(known()), JinaFetcher(known()), Scripted("local")])
        urls = [f"https://x.example/{number}" for number in range(3)]
        documents = await chain.fetch(urls, call_of(home, both(fake)), Routing())
        for _ in range(20):
            await asyncio.sleep(0)  # generators within httpx, of a body that is cut off, are ended by the loop
    assert [document["source"] for document in documents] == ["local"] * 3
    for document in documents:
        assert [attempt["source"] for attempt in document["attempts"]] == ["parallel", "jina"]
        assert KEY not in json.dumps(document)
    if kind != "slow":
        assert {seen.headers.get("x-api-key") for seen in fake.seen} >= {KEY}


async def test_a_service_that_is_not_there_leaves_every_url_to_the_browser(home: Home) -> None:
    config = Config(parallel=Parallel(KEY, "http://127.0.0.1:1"), jina=Jina(True, KEY, "http://127.0.0.1:9"))
    chain = Router([ParallelFetcher(known()), JinaFetcher(known()), Scripted("local")])
    (document,) = await chain.fetch(["https://x.example/"], call_of(home, config), Routing())
    assert document["source"] == "local"
    assert len(document["attempts"]) == 2


@pytest.mark.parametrize("key", ["k\nX-Evil: 1", "k\u20acy-PELICAN", "k\x7fPELICAN"])
async def test_a_key_that_no_header_takes_is_neither_sent_nor_shown(home: Home, key: str) -> None:
    async with serving(lambda seen: answer(200)) as fake:
        config = Config(parallel=Parallel(key, fake.url), jina=Jina(True, key, fake.url))
        chain = Router([ParallelFetcher(known()), JinaFetcher(known()), Scripted("local")])
        (document,) = await chain.fetch(["https://x.example/"], call_of(home, config), Routing())
    assert [attempt["code"] for attempt in document["attempts"]] == ["config_error", "config_error"]
    assert "PELICAN" not in json.dumps(document)
    assert "Evil" not in json.dumps(document)
    assert fake.seen == []


async def test_what_a_service_says_beside_the_text_stays_in_its_lines(home: Home) -> None:
    results = {"https://x.example/": {"title": "A\ntitle\u202e" + "x" * 9000, "publish_date": "2026\n\x1b[31m" * 90}}
    async with serving(fake_hosted.parallel(**results)) as fake:
        (document,) = (await outcomes(ParallelFetcher(known()), call_of(home, both(fake)), *results)).values()
    assert isinstance(document, dict)
    assert document["title"].startswith("A titlex")
    assert len(document["title"]) <= 500
    assert len(document["facts"][0]) <= 90
    assert document["facts"][0].isprintable()


async def test_a_service_that_answers_for_another_url_answers_for_none(home: Home) -> None:
    def lies(seen: Seen) -> bytes:
        result = {"url": "https://evil.example/", "title": "t", "excerpts": [], "full_content": "lie"}
        return answer(body=json.dumps({"extract_id": "", "session_id": "", "results": [result], "errors": []}).encode())

    async with serving(lies) as fake:
        (error,) = (await outcomes(ParallelFetcher(known()), call_of(home, both(fake)), "https://x.example/")).values()
    assert isinstance(error, CdpFetchError)
    assert error.code == "no_content"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just("https://x.example/0"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["url", "results", "errors", "full_content", "excerpts", "title"]), inner)
    ),
    max_leaves=12,
)


class Told:
    """A client of a service that has one answer."""

    def __init__(self, status: int, data: Any) -> None:
        self.response = httpx.Response(status, content=json.dumps(data).encode())

    async def post(self, path: str, json: Any) -> httpx.Response:
        return self.response


@settings(max_examples=100, deadline=None)
@given(JSON, st.sampled_from([200, 200, 200, 400, 500]), st.booleans())
def test_whatever_json_comes_each_url_has_one_outcome(
    tmp_path_factory: pytest.TempPathFactory, data: Any, status: int, objective: bool
) -> None:
    call = call_of(Home(str(tmp_path_factory.getbasetemp() / "any")), both(), objective="x" if objective else None)
    found: list[str] = []

    def deliver(request: Request, outcome: dict[str, Any] | CdpFetchError) -> None:
        assert isinstance(outcome, CdpFetchError) or outcome["ok"]
        found.append(request.url)

    urls = ["https://x.example/0", "https://x.example/1"]
    shaped = {"results": data, "errors": data} if isinstance(data, list) else data
    asyncio.run(ParallelFetcher()._part(Told(status, shaped), [request(url) for url in urls], call, deliver))
    assert sorted(found) == urls


@given(st.text(max_size=60), st.sampled_from(["", "Title: x\n\n", "Warning: Target URL returned error 404\n"]))
def test_any_text_of_a_reader_is_parsed_or_refused(text: str, head: str) -> None:
    for whole in (text, f"{head}{text}", f"{head}Markdown Content:\n{text}"):
        try:
            content = parse(whole)
        except CdpFetchError as error:
            assert error.code in ("http_error", "download_failed")
        else:
            assert content.text in whole.replace("\r\n", "\n")
