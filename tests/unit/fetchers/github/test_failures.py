"""What goes wrong: limits, tokens, lies, floods, silence and cancelling; each URL by itself."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from pathlib import Path

import pytest
from fake_github import entry, github, issue, reply, repository
from fake_http import answer, silence

from cdpfetch.config import Fetch
from cdpfetch.config import Github as Settings
from cdpfetch.fetchers.contract import Request
from cdpfetch.fetchers.github import GithubFetcher, api, token
from cdpfetch.fetchers.github.failures import RateLimited, error_of
from cdpfetch.fetchers.github.hosts import PUBLIC, hosts_of
from cdpfetch.fetchers.github.load import LOADERS

ISSUE = "/repos/octo/demo/issues/12"
SECRET = "ghp_s3cr3tK77"


def test_the_errors_of_answers():
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-limit": "60", "x-ratelimit-reset": "1796079600"}
    limited = error_of(403, headers, "API rate limit exceeded for 1.2.3.4", what="/x", token=None, now=0)
    assert isinstance(limited, RateLimited)
    assert (limited.code, limited.reason, limited.hint) == (
        "http_error",
        "GitHub's rate limit of 60 requests is used up; try again after 2026-11-30 23:00:00 UTC",
        "set GH_TOKEN, or github.token with `cdpfetch config set`, for 5,000 requests an hour instead of 60",
    )
    second = error_of(
        429, {"retry-after": "60"}, "You have exceeded a secondary rate limit", what="/x", token="GH_TOKEN", now=0
    )
    assert second.reason == (
        "GitHub asks to slow down (its secondary rate limit); try again after 1970-01-01 00:01:00 UTC: "
        "You have exceeded a secondary rate limit"
    )
    assert second.hint == "wait, or use another token"
    refused = error_of(401, {}, "Bad credentials", what="/x", token="GH_TOKEN", now=0)
    assert (refused.code, refused.hint) == ("auth_required", "renew the token in GH_TOKEN")
    missing = error_of(404, {}, "Not Found", what="/x", token="github.token", now=0)
    assert missing.reason == "GitHub answered 404 Not Found for /x: Not Found"
    assert missing.hint == "the token in github.token must be allowed to read it"
    assert error_of(403, {}, "Resource protected by SAML", what="/x", token=None, now=0).code == "http_error"
    assert "599" in error_of(599, {}, "", what="/x", token=None, now=0).reason
    odd = error_of(
        403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "99999999999"}, "", what="", token=None, now=0
    )
    assert "used up" in odd.reason


async def test_a_used_up_limit_ends_the_batch_with_the_time_of_its_reset(caller):
    reset = int(time.time()) + 600
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-limit": "60", "x-ratelimit-reset": str(reset)}
    async with github() as hub:
        hub.routes["*"] = lambda seen: reply({"message": "API rate limit exceeded"}, 403, **headers)
        urls = [f"{hub.url}/octo/demo/issues/{number}" for number in range(1, 31)]
        errors = await caller.many(hub, urls)
        assert len(hub.seen) <= 8
    stamp = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(reset))
    assert {error.reason for error in errors} == {
        f"GitHub's rate limit of 60 requests is used up; try again after {stamp}"
    }
    assert all("GH_TOKEN" in error.hint for error in errors)


async def test_each_url_fares_by_itself(caller):
    async with github() as hub:
        hub.add(ISSUE, issue(comments=0))
        paths = ["/octo/demo/issues/12", "/octo/demo/issues/13", "/octo/demo/issues/12"]
        good, bad, same = await caller.many(hub, [hub.url + path for path in paths])
    assert good["ok"]
    assert same["ok"]
    assert good["dir"] != same["dir"]
    assert bad.reason == "GitHub answered 404 Not Found for /api/v3/repos/octo/demo/issues/13: Not Found"
    assert "GH_TOKEN" in bad.hint


@pytest.mark.parametrize(
    "data",
    [
        b"<html>",
        b"",
        b"[" * 100_000,
        b"[]",
        b'"text"',
        b"null",
        b"\xff\xfe{",
    ],
)
async def test_an_answer_that_is_none_is_an_error(caller, data):
    async with github() as hub:
        hub.routes["*"] = lambda seen: answer(200, data, content_type="text/html")
        error = await caller.error(hub, "/octo/demo/issues/12")
    assert error.code == "http_error"


LIES = [{}, {"message": 3}, {"title": None, "user": [], "labels": {}, "comments": "many", "number": True}]


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize(
    "path",
    [
        "/octo/demo/issues/12",
        "/octo/demo/pull/12",
        "/octo/demo/issues",
        "/octo/demo/commit/abc1234",
        "/octo/demo/compare/a...b",
        "/octo/demo/releases/latest",
        "/octo/demo/actions/runs/9",
        "/octo/demo/actions/runs/9/job/3",
        "/gist/alice/aa5a315d61ae9438b18d",
        "/octo/demo/blob/main/x.py",
        "/octo/demo/tree/main",
        "/octo/demo",
        "/octo/demo/tags",
    ],
)
async def test_answers_that_lie_about_their_shape_never_raise(caller, lie, path):
    async with github() as hub:
        hub.routes["*"] = lambda seen: reply(lie)
        (outcome,) = await caller.many(hub, [hub.url + path])
    code = None if isinstance(outcome, dict) else outcome.code
    assert code in (None, "http_error", "no_content", "download_failed")


async def test_an_address_that_is_none_fails_its_url_alone(caller):
    async with github() as hub:
        hub.add_file("big.bin", bytes(1_100_000))
        hub.add_file("a.py", b"a = 1\n")
        bad = {"type": "file", "encoding": "none", "size": 2_000_000, "download_url": hub.url + "/raw/\x7f\n"}
        hub.add("/repos/octo/demo/contents/big.bin", bad)
        urls = [f"{hub.url}/octo/demo/blob/main/{name}" for name in ("big.bin", "a.py")]
        refused, good = await caller.many(hub, urls)
    assert (refused.code, refused.reason) == ("http_error", "GitHub's answer names an address that is none")
    assert good["ok"]


async def test_a_fault_of_ours_fails_its_url_alone(caller, monkeypatch):
    async def broken(_work):
        raise ZeroDivisionError(SECRET)

    monkeypatch.setitem(LOADERS, "tags", broken)
    async with github() as hub:
        hub.add(ISSUE, issue(comments=0))
        bad, good = await caller.many(hub, [hub.url + "/octo/demo/tags", hub.url + "/octo/demo/issues/12"])
    assert (bad.code, bad.reason) == ("internal", "GitHub's answer led to a ZeroDivisionError")
    assert good["ok"]


async def test_a_huge_answer_is_cut_off(caller, monkeypatch):
    monkeypatch.setattr(api, "MAX_JSON", 1 << 16)
    sent = 0

    async def flood(writer):
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n[")
        while sent < 1 << 26:
            sent += 1 << 14
            writer.write(b" " * (1 << 14))
            await writer.drain()

    async with github() as hub:
        hub.routes["*"] = lambda seen: flood
        error = await caller.error(hub, "/octo/demo/issues/12")
    assert error.code == "too_large"
    assert sent < 1 << 26


async def test_silence_is_bounded_by_the_deadline(caller):
    async with github() as hub:
        hub.routes["*"] = lambda seen: silence
        error = await caller.error(hub, "/octo/demo/issues/12", deadline=0.3)
    assert (error.code, error.reason) == ("timeout", "GitHub's API took longer than 0.3 s")


async def test_nobody_there(caller):
    async with github() as hub:
        port = hub.fake.port
        url = hub.url
    caller.config = caller.config._replace(github=Settings(api_url=f"http://127.0.0.1:{port}/api/v3"))

    class Gone:
        api = f"{url}/api/v3"

    (error,) = await caller.many(Gone(), [url + "/octo/demo"])
    assert error.code == "connection_failed"


async def test_cancelling_ends_all_and_leaves_nothing(caller):
    async with github() as hub:
        hub.routes["*"] = lambda seen: silence
        hub.add(ISSUE, issue())
        requests = [Request(f"{hub.url}/octo/demo/issues/12", f"{hub.url}/octo/demo/issues/12") for _ in range(3)]
        delivered = []
        work = asyncio.ensure_future(
            GithubFetcher().fetch(requests, caller.call(hub), lambda request, outcome: delivered.append(request))
        )
        while len(hub.seen) < 9:
            await asyncio.sleep(0.01)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
    assert delivered == []
    assert os.listdir(caller.root) == []


async def test_a_download_that_breaks_off_leaves_nothing(caller):
    async def broken(writer):
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2000000\r\n\r\n" + bytes(100_000))
        await writer.drain()

    async with github() as hub:
        hub.add_file("big.bin", bytes(2_000_000))
        hub.routes["/raw/octo/demo/main/big.bin"] = lambda seen: broken
        error = await caller.error(hub, "/octo/demo/blob/main/big.bin")
    assert error.code == "download_failed"
    assert os.listdir(caller.root) == []


async def test_a_download_over_the_limit_is_stopped(caller):
    caller.config = caller.config._replace(fetch=Fetch(max_bytes=1_500_000))

    async def endless(writer):
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(bytes(1 << 16))
            await writer.drain()

    async with github() as hub:
        hub.add_file("big.bin", bytes(1_400_000))
        hub.routes["/raw/octo/demo/main/big.bin"] = lambda seen: endless
        error = await caller.error(hub, "/octo/demo/blob/main/big.bin")
    assert error.code == "too_large"
    assert os.listdir(caller.root) == []


async def test_the_token_is_told_to_nobody_else(caller, caplog):
    caplog.set_level(logging.DEBUG)
    caller.environ["GH_TOKEN"] = SECRET
    async with github() as hub:
        hub.add("/repos/octo/demo", repository())
        hub.add_folder("", [entry("a.py", size=1)])
        document = await caller.document(hub, "/octo/demo")
        error = await caller.error(hub, "/octo/demo/issues/404")
        assert {seen.headers["authorization"] for seen in hub.seen} == {f"Bearer {SECRET}"}
    texts = [Path(folder, name).read_text() for folder, _, names in os.walk(caller.root) for name in names]
    assert len(texts) == 2
    for text in [*texts, caplog.text, str(document), str(error), repr(error.__cause__), str(caller.events)]:
        assert SECRET not in text


async def test_where_the_token_is_from(tmp_path):
    config = caller_config(token="of-config")
    enterprise = hosts_of("https://git.corp.example/api/v3")
    environ = {"GITHUB_TOKEN": "second", "PATH": str(tmp_path)}
    assert await token.find(PUBLIC, config, {**environ, "GH_TOKEN": "first"}) == ("first", "GH_TOKEN")
    assert await token.find(PUBLIC, config, environ) == ("second", "GITHUB_TOKEN")
    assert await token.find(PUBLIC, config, {"GH_TOKEN": " ", "GH_ENTERPRISE_TOKEN": "x"}) == (
        "of-config",
        "github.token",
    )
    assert await token.find(enterprise, config, {**environ, "GH_ENTERPRISE_TOKEN": "e"}) == ("e", "GH_ENTERPRISE_TOKEN")
    assert await token.find(PUBLIC, caller_config(), {"PATH": str(tmp_path)}) is None
    assert await token.find(hosts_of("http://git.corp.example/api/v3"), config, environ) is None
    assert "first" not in repr(token.Token("first", "GH_TOKEN"))


def caller_config(**github_settings):
    from cdpfetch.config import Config

    return Config(github=Settings(**github_settings))


async def test_a_token_that_is_none_is_a_bad_setting_that_shows_nothing(caller):
    caller.environ["GH_TOKEN"] = f"{SECRET}\r\nx-evil: 1"
    async with github() as hub:
        with pytest.raises(Exception, match="the token in GH_TOKEN has characters that no token has") as caught:
            await caller.many(hub, [hub.url + "/octo/demo"])
        assert hub.seen == []
    assert caught.value.code == "config_error"
    assert SECRET not in str(caught.value)


def write_gh(tmp_path, script):
    program = tmp_path / "gh"
    program.write_text(f"#!/bin/sh\necho \"$@\" >> '{tmp_path}/asked'\n{script}\n")
    program.chmod(0o700)
    return {"PATH": f"{tmp_path}:/usr/bin:/bin"}


async def test_gh_is_asked_once_a_process(tmp_path):
    environ = write_gh(tmp_path, "echo from-gh")
    for _ in range(3):
        assert await token.find(PUBLIC, caller_config(), environ) == ("from-gh", "`gh auth token`")
    assert (tmp_path / "asked").read_text() == "auth token --hostname github.com\n"


@pytest.mark.parametrize("script", ["echo no token >&2; exit 1", "exit 0", "kill -9 $$"])
async def test_gh_that_has_none(tmp_path, script):
    assert await token.find(PUBLIC, caller_config(), write_gh(tmp_path, script)) is None


async def test_gh_that_hangs_is_ended_with_what_it_started(tmp_path, monkeypatch):
    monkeypatch.setattr(token, "GH_SECONDS", 0.3)
    assert await token.find(PUBLIC, caller_config(), write_gh(tmp_path, "sleep 600 & sleep 600")) is None


async def test_what_the_call_allows_is_reachable(caller):
    async with github() as hub:
        hub.add(ISSUE, issue(comments=0))
        document = await caller.document(hub, "/octo/demo/issues/12", allow=["127.0.0.1:1"])
    assert document["ok"]
