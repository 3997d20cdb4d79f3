"""A discussion with its comments and their replies, as GraphQL gives them."""

from __future__ import annotations

from typing import Any

from cdpfetch.fetchers.github import fields
from cdpfetch.fetchers.github.markdown import Rendered, bullets, count, embed, joined, line, link, when

Json = dict[str, Any]

_WORDS = {
    "THUMBS_UP": "\U0001f44d",
    "THUMBS_DOWN": "\U0001f44e",
    "LAUGH": "\U0001f604",
    "HOORAY": "\U0001f389",
    "CONFUSED": "\U0001f615",
    "HEART": "❤️",
    "ROCKET": "\U0001f680",
    "EYES": "\U0001f440",
}


def discussion(data: Json, comments: list[Json], name: str) -> Rendered:
    """A discussion (GraphQL type ``Discussion``) and as many of its comments as were read."""
    head = f"{name}#{fields.number(data, 'number')}: {line(fields.text(data, 'title'), 280)}"
    total = max(fields.number(data, "comments", "totalCount"), len(comments))
    category = fields.text(data, "category", "name")
    answered = data.get("isAnswered")
    state = "closed" if fields.flag(data, "closed") else "open"
    answer = "answered" if answered is True else "unanswered" if answered is False and category else ""
    labels = ", ".join(fields.names(fields.record(data, "labels"), "nodes"))
    pairs = [
        ("State", ", ".join(word for word in (state, answer) if word)),
        ("Category", category),
        ("Opened", _signed(data)),
        ("Labels", labels),
        ("Upvotes", f"{fields.number(data, 'upvoteCount'):,}"),
        ("Comments", f"{total:,}"),
    ]
    body = fields.text(data, "body")
    parts = [f"# {head}", bullets(pairs), "## Description", embed(body, 2), _reactions(data)]
    parts += [_comment(item) for item in comments]
    note = f"the first {len(comments)} of {count(total, 'comment')} are shown"
    if total > len(comments):
        parts.append(f"*{note.capitalize()}.*")
    return Rendered(
        "github.discussion",
        head,
        fields.text(data, "url"),
        joined(parts),
        facts=(state, answer, category, count(total, "comment"), labels),
        lead=embed(body, 2),
        warnings=(("truncated", note),) if total > len(comments) else (),
    )


def _comment(item: Json) -> str:
    marks = ["answer"] if fields.flag(item, "isAnswer") else []
    if votes := fields.number(item, "upvoteCount"):
        marks.append(count(votes, "upvote"))
    url = fields.text(item, "url")
    if url:
        marks.append(link("permalink", url))
    parts = [f"## {_signed(item)}", " · ".join(marks), embed(fields.text(item, "body"), 2), _reactions(item)]
    replies = fields.records(item, "replies", "nodes")
    for reply in replies:
        parts += [f"### {_signed(reply)}, in reply", embed(fields.text(reply, "body"), 3), _reactions(reply)]
    total = fields.number(item, "replies", "totalCount")
    if total > len(replies):
        parts.append(f"*The first {len(replies)} of {total} replies are shown.*")
    return joined(parts)


def _signed(item: Json) -> str:
    return f"{line(fields.login(item, 'author'))} on {when(fields.text(item, 'createdAt'))}"


def _reactions(item: Json) -> str:
    found = [
        (_WORDS.get(fields.text(group, "content"), ""), fields.number(group, "reactors", "totalCount"))
        for group in fields.records(item, "reactionGroups")
    ]
    likes = " · ".join(f"{sign} {amount}" for sign, amount in found if sign and amount > 0)
    return f"Reactions: {likes}" if likes else ""
