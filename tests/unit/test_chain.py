"""Which calls go along the chain, and that the library and the command take them there."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import fake_github
import fake_hosted
import pytest
from fake_http import serving
from hypothesis import given
from hypothesis import strategies as st

import cdpfetch
from cdpfetch import aclient, asyncapi, chain, cli, retention
from cdpfetch.errors import FetchError, InvalidRequest
from cdpfetch.paths import Home

URL = "https://x.example/ok"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(str(tmp_path))


@pytest.mark.parametrize(
    ("urls", "own", "environ", "config", "wanted"),
    [
        ([URL], {}, {}, None, False),
        ([URL, "https://x.example/b"], {}, {}, "[fetch]\ntabs = 2\n", False),
        ([URL], {"source": "local"}, {"PARALLEL_API_KEY": "k"}, None, False),
        (["fake:ok", "fake:ok"], {}, {}, None, False),
        ([URL], {"source": "jina"}, {}, None, True),
        ([URL], {"max_age": 5.0}, {}, None, True),
        ([URL], {"max_age": 5.0, "source": "local"}, {}, None, True),
        ([URL], {"fresh": True}, {}, None, True),
        ([URL], {}, {"PARALLEL_API_KEY": "k"}, None, True),
        ([URL], {}, {"CDPFETCH_JINA_ENABLED": "1"}, None, True),
        ([URL], {}, {}, "[jina]\nenabled = true\n", True),
        ([URL], {}, {}, 'parallel = {api_key = "k"}\n', True),
        ([URL], {}, {}, "[github]\n", True),
        (["https://GitHub.com/a/b"], {}, {}, None, True),
        (["https://raw.githubusercontent.com/a/b/c/d"], {}, {}, None, True),
        ([URL, URL], {}, {}, None, True),
        ([URL, URL + "#part"], {}, {}, None, True),
        ([URL, "X.example:443/ok"], {}, {}, None, True),
    ],
)
def test_only_what_may_concern_others_is_routed(
    home: Home, urls: list[str], own: dict[str, Any], environ: dict[str, str], config: str | None, wanted: bool
) -> None:
    if config is not None:
        Path(home.config).write_text(config)
    assert chain.needed(urls, own, home, environ) is wanted


@given(st.lists(st.text(max_size=30), max_size=5))
def test_no_text_is_too_strange_to_decide(urls: list[str]) -> None:
    assert chain.needed(urls, {}, Home("/nowhere"), {}) in (True, False)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"source": "google"}, "sources: github, parallel, jina, local"),
        ({"max_age": -1}, "0 (never from the cache)"),
        ({"max_age": float("nan")}, "0 (never from the cache)"),
        ({"max_age": "5"}, "wanted float"),
        ({"max_age": True}, "wanted float"),
        ({"fresh": 1}, "wanted bool"),
        ({"objective": []}, "wanted str"),
    ],
)
def test_a_wrong_option_of_the_chain_is_named(option: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        chain.split(option)
    assert words in str(caught.value)


def test_the_public_client_is_the_one_of_the_chain(home: Home) -> None:
    assert cdpfetch.AsyncClient is asyncapi.AsyncClient
    assert issubclass(cdpfetch.AsyncClient, aclient.AsyncClient)
    assert tuple(fetcher.name for fetcher in asyncapi.compose(aclient.AsyncClient(home))) == chain.SOURCES


def sent(fake: Any) -> list[str]:
    return [request["url"] for request in fake.requests if request.get("op") == "fetch"]


def test_the_library_fetches_what_is_one_once_and_remembers_it(fake: Any) -> None:
    urls = ["https://x.example/file:text", "https://x.example/file:text#a"]
    first = cdpfetch.fetch_many(urls, max_age=60)
    assert [outcome.url for outcome in first] == urls
    assert sent(fake) == urls[:1]
    again = cdpfetch.fetch(urls[1], max_age=60)
    assert (again.url, again.fetch_id) == (urls[1], first[0].document.fetch_id)
    assert again.facts == ["cached 0 s ago"]
    assert again.text() == "text"
    assert sent(fake) == urls[:1]


def test_the_library_raises_for_one_url_and_not_for_many(fake: Any) -> None:
    with pytest.raises(FetchError) as caught:
        cdpfetch.fetch("https://x.example/error:timeout", fresh=True)
    assert (caught.value.code, caught.value.attempts[0]["source"]) == ("timeout", "local")
    bad, good = cdpfetch.fetch_many(["https://x.example/error:timeout", "https://x.example/ok"], fresh=True)
    assert (bad.ok, good.ok) == (False, True)
    with pytest.raises(InvalidRequest, match="unknown option"):
        cdpfetch.fetch(URL, fresh=True, nonsense=1)  # type: ignore[call-arg]


async def test_it_works_where_a_loop_runs_already(fake: Any) -> None:
    told: list[str] = []
    document = cdpfetch.fetch(
        "https://x.example/status:1 ok", fresh=True, on_status=lambda url, event: told.append(event["stage"])
    )
    assert (document.ok, told) == (True, ["queued", "downloading"])


async def test_the_asyncio_client_shares_what_its_tasks_ask_for(fake: Any) -> None:
    async with cdpfetch.AsyncClient() as client:
        both = await asyncio.gather(*(client.fetch("https://x.example/wait:0.2 file:t") for _ in range(3)))
    assert len({document.fetch_id for document in both}) == 1
    assert len(sent(fake)) == 1


async def test_cancelling_the_asyncio_client_cancels_in_the_daemon(fake: Any) -> None:
    async with cdpfetch.AsyncClient() as client:
        task = asyncio.ensure_future(client.fetch("https://x.example/stall"))
        while not sent(fake):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while not any(request.get("op") == "cancel" for request in fake.requests):
            await asyncio.sleep(0.01)


def test_a_source_that_is_asked_for_says_why_it_takes_nothing(fake: Any, monkeypatch: Any) -> None:
    for source, url, reason in [
        ("parallel", URL, "there is no key (PARALLEL_API_KEY, parallel.api_key)"),
        ("jina", URL, "jina.enabled is false"),
        ("github", URL, "with these options and settings"),
    ]:
        with pytest.raises(FetchError) as caught:
            cdpfetch.fetch(url, source=source)
        assert caught.value.reason.startswith(f"{source} does not take {url}")
        assert caught.value.reason.endswith(reason)
    monkeypatch.setenv("PARALLEL_API_KEY", "k")
    with pytest.raises(FetchError, match="private"):
        cdpfetch.fetch("http://10.0.0.1/", source="parallel")
    assert fake.starts == []


async def test_documents_of_a_service_go_where_the_caller_wants_them(fake: Any, monkeypatch: Any) -> None:
    async with serving(fake_hosted.parallel()) as service:
        monkeypatch.setenv("CDPFETCH_PARALLEL_BASE_URL", service.url)
        monkeypatch.setenv("PARALLEL_API_KEY", "k")
        out = os.path.join(fake.root, "out")
        async with cdpfetch.AsyncClient() as client:
            document = await client.fetch("https://unresolvable.invalid/a", output_dir=out)
            assert document.dir == os.path.join(out, str(document.fetch_id))
            assert (await client.read(str(document.fetch_id))).text.startswith("# A")
    assert [entry["elsewhere"] for entry in retention.list_documents(fake.home.artifacts)] == [True]


async def test_a_service_serves_and_the_daemon_is_not_even_started(fake: Any, monkeypatch: Any) -> None:
    async with serving(fake_hosted.parallel()) as service:
        monkeypatch.setenv("CDPFETCH_PARALLEL_BASE_URL", service.url)
        monkeypatch.setenv("PARALLEL_API_KEY", "k")
        async with cdpfetch.AsyncClient() as client:
            document = await client.fetch("https://unresolvable.invalid/a")
            assert (document.source, document.kind) == ("parallel", "parallel.page")
            page = await client.read(str(document.fetch_id))
            assert page.text.startswith("# A")
            local = await client.fetch("https://x.example/ok", source="local")
            assert local.source == "local"
    assert len(fake.starts) == 1


@pytest.mark.parametrize("kind", sorted(fake_hosted.SICK))
async def test_whatever_ails_the_services_the_daemon_answers_every_url(fake: Any, monkeypatch: Any, kind: str) -> None:
    if kind == "slow":
        monkeypatch.setattr("cdpfetch.router._SHARE_MAX", 0.4)
    monkeypatch.setattr("cdpfetch.fetchers.hosted.MAX_ANSWER", 1_000_000)
    urls = [f"https://nobody-{number}.invalid/file:text" for number in range(4)]
    async with serving(fake_hosted.sick(kind)) as service:
        Path(fake.home.config).write_text(
            f'[parallel]\napi_key = "s3cret"\nbase_url = "{service.url}"\n'
            f'[jina]\nenabled = true\napi_key = "s3cret"\nbase_url = "{service.url}"\n'
        )
        async with cdpfetch.AsyncClient() as client:
            outcomes = await client.fetch_many(urls)
    assert [outcome.document.source for outcome in outcomes] == ["local"] * 4
    assert [outcome.document.text() for outcome in outcomes] == ["text"] * 4
    for outcome in outcomes:
        assert [attempt["source"] for attempt in outcome.document.attempts] == ["parallel", "jina"]
        assert "s3cret" not in Path(str(outcome.document.dir), "metadata.json").read_text()


async def test_github_serves_what_is_its_own_and_the_daemon_what_is_not_there(fake: Any, monkeypatch: Any) -> None:
    async with fake_github.github() as hub:
        hub.add("/repos/octo/demo/issues/12", fake_github.issue())
        for part in ("comments", "timeline"):
            hub.add_list(f"/repos/octo/demo/issues/12/{part}", [])
        monkeypatch.setenv("CDPFETCH_GITHUB_API_URL", hub.api)
        monkeypatch.setenv("GH_TOKEN", "s3cret")
        async with cdpfetch.AsyncClient() as client:
            found, missing = await client.fetch_many([f"{hub.url}/octo/demo/issues/{number}" for number in (12, 13)])
    assert (found.document.source, found.document.kind) == ("github", "github.issue")
    assert found.document.text().startswith("# ")
    assert [attempt["source"] for attempt in missing.document.attempts][:1] == ["github"]
    assert sent(fake) == [missing.url]
    assert "s3cret" not in json.dumps([found.document.to_dict(), missing.document.to_dict()])


def test_the_command_takes_the_chains_options(fake: Any, capsysbinary: Any) -> None:
    url = "https://x.example/file:text"
    assert cli.main(["fetch", "--json", "--max-age", "60", url]) == 0
    assert cli.main(["fetch", "--json", "--max-age", "60", "--objective", "", url]) == 0
    assert cli.main(["fetch", "--json", "--fresh", url]) == 0
    documents = [json.loads(line) for line in capsysbinary.readouterr().out.splitlines()]
    assert [document["facts"] for document in documents] == [[], ["cached 0 s ago"], []]
    assert sent(fake) == [url, url]
    assert cli.main(["fetch", "--source", "jina", url]) == 1
    assert b"jina does not take" in capsysbinary.readouterr().out
    for wrong in (["--max-age", "-1"], ["--max-age", "x"], ["--source", "google"]):
        with pytest.raises(SystemExit):
            cli.main(["fetch", *wrong, url])


def test_a_hundred_and_more_urls_are_answered_in_order(fake: Any, capsysbinary: Any) -> None:
    urls = [f"https://x.example/{number}/ok" for number in range(130)]
    assert cli.main(["fetch", "--json", "-o", os.path.join(fake.root, "out"), urls[0], *urls]) == 0
    documents = [json.loads(line) for line in capsysbinary.readouterr().out.splitlines()]
    assert [document["url"] for document in documents] == [urls[0], *urls]
    assert len(sent(fake)) == 130
