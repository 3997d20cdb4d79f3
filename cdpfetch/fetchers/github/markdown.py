"""The words and marks that GitHub's documents are made of, and how somebody's Markdown is put into ours.

Pure.  What people wrote is put below a heading of ours in such a way that it can neither end its own part nor pass
for another one: its headings are moved below ours, and its fences are closed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from cdpfetch.fetchers.github import fields

_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?Z?$")
_FENCE = re.compile(r"^((?:[ \t]|>)*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(`{3,}|~{3,})(.*)$")
_ATX = re.compile(r"^ {0,3}(#{1,6})(?=[ \t]|$)")
_SETEXT = re.compile(r"^ {0,3}(=+|-+)[ \t]*$")
_NO_TEXT = re.compile(r"^(?: {4}|\t| {0,3}(?:>|#|\||[-*+][ \t]|\d{1,9}[.)][ \t]|```|~~~)|\s*$)")
_REACTIONS = (
    ("+1", "\U0001f44d"),
    ("-1", "\U0001f44e"),
    ("laugh", "\U0001f604"),
    ("hooray", "\U0001f389"),
    ("confused", "\U0001f615"),
    ("heart", "❤️"),
    ("rocket", "\U0001f680"),
    ("eyes", "\U0001f440"),
)
_MAX_LINE = 1000


class Attachment(NamedTuple):
    """A body beside the content."""

    name: str
    role: str
    content_type: str
    data: str | bytes


class Rendered(NamedTuple):
    """A document of GitHub before it is on disk.

    ``markdown`` is its content, None where a file is all there is; ``lead`` is the text whose first prose is the
    excerpt (None: the content itself).  A document that is a file has ``excerpt``, ``outline``, ``size`` and
    ``sha256`` of that file instead.
    """

    kind: str
    title: str
    link: str
    markdown: str | None
    facts: tuple[str, ...] = ()
    lead: str | None = None
    warnings: tuple[tuple[str, str], ...] = ()
    attachments: tuple[Attachment, ...] = ()
    content_type: str = "text/markdown"
    size: int | None = None
    sha256: str | None = None
    excerpt: str | None = None
    outline: tuple[dict[str, Any], ...] = ()


def line(text: str, limit: int = _MAX_LINE) -> str:
    """A text on one line."""
    words = " ".join(text[: limit * 4].split())
    return words if len(words) <= limit else words[: limit - 1] + "…"


def code(text: str) -> str:
    """A text as a code span on one line."""
    text = line(text)
    ticks = "`" * (_longest(text, "`") + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}" if text else ""


def fenced(text: str, language: str = "") -> str:
    """A text as a code block that it can't end."""
    ticks = "`" * max(3, _longest(text, "`") + 1)
    return f"{ticks}{language}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{ticks}"


def _longest(text: str, char: str) -> int:
    return max((len(run) for run in re.findall(re.escape(char) + "+", text)), default=0)


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A table; cells are one line each and can't end their cell."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(line(cell).replace("|", "\\|") for cell in row) + " |" for row in lines)


def link(label: str, url: str) -> str:
    """A link on one line."""
    label = line(label).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    url = "".join(url.split()).replace("<", "%3C").replace(">", "%3E")
    return f"[{label}](<{url}>)" if re.search(r"[()]", url) else f"[{label}]({url})"


def bullets(pairs: list[tuple[str, str]]) -> str:
    """``- Name: value`` lines, without those that have no value."""
    return "\n".join(f"- {name}: {line(text)}" for name, text in pairs if text)


def when(stamp: str) -> str:
    """A time as people read it (``2024-01-02 03:04 UTC``); what is none stays as it is, cut."""
    found = _TIME.match(stamp)
    return f"{found[1]} {found[2]} UTC" if found else line(stamp, 40)


def day(stamp: str) -> str:
    """The day of a time."""
    found = _TIME.match(stamp)
    return found[1] if found else line(stamp, 40)


def count(amount: int, noun: str, plural: str = "") -> str:
    """``1 comment``, ``2 comments``, ``1,200 comments``."""
    return f"{amount:,} {noun if amount == 1 else plural or noun + 's'}"


def reactions(data: Any) -> str:
    """The reactions to something as one line, or nothing."""
    found = [(sign, fields.number(data, "reactions", name)) for name, sign in _REACTIONS]
    return " · ".join(f"{sign} {amount}" for sign, amount in found if amount > 0)


def author(data: Any, key: str = "user") -> str:
    """Who wrote something, with what they are to the repository."""
    role = fields.text(data, "author_association")
    known = role.lower().replace("_", " ") if role not in ("", "NONE") else ""
    return line(fields.login(data, key) + (f" ({known})" if known else ""))


def joined(parts: list[str]) -> str:
    """Blocks with a blank line between them, without empty ones; ends with a line feed."""
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def embed(text: str, level: int) -> str:
    """Somebody's Markdown as it stands below a heading of ``level``.

    Its headings go below that one (at most six deep), an open fence is closed, and HTML comments, which no reader of
    the page sees, are left out.
    """
    embedder = _Embedder(level)
    for row in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        embedder.feed(row)
    embedder.close_fence()
    return "\n".join(embedder.out).strip("\n")


class _Embedder:
    """Takes one line after the other; ``out`` are those that are shown."""

    def __init__(self, level: int) -> None:
        self.out: list[str] = []
        self._level = level
        self._fence = ""  # the mark that opened the code block that we are in
        self._prefix = ""  # what stood before it: blanks, quote marks, the mark of a list
        self._hidden = False  # whether we are in a comment

    def feed(self, row: str) -> None:
        """Take a line."""
        if self._fence and self._has_left(row):
            self.close_fence()
        if self._fence:
            mark = _FENCE.match(row)
            self.out.append(row)
            if mark and mark[2][0] == self._fence[0] and len(mark[2]) >= len(self._fence) and not mark[3].strip():
                self._fence = ""
            return
        if not self._hidden and self._opens(row):
            self.out.append(row)
            return
        was_hidden = self._hidden
        shown, self._hidden = _visible(row, was_hidden)
        if shown.strip() or not (was_hidden or "<!--" in row):
            self._place(shown)

    def _opens(self, row: str) -> bool:
        mark = _FENCE.match(row)
        if not mark or (mark[2][0] == "`" and "`" in mark[3]):
            return False
        self._fence, self._prefix = mark[2], mark[1]
        return True

    def _has_left(self, row: str) -> bool:
        """Whether a line is outside of the quotation or list in which the code block began, which ends it."""
        if ">" in self._prefix:
            return not row.lstrip().startswith(">")
        return bool(self._prefix.strip()) and bool(row.strip()) and not row[0].isspace()

    def close_fence(self) -> None:
        """End a code block that is open, where it began."""
        if self._fence:
            self.out.append(re.sub(r"[^\s>]", " ", self._prefix) + self._fence)
            self._fence = ""

    def _place(self, row: str) -> None:
        """Show one line outside of code, a heading at its level below ours."""
        heading = _ATX.match(row)
        if heading:
            self.out.append("#" * min(6, self._level + len(heading[1])) + row[heading.end() :])
            return
        under = _SETEXT.match(row)
        if not under or not self.out or _NO_TEXT.match(self.out[-1]):
            self.out.append(row)
            return
        start = len(self.out) - 1  # the heading is the whole paragraph above
        while start and not _NO_TEXT.match(self.out[start - 1]):
            start -= 1
        words = " ".join(" ".join(self.out[start:]).split())
        self.out[start:] = ["#" * min(6, self._level + (1 if under[1][0] == "=" else 2)) + " " + words]


def _visible(row: str, hidden: bool) -> tuple[str, bool]:
    """What of a line is outside of comments, and whether one is open at its end."""
    shown: list[str] = []
    position = 0
    while position < len(row):
        if hidden:
            end = row.find("-->", position)
            if end < 0:
                return "".join(shown), True
            position, hidden = end + 3, False
            continue
        start = row.find("<!--", position)
        if start < 0:
            shown.append(row[position:])
            break
        if row.count("`", 0, start) % 2 and "`" in row[start:]:  # inside a code span
            shown.append(row[position : start + 4])
            position = start + 4
            continue
        shown.append(row[position:start])
        position, hidden = start + 4, True
    return "".join(shown), hidden
