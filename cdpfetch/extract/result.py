"""What an extraction gives: readable bodies and what is known about them."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from cdpfetch import disk

MARKDOWN = "text/markdown"
PLAIN = "text/plain"
# The code of the warning on a page whose content is what its data says, since it shows next to nothing.
RECOVERED = "from_structured_data"
# An outline is for orientation; a hostile page must not make the answer line grow without bound.
MAX_OUTLINE = 1000
MAX_FACTS = 20
MAX_FACT_CHARS = 200


class Body(NamedTuple):
    """A readable body that is not yet on disk.

    Attributes:
        name: file name inside the document's directory.
        role: ``content`` (Markdown), ``text`` (plain text) or ``source`` (text as it was sent, decoded).
        content_type: essence of its media type.
        text: the whole body.
    """

    name: str
    role: str
    content_type: str
    text: str


def content_body(text: str) -> Body:
    """Markdown for the agent."""
    return Body("content.md", "content", MARKDOWN, text)


def text_body(text: str) -> Body:
    """Plain text, literally as decoded."""
    return Body("text.txt", "text", PLAIN, text)


class Extraction(NamedTuple):
    """The outcome of one extraction.

    Attributes:
        content: the primary readable body, or None when there is nothing to read.
        title: one line, or None.
        facts: short human-readable facts (author, date, site, dimensions ...).
        excerpt: first prose, one line, or None.
        outline: ``{"level", "text", "line"}`` of the headings.
        coverage: extracted / visible characters (0..1), or None where that means nothing.
        warnings: ``{"code", "message"}``.
        meta: structured values behind the facts (snake_case), for metadata.json.
        others: further bodies.
    """

    content: Body | None
    title: str | None = None
    facts: tuple[str, ...] = ()
    excerpt: str | None = None
    outline: tuple[dict[str, Any], ...] = ()
    coverage: float | None = None
    warnings: tuple[dict[str, str], ...] = ()
    meta: dict[str, Any] = {}  # noqa: RUF012 - NamedTuple default, never mutated
    others: tuple[Body, ...] = ()

    @property
    def text(self) -> str:
        """The primary body's text, or an empty string."""
        return self.content.text if self.content else ""

    def save(self, out_dir: str) -> dict[str, Any]:
        """Write the bodies into ``out_dir`` and return the worker's answer (JSON-ready).  OSError passes through."""
        written = [_write(body, out_dir) for body in (self.content, *self.others) if body is not None]
        return {
            "content": written.pop(0) if self.content is not None else None,
            "bodies": written,
            "title": self.title,
            "facts": [fact[:MAX_FACT_CHARS] for fact in self.facts[:MAX_FACTS]],
            "excerpt": self.excerpt,
            "outline": list(self.outline[:MAX_OUTLINE]),
            "coverage": self.coverage,
            "warnings": list(self.warnings),
            "meta": self.meta,
        }


def _write(body: Body, out_dir: str) -> dict[str, str]:
    path = os.path.join(out_dir, body.name)
    with open(path, "w", encoding="utf-8", errors="replace", newline="", opener=_no_link) as f:
        f.write(body.text)
    return {"name": body.name, "role": body.role, "content_type": body.content_type}


def _no_link(path: str, flags: int) -> int:
    """Open for writing what is a file of one name, and no link that was planted in its place."""
    fd = os.open(path, flags & ~os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    try:
        disk.require_plain(fd, path)
        os.ftruncate(fd, 0)
    except BaseException:
        os.close(fd)
        raise
    return fd


def source_body(text: str) -> Body:
    """A text whose bytes nobody reads as they are, decoded."""
    return Body("source.txt", "source", PLAIN, text)


def warning(code: str, message: str) -> dict[str, str]:
    """A warning as it stands in ``--json``."""
    return {"code": code, "message": message}


def readable(body: Body, **fields: Any) -> Extraction:
    """An Extraction around ``body`` with its outline and excerpt taken from the text."""
    from cdpfetch import outline

    if body.role == "content":
        fields.setdefault("outline", tuple(outline.outline(body.text)[:MAX_OUTLINE]))
        fields.setdefault("excerpt", outline.excerpt(body.text))
    else:
        fields.setdefault("excerpt", first_line(body.text))
    return Extraction(body, **fields)


def first_line(text: str, limit: int = 260) -> str | None:
    """The first lines of a plain text, as one line of at most ``limit`` characters."""
    words = text[: limit * 8].split()
    line = " ".join(words)
    if not line:
        return None
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    return (cut.rsplit(" ", 1)[0] if " " in cut[limit // 2 :] else cut) + "…"
