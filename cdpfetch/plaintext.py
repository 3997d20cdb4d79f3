"""Markdown as plain text: the words, the code and the cells, without the marks.  Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r"^([ \t]*(?:>[ \t]?)*(?:[-*+][ \t]+)?)(`{3,}|~{3,})([^`]*)$")
_QUOTE = re.compile(r"^ {0,3}>[ \t]?")
_HEADING = re.compile(r"^ {0,3}#{1,6}(?:[ \t]+|$)")
_CLOSING = re.compile(r"[ \t]+#+[ \t]*$")
_RULE = re.compile(r"^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|=+[ \t]*|-{2,}[ \t]*)$")
_BULLET = re.compile(r"^([ \t]*)[*+]([ \t]+)")
_DELIMITERS = re.compile(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_PICTURE = re.compile(r"!\[([^\]\[]{0,500})\](?:\([^()\s]*(?:\s\"[^\"]*\")?\)|\[[^\]]{0,200}\])")
_LINK = re.compile(r"\[([^\]\[]{0,1000})\](?:\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"]*\")?\)|\[[^\]]{0,200}\])")
_ADDRESS = re.compile(r"<((?:https?|mailto):[^<>\s]{1,2000})>")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_MARKS = re.compile(r"\*{1,3}(?=\S)|(?<=\S)\*{1,3}|~~|(?<!\w)_{1,3}(?=\w)|(?<=[\w.!?)])_{1,3}(?!\w)")


def plain_text(markdown: str) -> str:
    """The text of a Markdown document: one line for each of its lines that says something.

    Code stays as it is, the cells of a table are parted by tabs, links and pictures are their words.
    """
    return "".join(line + "\n" for line in _lines(markdown))


def _lines(markdown: str) -> Iterator[str]:
    fence = ""
    lines = markdown.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    for line in lines:
        line = line.rstrip("\r")
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[2].startswith(fence) and not mark[3].strip():
                fence = ""
            else:
                yield line
        elif mark:
            fence = mark[2]
        elif (text := _line(line)) is not None:
            yield text


def _line(line: str) -> str | None:
    """The text of a line outside of code; None for one that is only a mark."""
    if line.startswith(("    ", "\t")) and not line.lstrip().startswith(("-", "*", "+", "|")):
        return line
    while quote := _QUOTE.match(line):
        line = line[quote.end() :]
    if not line.strip():
        return ""
    if _RULE.match(line) or ("|" in line and _DELIMITERS.match(line)):
        return None
    if heading := _HEADING.match(line):
        return _inline(_CLOSING.sub("", line[heading.end() :]).strip())
    bare = line.strip()
    if len(bare) > 1 and bare.startswith("|") and bare.endswith("|"):
        return "\t".join(_inline(cell.strip()) for cell in re.split(r"(?<!\\)\|", bare[1:-1]))
    return _inline(_BULLET.sub(r"\1-\2", line)).rstrip()


def _inline(text: str) -> str:
    """Text without inline marks; what stands in code spans is kept."""
    out: list[str] = []
    at = 0
    for span in _CODE.finditer(text):
        out += [_words(text[at : span.start()]), span[2].strip() or span[2]]
        at = span.end()
    return "".join([*out, _words(text[at:])])


def _words(text: str) -> str:
    if not any(char in text for char in "\\*_~[<!"):
        return text
    text = _LINK.sub(r"\1", _PICTURE.sub(r"\1", text))
    text = _ADDRESS.sub(r"\1", text)
    # What is escaped is no mark: it steps aside while the marks go.
    kept: list[str] = []

    def aside(match: re.Match[str]) -> str:
        kept.append(match[1])
        return "\0"

    text = _MARKS.sub("", _ESCAPE.sub(aside, text.replace("\0", "")))
    parts = text.split("\0")
    return "".join(part + (kept[index] if index < len(kept) else "") for index, part in enumerate(parts))
