"""What a Markdown text says about itself: its headings with their lines, and its first real prose.

A line ends with a line feed and with nothing else, as for ``grep`` and ``sed``.
"""

from __future__ import annotations

import re
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# Bounds of what goes into a document's metadata, which travels over the socket as one line.
OUTLINE_LIMIT = 300
HEADING_LIMIT = 200
# A paragraph of at least this many characters (or half of it, with a full stop) counts as prose.
_PROSE = 50


def outline(markdown: str, limit: int | None = OUTLINE_LIMIT) -> list[dict[str, Any]]:
    """The headings outside code fences, in order: ``{"level": 1-6, "text": str, "line": 1-based int}``.

    ATX (``## x``) and setext (underlined) headings count.  At most ``limit`` of them (None: all), each text
    without its inline marks and of at most ``HEADING_LIMIT`` characters.
    """
    found: list[dict[str, Any]] = []
    for number, line, paragraph in _visible_lines(markdown):
        level, text = _atx(line)
        at = number
        # Under a quotation such a line is a rule: it can't go on with what is quoted (CommonMark 0.31, section 4.3).
        if not level and paragraph and not paragraph.lstrip().startswith(">") and _setext().match(line):
            level, text, at = (1 if line.lstrip()[0] == "=" else 2), paragraph, number - 1
        text = plain(text)
        if not level or not text:
            continue
        found.append({"level": level, "text": _cut(text, HEADING_LIMIT), "line": at})
        if limit is not None and len(found) >= limit:
            break
    return found


def excerpt(markdown: str, limit: int = 260) -> str | None:
    """The first paragraph of prose as one line of at most ``limit`` characters, cut at a word with "…".

    Headings, code, tables, rules and pictures are passed over; a text without prose gives its first words.
    None when there are none.
    """
    fallback: str | None = None
    for block in _paragraphs(markdown):
        text = plain(" ".join(block))
        if not any(char.isalnum() for char in text):
            continue
        if len(text) >= _PROSE or (len(text) >= _PROSE // 2 and text[-1] in ".!?:…") or _is_dense(text):
            return _cut(text, limit)
        fallback = fallback or text
    if fallback is None:
        for heading in outline(markdown, limit=1):
            fallback = heading["text"]
    if fallback is None:
        words = " ".join(line.strip("`~#>*-|= \t\r") for line in markdown[: limit * 8].split("\n"))
        fallback = " ".join(words.split())
    return _cut(fallback, limit) if fallback else None


def plain(text: str) -> str:
    """Inline Markdown as plain words: links as their text, without emphasis, code and escape marks."""
    text = _picture().sub(r"\1", text)
    text = _link().sub(r"\1", text)
    text = _marks().sub(lambda match: match[1] or "", text)
    return " ".join(text.split())


def _paragraphs(markdown: str) -> Iterator[list[str]]:
    """Runs of lines that may be prose."""
    block: list[str] = []
    for number, line, _ in _visible_lines(markdown):
        bare = line.strip()
        if number == 1 and bare == "---":
            continue
        if bare and not _not_prose().match(bare):
            block.append(_bullet().sub("", bare))
            if sum(map(len, block)) < 4000:
                continue
        if block and not _setext().match(line):
            yield block
        block = []
    if block:
        yield block


def _visible_lines(markdown: str) -> Iterator[tuple[int, str, str]]:
    """``(number, line, paragraph text just before it or "")`` of every line outside a code fence."""
    fence = ""
    before = ""
    number = 0
    start = 0
    while start < len(markdown):
        end = markdown.find("\n", start)
        end = len(markdown) if end < 0 else end
        # Nothing beyond the first characters of a very long line can make it a heading.
        line = markdown[start : min(end, start + 8192)].rstrip("\r")
        number += 1
        start = end + 1
        mark = _fence().match(line)
        if fence:
            if mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence) and not mark[2].strip():
                fence = ""
            continue
        if mark and not (mark[1][0] == "`" and "`" in mark[2]):
            fence, before = mark[1], ""
            continue
        yield number, line, before
        bare = line.strip()
        is_text = bare and not line.startswith(("    ", "\t")) and not _not_prose().match(bare) and bare[0] not in "*+-"
        before = bare if is_text else ""


def _is_dense(text: str) -> bool:
    """Whether a short text is prose all the same, being written in a script without blanks (Chinese, Japanese)."""
    wide = sum("\u3040" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7a3" for char in text)
    return wide >= 12


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    space = head.rfind(" ")
    if space > limit // 2 and text[limit - 1] != " ":
        head = head[:space]
    return head.rstrip(" ,;:-") + "…"


def _atx(line: str) -> tuple[int, str]:
    """Level and text of a ``# heading``; level 0 when the line is none.  By hand, to be linear on hostile lines."""
    bare = line.lstrip(" ")
    level = len(bare) - len(bare.lstrip("#"))
    rest = bare[level:]
    if len(line) - len(bare) > 3 or not 1 <= level <= 6 or (rest and rest[0] not in " \t"):
        return 0, ""
    text = rest.strip()
    unclosed = text.rstrip("#")
    return level, unclosed.rstrip() if not unclosed or unclosed[-1] in " \t" else text


# Compiled when first used: this module is imported by the command, which seldom needs them.
@lru_cache(maxsize=1)
def _setext() -> re.Pattern[str]:
    return re.compile(r"^ {0,3}(?:=+|-+)[ \t]*$")


@lru_cache(maxsize=1)
def _fence() -> re.Pattern[str]:
    return re.compile(r"^[ \t]*(?:>[ \t]?)*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}|~{3,})(.*)$")


@lru_cache(maxsize=1)
def _not_prose() -> re.Pattern[str]:
    return re.compile(r"^(?:#{1,6}(?:\s|$)|\||[-*_](?:\s*[-*_]){2,}\s*$|=+\s*$|<!--|</?\w|!\[[^\]]*\]\([^)]*\)$|\$\$)")


@lru_cache(maxsize=1)
def _bullet() -> re.Pattern[str]:
    return re.compile(r"^(?:>\s?)*(?:(?:[-*+]|\d{1,3}[.)])\s+)?(?:\[[ xX]\]\s+)?")


@lru_cache(maxsize=1)
def _picture() -> re.Pattern[str]:
    return re.compile(r"!\[([^\]\[]{0,500})\](?:\([^()\s]*(?:\s\"[^\"]*\")?\)|\[[^\]]{0,200}\])")


@lru_cache(maxsize=1)
def _link() -> re.Pattern[str]:
    return re.compile(r"\[([^\]\[]{0,1000})\](?:\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"]*\")?\)|\[[^\]]{0,200}\])")


@lru_cache(maxsize=1)
def _marks() -> re.Pattern[str]:
    return re.compile(r"\\([!-/:-@\[-`{-~])|\*+|`+|~~|(?<!\w)_+(?=\w)|(?<=[\w.!?])_+(?!\w)")
