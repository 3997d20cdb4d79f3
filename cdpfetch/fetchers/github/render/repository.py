"""A repository with its README, and the listing of a folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from cdpfetch.delivery import human_bytes
from cdpfetch.fetchers.github import fields
from cdpfetch.fetchers.github.markdown import Rendered, bullets, code, count, day, embed, fenced, joined, line, table

Json = dict[str, Any]

# What the API gives of a folder at most.
MAX_ENTRIES = 1000
_ORDER = {"dir": 0, "submodule": 1}
_SIGNS = {"dir": "folder", "file": "file", "symlink": "link", "submodule": "submodule"}


def repository(data: Json, entries: Sequence[Json], readme: tuple[str, str] | None, base: str) -> Rendered:
    """A repository (REST shape ``full-repository``), its root, and its README as (name, text).

    ``base`` is the address of files by their path, for what the README's relative links mean.
    """
    name = fields.text(data, "full_name")
    description = line(fields.text(data, "description"), 500)
    stars = count(fields.number(data, "stargazers_count"), "star")
    licence = fields.text(data, "license", "spdx_id")
    licence = fields.text(data, "license", "name") if licence in ("", "NOASSERTION") else licence
    pushed = day(fields.text(data, "pushed_at"))
    marks = [word for word in ("archived", "fork", "private", "disabled") if fields.flag(data, word)]
    topics = ", ".join(fields.texts(data, "topics"))
    pairs = [
        ("Stars", f"{fields.number(data, 'stargazers_count'):,}"),
        ("Forks", f"{fields.number(data, 'forks_count'):,}"),
        ("Open issues and pull requests", f"{fields.number(data, 'open_issues_count'):,}"),
        ("Language", fields.text(data, "language")),
        ("Licence", licence),
        ("Default branch", code(fields.text(data, "default_branch"))),
        ("Last push", pushed),
        ("Created", day(fields.text(data, "created_at"))),
        ("Topics", topics),
        ("Home page", fields.text(data, "homepage")),
        ("Forked from", fields.text(data, "parent", "full_name")),
        ("Marks", ", ".join(marks)),
    ]
    parts = [f"# {name}", description, bullets(pairs)]
    parts += ["## Files", listing(entries)] if entries else ["*The repository is empty.*"]
    parts += readme_section(readme, base)
    return Rendered(
        "github.repository",
        f"{name}: {description}" if description else name,
        fields.text(data, "html_url"),
        joined(parts),
        facts=(
            stars,
            licence,
            f"branch {fields.text(data, 'default_branch')}",
            f"pushed {pushed}" if pushed else "",
            *marks,
            topics,
        ),
        lead=embed(readme[1], 2) if readme else description,
    )


def readme_section(readme: tuple[str, str] | None, base: str) -> list[str]:
    """The README below a heading of its own; what is no Markdown stands as it is."""
    if readme is None:
        return []
    name, text = readme
    words = embed(text, 2) if is_markdown(name) else fenced(text, "text")
    return [f"## {line(name)}", f"*Its relative links are below <{quote(base, safe=':/@%')}/>.*", words]


def is_markdown(name: str) -> bool:
    """Whether a file name is one of Markdown."""
    return name.lower().endswith((".md", ".markdown", ".mdown", ".mkd", ".mkdn"))


def listing(entries: Sequence[Json]) -> str:
    """The entries of a folder (REST shape ``content-directory``), folders first, as GitHub shows them."""
    ordered = sorted(entries, key=lambda item: (_ORDER.get(_kind(item), 2), fields.text(item, "name").lower()))
    rows = [(code(_entry(item)), _SIGNS.get(_kind(item), _kind(item)), _size(item)) for item in ordered]
    return table(("Name", "Kind", "Size"), rows)


def _kind(item: Json) -> str:
    # The API lists submodules as files, for the sake of old clients, but without an address of their content.
    kind = fields.text(item, "type") or "file"
    return "submodule" if kind == "file" and "git_url" in item and item["git_url"] is None else kind


def _entry(item: Json) -> str:
    return fields.text(item, "name") + ("/" if _kind(item) == "dir" else "")


def _size(item: Json) -> str:
    return human_bytes(fields.number(item, "size")) if _kind(item) == "file" else ""


def tree(
    entries: Sequence[Json], *, name: str, ref: str, path: str, url: str, readme: tuple[str, str] | None
) -> Rendered:
    """A folder of a repository at a ref ("" is the default branch)."""
    head = f"{name}: {path or 'root'}/" + (f" at {ref}" if ref else "")
    files = sum(_kind(item) == "file" for item in entries)
    cut = len(entries) >= MAX_ENTRIES
    note = f"GitHub lists no more than {MAX_ENTRIES:,} entries of a folder"
    parts = [f"# {head}", listing(entries), f"*{note}.*" if cut else "", *readme_section(readme, url)]
    names = ", ".join(_entry(item) for item in entries[:30])
    return Rendered(
        "github.tree",
        head,
        url,
        joined(parts),
        facts=(count(len(entries) - files, "folder"), count(files, "file"), f"at {ref}" if ref else ""),
        lead=names or "The folder is empty.",
        warnings=(("truncated", note),) if cut else (),
    )
