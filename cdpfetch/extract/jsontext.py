"""JSON made readable without touching a token: numbers, strings and escapes stay exactly as they were sent."""

from __future__ import annotations

import re

# Above this many characters the text is delivered as it is.
MAX_CHARS = 24 << 20
_INDENT = "  "
_MAX_INDENT = 64
_CLOSERS = {"{": "}", "[": "]"}
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.DOTALL)
_LITERAL = re.compile(r'"|-?\d|true\Z|false\Z|null\Z')


class NotJson(ValueError):
    """The text is no JSON: its brackets, strings or separators do not fit."""


def reindent(text: str) -> str:
    """``text`` with two blanks of indentation a level, every token exact.  Raises NotJson."""
    out: list[str] = []
    closers: list[str] = []
    words = _words(text)
    for index, word in enumerate(words):
        if word in _CLOSERS:
            closers.append(_CLOSERS[word])
            out.append(word)
            if words[index + 1 : index + 2] != closers[-1:]:
                out.append(_break(len(closers)))
        elif word in "}]":
            if not closers or closers.pop() != word:
                raise NotJson("brackets do not match")
            out.append(word if words[index - 1] in _CLOSERS else _break(len(closers)) + word)
        else:
            out.append(_inner(word, len(closers)))
    if closers:
        raise NotJson("the text ends too early")
    return "".join(out) + "\n"


def _inner(word: str, depth: int) -> str:
    """A separator or a value, with what follows it."""
    if word == ":":
        return ": "
    if word == ",":
        if not depth:
            raise NotJson("a comma outside of everything")
        return "," + _break(depth)
    if not _LITERAL.match(word):
        raise NotJson(f"{word[:20]!r} is no JSON value")
    return word


def _words(text: str) -> list[str]:
    words, position = [], 0
    for found in _TOKEN.finditer(text):
        if text[position : found.start()].strip(" \t\r\n"):
            raise NotJson("a string does not end")
        words.append(found.group())
        position = found.end()
    if text[position:].strip(" \t\r\n") or not words:
        raise NotJson("no JSON")
    return words


def _break(depth: int) -> str:
    # Deep nesting must not make the text grow with the square of its size.
    return "\n" + _INDENT * min(depth, _MAX_INDENT)
