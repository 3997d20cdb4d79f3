"""The digest: the compact text that stands for documents, and what a terminal may be shown."""

from __future__ import annotations

import re
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_EXCERPT_LIMIT = 260
_LINE_LIMIT = 500


def digest(documents: Iterable[dict[str, Any]]) -> str:
    """The documents as numbered entries, then a ``Failed:`` section with the trail of each failure.

    Every document appears once; a failed one that left bodies names its directory.  Ends with a line feed
    unless there are no documents.
    """
    good: list[str] = []
    bad: list[str] = []
    number = 0
    for document in documents:
        if document.get("ok"):
            number += 1
            good += entry_lines(number, document)
        else:
            bad += failure_lines(document)
    if bad:
        good += ["Failed:", *bad]
    return "\n".join(good) + "\n" if good else ""


def entry_lines(number: int, document: dict[str, Any]) -> list[str]:
    """The lines of one good document."""
    link = document.get("link") or document["url"]
    lines = [f"{number}. {one_line(document.get('title') or link)}"]
    facts = [one_line(fact) for fact in document.get("facts") or [] if fact]
    verdict = document.get("verdict")
    if verdict and verdict != "ok":
        facts.append(f"verdict: {verdict}")
    if facts:
        lines.append("   " + " · ".join(facts))
    lines.append(f"   {one_line(link, 2048)}")
    lines += [f"   warning: {one_line(warning['message'])}" for warning in document.get("warnings") or []]
    lines += body_lines(document)
    excerpt = document.get("excerpt")
    if excerpt:
        lines.append("   excerpt: " + one_line(excerpt, _EXCERPT_LIMIT))
    return lines + answer_lines(document)


def answer_lines(document: dict[str, Any]) -> list[str]:
    """The answer to a prompt, or why there is none, for a document that was asked about."""
    answer = document.get("answer")
    if not answer:
        return []
    notes = [f"   note: {one_line(note)}" for note in answer["truncated"]]
    if answer["error"]:
        return [
            f"   no answer: {one_line(answer['error']['reason'])}",
            f"   hint: {one_line(answer['error']['hint'], 2048)}",
        ]
    return ["   answer:", *(f"   {line}".rstrip() for line in terminal_safe(answer["text"]).split("\n")), *notes]


def body_lines(document: dict[str, Any]) -> list[str]:
    """The ``bodies (in DIR/):`` lines of a document that has any."""
    bodies = document.get("bodies") or []
    if not bodies:
        return []
    directory = document.get("dir") or ""
    return [f"   bodies (in {directory.rstrip('/')}/):", *(f"   - {body_line(body)}" for body in bodies)]


def body_line(body: dict[str, Any]) -> str:
    """``content.md (260 lines, 25.9 KB)``; the lines only where they are known."""
    lines = body.get("lines")
    counted = "" if lines is None else f"{lines} line{'' if lines == 1 else 's'}, "
    return f"{body['name']} ({counted}{human_bytes(body['bytes'])})"


def failure_lines(document: dict[str, Any]) -> list[str]:
    """``- url: source: reason → source: reason``, the last being the error itself; then the hint and any bodies."""
    error = document.get("error") or {}
    trail = [f"{attempt['source']}: {one_line(attempt['reason'])}" for attempt in document.get("attempts") or []]
    last = one_line(error.get("reason") or "no reason was given")
    if not trail or not trail[-1].endswith(last):
        trail.append(f"{document.get('source') or 'local'}: {last}")
    lines = [f"- {one_line(document['url'], 2048)}: {' → '.join(trail)}"]
    if error.get("hint"):
        lines.append(f"   hint: {one_line(error['hint'])}")
    return lines + body_lines(document)


def human_bytes(count: int) -> str:
    """A size for people, decimal units: ``812 B``, ``25.9 KB``, ``1.2 MB``."""
    if count < 1000:
        return f"{count} B"
    size = count / 1000
    units = ["GB", "MB", "KB"]
    while size >= 999.95 and len(units) > 1:
        size /= 1000
        units.pop()
    return f"{size:.1f} {units[-1]}"


def one_line(text: str, limit: int = _LINE_LIMIT) -> str:
    """A text on one line of at most ``limit`` characters, without control characters."""
    text = " ".join(terminal_safe(text[: limit * 8]).split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def terminal_safe(text: str) -> str:
    """A text that can't steer a terminal: escape sequences (CSI, OSC, DCS ...) and control characters are removed.

    Line feeds and tabs stay; a carriage return goes, since it would overwrite the line; bidirectional overrides
    and isolates go as well, since they reorder what is shown.
    """
    if text.isascii() and text.isprintable():
        return text
    return _unsafe().sub("", text)


def without_escapes(text: str) -> str:
    """A text without escape sequences (CSI, OSC, DCS ...), for readers that are no terminal; the rest stays."""
    if text.isascii() and text.isprintable():
        return text
    return re.sub(_ESCAPES, "", text)


_ESCAPES = (
    # Strings (OSC, DCS, SOS, PM, APC) with what they hold, then sequences.
    r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x9c|\x1b\\)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?"
)


@lru_cache(maxsize=1)
def _unsafe() -> re.Pattern[str]:
    return re.compile(rf"{_ESCAPES}|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
