"""A gist: its files as bodies, and a page that lists them with the comments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cdpfetch.delivery import human_bytes
from cdpfetch.fetchers.github import fields
from cdpfetch.fetchers.github.markdown import Rendered, bullets, code, count, embed, fenced, joined, line, table, when
from cdpfetch.fetchers.github.render import threads
from cdpfetch.fetchers.github.render.repository import is_markdown

Json = dict[str, Any]

# Characters of a file that the page itself shows; the bodies hold all.
_SHOWN = 20_000


def gist(data: Json, texts: Sequence[tuple[Json, str]], comments: Sequence[Json]) -> Rendered:
    """A gist (REST shape ``gist-simple``) with ``(file, text)`` of what is text, and its comments."""
    files = [item for item in fields.record(data, "files").values() if isinstance(item, dict)]
    owner, about = fields.login(data, "owner"), line(fields.text(data, "description"), 280)
    names = ", ".join(fields.text(item, "filename") for item in files)
    head = f"{owner}/{about or names or fields.text(data, 'id')}"
    total = max(fields.number(data, "comments"), len(comments))
    pairs = [
        ("By", owner),
        ("Created", when(fields.text(data, "created_at"))),
        ("Updated", when(fields.text(data, "updated_at"))),
        ("Visibility", "public" if fields.flag(data, "public") else "secret"),
    ]
    rows = [
        (code(fields.text(item, "filename")), fields.text(item, "language"), human_bytes(fields.number(item, "size")))
        for item in files
    ]
    parts = [f"# {head}", bullets(pairs), table(("File", "Language", "Size"), rows)]
    parts += [_file(item, text) for item, text in texts]
    parts += [threads.comment(item) for item in comments]
    note = f"the first {len(comments)} of {count(total, 'comment')} are shown"
    if total > len(comments):
        parts.append(f"*{note.capitalize()}.*")
    return Rendered(
        "github.gist",
        head,
        fields.text(data, "html_url"),
        joined(parts),
        facts=(count(len(files), "file"), count(total, "comment") if total else "", names),
        lead=about or (texts[0][1][:4000] if texts else names),
        warnings=(("truncated", note),) if total > len(comments) else (),
    )


def _file(item: Json, text: str) -> str:
    name = fields.text(item, "filename")
    shown = text[:_SHOWN]
    words = embed(shown, 2) if is_markdown(name) else fenced(shown, _language(item))
    cut = f"*The first {_SHOWN:,} characters; the file has them all.*" if len(text) > len(shown) else ""
    return joined([f"## {line(name)}", words, cut])


def _language(item: Json) -> str:
    language = fields.text(item, "language").lower()
    return language if language.isalnum() else ""
