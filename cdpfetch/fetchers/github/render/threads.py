"""An issue with its conversation; the parts that pull requests share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cdpfetch.fetchers.github import fields
from cdpfetch.fetchers.github.markdown import (
    Rendered,
    author,
    bullets,
    count,
    embed,
    joined,
    line,
    link,
    reactions,
    when,
)

Json = dict[str, Any]


def issue(
    data: Json, comments: Sequence[Json], events: Sequence[Json], name: str, notes: tuple[tuple[str, str], ...] = ()
) -> Rendered:
    """An issue (REST shape ``issue``), its comments and its timeline."""
    total = max(fields.number(data, "comments"), len(comments))
    head = heading(data, name)
    pairs = [
        ("State", state(data)),
        ("Opened", f"{when(fields.text(data, 'created_at'))} by {author(data)}"),
        ("Closed", closed(data)),
        *about(data),
        ("Linked", "; ".join(linked(events))),
        ("Comments", f"{total:,}"),
    ]
    parts = [f"# {head}", bullets(pairs), description(data), *(comment(item) for item in comments)]
    if total > len(comments):
        parts.append(f"*The first {len(comments)} of {count(total, 'comment')} are shown.*")
    body = fields.text(data, "body")
    return Rendered(
        "github.issue",
        head,
        fields.text(data, "html_url"),
        joined(parts),
        facts=(state(data), count(total, "comment"), ", ".join(fields.names(data, "labels"))),
        lead=embed(body, 2),
        warnings=notes,
    )


def heading(data: Json, name: str) -> str:
    """``owner/repo#12: title``."""
    return f"{name}#{fields.number(data, 'number')}: {line(fields.text(data, 'title'), 280)}"


def state(data: Json) -> str:
    """``open``, ``closed as not planned`` ..., and whether it is locked."""
    words = fields.text(data, "state") or "unknown"
    reason = fields.text(data, "state_reason").replace("_", " ")
    if words == "closed" and reason and reason != "completed":
        words += f" as {reason}"
    return words + (", locked" if fields.flag(data, "locked") else "")


def closed(data: Json) -> str:
    """When it was closed, and by whom where that is told."""
    stamp = fields.text(data, "closed_at")
    if not stamp:
        return ""
    by = fields.text(data, "closed_by", "login")
    return when(stamp) + (f" by {by}" if by else "")


def about(data: Json) -> list[tuple[str, str]]:
    """What issues and pull requests have in common."""
    return [
        ("Updated", when(fields.text(data, "updated_at")) if fields.text(data, "updated_at") else ""),
        ("Labels", ", ".join(fields.names(data, "labels"))),
        ("Type", fields.text(data, "type", "name")),
        ("Milestone", fields.text(data, "milestone", "title")),
        ("Assignees", ", ".join(fields.names(data, "assignees", "login"))),
    ]


def description(data: Json) -> str:
    """The opening words."""
    body = fields.text(data, "body")
    words = embed(body, 2) if body.strip() else "*No description provided.*"
    likes = reactions(data)
    return joined(["## Description", words, f"Reactions: {likes}" if likes else ""])


def comment(data: Json) -> str:
    """One comment below a heading of its own."""
    head = f"## {author(data)} on {when(fields.text(data, 'created_at'))}"
    edited = fields.text(data, "updated_at") not in ("", fields.text(data, "created_at"))
    likes = reactions(data)
    marks = [
        link("permalink", fields.text(data, "html_url")) if fields.text(data, "html_url") else "",
        "edited" if edited else "",
        f"reactions: {likes}" if likes else "",
    ]
    return joined([head, " · ".join(mark for mark in marks if mark), embed(fields.text(data, "body"), 2)])


def linked(events: Sequence[Json]) -> list[str]:
    """The issues and pull requests of a timeline's cross references, each once."""
    found: dict[str, str] = {}
    for event in events:
        other = fields.record(event, "source", "issue")
        url = fields.text(other, "html_url")
        if fields.text(event, "event") != "cross-referenced" or not url:
            continue
        name = fields.text(other, "repository", "full_name")
        kind = "pull request" if other.get("pull_request") else "issue"
        words = f"{kind} {name}#{fields.number(other, 'number')} {line(fields.text(other, 'title'), 100)}"
        found[url] = f"{link(words, url)} ({_other_state(other)})"
    return list(found.values())[:20]


def _other_state(other: Json) -> str:
    return "merged" if fields.text(other, "pull_request", "merged_at") else fields.text(other, "state") or "unknown"
