"""Receipts: what tools brought in older turns of a conversation shrinks to titles, URLs and paths.  Pure.

A model reads a page once and then pays for it in each later turn, though the file is still on disk.
``compact_history`` takes message lists as OpenAI's Chat Completions and Responses and Anthropic's Messages have them.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from cdpfetch.adapters.definitions import FETCH, READ, SEARCH
from cdpfetch.adapters.fence import NOTE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_NAMES = re.compile(rf"(?:.*[^A-Za-z0-9])?(?:{FETCH.name}|{READ.name}|{SEARCH})", re.DOTALL)
_RECEIPT = "Receipt of an earlier result; what it showed is on disk.\n"
_FENCE = re.compile(r"^<web-content ([0-9a-f]{24})>\n(.*?)^</web-content \1>$", re.DOTALL | re.MULTILINE)
_TITLE = re.compile(r"(\d+\. .*)")
_LINK = re.compile(r"   ([a-z][a-z0-9+.-]*://\S+)")
_FOLDER = re.compile(r"   (?:bodies \(in|files in) (.+/)(?:\):)?")
# Kinds of a part's text: Chat Completions and Anthropic, then Responses.
_TEXTS = ("text", "input_text", "output_text")


class _Entry(NamedTuple):
    """A document of a digest: the line of its title, its link, and where its files are."""

    title: str
    link: str | None
    folder: str | None

    def lines(self) -> list[str]:
        found = [self.title, *([f"   {self.link}"] if self.link else [])]
        return [*found, *([f"   files in {self.folder}"] if self.folder else [])]


def compact_history(messages: Sequence[Any]) -> list[Any]:
    """The messages with receipts in place of what cdpfetch's tools returned before the newest turn of the user.

    Nothing that was passed in is changed, and messages that stay are the same objects.  The newest turn, results of
    other tools, errors, and whatever has another shape stay as they are; so do the files.  Doing it again changes
    nothing.
    """
    newest = max((place for place, message in enumerate(messages) if _is_turn(message)), default=0)
    calls = {one.id: one for message in messages for one in _calls_of(message)}
    entries = {
        one.folder.rstrip("/").rpartition("/")[2]: one
        for message in messages[:newest]
        for text in _texts(message)
        for one in _entries(text)
        if one.folder
    }

    def shorter(call_id: Any, text: str) -> str:
        return _receipt(text, calls.get(call_id) if isinstance(call_id, str) else None, entries)

    return [_compacted(message, shorter) if place < newest else message for place, message in enumerate(messages)]


class _Called(NamedTuple):
    """A call of a tool, as the model made it; ``fetch_id`` is the argument of that name."""

    id: str
    name: str
    fetch_id: str | None


def _receipt(text: str, call: _Called | None, entries: Mapping[str, _Entry]) -> str:
    """The receipt for a result, or the text itself when it is none of ours, is short, or is a receipt already."""
    if text.startswith(_RECEIPT) or (call is not None and not _is_ours(call.name)):
        return text
    fence = _FENCE.search(text)
    if fence is None:
        return text
    lines = [line for one in _entries(text) for line in one.lines()] + _failures(text)
    known = entries.get(call.fetch_id) if call and call.fetch_id else None
    if not lines and known is not None:
        lines = known.lines()
    before = text[: fence.start()].strip()
    parts = [_RECEIPT, f"{before}\n" if before else ""]
    if lines:
        # The mark of the result itself: a page that knew it has had its say.
        parts.append(f"<web-content {fence[1]}>\n{NOTE}\n" + "\n".join(lines) + f"\n</web-content {fence[1]}>\n")
    ids = [one.folder.rstrip("/").rpartition("/")[2] for one in _entries(text) if one.folder]
    ids = ids or ([call.fetch_id] if call and call.fetch_id else [])
    parts.append(f"To read it: {READ.name} with fetch_id {' or '.join(ids)}\n" if ids else "")
    receipt = "".join(parts)
    return receipt if len(receipt) < len(text) else text


def _is_ours(name: str) -> bool:
    """Whether a tool is one of these; clients put a server's name before it, as in ``mcp__cdpfetch__web_fetch``."""
    return _NAMES.fullmatch(name) is not None


def _entries(text: str) -> Iterator[_Entry]:
    """The documents of a digest, in order; none for other texts."""
    fence = _FENCE.search(text)
    if fence is None or fence.start() not in (0, len(_RECEIPT)):
        return
    title, link, folder = "", None, None
    for line in fence[2].split("\n"):
        if (found := _TITLE.fullmatch(line)) is not None:
            if title:
                yield _Entry(title, link, folder)
            title, link, folder = found[1], None, None
        elif line == "Failed:":
            break
        elif title:
            link = link or _group(_LINK, line)
            folder = folder or _group(_FOLDER, line)
    if title:
        yield _Entry(title, link, folder)


def _group(pattern: re.Pattern[str], line: str) -> str | None:
    found = pattern.fullmatch(line)
    return found[1] if found else None


def _failures(text: str) -> list[str]:
    """The lines on failures that close a digest."""
    fence = _FENCE.search(text)
    if fence is None or fence.start() != 0:
        return []
    lines = fence[2].rstrip("\n").split("\n")
    return lines[lines.index("Failed:") :] if "Failed:" in lines else []


# The shapes of messages.


def _get(value: Any, name: str) -> Any:
    """A field of a dict, or of an object of a client library."""
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _parts(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_turn(message: Any) -> bool:
    """Whether a message is the user's own: with Anthropic, results of tools come in messages of the user as well."""
    if _get(message, "role") != "user":
        return False
    parts = _get(message, "content")
    return not isinstance(parts, list) or any(_get(part, "type") != "tool_result" for part in parts)


def _calls_of(message: Any) -> Iterator[_Called]:
    """The calls that a message holds, in any of the three shapes."""
    for call in _parts(_get(message, "tool_calls")):
        function = _get(call, "function")
        yield from _called(_get(call, "id"), _get(function, "name"), _get(function, "arguments"))
    if _get(message, "type") == "function_call":
        yield from _called(_get(message, "call_id"), _get(message, "name"), _get(message, "arguments"))
    for part in _parts(_get(message, "content")):
        if _get(part, "type") == "tool_use":
            yield from _called(_get(part, "id"), _get(part, "name"), _get(part, "input"))


def _called(call_id: Any, name: Any, arguments: Any) -> Iterator[_Called]:
    if not isinstance(call_id, str) or not isinstance(name, str):
        return
    if isinstance(arguments, str):
        found = re.search(r'"fetch_id"\s*:\s*"([^"\\]+)"', arguments)
        yield _Called(call_id, name, found[1] if found else None)
    else:
        given = arguments.get("fetch_id") if isinstance(arguments, dict) else None
        yield _Called(call_id, name, given if isinstance(given, str) else None)


def _texts(message: Any) -> list[str]:
    """The texts of the results in a message."""
    found: list[str] = []

    def note(call_id: Any, text: str) -> str:
        found.append(text)
        return text

    _compacted(message, note)
    return found


def _compacted(message: Any, shorter: Callable[[Any, str], str]) -> Any:
    """A message with its results of tools shortened; the same object when nothing changed."""
    if not isinstance(message, dict):
        return message
    if message.get("role") == "tool":
        return _with(message, "content", _short(message.get("content"), message.get("tool_call_id"), shorter))
    if message.get("type") == "function_call_output":
        return _with(message, "output", _short(message.get("output"), message.get("call_id"), shorter))
    if message.get("role") == "user" and isinstance(message.get("content"), list):
        parts = message["content"]
        return _with(message, "content", _same_or([_result(part, shorter) for part in parts], parts))
    return message


def _result(part: Any, shorter: Callable[[Any, str], str]) -> Any:
    if not isinstance(part, dict) or part.get("type") != "tool_result":
        return part
    return _with(part, "content", _short(part.get("content"), part.get("tool_use_id"), shorter))


def _short(content: Any, call_id: Any, shorter: Callable[[Any, str], str]) -> Any:
    """The content of a result, a text or a list of parts."""
    if isinstance(content, str):
        return shorter(call_id, content)
    if not isinstance(content, list):
        return content

    def one(part: Any) -> Any:
        if isinstance(part, dict) and part.get("type") in _TEXTS and isinstance(part.get("text"), str):
            return _with(part, "text", shorter(call_id, part["text"]))
        return part

    return _same_or([one(part) for part in content], content)


def _with(value: dict[str, Any], name: str, item: Any) -> dict[str, Any]:
    return value if name not in value or item is value[name] or item == value[name] else {**value, name: item}


def _same_or(new: list[Any], old: list[Any]) -> list[Any]:
    return old if all(a is b for a, b in zip(new, old, strict=True)) else new
