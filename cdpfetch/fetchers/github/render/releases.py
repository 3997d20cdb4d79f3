"""A release with its notes and assets, and the list of releases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from cdpfetch.delivery import human_bytes
from cdpfetch.fetchers.github import fields
from cdpfetch.fetchers.github.markdown import (
    Rendered,
    author,
    bullets,
    code,
    count,
    day,
    embed,
    joined,
    line,
    link,
    reactions,
    table,
    when,
)

Json = dict[str, Any]

_TYPE = re.compile(r"[a-z0-9.+-]{1,80}/[a-z0-9.+-]{1,80}$")


def release(data: Json, name: str) -> Rendered:
    """A release (REST shape ``release``)."""
    tag = fields.text(data, "tag_name")
    title = line(fields.text(data, "name"), 280)
    head = f"{name} {tag}" + (f": {title}" if title and title != tag else "")
    assets = fields.records(data, "assets")
    published = fields.text(data, "published_at") or fields.text(data, "created_at")
    pairs = [
        ("Tag", code(tag)),
        ("Published", f"{when(published)} by {author(data, 'author')}"),
        ("Target", code(fields.text(data, "target_commitish"))),
        ("Marks", ", ".join(_marks(data))),
        ("Reactions", reactions(data)),
    ]
    body = fields.text(data, "body")
    parts = [
        f"# {head}",
        bullets(pairs),
        "## Notes",
        embed(body, 2) if body.strip() else "*There are none.*",
        _assets(assets),
    ]
    return Rendered(
        "github.release",
        head,
        fields.text(data, "html_url"),
        joined(parts),
        facts=(*_marks(data), f"published {day(published)}", count(len(assets), "asset")),
        lead=embed(body, 2) if body.strip() else head,
    )


def _marks(data: Json) -> list[str]:
    return [word for word in ("draft", "prerelease", "immutable") if fields.flag(data, word)]


def _assets(assets: Sequence[Json]) -> str:
    if not assets:
        return ""
    rows = [
        (
            link(fields.text(item, "name"), fields.text(item, "browser_download_url")),
            human_bytes(fields.number(item, "size")),
            f"{fields.number(item, 'download_count'):,}",
            fields.text(item, "digest"),
        )
        for item in assets
    ]
    return joined([f"## Assets ({len(assets)})", table(("File", "Size", "Downloads", "Digest"), rows)])


def releases(items: Sequence[Json], more: bool, name: str, url: str) -> Rendered:
    """Releases, the newest first."""
    head = f"{name}: releases"
    note = f"only the newest {len(items)} releases are listed; there are more"
    parts = [f"# {head}", *(_item(item) for item in items)]
    if not items:
        parts.append("There are no releases.")
    newest = fields.text(items[0], "tag_name") if items else ""
    return Rendered(
        "github.releases",
        head,
        url,
        joined([*parts, f"*{note.capitalize()}.*" if more else ""]),
        facts=(
            f"{len(items)}+ releases" if more else count(len(items), "release"),
            f"newest {newest}" if items else "",
        ),
        lead=embed(fields.text(items[0], "body"), 3) if items else "There are no releases.",
        warnings=(("truncated", note),) if more else (),
    )


def _item(item: Json) -> str:
    tag, title = fields.text(item, "tag_name"), line(fields.text(item, "name"), 200)
    head = f"## {line(tag)}" + (f": {title}" if title and title != tag else "")
    words = [day(fields.text(item, "published_at")), f"by {fields.login(item, 'author')}", *_marks(item)]
    words.append(count(len(fields.records(item, "assets")), "asset"))
    url = fields.text(item, "html_url")
    if url:
        words.append(link("permalink", url))
    return joined([head, " · ".join(word for word in words if word), embed(fields.text(item, "body"), 2)])


def asset(data: Json, name: str, tag: str, size: int, sha256: str) -> Rendered:
    """The document of an asset whose bytes are a body."""
    file = line(fields.text(data, "name"))
    kind = fields.text(data, "content_type").partition(";")[0].strip().lower()
    kind = kind if _TYPE.match(kind) else "application/octet-stream"
    return Rendered(
        "github.asset",
        f"{name} {tag}: {file}",
        fields.text(data, "browser_download_url"),
        None,
        facts=(f"release {tag}", human_bytes(size), kind),
        content_type=kind,
        size=size,
        sha256=sha256,
    )
