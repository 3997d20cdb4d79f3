"""Pull requests with all that belongs to them."""

from __future__ import annotations

from fake_github import changed, comment, cross_reference, github, inline, issue, pull, review

from cdpfetch.document import Document
from cdpfetch.fetchers.github.load.patches import DIFF

PULL, THREAD = "/repos/octo/demo/pulls/34", "/repos/octo/demo/issues/34"
DIFF_TEXT = b"diff --git a/lamp.py b/lamp.py\n--- a/lamp.py\n+++ b/lamp.py\n@@ -1 +1,2 @@\n import time\n+import door\n"


def add_pull(hub, data=None, **lists):
    """A pull request and its lists: ``comments``, ``reviews``, ``inline``, ``files``, ``diff``."""
    hub.add_by_accept(PULL, {"application/vnd.github+json": data or pull(), DIFF: lists.get("diff", DIFF_TEXT)})
    hub.add(THREAD, issue(34, pull_request={"url": "x"}))
    hub.add_list(THREAD + "/comments", lists.get("comments", []))
    hub.add_list(PULL + "/reviews", lists.get("reviews", []))
    hub.add_list(PULL + "/comments", lists.get("inline", []))
    hub.add_list(PULL + "/files", lists.get("files", []))
    hub.add_list(THREAD + "/timeline", [cross_reference(35, "Dawn is late", pull=False)])


async def test_a_pull_request_with_all_that_belongs_to_it(caller):
    async with github() as hub:
        add_pull(
            hub,
            comments=[comment(1, "Nice.", created_at="2026-01-11T12:30:00Z")],
            reviews=[
                review(80, "COMMENTED"),
                review(81, "CHANGES_REQUESTED", "Please lock the door.", hour=13),
                review(82, "APPROVED", hour=15),
            ],
            inline=[
                inline(1, "Why a door?"),
                inline(2, "To leave.", login="carol", in_reply_to_id=1),
                inline(3, "Old.", path="dawn.py", line=None, original_line=7),
            ],
            files=[
                changed("lamp.py", additions=100, deletions=4),
                changed("new|name.py", "renamed", 4, previous_filename="old.py"),
            ],
        )
        document = await caller.document(hub, "/octo/demo/pull/34/files")
    assert (document["kind"], document["title"]) == (
        "github.pull",
        "octo/demo#34: Keep the lamp lit until the keeper leaves",
    )
    assert document["facts"] == ["open", "+104 -4 in 2 files", "1 comment", "3 reviews", "bug"]
    assert [(body["name"], body["role"], body["content_type"]) for body in document["bodies"]] == [
        ("content.md", "content", "text/markdown"),
        ("diff.patch", "source", "text/x-diff"),
    ]
    assert (document["warnings"], document["verdict"]) == ([], "ok")
    view = Document(document)
    assert view.text("source") == DIFF_TEXT.decode()
    assert (
        view.text()
        == """\
# octo/demo#34: Keep the lamp lit until the keeper leaves

- State: open
- Opened: 2026-01-10 10:00 UTC by carol (member)
- Branches: `carol:keep-lit` into `octo:main`
- Head commit: `6dcb09b5b57875f334f61aebed695e2e4193db5e`
- Changes: +104 -4 in 2 files, 2 commits
- Merge state: clean
- Updated: 2026-01-12 10:00 UTC
- Labels: bug
- Review requested from: dave, Keepers
- Reviews: dave: approved
- Linked: [issue octo/demo#35 Dawn is late](https://github.com/octo/demo/pull/35) (closed)

## Description

Waits for the door before it puts out the lamp, and fixes the dawn.

Reactions: 👍 3 · ❤️ 1

## bob (member) on 2026-01-11 12:30 UTC

[permalink](https://github.com/octo/demo/issues/12#issuecomment-1) · edited

Nice.

## dave (collaborator) on 2026-01-11 13:00 UTC: review, changes requested

[permalink](https://github.com/octo/demo/pull/34#pullrequestreview-81)

Please lock the door.

## dave (collaborator) on 2026-01-11 15:00 UTC: review, approved

[permalink](https://github.com/octo/demo/pull/34#pullrequestreview-82)

## Inline comments (3)

### `lamp.py`

#### Line 2

```diff
@@ -1,3 +1,4 @@
 import time
+import door
 def dawn():
```

##### dave (collaborator) on 2026-01-11 12:00 UTC

Why a door?

##### carol (collaborator) on 2026-01-11 12:00 UTC

To leave.

### `dawn.py`

#### Line 7 (outdated)

```diff
@@ -1,3 +1,4 @@
 import time
+import door
 def dawn():
```

##### dave (collaborator) on 2026-01-11 12:00 UTC

Old.

## Changed files (2)

| File | Status | Added | Removed |
| --- | --- | --- | --- |
| `lamp.py` | modified | +100 | -4 |
| `old.py → new\\|name.py` | renamed | +4 |  |
"""
    )


async def test_the_page_of_an_issue_that_is_a_pull_request(caller):
    async with github() as hub:
        add_pull(hub, pull(merged=True, merged_at="2026-01-13T00:00:00Z", state="closed", merged_by={"login": "erin"}))
        document = await caller.document(hub, "/octo/demo/issues/34")
        assert hub.targets.count(THREAD) == 1
    assert document["kind"] == "github.pull"
    assert document["facts"][0] == "merged"
    assert "- Merged: 2026-01-13 00:00 UTC by erin\n" in Document(document).text()


async def test_every_cap_is_said(caller):
    big = b"".join(b"diff --git a/f%d b/f%d\n" % (number, number) + b"+x\n" * 5000 for number in range(40))
    async with github() as hub:
        add_pull(
            hub,
            pull(comments=250, changed_files=350),
            comments=[comment(number, f"Word {number}.") for number in range(250)],
            reviews=[review(number, "COMMENTED", f"Look {number}.") for number in range(120)],
            inline=[inline(number, f"Here {number}.") for number in range(230)],
            files=[changed(f"f{number}.py") for number in range(350)],
            diff=big,
        )
        document = await caller.document(hub, "/octo/demo/pull/34")
        asked = [target for target in hub.targets if target.startswith(THREAD + "/comments")]
        assert sorted(asked) == [f"{THREAD}/comments?per_page=100", f"{THREAD}/comments?per_page=100&page=2"]
    text = Document(document).text()
    assert (text.count("\nWord "), text.count("\nLook "), text.count("\nHere ")) == (200, 100, 200)
    assert (text.count("\n| `f"), "Word 199." in text, "Word 200." in text) == (300, True, False)
    assert "*The first 300 of 350 files are listed.*" in text
    limits = [
        "only the first 200 comments are shown",
        "only the first 100 reviews are shown",
        "only the first 200 inline comments are shown",
        "only the first 300 changed files are shown",
        "diff.patch holds the first 390.6 KB of a longer patch",
    ]
    assert [warning["message"] for warning in document["warnings"]] == limits
    assert all(f"- {sentence}\n" in text for sentence in limits)
    assert document["verdict"] == "ok"
    assert document["facts"][2] == "250 comments"
    patch = Document(document).text("source").encode()
    assert patch == big[: len(patch)]
    assert (len(patch) <= 400_000, big[len(patch) :].startswith(b"diff --git ")) == (True, True)


async def test_a_patch_that_github_refuses_is_put_together(caller):
    files = [
        changed("a.py"),
        changed("b.py", "added", patch="@@ -0,0 +1 @@\n+b"),
        changed("c.png", "modified", 0, patch=None),
        changed("d.py", "renamed", 0, previous_filename="old.py", patch=None),
    ]
    async with github() as hub:
        add_pull(
            hub, files=files, diff=(406, {"message": "Sorry, the diff exceeded the maximum number of lines (20000)"})
        )
        document = await caller.document(hub, "/octo/demo/pull/34")
    assert Document(document).text("source") == (
        "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1,2 @@\n import time\n+import door\n"
        "diff --git a/b.py b/b.py\nnew file mode 100644\n--- /dev/null\n+++ b/b.py\n@@ -0,0 +1 @@\n+b\n"
        "diff --git a/c.png b/c.png\n"
        "diff --git a/old.py b/d.py\nrename from old.py\nrename to d.py\n"
    )
    first, second = (warning["message"] for warning in document["warnings"])
    assert "put together from the listed files (GitHub answered 406" in first
    assert "exceeded the maximum number of lines" in first
    assert second == "diff.patch lacks the lines of 1 file (binary or too large)"


async def test_what_is_missing_is_said_and_the_rest_is_there(caller):
    async with github() as hub:
        add_pull(hub, comments=[comment(1, "Nice.")])
        hub.add(PULL + "/reviews", {"message": "Server Error"}, 500)
        document = await caller.document(hub, "/octo/demo/pull/34")
    assert document["verdict"] == "partial"
    (warning,) = document["warnings"]
    assert warning["code"] == "incomplete"
    assert warning["message"].startswith("its reviews could not be read: GitHub answered 500 Internal Server Error")
    assert "\nNice.\n" in Document(document).text()


async def test_a_diff_and_a_patch_are_files(caller):
    async with github() as hub:
        add_pull(hub)
        hub.add_by_accept(
            "/repos/octo/demo/compare/v1...feature/x", {"application/vnd.github.patch": b"From 6dcb\nSubject: x\n"}
        )
        hub.add_by_accept("/repos/octo/demo/commits/abc1234", {DIFF: DIFF_TEXT})
        diff = await caller.document(hub, "/octo/demo/pull/34.diff", format="source")
        patch = await caller.document(hub, "/octo/demo/compare/v1...feature/x.patch")
        hub.add_by_accept("/repos/octo/demo/commits/fed4321", {DIFF: "+\u202ex\n".encode()})
        bidi = await caller.document(hub, "/octo/demo/commit/fed4321.diff")
        of_commit = await caller.document(hub, "/octo/demo/commit/abc1234.diff")
    assert (diff["kind"], diff["bodies"][0]["name"], diff["bytes"]) == (
        "github.patch",
        "octo-demo-34.diff",
        len(DIFF_TEXT),
    )
    assert Document(bidi).text() == "+\u202ex\n"
    assert bidi["warnings"][0]["message"].startswith(
        "octo-demo-fed4321.diff is literal and holds invisible characters (1)"
    )
    assert Document(diff).text("source") == Document(diff).text() == Document(of_commit).text() == DIFF_TEXT.decode()
    assert Document(patch).text() == "From 6dcb\nSubject: x\n"
    assert patch["title"] == "octo/demo: v1...feature/x (patch)"
