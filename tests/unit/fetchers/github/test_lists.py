"""Lists of issues and pull requests, tags, branches, commits; commits and comparisons; releases and assets."""

from __future__ import annotations

import hashlib

import pytest
from fake_github import asset, changed, commit, github, issue, query_of, release, reply
from fake_http import answer, serving

from cdpfetch.config import NetworkAccess
from cdpfetch.document import Document
from cdpfetch.fetchers.github.load.patches import DIFF
from cdpfetch.fetchers.github.load.queries import search_of

SHA = "6dcb09b5b57875f334f61aebed695e2e4193db5e"
ZIP = b"PK\x03\x04" + bytes(1000)
REPO = "/repos/octo/demo"


def add_search(hub, items, total=None, **more):
    hub.add(
        "/search/issues",
        {"total_count": len(items) if total is None else total, "incomplete_results": False, "items": items, **more},
    )


async def test_issues_as_their_page_has_them(caller):
    async with github() as hub:
        closed = issue(9, title="Oil | is out", state="closed", comments=0, labels=[], milestone=None)
        add_search(hub, [issue(12, assignees=[{"login": "bo"}]), closed])
        document = await caller.document(hub, "/octo/demo/issues")
        assert query_of(hub.seen[0]) == {
            "q": "repo:octo/demo is:issue is:open",
            "sort": "created",
            "order": "desc",
            "per_page": "100",
        }
        link = hub.url + "/octo/demo/issues"
    assert (document["kind"], document["title"], document["link"]) == ("github.issues", "octo/demo: issues", link)
    assert document["facts"] == ["2 issues", "is:issue is:open"]
    assert [heading["text"] for heading in document["outline"]] == [
        "octo/demo: issues",
        "#12 The lamp goes out at dawn",
        "#9 Oil | is out",
    ]
    assert (
        Document(document).text()
        == """\
# octo/demo: issues

- Search: `is:issue is:open`
- Found: 2
- Shown: 2

## #12 The lamp goes out at dawn

open · opened 2026-01-02 by alice · updated 2026-02-03 · 2 comments · bug, help wanted · milestone v2.0 · assigned to bo

<https://github.com/octo/demo/issues/12>

## #9 Oil | is out

closed · opened 2026-01-02 by alice · updated 2026-02-03 · assigned to bob

<https://github.com/octo/demo/issues/9>
"""
    )


async def test_more_than_a_hundred_are_counted(caller):
    async with github() as hub:
        merged = {"url": "x", "merged_at": "2026-02-01T00:00:00Z"}
        add_search(hub, [issue(number, pull_request=merged) for number in range(100)], 1234, incomplete_results=True)
        document = await caller.document(
            hub, "/octo/demo/pulls?q=is%3Amerged+sort%3Aupdated-asc+label%3A%22help+wanted%22"
        )
        asked = query_of(hub.seen[0])
    assert asked["q"] == 'repo:octo/demo is:pr is:merged label:"help wanted"'
    assert (asked["sort"], asked["order"]) == ("updated", "asc")
    assert document["facts"][0] == "100 of 1,234 pull requests"
    assert [warning["message"] for warning in document["warnings"]] == [
        "only 1 to 100 of 1,234 are listed",
        "GitHub's search ran out of time: results are missing",
    ]
    assert Document(document).text().count("\nmerged · opened") == 100


@pytest.mark.parametrize(
    ("kind", "query", "terms", "order"),
    [
        ("issues", {}, "is:issue is:open", ("created", "desc")),
        ("pulls", {}, "is:pr is:open", ("created", "desc")),
        ("issues", {"q": "is:pr crash"}, "is:pr crash", ("created", "desc")),
        ("issues", {"q": "crash repo:evil/x org:evil"}, "is:issue crash", ("created", "desc")),
        ("issues", {"q": '"a  b" sort:comments'}, 'is:issue "a b"', ("comments", "desc")),
        ("issues", {"q": "x sort:reactions-+1-desc"}, "is:issue x", ("reactions-+1", "desc")),
        ("pulls", {"q": "x sort:relevance"}, "is:pr x", (None, None)),
        ("issues", {"q": "  "}, "is:issue is:open", ("created", "desc")),
    ],
)
def test_queries(kind, query, terms, order):
    found = search_of(kind, "octo/demo", query)
    assert found.params["q"] == f"repo:octo/demo {terms}"
    assert (found.params.get("sort"), found.params.get("order")) == order
    assert (found.params["per_page"], found.skipped) == ("100", 0)


def test_a_page_is_one_of_the_webs():
    found = search_of("issues", "octo/demo", {"page": "3"})
    assert (found.params["per_page"], found.params["page"], found.skipped) == ("25", "3", 50)


async def test_tags_and_branches(caller):
    async with github() as hub:
        hub.add_list(REPO + "/tags", [{"name": f"v{n}", "commit": {"sha": SHA, "url": "x"}} for n in range(350)])
        hub.add_list(REPO + "/branches", [{"name": "main", "commit": {"sha": SHA}, "protected": True}])
        tags = await caller.document(hub, "/octo/demo/tags")
        branches = await caller.document(hub, "/octo/demo/branches")
    assert (tags["facts"], tags["kind"]) == (["300+ tags"], "github.tags")
    assert tags["warnings"][0]["message"] == "only the first 300 tags are listed; there are more"
    assert Document(tags).text().count("\n- `v") == 300
    assert Document(branches).text() == "# octo/demo: branches\n\n- `main` `6dcb09b5b578` protected\n"
    assert branches["facts"] == ["1 branch"]


async def test_a_commit_with_its_files_and_patch(caller):
    async with github() as hub:
        data = commit(
            SHA, stats={"additions": 3, "deletions": 1, "total": 4}, files=[changed("a.py", additions=3, deletions=1)]
        )
        hub.add_by_accept(
            f"{REPO}/commits/{SHA}", {"application/vnd.github+json": data, DIFF: b"diff --git a/a.py b/a.py\n"}
        )
        document = await caller.document(hub, f"/octo/demo/commit/{SHA}")
    assert (document["kind"], document["title"]) == ("github.commit", "octo/demo@6dcb09b: Light the lamp")
    assert document["facts"] == ["alice", "2026-03-04 05:06 UTC", "+3 -1 in 1 file"]
    assert document["excerpt"] == "It was dark."
    assert Document(document).text("source") == "diff --git a/a.py b/a.py\n"
    assert (
        Document(document).text()
        == f"""\
# octo/demo@6dcb09b: Light the lamp

- Commit: `{SHA}`
- Author: Alice Keeper (alice), 2026-03-04 05:06 UTC
- Parents: `{"1" * 40}`
- Signature: verified
- Changes: +3 -1 in 1 file

## Message

```text
Light the lamp

It was dark.
```

## Changed files (1)

| File | Status | Added | Removed |
| --- | --- | --- | --- |
| `a.py` | modified | +3 | -1 |
"""
    )


async def test_a_commit_of_many_files(caller):
    async with github() as hub:
        files = [changed(f"f{number}.py") for number in range(400)]

        def answer_page(seen):
            if seen.headers["accept"] == DIFF:
                return answer(200, b"diff\n")
            page = int(query_of(seen).get("page", "1"))
            size = int(query_of(seen)["per_page"])
            link = f'<{hub.api}{REPO}/commits/{SHA}?per_page={size}&page={page + 1}>; rel="next"'
            return reply(commit(SHA, stats={}, files=files[(page - 1) * size : page * size]), link=link)

        hub.routes[f"/api/v3{REPO}/commits/{SHA}"] = answer_page
        document = await caller.document(hub, f"/octo/demo/commit/{SHA}")
    assert document["warnings"][0]["message"] == "only the first 300 changed files are listed"
    assert Document(document).text().count("\n| `f") == 300


async def test_commits_of_a_branch_with_slashes_and_a_path(caller):
    async with github() as hub:

        def commits(seen):
            asked = query_of(seen)
            if asked.get("sha") != "feature/x":
                return reply({"message": "Not Found"}, 404)
            return reply([commit(SHA)] if asked.get("path") == "src" else [])

        hub.routes["/api/v3" + REPO + "/commits"] = commits
        document = await caller.document(hub, "/octo/demo/commits/feature/x/src?author=alice")
        assert [(query_of(seen)["sha"], query_of(seen)["author"]) for seen in hub.seen] == [
            ("feature", "alice"),
            ("feature/x", "alice"),
        ]
        empty = await caller.document(hub, "/octo/demo/commits/feature/x/nothing")
        error = await caller.error(hub, "/octo/demo/commits/gone")
    assert document["title"] == "octo/demo: commits of feature/x in src"
    assert document["facts"] == ["1 commit", "feature/x", "newest 2026-03-04 05:06 UTC"]
    assert Document(document).text().endswith("\n\n- `6dcb09b5b578` 2026-03-04 05:06 UTC alice: Light the lamp\n")
    assert "There are none." in Document(empty).text()
    assert error.code == "http_error"


async def test_a_hundred_commits_of_many(caller):
    async with github() as hub:
        hub.add_list(REPO + "/commits", [commit(f"{number:040x}") for number in range(5650)])
        document = await caller.document(hub, "/octo/demo/commits")
        assert len(hub.seen) == 1
    assert document["facts"][0] == "100+ commits"
    assert document["warnings"][0]["message"] == "only the newest 100 commits are listed, of 5,600 and more"


async def test_a_comparison(caller):
    data = {
        "html_url": "https://github.com/octo/demo/compare/v1...feature/x",
        "status": "diverged",
        "ahead_by": 2,
        "behind_by": 1,
        "total_commits": 2,
        "merge_base_commit": commit("1" * 40),
        "commits": [commit(SHA), commit("2" * 40, "Close the door")],
        "files": [changed("a.py", additions=5, deletions=2)],
    }
    async with github() as hub:
        answers = {"application/vnd.github+json": data, DIFF: b"diff --git a/a.py b/a.py\n"}
        hub.add_by_accept(REPO + "/compare/v1...feature/x", answers)
        hub.add_by_accept(REPO + "/compare/main...feature/x", answers)
        hub.add(REPO, {"default_branch": "main"})
        document = await caller.document(hub, "/octo/demo/compare/v1..feature/x")
        short = await caller.document(hub, "/octo/demo/compare/feature/x")
    assert (document["kind"], document["title"]) == ("github.compare", "octo/demo: v1...feature/x")
    assert document["facts"] == ["diverged", "2 commits", "+5 -2 in 1 file"]
    assert document["warnings"][0]["code"] == "three_dots"
    assert "- Status: diverged: 2 ahead, 1 behind\n" in Document(document).text()
    assert "alice: Close the door\n" in Document(document).text()
    assert short["title"] == "octo/demo: main...feature/x"


async def test_releases(caller):
    async with github() as hub:
        hub.add_list(REPO + "/releases", [release("v2.0", name="v2.0", prerelease=True), release()])
        hub.add(
            REPO + "/releases/tags/pkg/v1.0",
            release("pkg/v1.0", assets=[asset(5, "demo.zip", ZIP, digest="sha256:ab")]),
        )
        hub.add(REPO + "/releases/latest", release())
        listed = await caller.document(hub, "/octo/demo/releases")
        tagged = await caller.document(hub, "/octo/demo/releases/tag/pkg/v1.0")
        latest = await caller.document(hub, "/octo/demo/releases/latest")
    assert listed["facts"] == ["2 releases", "newest v2.0"]
    assert [heading["text"] for heading in listed["outline"]][:3] == ["octo/demo: releases", "v2.0", "Changed"]
    assert "2026-04-02 · by alice · prerelease · 0 assets" in Document(listed).text()
    assert tagged["title"] == "octo/demo pkg/v1.0: First light"
    assert tagged["facts"] == ["published 2026-04-02", "1 asset"]
    assert tagged["excerpt"] == "The lamp is brighter by half, and the door no longer creaks."
    assert (
        "| [demo.zip](https://github.com/octo/demo/releases/download/v1.0/demo.zip) | 1.0 KB | 1,234 | sha256:ab |\n"
        in Document(tagged).text()
    )
    assert (latest["kind"], latest["title"]) == ("github.release", "octo/demo v1.0: First light")


async def test_an_asset_comes_from_another_host_without_the_token(caller):
    caller.environ["GH_TOKEN"] = "s3cr3t"
    async with (
        github() as hub,
        serving(lambda seen: answer(200, ZIP, content_type="application/octet-stream")) as store,
    ):
        caller.config = caller.config._replace(network=NetworkAccess(allow=(f"127.0.0.1:{store.port}",)))
        digest = "sha256:" + hashlib.sha256(ZIP).hexdigest()
        hub.add(REPO + "/releases/tags/v1.0", release(assets=[asset(5, "demo.zip", ZIP, digest=digest)]))
        hub.routes["/api/v3" + REPO + "/releases/assets/5"] = lambda seen: answer(302, location=store.url + "/x?sig=1")
        document = await caller.document(hub, "/octo/demo/releases/download/v1.0/demo.zip")
        assert [seen.headers.get("authorization") for seen in hub.seen] == ["Bearer s3cr3t"] * 2
        assert hub.seen[1].headers["accept"] == "application/octet-stream"
        assert [seen.headers.get("authorization") for seen in store.seen] == [None]
        assert b"s3cr3t" not in store.seen[0].raw
    assert (document["kind"], document["title"]) == ("github.asset", "octo/demo v1.0: demo.zip")
    (body,) = document["bodies"]
    assert (body["name"], body["role"], body["content_type"], body["bytes"]) == (
        "demo.zip",
        "original",
        "application/zip",
        len(ZIP),
    )
    assert "sha256:" + document["sha256"] == digest


async def test_a_redirect_to_a_private_address_is_refused(caller):
    async with github() as hub, serving(lambda seen: answer(200, ZIP)) as store:
        hub.add(REPO + "/releases/latest", release(assets=[asset(5, "demo.zip", ZIP)]))
        hub.routes["/api/v3" + REPO + "/releases/assets/5"] = lambda seen: answer(302, location=store.url + "/x")
        error = await caller.error(hub, "/octo/demo/releases/latest/download/demo.zip")
        assert store.seen == []
    assert error.code == "blocked_address"


async def test_an_asset_that_is_not_there_or_not_as_named(caller):
    async with github() as hub:
        hub.add(REPO + "/releases/latest", release(assets=[asset(5, "demo.zip", ZIP, digest="sha256:" + "0" * 64)]))
        hub.routes["/api/v3" + REPO + "/releases/assets/5"] = lambda seen: answer(200, ZIP)
        missing = await caller.error(hub, "/octo/demo/releases/latest/download/other.zip")
        wrong = await caller.error(hub, "/octo/demo/releases/latest/download/demo.zip")
    assert (missing.reason, missing.hint) == ("release v1.0 has no asset other.zip", "its assets: demo.zip")
    assert wrong.code == "download_failed"
    assert "GitHub names 0000" in wrong.reason


async def test_a_list_without_the_last_pages_number_is_followed(caller):
    async with github() as hub:
        hub.add_list(REPO + "/tags", [{"name": f"v{n}", "commit": {"sha": SHA}} for n in range(250)], last=False)
        document = await caller.document(hub, "/octo/demo/tags")
        assert hub.targets[1:] == [f"{REPO}/tags?per_page=100&page={page}" for page in (2, 3)]
    assert document["facts"] == ["250 tags"]
    assert document["warnings"] == []


async def test_a_next_page_elsewhere_is_not_followed(caller):
    async with github() as hub:
        link = '<http://127.0.0.1:1/steal?page=2>; rel="next"'
        hub.routes["/api/v3" + REPO + "/tags"] = lambda seen: reply([{"name": "v1", "commit": {"sha": SHA}}], link=link)
        document = await caller.document(hub, "/octo/demo/tags")
        assert len(hub.seen) == 1
    assert document["facts"] == ["1 tag"]
