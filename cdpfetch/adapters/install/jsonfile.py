"""One member of one object in a JSON text, set or removed with all other text kept as it is; pure.

Comments and trailing commas are read as VS Code and the Gemini CLI read their settings (JSON with Comments), and stay.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from cdpfetch.errors import InvalidRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Strings are matched first, so that what looks like a comment in one is none; an open comment runs to the end.
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*(?:.*?\*/|.*\Z)', re.DOTALL)
_TRAILING_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])')
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class Member(NamedTuple):
    """A member of an object: offsets of its key, its value, and the end of that."""

    name: str
    start: int
    value: int
    end: int


class Object(NamedTuple):
    """An object in a text: offsets of its braces, and its members."""

    start: int
    end: int
    members: list[Member]

    def find(self, name: str) -> Member | None:
        """The member of a name; of several the last, which is what readers take."""
        return next((one for one in reversed(self.members) if one.name == name), None)


def with_entry(text: str, table: str, name: str, wanted: Mapping[str, Any]) -> str:
    """The text with ``{table: {name: wanted}}``; keys of an entry that is there already stay.

    Raises InvalidRequest for a text that is no JSON object, or whose parts are of another kind.
    """
    whole = text if text.strip() else "{}\n"
    plain = _plain(whole)
    root = _object(plain, _start(plain), "the file")
    found = root.find(table)
    if found is None:
        return _checked(whole, _inserted(whole, plain, root, table, {name: dict(wanted)}), table, name)
    inner = _object(plain, found.value, repr(table))
    entry = inner.find(name)
    if entry is None:
        return _checked(whole, _inserted(whole, plain, inner, name, dict(wanted)), table, name)
    old = json.loads(plain[entry.value : entry.end])
    new = merged(old, wanted, name)
    if new == old:
        return text
    value = _dumped(new, _indent_at(whole, entry.start), _unit(whole, root), _newline(whole))
    return _checked(whole, whole[: entry.value] + value + whole[entry.end :], table, name)


def without_entry(text: str, table: str, name: str) -> str:
    """The text without the entry; the same text when there is none.  Raises InvalidRequest as ``with_entry``."""
    if not text.strip():
        return text
    plain = _plain(text)
    found = _object(plain, _start(plain), "the file").find(table)
    if found is None:
        return text
    inner = _object(plain, found.value, repr(table))
    if inner.find(name) is None:
        return text
    places = [index for index, one in enumerate(inner.members) if one.name == name]
    for index in reversed(places):
        text = _removed(text, plain, inner, index)
        plain = _plain(text)
        inner = _object(plain, found.value, repr(table))
    return text


def merged(old: Any, wanted: Mapping[str, Any], name: str) -> dict[str, Any]:
    """An entry with what is wanted over what is there.  Raises InvalidRequest for an entry of another kind."""
    if not isinstance(old, dict) or ("command" not in old and old):
        raise InvalidRequest(
            f"there is an entry {name!r} that is not a command to start", "remove or rename it, and try again"
        )
    new = {**old, **wanted}
    if isinstance(old.get("env"), dict) and "env" in wanted:
        new["env"] = {**old["env"], **wanted["env"]}
    return new


def _plain(text: str) -> str:
    """The text as strict JSON of the same length: comments and trailing commas are blanks.  Raises InvalidRequest."""

    def blank(match: re.Match[str]) -> str:
        found = match[0]
        return found if found[0] == '"' else re.sub(r"[^\r\n]", " ", found)

    plain = _TRAILING_COMMA.sub(blank, _TOKENS.sub(blank, text))
    plain = " " + plain[1:] if plain[:1] == "\ufeff" else plain
    try:
        json.loads(plain)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"it is no JSON: {error}", "mend or move it, and try again") from error
    return plain


def _start(plain: str) -> int:
    return _skip(plain, 0)


def _skip(plain: str, index: int) -> int:
    match = _SPACE.match(plain, index)
    return match.end() if match else index


def _object(plain: str, start: int, what: str) -> Object:
    """The object that starts at an offset of a text that is known to be JSON."""
    if plain[start] != "{":
        raise InvalidRequest(f"{what} is no JSON object", "mend or move it, and try again")
    members: list[Member] = []
    index = _skip(plain, start + 1)
    while plain[index] != "}":
        name, after = _DECODER.raw_decode(plain, index)
        value = _skip(plain, _skip(plain, after) + 1)
        _, end = _DECODER.raw_decode(plain, value)
        members.append(Member(name, index, value, end))
        index = _skip(plain, end)
        if plain[index] == ",":
            index = _skip(plain, index + 1)
    return Object(start, index, members)


def _inserted(text: str, plain: str, into: Object, name: str, value: dict[str, Any]) -> str:
    """The text with a new last member, below what stands last in the object, be it a comment."""
    newline = _newline(text)
    outer = _indent_at(text, into.start)
    root = _object(plain, _start(plain), "the file")
    unit = _unit(text, root)
    inner = _indent_at(text, into.members[-1].start) if into.members else outer + unit
    inner = inner if len(inner) > len(outer) else outer + unit
    place = len(text[: into.end].rstrip())
    member = f"{newline}{inner}{json.dumps(name)}: {_dumped(value, inner, unit, newline)}"
    tail = text[place : into.end]
    end = tail if "\n" in tail else newline + outer
    text = text[:place] + member + end + text[into.end :]
    if into.members:
        last = into.members[-1].end
        # A trailing comma was blanked; then it serves.
        if "," not in _without_comments(text[last:place]):
            text = text[:last] + "," + text[last:]
    return text


def _without_comments(text: str) -> str:
    return _TOKENS.sub("", text)


def _removed(text: str, plain: str, inner: Object, index: int) -> str:
    """The text without one member and one of the commas beside it."""
    member = inner.members[index]
    if index + 1 < len(inner.members):
        comma = plain.index(",", member.end)
        after = inner.members[index + 1].start
        rest = text[comma + 1 : after]
        # Up to the next line where there is one; comments that follow are the next member's.
        cut = comma + 1 + (rest.index("\n") + 1 if "\n" in rest else len(rest))
        begin = _line_start(text, member.start) if "\n" in rest else member.start
        return text[:begin] + text[member.end : comma].strip() + text[cut:]
    if index:
        comma = plain.index(",", inner.members[index - 1].end)
        between = text[comma + 1 : member.start].rstrip()
        return text[:comma] + between + text[member.end :]
    return text[: _line_end(text, inner.start + 1, member.start)] + text[member.end :]


def _line_start(text: str, index: int) -> int:
    """The start of the line, when only blanks stand before the offset."""
    start = text.rfind("\n", 0, index) + 1
    return start if not text[start:index].strip() else index


def _line_end(text: str, start: int, end: int) -> int:
    """Where the blanks before ``end`` begin."""
    return start + len(text[start:end].rstrip())


def _checked(old: str, new: str, table: str, name: str) -> str:
    """The new text, when nothing but the entry differs from the old.  Raises InvalidRequest."""

    def rest(text: str) -> Any:
        data = json.loads(_plain(text))
        entries = data.pop(table, {})
        entries.pop(name, None)
        return data, entries

    if rest(old) != rest(new):
        raise InvalidRequest("its other entries would change", "add the entry yourself: --print shows it")
    return new


def _dumped(value: Any, indent: str, unit: str, newline: str) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", newline + indent)


def _indent_at(text: str, index: int) -> str:
    """The blanks at the start of an offset's line."""
    line = text[text.rfind("\n", 0, index) + 1 : index]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str, root: Object) -> str:
    """One step of indentation, as the file has it."""
    return (_indent_at(text, root.members[0].start) if root.members else "") or "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
