"""Discussions, runs of Actions, and gists."""

from __future__ import annotations

import hashlib
import json

from fake_github import comment, discussion, discussion_comment, gist, gist_file, github, job, reply, run
from fake_http import answer, serving

from cdpfetch.config import NetworkAccess
from cdpfetch.document import Document

RUN = "/repos/octo/demo/actions/runs/900"
GIST = "aa5a315d61ae9438b18d"
LOG = "".join(f"2026-05-01T10:00:{number % 60:02}.1234567Z line {number}\r\n" for number in range(100)).encode()


async def test_a_discussion_needs_a_token(caller):
    async with github() as hub:
        error = await caller.error(hub, "/octo/demo/discussions/56")
        assert hub.seen == []
    assert (error.code, error.reason) == ("auth_required", "GitHub shows discussions to its API only with a token")
    assert error.hint == "set GH_TOKEN, or github.token with `cdpfetch config set`"


async def test_a_discussion_with_comments_and_replies(caller):
    caller.environ["GH_TOKEN"] = "s3cr3t"
    reply_to = discussion_comment(9, "Whale oil is too dear.", "carol")
    pages = {
        None: discussion(
            [discussion_comment(1, "Whale oil.", isAnswer=True, replies={"totalCount": 25, "nodes": [reply_to]})],
            2,
            "CURSOR",
        ),
        "CURSOR": discussion([discussion_comment(2, "# Colza", author=None)], 2),
    }
    async with github() as hub:
        hub.routes["/api/graphql"] = lambda seen: reply(pages[json.loads(seen.body)["variables"]["after"]])
        document = await caller.document(hub, "/octo/demo/discussions/56")
        assert [(seen.method, seen.headers["authorization"]) for seen in hub.seen] == [("POST", "Bearer s3cr3t")] * 2
        assert json.loads(hub.seen[0].body)["variables"] == {
            "owner": "octo",
            "repo": "demo",
            "number": 56,
            "after": None,
        }
    assert (document["kind"], document["title"]) == ("github.discussion", "octo/demo#56: Which oil burns longest?")
    assert document["facts"] == ["open", "answered", "Q&A", "2 comments", "oil"]
    assert (
        Document(document).text()
        == """\
# octo/demo#56: Which oil burns longest?

- State: open, answered
- Category: Q&A
- Opened: alice on 2026-07-01 00:00 UTC
- Labels: oil
- Upvotes: 9
- Comments: 2

## Description

Our barrels are empty by midnight, and the winter is long.

Reactions: 👍 4

## bob on 2026-07-02 00:00 UTC

answer · 1 upvote · [permalink](https://github.com/octo/demo/discussions/56#discussioncomment-1)

Whale oil.

Reactions: ❤️ 2

### carol on 2026-07-02 00:00 UTC, in reply

Whale oil is too dear.

Reactions: ❤️ 2

*The first 1 of 25 replies are shown.*

## ghost on 2026-07-02 00:00 UTC

1 upvote · [permalink](https://github.com/octo/demo/discussions/56#discussioncomment-2)

### Colza

Reactions: ❤️ 2
"""
    )


async def test_errors_of_graphql(caller):
    caller.environ["GH_TOKEN"] = "s3cr3t"
    async with github() as hub:
        hub.routes["/api/graphql"] = lambda seen: reply(
            {"data": None, "errors": [{"type": "NOT_FOUND", "message": "No."}]}
        )
        refused = await caller.error(hub, "/octo/demo/discussions/56")
        limited = {"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}
        hub.routes["/api/graphql"] = lambda seen: reply(limited, **{"x-ratelimit-reset": "1796079600"})
        busy = await caller.error(hub, "/octo/demo/discussions/56")
        hub.routes["/api/graphql"] = lambda seen: reply({"data": {"repository": {"discussion": None}}})
        gone = await caller.error(hub, "/octo/demo/discussions/56")
    assert (refused.code, refused.reason) == ("http_error", "GitHub answered: No.")
    assert "try again after 2026-11-30 23:00:00 UTC" in busy.reason
    assert gone.reason == "GitHub knows no discussion 56 of octo/demo"


async def test_a_run_with_its_jobs_without_a_token(caller):
    async with github() as hub:
        hub.add(RUN, run())
        hub.add_list(RUN + "/jobs", [job(1, "lint"), job(2, "test (3.12)", "failure")], key="jobs")
        document = await caller.document(hub, "/octo/demo/actions/runs/900")
    assert (document["kind"], document["title"]) == ("github.run", "octo/demo: CI #77: Light the lamp")
    assert document["facts"] == ["failure", "2 jobs", "1 failed", "push", "main"]
    assert (
        Document(document).text()
        == """\
# octo/demo: CI #77: Light the lamp

- Outcome: failure
- Event: push
- Branch: `main`
- Commit: `6dcb09b5b57875f334f61aebed695e2e4193db5e`
- Attempt: 1
- Started: 2026-05-01 10:00 UTC
- Updated: 2026-05-01 10:05 UTC
- By: alice

## lint: success

2026-05-01 10:00 UTC to 2026-05-01 10:04 UTC

1. Set up job: success
2. Run tests: success

## test (3.12): failure

2026-05-01 10:00 UTC to 2026-05-01 10:04 UTC

1. Set up job: success
2. Run tests: failure

*GitHub gives logs only with a token: set GH_TOKEN, or github.token with `cdpfetch config set`.*
"""
    )


async def test_the_log_of_a_failed_job_with_a_token(caller):
    caller.environ["GH_TOKEN"] = "s3cr3t"
    async with github() as hub, serving(lambda seen: answer(200, LOG)) as store:
        caller.config = caller.config._replace(network=NetworkAccess(allow=(f"127.0.0.1:{store.port}",)))
        hub.add(RUN + "/attempts/2", run(run_attempt=2))
        hub.add_list(RUN + "/attempts/2/jobs", [job(1, "lint"), job(2, "test", "failure")], key="jobs")
        hub.add("/repos/octo/demo/actions/jobs/2", job(2, "test", "failure"))
        hub.routes["/api/v3/repos/octo/demo/actions/jobs/2/logs"] = lambda seen: answer(
            302, location=store.url + "/log"
        )
        whole = await caller.document(hub, "/octo/demo/actions/runs/900/attempts/2")
        one = await caller.document(hub, "/octo/demo/actions/runs/900/job/2")
        assert [seen.headers.get("authorization") for seen in store.seen] == [None, None]
    log = "".join(f"line {number}\n" for number in range(100))
    for document in (whole, one):
        body = document["bodies"][-1]
        assert (body["name"], body["role"], body["lines"]) == ("test.log", "text", 100)
        assert Document(document).text("text") == log
        assert "The last 60 of 100 lines of the log:\n\n```text\nline 40\n" in Document(document).text()
    assert (one["kind"], one["title"]) == ("github.job", "octo/demo: CI / test")
    assert one["facts"] == ["failure", "2 steps", "main"]


async def test_a_log_that_cannot_be_read_is_said(caller):
    caller.environ["GH_TOKEN"] = "s3cr3t"
    async with github() as hub:
        hub.add("/repos/octo/demo/actions/jobs/2", job(2, "test", "failure"))
        hub.add("/repos/octo/demo/actions/jobs/2/logs", {"message": "Gone"}, 410)
        document = await caller.document(hub, "/octo/demo/actions/runs/900/job/2")
    assert "*Its log could not be read: GitHub answered 410 Gone for" in Document(document).text()


async def test_a_gist_with_its_files_and_comments(caller):
    async with github() as hub:
        files = {
            "tide.py": gist_file("tide.py", "print('tide')\n"),
            "notes.md": gist_file("notes.md", "# Notes\n\nCount twice.\n"),
        }
        hub.add(f"/gists/{GIST}", gist(files, comments=1))
        hub.add_list(f"/gists/{GIST}/comments", [comment(1, "Thrice is better.")])
        document = await caller.document(hub, f"/gist/alice/{GIST}")
    assert (document["kind"], document["title"]) == ("github.gist", "alice/How the tide is counted")
    assert document["facts"] == ["2 files", "1 comment", "tide.py, notes.md"]
    assert [(body["name"], body["role"]) for body in document["bodies"]] == [
        ("tide.py", "source"),
        ("notes.md", "source"),
        ("content.md", "content"),
    ]
    text = Document(document).text()
    assert "| `tide.py` | Python | 14 B |\n" in text
    assert "## tide.py\n\n```python\nprint('tide')\n```\n" in text
    assert "## notes.md\n\n### Notes\n\nCount twice.\n" in text
    assert text.endswith("Thrice is better.\n")


async def test_a_long_file_of_a_gist_comes_from_its_own_address(caller):
    whole = "x = 1\n" * 300_000
    async with github() as hub:
        raw = f"/gist/raw/alice/{GIST}/raw/1/long.py"
        hub.routes[raw] = lambda seen: answer(200, whole.encode())
        files = {
            "long.py": gist_file("long.py", whole[:1000], truncated=True, size=len(whole), raw_url=hub.url + raw),
            "far.py": gist_file("far.py", "x", truncated=True, size=99, raw_url="http://127.0.0.1:1/far.py"),
        }
        hub.add(f"/gists/{GIST}", gist(files))
        document = await caller.document(hub, f"/gist/alice/{GIST}")
    assert [body["bytes"] for body in document["bodies"]][:2] == [len(whole), 1]
    assert document["warnings"][0]["message"] == "far.py is not whole: its address is no file of this GitHub"
    assert "*The first 20,000 characters; the file has them all.*" in Document(document).text()


async def test_a_raw_file_of_a_gist(caller):
    async with github() as hub:
        hub.add(f"/gists/{GIST}", gist({"a.py": gist_file("a.py", "a = 1\n"), "b.py": gist_file("b.py", "b = 2\n")}))
        first = await caller.document(hub, f"/gist/alice/{GIST}/raw")
        named = await caller.document(hub, f"/gist/alice/{GIST}/raw/b.py")
        error = await caller.error(hub, f"/gist/alice/{GIST}/raw/c.py")
    assert (first["bodies"][0]["name"], named["bodies"][0]["name"]) == ("a.py", "b.py")
    assert named["sha256"] == hashlib.sha256(b"b = 2\n").hexdigest()
    assert (named["kind"], named["title"]) == ("github.file", f"alice/{GIST}: b.py")
    assert (error.reason, error.hint) == ("the gist has no file c.py", "its files: a.py, b.py")
