"""The command and GitHub: its pages come by the API, without a daemon; what the API lacks goes to the browser."""

from __future__ import annotations

import asyncio
import os

from commands import Command
from fake_github import comment, github, issue

from cdpfetch import reading

SECRET = "ghp_s3cr3tK77"


async def test_an_issue_without_a_daemon_and_without_the_token_in_what_is_left(tmp_path, monkeypatch):
    command = Command(tmp_path / "home", [])
    async with github() as hub:
        command.configure(f'[github]\napi_url = "{hub.api}"\n')
        monkeypatch.setenv("GH_TOKEN", SECRET)
        hub.add("/repos/octo/demo/issues/12", issue())
        hub.add_list("/repos/octo/demo/issues/12/comments", [comment(1, "Seen here, too.")])
        hub.add_file("lamp.py", b"lit = True\n")
        urls = [f"{hub.url}/octo/demo/issues/12", f"{hub.url}/octo/demo/blob/main/lamp.py"]
        found = await asyncio.to_thread(command, "fetch", "--json", *urls)
        printed = await asyncio.to_thread(command, "fetch", "--print", "--format", "source", urls[1])
        failed = await asyncio.to_thread(command, "fetch", "--source", "github", f"{hub.url}/octo/demo/issues/99")
        assert {seen.headers["authorization"] for seen in hub.seen} == {f"Bearer {SECRET}"}
    assert found.status == 0, found.err
    documents = found.documents
    assert [document["kind"] for document in documents] == ["github.issue", "github.file"]
    assert [document["url"] for document in documents] == urls
    assert printed.out == "lit = True\n"
    assert failed.status == 1
    assert "github: GitHub answered 404 Not Found" in failed.out
    page = reading.read(command.home.artifacts, documents[0]["fetch_id"], find="seen here")
    assert (page["matches"], "Seen here, too." in page["text"]) == (1, True)
    assert not os.path.exists(command.home.pidfile)
    left = [os.path.join(folder, name) for folder, _, names in os.walk(tmp_path) for name in names]
    for path in left:
        with open(path, "rb") as file:
            assert SECRET.encode() not in file.read()
    assert SECRET not in found.out + found.err + failed.out + failed.err


def test_what_the_api_refuses_is_fetched_by_the_browser(own, site):
    own.configure(f'[network]\nallow = ["{site.netloc}"]\n[github]\napi_url = "{site.url("/api/v3")}"\n')
    found = own("fetch", "--json", site.url("/octo/demo/issues/99"), site.url("/page"))
    refused, page = found.documents
    assert [attempt["source"] for attempt in refused["attempts"]] == ["github", "local"]
    assert refused["error"]["code"] == "http_error"
    assert (page["ok"], page["source"]) == (True, "local")
