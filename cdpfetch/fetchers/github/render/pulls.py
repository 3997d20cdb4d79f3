"""A pull request: what it says, its reviews and comments in the order of time, inline threads, and changed files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cdpfetch.fetchers.github import fields
from cdpfetch.fetchers.github.markdown import (
    Attachment,
    Rendered,
    author,
    bullets,
    code,
    count,
    embed,
    fenced,
    joined,
    link,
    reactions,
    when,
)
from cdpfetch.fetchers.github.render import changes, threads
from cdpfetch.fetchers.github.render.threads import Json

_HUNK_LINES = 20


class Parts(NamedTuple):
    """What belongs to a pull request: each list as far as it was read."""

    issue: Json
    comments: Sequence[Json]
    reviews: Sequence[Json]
    inline: Sequence[Json]
    files: Sequence[Json]
    events: Sequence[Json]


def pull(data: Json, parts: Parts, name: str, patch: Attachment | None, limits: Sequence[str]) -> Rendered:
    """A pull request (REST shape ``pull-request``); ``limits`` are sentences on what is left out."""
    head = threads.heading(data, name)
    comments = max(fields.number(data, "comments"), len(parts.comments))
    files = max(fields.number(data, "changed_files"), len(parts.files))
    diff = f"+{fields.number(data, 'additions'):,} -{fields.number(data, 'deletions'):,} in {count(files, 'file')}"
    source = {**data, "reactions": fields.record(parts.issue, "reactions")}
    body = [
        f"# {head}",
        bullets(_about(data, parts, diff)),
        threads.description(source),
        *_talk(parts),
        _inline(parts.inline),
        changes.section(parts.files, files),
        "\n".join(f"- {sentence}" for sentence in limits),
    ]
    return Rendered(
        "github.pull",
        head,
        fields.text(data, "html_url"),
        joined(body),
        facts=(
            state(data),
            diff,
            count(comments, "comment"),
            count(len(parts.reviews), "review") if parts.reviews else "",
            ", ".join(fields.names(data, "labels")),
        ),
        lead=embed(fields.text(data, "body"), 2),
        warnings=tuple(("truncated", sentence) for sentence in limits),
        attachments=(patch,) if patch else (),
    )


def state(data: Json) -> str:
    """``open``, ``open draft``, ``merged`` or ``closed``."""
    if fields.flag(data, "merged") or fields.text(data, "merged_at"):
        return "merged"
    return (fields.text(data, "state") or "unknown") + (" draft" if fields.flag(data, "draft") else "")


def _about(data: Json, parts: Parts, diff: str) -> list[tuple[str, str]]:
    merged = fields.text(data, "merged_at")
    reviewers = fields.names(data, "requested_reviewers", "login") + fields.names(data, "requested_teams")
    mergeable = fields.text(data, "mergeable_state")
    return [
        ("State", state(data) + (", locked" if fields.flag(data, "locked") else "")),
        ("Opened", f"{when(fields.text(data, 'created_at'))} by {author(data)}"),
        ("Merged", f"{when(merged)} by {fields.login(data, 'merged_by')}" if merged else ""),
        ("Closed", "" if merged else threads.closed(data)),
        ("Branches", f"{code(fields.text(data, 'head', 'label'))} into {code(fields.text(data, 'base', 'label'))}"),
        ("Head commit", code(fields.text(data, "head", "sha"))),
        ("Changes", f"{diff}, {count(fields.number(data, 'commits'), 'commit')}"),
        ("Merge state", mergeable if mergeable != "unknown" and not merged else ""),
        *threads.about(data),
        ("Review requested from", ", ".join(reviewers)),
        ("Reviews", _verdicts(parts.reviews)),
        ("Linked", "; ".join(threads.linked(parts.events))),
    ]


def _verdicts(reviews: Sequence[Json]) -> str:
    """The last word of each reviewer that approved or asked for changes."""
    last: dict[str, str] = {}
    for review in reviews:
        word = fields.text(review, "state").lower().replace("_", " ")
        if word in ("approved", "changes requested", "dismissed"):
            last[fields.login(review)] = word
    return ", ".join(f"{name}: {word}" for name, word in last.items())


def _talk(parts: Parts) -> list[str]:
    """Comments and reviews in the order of time; reviews that only carry inline comments say nothing here."""
    said = [(fields.text(item, "created_at"), threads.comment(item)) for item in parts.comments]
    said += [(fields.text(item, "submitted_at"), _review(item)) for item in parts.reviews if _speaks(item)]
    return [words for _, words in sorted(said, key=lambda pair: pair[0])]


def _speaks(review: Json) -> bool:
    return bool(fields.text(review, "body").strip()) or fields.text(review, "state") not in ("COMMENTED", "PENDING", "")


def _review(data: Json) -> str:
    word = fields.text(data, "state").lower().replace("_", " ") or "reviewed"
    head = f"## {author(data)} on {when(fields.text(data, 'submitted_at'))}: review, {word}"
    url = fields.text(data, "html_url")
    return joined([head, link("permalink", url) if url else "", embed(fields.text(data, "body"), 2)])


def _inline(comments: Sequence[Json]) -> str:
    """The inline comments by file and thread, each thread with the end of its diff hunk."""
    if not comments:
        return ""
    known = {fields.number(item, "id") for item in comments}
    by_file: dict[str, dict[int, list[Json]]] = {}
    for item in comments:
        parent = fields.number(item, "in_reply_to_id")
        root = parent if parent in known else fields.number(item, "id")
        by_file.setdefault(fields.text(item, "path"), {}).setdefault(root, []).append(item)
    parts = [f"## Inline comments ({len(comments)})"]
    for path, found in by_file.items():
        parts.append(f"### {code(path)}")
        parts += [_thread(thread) for thread in found.values()]
    return joined(parts)


def _thread(thread: Sequence[Json]) -> str:
    first = thread[0]
    hunk = fields.text(first, "diff_hunk").split("\n")
    shown = hunk if len(hunk) <= _HUNK_LINES else [hunk[0], *hunk[-_HUNK_LINES + 1 :]]
    parts = [f"#### {_place(first)}", fenced("\n".join(shown), "diff") if hunk[0] else ""]
    for item in thread:
        likes = reactions(item)
        parts += [
            f"##### {author(item)} on {when(fields.text(item, 'created_at'))}",
            f"Reactions: {likes}" if likes else "",
            embed(fields.text(item, "body"), 5),
        ]
    return joined(parts)


def _place(comment: Json) -> str:
    """``Line 12``, ``Lines 3-12``, ``Line 12 (outdated)`` or ``The file``."""
    if fields.text(comment, "subject_type") == "file":
        return "The file"
    end = fields.number(comment, "line")
    outdated = "" if end else " (outdated)"
    start = fields.number(comment, "start_line") if end else fields.number(comment, "original_start_line")
    end = end or fields.number(comment, "original_line")
    if not end:
        return f"A line{outdated}"
    return (f"Lines {start}-{end}" if start and start != end else f"Line {end}") + outdated
