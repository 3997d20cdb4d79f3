"""Lists: issues and pull requests as a search gives them, tags and branches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cdpfetch.fetchers.github import fields
from cdpfetch.fetchers.github.markdown import Rendered, code, count, day, joined, line

Json = dict[str, Any]

_STATES = ("merged", "draft")


def found(
    items: Sequence[Json], total: int, query: str, *, kind: str, name: str, url: str, notes: tuple[str, ...] = ()
) -> Rendered:
    """Issues (``kind`` ``issues``) or pull requests (``pulls``) of a search, of which there are ``total``."""
    noun = "issue" if kind == "issues" else "pull request"
    shown = f"{len(items)} of {total:,}" if total > len(items) else f"{total:,}"
    head = f"{name}: {noun}s"
    parts = [
        f"# {head}",
        f"- Search: {code(query)}\n- Found: {total:,}\n- Shown: {len(items)}",
        *(_item(item) for item in items),
        *notes,
    ]
    warnings = [("truncated", note) for note in notes]
    return Rendered(
        f"github.{kind}",
        head,
        url,
        joined(parts),
        facts=(f"{shown} {noun}{'' if total == 1 else 's'}", query),
        lead="; ".join(line(fields.text(item, "title")) for item in items) or f"No {noun} matches.",
        warnings=tuple(warnings),
    )


def _item(item: Json) -> str:
    """One result: its heading names it, the line below says how it is."""
    title = f"#{fields.number(item, 'number')} {line(fields.text(item, 'title'), 280)}"
    words = [
        item_state(item),
        f"opened {day(fields.text(item, 'created_at'))} by {fields.login(item)}",
        f"updated {day(fields.text(item, 'updated_at'))}" if fields.text(item, "updated_at") else "",
        count(fields.number(item, "comments"), "comment") if fields.number(item, "comments") else "",
        ", ".join(fields.names(item, "labels")),
        f"milestone {fields.text(item, 'milestone', 'title')}" if fields.text(item, "milestone", "title") else "",
        "assigned to " + ", ".join(who) if (who := fields.names(item, "assignees", "login")) else "",
    ]
    url = fields.text(item, "html_url")
    return f"## {title}\n\n{line(' · '.join(word for word in words if word))}" + (f"\n\n<{line(url)}>" if url else "")


def item_state(item: Json) -> str:
    """``open``, ``closed``, ``merged`` or ``open draft``."""
    if fields.text(item, "pull_request", "merged_at"):
        return "merged"
    return (fields.text(item, "state") or "unknown") + (" draft" if fields.flag(item, "draft") else "")


def tags(items: Sequence[Json], more: bool, name: str, url: str) -> Rendered:
    """Tags (REST shape ``tag``), as GitHub orders them."""
    rows = [f"- {code(fields.text(item, 'name'))} {code(fields.text(item, 'commit', 'sha')[:12])}" for item in items]
    return _refs("tag", "tags", rows, more, name, url)


def branches(items: Sequence[Json], more: bool, name: str, url: str) -> Rendered:
    """Branches (REST shape ``short-branch``), by name."""
    rows = [
        f"- {code(fields.text(item, 'name'))} {code(fields.text(item, 'commit', 'sha')[:12])}"
        + (" protected" if fields.flag(item, "protected") else "")
        for item in items
    ]
    return _refs("branch", "branches", rows, more, name, url)


def _refs(noun: str, plural: str, rows: list[str], more: bool, name: str, url: str) -> Rendered:
    head = f"{name}: {plural}"
    note = f"only the first {len(rows)} {plural} are listed; there are more"
    shown = f"{len(rows)}+ {plural}" if more else count(len(rows), noun, plural)
    parts = [f"# {head}", "\n".join(rows) or f"There are no {plural}.", f"*{note.capitalize()}.*" if more else ""]
    warnings = (("truncated", note),) if more else ()
    lead = ", ".join(row.split("`")[1] for row in rows[:20] if "`" in row) or f"no {plural}"
    return Rendered(f"github.{plural}", head, url, joined(parts), facts=(shown,), lead=lead, warnings=warnings)
