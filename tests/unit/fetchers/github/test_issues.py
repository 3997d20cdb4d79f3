"""Issues with their conversation."""

from __future__ import annotations

import json

from fake_github import comment, cross_reference, github, issue

from cdpfetch.document import Document
from cdpfetch.outline import outline


async def test_an_issue_with_its_conversation(caller):
    async with github() as hub:
        hub.add("/repos/octo/demo/issues/12", issue())
        hub.add_list(
            "/repos/octo/demo/issues/12/comments",
            [comment(1, "Seen here, too."), comment(2, "# It is the door\n\nNot the lamp.", login=None)],
        )
        hub.add_list("/repos/octo/demo/issues/12/timeline", [cross_reference(34, "Keep the lamp lit")])
        document = await caller.document(hub, "/octo/demo/issues/12")
    assert {key: document[key] for key in ("ok", "kind", "source", "title", "link", "status", "content_type")} == {
        "ok": True,
        "kind": "github.issue",
        "source": "github",
        "title": "octo/demo#12: The lamp goes out at dawn",
        "link": "https://github.com/octo/demo/issues/12",
        "status": 200,
        "content_type": "text/markdown",
    }
    assert document["facts"] == ["open", "2 comments", "bug, help wanted"]
    assert document["excerpt"] == "When the sun rises, the lamp goes out before the keeper has left the gallery."
    assert document["url"] == hub.url + "/octo/demo/issues/12"
    assert document["warnings"] == []
    assert document["bytes"] > 1000
    assert document["verdict"] == "ok"
    text = Document(document).text()
    assert (
        text
        == """\
# octo/demo#12: The lamp goes out at dawn

- State: open
- Opened: 2026-01-02 03:04 UTC by alice (contributor)
- Updated: 2026-02-03 04:05 UTC
- Labels: bug, help wanted
- Milestone: v2.0
- Assignees: bob
- Linked: [pull request octo/demo#34 Keep the lamp lit](https://github.com/octo/demo/pull/34) (merged)
- Comments: 2

## Description

When the sun rises, the lamp goes out **before** the keeper has left the gallery.

Reactions: 👍 3 · ❤️ 1

## bob (member) on 2026-01-03 00:01 UTC

[permalink](https://github.com/octo/demo/issues/12#issuecomment-1)

Seen here, too.

## ghost (member) on 2026-01-03 00:02 UTC

[permalink](https://github.com/octo/demo/issues/12#issuecomment-2)

### It is the door

Not the lamp.
"""
    )
    assert document["outline"] == outline(text)
    with open(f"{document['dir']}/metadata.json", encoding="utf-8") as file:
        assert json.load(file) == document
