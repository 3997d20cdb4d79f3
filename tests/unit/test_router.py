"""The chain: who is asked, in which order, and what becomes of failures."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from fetching import Scripted, call_of, saved
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cdpfetch import delivery, router
from cdpfetch.config import Config, Fetch, NetworkAccess
from cdpfetch.errors import CdpFetchError, FetchError, InvalidRequest
from cdpfetch.fetchers.contract import Call, Request
from cdpfetch.paths import Home
from cdpfetch.router import Router, Routing

URLS = [f"https://site{number}.example/page" for number in range(3)]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(str(tmp_path / "home"))


def failing(code: str, reason: str) -> Any:
    return lambda request, call: CdpFetchError(code, reason)


def raising(error: BaseException) -> Any:
    def answer(request: Request, call: Call) -> None:
        raise error

    return answer


async def fetch(fetchers: list[Scripted], urls: list[str], call: Call, **routing: Any) -> list[dict[str, Any]]:
    return await Router(fetchers).fetch(urls, call, Routing(**routing))


async def test_each_url_goes_to_the_first_that_takes_it_and_comes_back_in_its_place(home: Home) -> None:
    first = Scripted("github", takes=lambda request: "site1" in request.href)
    last = Scripted("local")
    documents = await fetch([first, last], URLS, call_of(home))
    assert [document["source"] for document in documents] == ["local", "github", "local"]
    assert [document["url"] for document in documents] == URLS
    assert (first.batches, last.batches) == ([[URLS[1]]], [[URLS[0], URLS[2]]])
    assert [document["attempts"] for document in documents] == [[], [], []]


async def test_a_failure_goes_on_and_is_kept_in_the_json_of_the_document_but_not_in_its_digest(home: Home) -> None:
    chain = [
        Scripted("github", failing("http_error", "404 Not Found")),
        Scripted("parallel", raising(RuntimeError("it broke"))),
        Scripted("jina", lambda request, call: None),
        Scripted("local"),
    ]
    (document,) = await fetch(chain, URLS[:1], call_of(home))
    trail = [
        {"source": "github", "code": "http_error", "reason": "404 Not Found"},
        {"source": "parallel", "code": "internal", "reason": "RuntimeError: it broke"},
        {"source": "jina", "code": "internal", "reason": "jina ended without a result"},
    ]
    assert (document["ok"], document["source"], document["attempts"]) == (True, "local", trail)
    assert json.loads(Path(document["dir"], "metadata.json").read_text()) == document
    assert sorted(os.listdir(document["dir"])) == ["content.md", "metadata.json"]
    assert "404" not in delivery.digest([document])


async def test_one_raising_fetcher_fails_its_batch_only_where_nothing_was_delivered(home: Home) -> None:
    def half(request: Request, call: Call) -> dict[str, Any]:
        if request.url == URLS[1]:
            raise ValueError("no more")
        return saved(request, call, source="parallel")

    documents = await fetch([Scripted("parallel", half), Scripted("local")], URLS, call_of(home))
    assert [document["source"] for document in documents] == ["parallel", "local", "local"]
    assert documents[2]["attempts"] == [{"source": "parallel", "code": "internal", "reason": "ValueError: no more"}]


async def test_a_url_that_nobody_got_has_the_trail_of_all_and_the_last_ones_error(home: Home) -> None:
    saved_page = {
        "status": 404,
        "bodies": [{"name": "content.md", "lines": 3, "bytes": 12}],
        "dir": "/d",
        "source": "local",
    }
    last = FetchError("http_error", "HTTP 404", "look", document=saved_page)
    chain = [Scripted("jina", failing("timeout", "slow")), Scripted("local", lambda request, call: last)]
    (document,) = await fetch(chain, URLS[:1], call_of(home))
    assert document["ok"] is False
    assert document["error"] == {"code": "http_error", "reason": "HTTP 404", "hint": "look"}
    assert (document["status"], document["dir"]) == (404, "/d")
    assert [attempt["source"] for attempt in document["attempts"]] == ["jina", "local"]
    assert f"- {URLS[0]}: jina: slow → local: HTTP 404\n   hint: look\n   bodies (in /d/):\n" in delivery.digest(
        [document]
    )


async def test_what_is_no_url_or_of_another_scheme_is_reported_and_asked_of_nobody(home: Home) -> None:
    local = Scripted("local")
    documents = await fetch([local], ["ftp://x.example/a", "http://[::1", URLS[0]], call_of(home))
    assert [document["ok"] for document in documents] == [False, False, True]
    assert [document["error"]["code"] for document in documents[:2]] == ["unsupported_scheme", "invalid_url"]
    assert local.asked == [URLS[0]]


async def test_a_forced_source_is_the_only_one_and_says_when_it_does_not_take_a_url(home: Home) -> None:
    jina, local = Scripted("jina", takes=lambda request: "site0" in request.href), Scripted("local")
    documents = await fetch([jina, local], URLS[:2], call_of(home), source="jina")
    assert (documents[0]["source"], documents[1]["ok"], local.asked) == ("jina", False, [])
    assert "jina does not take https://site1.example/page" in documents[1]["error"]["reason"]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("screenshot", True),
        ("wait_for", "#x"),
        ("headers", {"a": "b"}),
        ("insecure", True),
        ("keep_page", True),
    ],
)
async def test_what_only_the_browser_can_do_is_asked_of_nobody_else(home: Home, option: str, value: Any) -> None:
    jina, local = Scripted("jina"), Scripted("local")
    await fetch([jina, local], URLS[:1], call_of(home, **{option: value}))
    assert (jina.asked, local.asked) == ([], URLS[:1])


async def test_what_the_settings_deny_or_force_is_asked_of_nobody_else(home: Home) -> None:
    github, local = Scripted("github"), Scripted("local")
    config = Config(
        fetch=Fetch(force_local=("site0.example",)), network=NetworkAccess(deny=("*.site1.example", "site1.example"))
    )
    await fetch([github, local], URLS, call_of(home, config))
    assert (github.asked, local.asked) == (URLS[2:], URLS[:2])


async def test_in_strict_mode_unknown_addresses_are_the_daemons_to_refuse(home: Home) -> None:
    os.makedirs(home.root)
    config = Config(network=NetworkAccess(require_known_url=True, known_urls=(URLS[0],)))
    hosted, last = Scripted("jina"), Scripted("local")
    await fetch([hosted, last], URLS[:2], call_of(home, config=config))
    assert (hosted.asked, last.asked) == ([URLS[0]], [URLS[1]])
    # What a service brought is a result like any other.
    documents = await fetch([Scripted("jina")], URLS[2:], call_of(home, config=config, vouched=True))
    assert documents[0]["ok"]
    await fetch([hosted, last], URLS[2:], call_of(home, config=config))
    assert hosted.asked == [URLS[0], URLS[2]]


async def test_urls_that_are_one_are_fetched_once_and_each_is_reported(home: Home) -> None:
    urls = ["https://X.example/a#one", "https://x.example:443/a", "x.example/a", "https://x.example/a#/route"]
    local = Scripted("local")
    told: list[int] = []
    documents = await Router([local]).fetch(urls, call_of(home), Routing(), lambda index, document: told.append(index))
    assert local.asked == [urls[0], urls[3]]
    assert [document["url"] for document in documents] == urls
    assert len({document["fetch_id"] for document in documents[:3]}) == 1
    assert sorted(told) == [0, 1, 2, 3]


async def test_cancelling_a_call_reaches_every_fetcher(home: Home) -> None:
    chain = [Scripted("github", takes=lambda request: "site0" in request.href), Scripted("local")]
    for fetcher in chain:
        fetcher.held = asyncio.Event()
    task = asyncio.ensure_future(fetch(chain, URLS, call_of(home)))
    while not all(fetcher.batches for fetcher in chain):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [fetcher.cancelled for fetcher in chain] == [1, 1]


async def test_a_fetcher_that_cancels_itself_or_lies_has_failed(home: Home) -> None:
    for answer, reason in [
        (raising(asyncio.CancelledError()), "jina cancelled itself"),
        (raising(ExceptionGroup("some", [ExceptionGroup("more", [CdpFetchError("timeout", "late")])])), "late"),
        (lambda request, call: {"ok": False}, "a failed document was delivered as a good one"),
        (lambda request, call: {"ok": True, "fetch_id": "x-0123abcd", "dir": "/nowhere/at-all"}, "does not exist"),
    ]:
        (document,) = await fetch([Scripted("jina", answer), Scripted("local")], URLS[:1], call_of(home))
        assert document["source"] == "local"
        assert reason in document["attempts"][0]["reason"]


async def test_a_fetcher_that_fails_to_say_whether_it_takes_a_url_has_failed(home: Home) -> None:
    def broken(request: Request) -> bool:
        raise KeyError("shape")

    (document,) = await fetch([Scripted("github", takes=broken), Scripted("local")], URLS[:1], call_of(home))
    assert document["attempts"] == [{"source": "github", "code": "internal", "reason": "KeyError: 'shape'"}]


async def test_those_before_the_last_get_a_share_of_the_time(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(router, "_SHARE_MAX", 0.1)
    slow, second, local = Scripted("parallel"), Scripted("jina", failing("timeout", "late")), Scripted("local")
    slow.held = asyncio.Event()
    config = Config(fetch=Fetch(deadline=40.0))
    (document,) = await fetch([slow, second, local], URLS[:1], call_of(home, config))
    assert document["ok"]
    assert document["attempts"][0] == {"source": "parallel", "code": "timeout", "reason": "no answer within 0.1 s"}
    assert slow.cancelled == 1
    assert 30.0 < local.calls[0].options["deadline"] < 40.0


async def test_one_that_lets_a_batch_wait_is_not_asked_again_in_the_call(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(router, "_SHARE_MAX", 0.05)
    monkeypatch.setattr(router, "WIDTH", 2)
    slow, local = Scripted("jina"), Scripted("local")
    slow.held = asyncio.Event()
    urls = [f"https://x.example/{number}" for number in range(7)]
    documents = await fetch([slow, local], urls, call_of(home))
    assert slow.asked == urls[:2]
    assert [document["attempts"][0]["code"] for document in documents] == ["timeout"] * 7
    await fetch([slow, local], urls[:1], call_of(home))
    assert slow.asked == urls[:2] + urls[:1]


@pytest.mark.parametrize(("size", "limit"), [(1, 20.0), (8, 20.0), (9, 30.0), (100, 30.0)])
async def test_a_larger_batch_gets_more_time_but_not_more_than_half(home: Home, size: int, limit: float) -> None:
    async with asyncio.TaskGroup() as group:
        assert router._Run([], call_of(home), group)._limit(20.0, size) == limit


async def test_the_last_one_alone_gets_the_call_as_it_is(home: Home) -> None:
    local = Scripted("local")
    await fetch([Scripted("jina", takes=lambda request: False), local], URLS[:1], call_of(home, deadline=7.0))
    assert local.calls[0].options == {"deadline": 7.0}
    await fetch([local], URLS[:1], call_of(home))
    assert local.calls[1].options == {}


async def test_more_than_a_hundred_urls_are_worked_through(home: Home) -> None:
    local = Scripted("local", failing("http_error", "none"))
    documents = await fetch([local], [f"https://x.example/{number}" for number in range(250)], call_of(home))
    assert [document["url"] for document in documents] == [f"https://x.example/{number}" for number in range(250)]
    assert (len(local.asked), len(local.batches[0])) == (250, router.WIDTH)


async def test_identical_fetches_of_two_calls_are_one(home: Home) -> None:
    local = Scripted("local")
    local.held = asyncio.Event()
    chain = Router([local])
    first = asyncio.ensure_future(chain.fetch(URLS[:1], call_of(home), Routing()))
    while not local.batches:
        await asyncio.sleep(0)
    second = asyncio.ensure_future(chain.fetch([URLS[0] + "#x"], call_of(home), Routing()))
    other = asyncio.ensure_future(chain.fetch(URLS[:1], call_of(home, format="text"), Routing()))
    fresh = asyncio.ensure_future(chain.fetch(URLS[:1], call_of(home), Routing(fresh=True)))
    while len(local.batches) < 3:
        await asyncio.sleep(0)
    local.held.set()
    found = [(await call)[0] for call in (first, second, other, fresh)]
    assert local.asked == [URLS[0]] * 3
    assert found[0]["fetch_id"] == found[1]["fetch_id"]
    assert len({document["fetch_id"] for document in found}) == 3
    assert found[1]["url"] == URLS[0] + "#x"


async def test_a_call_that_is_cancelled_leaves_the_other_its_document(home: Home) -> None:
    local = Scripted("local")
    local.held = asyncio.Event()
    chain = Router([local])
    first = asyncio.ensure_future(chain.fetch(URLS[:1], call_of(home), Routing()))
    while not local.batches:
        await asyncio.sleep(0)
    second = asyncio.ensure_future(chain.fetch(URLS[:1], call_of(home), Routing()))
    await asyncio.sleep(0.01)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    while len(local.batches) < 2:
        await asyncio.sleep(0)
    local.held.set()
    assert (await second)[0]["ok"]


async def test_what_a_callback_raises_ends_the_call_as_it_is(home: Home) -> None:
    def broken(index: int, document: dict[str, Any]) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        await Router([Scripted("local")]).fetch(URLS, call_of(home), Routing(), broken)


async def test_a_callback_for_the_progress_that_fails_is_no_fetchers_failure(home: Home) -> None:
    def answer(request: Request, call: Call) -> dict[str, Any]:
        call.on_status(request, {"stage": "started"})
        return saved(request, call)

    def broken(request: Request, event: dict[str, Any]) -> None:
        raise LookupError("no terminal")

    told: list[bool] = []
    call = call_of(home)._replace(on_status=broken)
    with pytest.raises(LookupError, match="no terminal"):
        await Router([Scripted("local", answer)]).fetch(
            URLS, call, Routing(), lambda index, document: told.append(document["ok"])
        )
    assert told == [True] * 3


async def test_a_wrong_option_is_the_calls_error(home: Home) -> None:
    with pytest.raises(InvalidRequest):
        await fetch([Scripted("local")], URLS, call_of(home, format=7))


@settings(max_examples=60, deadline=None)
@example([0, 1], ["no", "no"])
@given(
    st.lists(st.integers(0, 5), max_size=12),
    st.lists(st.sampled_from(["good", "error", "raise", "nothing", "no"]), min_size=1, max_size=4),
)
def test_whatever_fetchers_do_every_url_is_answered_once_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[int], behaviours: list[str]
) -> None:
    answers: dict[str, Any] = {
        "good": lambda request, call: {"ok": True},
        "error": failing("timeout", "late"),
        "raise": raising(OSError("no")),
        "nothing": lambda request, call: None,
    }
    chain = [
        Scripted(f"s{place}", answers.get(kind), takes=lambda request, kind=kind: kind != "no")  # type: ignore[misc]
        for place, kind in enumerate(behaviours)
    ]
    urls = [f"https://x.example/{number}" for number in numbers]
    told: list[int] = []
    home = Home(str(tmp_path_factory.getbasetemp() / "h"))
    documents = asyncio.run(
        Router(chain).fetch(urls, call_of(home), Routing(), lambda index, document: told.append(index))
    )
    assert sorted(told) == list(range(len(urls)))
    assert [document["url"] for document in documents] == urls
    assert {document["ok"] for document in documents} <= {"good" in behaviours}
    for fetcher in chain:
        assert len(fetcher.asked) == len(set(fetcher.asked))
