"""Commits: one with its files, a list of them, and the comparison of two states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cdpfetch.fetchers.github import fields
from cdpfetch.fetchers.github.markdown import (
    Attachment,
    Rendered,
    bullets,
    code,
    count,
    fenced,
    joined,
    line,
    when,
)
from cdpfetch.fetchers.github.render import changes

Json = dict[str, Any]


def commit(data: Json, name: str, patch: Attachment | None, limits: Sequence[str]) -> Rendered:
    """A commit (REST shape ``commit``)."""
    sha, files = fields.text(data, "sha"), fields.records(data, "files")
    subject, _, rest = fields.text(data, "commit", "message").partition("\n")
    head = f"{name}@{sha[:7]}: {line(subject, 280)}"
    added, removed = fields.number(data, "stats", "additions"), fields.number(data, "stats", "deletions")
    diff = f"+{added:,} -{removed:,} in {count(len(files), 'file')}"
    parents = [code(fields.text(item, "sha")) for item in fields.records(data, "parents")]
    pairs = [
        ("Commit", code(sha)),
        ("Author", _person(data, "author")),
        ("Committer", _person(data, "committer") if _person(data, "committer") != _person(data, "author") else ""),
        ("Parents", ", ".join(parents)),
        ("Signature", "verified" if fields.flag(data, "commit", "verification", "verified") else ""),
        ("Changes", diff),
    ]
    shown = files[: changes.MAX_FILES]
    parts = [
        f"# {head}",
        bullets(pairs),
        "## Message",
        fenced(subject + ("\n" + rest if rest else ""), "text"),
        changes.section(shown, len(files)),
        "\n".join(f"- {sentence}" for sentence in limits),
    ]
    return Rendered(
        "github.commit",
        head,
        fields.text(data, "html_url"),
        joined(parts),
        facts=(_who(data), when(fields.text(data, "commit", "author", "date")), diff),
        lead=rest.strip() or subject,
        warnings=tuple(("truncated", sentence) for sentence in limits),
        attachments=(patch,) if patch else (),
    )


def _who(data: Json) -> str:
    """The author's account, else the name that the commit gives."""
    return fields.text(data, "author", "login") or line(fields.text(data, "commit", "author", "name"), 100)


def _person(data: Json, role: str) -> str:
    login = fields.text(data, role, "login")
    name = line(fields.text(data, "commit", role, "name"), 100)
    stamp = fields.text(data, "commit", role, "date")
    words = f"{name} ({login})" if login and login != name else name or login
    return f"{words}, {when(stamp)}" if stamp and words else words


def row(data: Json) -> str:
    """One line of a list of commits."""
    sha, subject = fields.text(data, "sha"), fields.text(data, "commit", "message").partition("\n")[0]
    stamp = when(fields.text(data, "commit", "committer", "date"))
    return f"- {code(sha[:12])} {stamp} {_who(data)}: {line(subject, 200)}"


def commits(items: Sequence[Json], *, name: str, ref: str, path: str, url: str, older: str | None) -> Rendered:
    """Commits of a branch (``ref``, or "" for the default one) and path; ``older`` says what is left out."""
    where = " ".join(word for word in (ref, f"in {path}" if path else "") if word)
    head = f"{name}: commits" + (f" of {where}" if where else "")
    parts = [f"# {head}", "\n".join(row(item) for item in items) or "There are none.", f"*{older}.*" if older else ""]
    subjects = [line(fields.text(item, "commit", "message").partition("\n")[0], 120) for item in items[:8]]
    shown = f"{len(items)}+ commits" if older else count(len(items), "commit")
    newest = when(fields.text(items[0], "commit", "committer", "date")) if items else ""
    return Rendered(
        "github.commits",
        head,
        url,
        joined(parts),
        facts=(shown, ref, f"newest {newest}" if newest else ""),
        lead="; ".join(subjects),
        warnings=(("truncated", older),) if older else (),
    )


def compare(data: Json, name: str, sides: tuple[str, str], patch: Attachment | None, limits: Sequence[str]) -> Rendered:
    """A comparison (REST shape ``commit-comparison``) of ``sides`` (base, head)."""
    head = f"{name}: {sides[0]}...{sides[1]}"
    files, listed = fields.records(data, "files"), fields.records(data, "commits")
    total = max(fields.number(data, "total_commits"), len(listed))
    added = sum(fields.number(item, "additions") for item in files)
    removed = sum(fields.number(item, "deletions") for item in files)
    diff = f"+{added:,} -{removed:,} in {count(len(files), 'file')}"
    ahead, behind = fields.number(data, "ahead_by"), fields.number(data, "behind_by")
    pairs = [
        ("Status", f"{fields.text(data, 'status')}: {ahead:,} ahead, {behind:,} behind"),
        ("Merge base", code(fields.text(data, "merge_base_commit", "sha"))),
        ("Changes", diff),
    ]
    url = fields.text(data, "html_url")
    parts = [
        f"# {head}",
        bullets(pairs),
        f"## Commits ({total:,})",
        "\n".join(row(item) for item in listed),
        f"*The first {len(listed)} of {count(total, 'commit')} are listed.*" if total > len(listed) else "",
        changes.section(files[: changes.MAX_FILES], len(files)),
        "\n".join(f"- {sentence}" for sentence in limits),
    ]
    return Rendered(
        "github.compare",
        head,
        url,
        joined(parts),
        facts=(fields.text(data, "status"), count(total, "commit"), diff),
        lead="; ".join(line(fields.text(item, "commit", "message").partition("\n")[0], 120) for item in listed[:8]),
        warnings=tuple(("truncated", sentence) for sentence in limits),
        attachments=(patch,) if patch else (),
    )
