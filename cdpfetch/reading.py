"""Paged reading of a document's bodies, from disk and without any network.

A page is made of pieces.  A piece is a line with its line feed; a line of more than 2 KiB is several pieces, cut
between characters.  Pieces are numbered from 1, and the joined ``text`` of all pages is the file, exactly.
"""

from __future__ import annotations

from cdpfetch import artifacts, disk
from cdpfetch.errors import InvalidRequest
from cdpfetch.outline import outline, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

DEFAULT_LIMIT = 80
MAX_LIMIT = 200
PAGE_BYTES = 8192
PIECE_BYTES = 2048
CONTEXT = 2
_CONTEXT_CHARACTERS = 400
_READ = 1 << 16
# The roles that serve each format, best first; "textual" is an original that is readable as it is.
FORMATS = {
    "markdown": ("content", "text", "textual", "source"),
    "text": ("text", "textual", "source", "content"),
    "source": ("source", "textual", "page"),
    "html": ("page", "html"),
}


def read(
    index_root: str,
    fetch_id: str,
    *,
    format: str = "markdown",  # noqa: A002 - the public name
    offset: int | None = None,
    limit: int | None = None,
    section: str | None = None,
    find: str | None = None,
) -> dict[str, Any]:
    """One page of a document.

    Args:
        index_root: the artifacts directory of the home.
        fetch_id: the document's id.
        format: ``markdown``, ``text``, ``source`` or ``html``; picks the body.
        offset: number of the first piece, from 1; default the beginning (of the section).
        limit: pieces a page, 80 by default; more than 200 are never given.
        section: the text of a heading: only its section, with what is below it, is read.
        find: only lines that contain this text (in any case), each with two lines around it, are read.

    Returns ``{"fetch_id", "format", "name", "path", "offset", "limit", "text", "next_offset" (int or None),
    "total_lines"}``; with a section also ``"section": {"heading", "level", "first", "last"}``, with ``find`` also
    ``"find"`` and ``"matches"`` (their number), and the text is then in ``grep -n -C2`` form.

    Raises InvalidRequest, with a hint of what exists.
    """
    if format not in FORMATS:
        raise InvalidRequest(f"there is no format {format!r}", "formats: " + ", ".join(FORMATS))
    limit = _checked_limit(limit)
    document = artifacts.load(index_root, fetch_id)
    with disk.held(document["dir"]):
        return _page(document, format, offset, limit, section, find)


def _page(
    document: dict[str, Any],
    format: str,  # noqa: A002
    offset: int | None,
    limit: int,
    section: str | None,
    find: str | None,
) -> dict[str, Any]:
    body = pick_body(document, format)
    pieces = _Pieces(body["path"])
    page: dict[str, Any] = {
        "fetch_id": document["fetch_id"],
        "format": format,
        "name": body["name"],
        "path": body["path"],
        "offset": offset,
        "limit": limit,
        "text": "",
        "next_offset": None,
        "total_lines": pieces.total,
    }
    first, last = 1, pieces.total
    if section is not None:
        page["section"] = _find_section(pieces, section)
        first, last = page["section"]["first"], page["section"]["last"]
    offset = first if offset is None else _checked_offset(offset, first, last, body["name"])
    page["offset"] = offset
    if find is None:
        page["text"], page["next_offset"] = pieces.page(offset, last, limit)
    else:
        page["find"] = find
        page.update(_search(pieces, find, (first, offset, last), limit))
    return page


def pick_body(document: dict[str, Any], format: str) -> dict[str, Any]:  # noqa: A002 - the public name
    """The body that serves a format.  Raises InvalidRequest naming the formats and files that exist."""
    chosen = _pick(document, format)
    if chosen is not None:
        return chosen
    usable = [name for name in FORMATS if _pick(document, name)]
    files = ", ".join(f"{body['path']} ({body['content_type']})" for body in document["bodies"])
    hint = f"formats of this document: {', '.join(usable)}" if usable else "it holds nothing to read line by line"
    which = document["fetch_id"] or "the document"
    raise InvalidRequest(f"{which} has no {format}", f"{hint}; its files: {files or 'none'}")


def _pick(document: dict[str, Any], format: str) -> dict[str, Any] | None:  # noqa: A002
    for role in FORMATS[format]:
        for body in document["bodies"]:
            if body["role"] == role or (body["role"] == "original" and _serves(body, role)):
                return body  # type: ignore[no-any-return]
    return None


def _serves(original: dict[str, Any], role: str) -> bool:
    if role == "textual":
        return artifacts.is_textual(original["content_type"])
    return role == "html" and original["content_type"] in ("text/html", "application/xhtml+xml")


def _checked_limit(limit: Any) -> int:
    if limit is None:
        return DEFAULT_LIMIT
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise InvalidRequest(f"limit is {limit!r}", f"allowed: 1 to {MAX_LIMIT} lines")
    return min(limit, MAX_LIMIT)


def _checked_offset(offset: Any, first: int, last: int, name: str) -> int:
    if not isinstance(offset, int) or isinstance(offset, bool) or not first <= offset <= max(first, last):
        raise InvalidRequest(f"offset is {offset!r}, outside lines {first} to {last} of {name}", "offsets count from 1")
    return offset


class _Pieces:
    """The pieces of a file, read in one pass each time, so that a large file costs no memory."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.total = sum(1 for _ in self.walk())

    def walk(self) -> Iterator[tuple[int, bytes]]:
        """``(line number, piece)`` in order."""
        try:
            with open(self.path, "rb") as file:
                number, line = 1, b""
                # A line may be as long as the file: it is read in parts.
                while part := file.readline(_READ):
                    line += part
                    whole = part.endswith(b"\n")
                    *pieces, line = split_line(line)
                    yield from ((number, piece) for piece in pieces)
                    if whole:
                        yield number, line
                        number, line = number + 1, b""
                if line:
                    yield number, line
        except OSError as error:
            raise InvalidRequest(f"cannot read {self.path}: {error.strerror}", "fetch the URL again") from error

    def page(self, offset: int, last: int, limit: int) -> tuple[str, int | None]:
        """The text of a page and where the next one begins, None after ``last``."""
        chosen: list[bytes] = []
        size = 0
        for number, (_, piece) in enumerate(self.walk(), 1):
            if number < offset:
                continue
            full = bool(chosen) and (len(chosen) == limit or size + len(piece) > PAGE_BYTES)
            if number > last:
                break
            if full:
                return _decode(chosen), number
            chosen.append(piece)
            size += len(piece)
        return _decode(chosen), None


def split_line(line: bytes) -> Iterator[bytes]:
    """A long line in pieces of at most 2 KiB, none of which ends inside a UTF-8 character."""
    start = 0
    while len(line) - start > PIECE_BYTES:
        end = start + PIECE_BYTES
        while end > start + PIECE_BYTES - 4 and line[end] & 0xC0 == 0x80:
            end -= 1
        yield line[start:end]
        start = end
    yield line[start:]


def _decode(pieces: list[bytes]) -> str:
    return b"".join(pieces).decode("utf-8", "replace")


def _find_section(pieces: _Pieces, wanted: str) -> dict[str, Any]:
    """The section whose heading is ``wanted``: the same text first, then the only one that contains it."""
    with open(pieces.path, "rb") as file:
        headings = outline(file.read().decode("utf-8", "replace"), limit=None)
    index = _match_heading([heading["text"] for heading in headings], wanted)
    heading = headings[index]
    end_line = next((later["line"] for later in headings[index + 1 :] if later["level"] <= heading["level"]), None)
    first = last = 0
    for number, (line, _) in enumerate(pieces.walk(), 1):
        if line == heading["line"] and not first:
            first = number
        if end_line is not None and line >= end_line:
            break
        last = number
    return {"heading": heading["text"], "level": heading["level"], "first": first, "last": last}


def _match_heading(texts: list[str], wanted: str) -> int:
    key = plain(wanted.lstrip("# ")).casefold()
    folded = [text.casefold() for text in texts]
    if key in folded:
        return folded.index(key)
    near = [index for index, text in enumerate(folded) if key and key in text]
    if len(near) == 1:
        return near[0]
    if near:
        shown = "; ".join(texts[index] for index in near[:10])
        raise InvalidRequest(f"{len(near)} headings contain {wanted!r}", f"they are: {shown}")
    shown = "; ".join(texts[:20]) + (f"; and {len(texts) - 20} more" if len(texts) > 20 else "")
    raise InvalidRequest(f"there is no heading {wanted!r}", f"headings: {shown}" if texts else "it has no headings")


def _search(pieces: _Pieces, find: str, span: tuple[int, int, int], limit: int) -> dict[str, Any]:
    """The page of matches from an offset on: ``text``, ``next_offset`` (the next match) and ``matches`` (of all)."""
    if not find:
        raise InvalidRequest("find is empty", "give a text that the lines contain")
    if "\n" in find:
        raise InvalidRequest("find has a line feed, and lines are searched one by one", "give a part of one line")
    first, offset, last = span
    search = _Search(find, offset)
    shown: list[str] = []
    size = previous = 0
    next_offset: int | None = None
    full = has_match = False
    for number, is_match, text in search.matching(pieces, first, last):
        line = f"{number}:{text}" if is_match else f"{number}-{text[:_CONTEXT_CHARACTERS]}"
        taken = len(line.encode()) + 4  # with its end, and perhaps a mark before it
        # The first match is always shown, with what is before it: its offset must lead on.
        full = full or (has_match and (len(shown) >= limit or size + taken > PAGE_BYTES))
        if full:
            next_offset = next_offset or (number if is_match else None)
            continue
        if previous and number > previous + 1:
            shown.append("--")
        shown.append(line)
        has_match = has_match or is_match
        size += taken
        previous = number
    text = "".join(line + "\n" for line in shown)
    return {"text": text, "next_offset": next_offset, "matches": search.matches}


class _Search:
    """Looks for a text, in any case, in the pieces of a span; shows matches from ``offset`` on, and counts all."""

    def __init__(self, find: str, offset: int) -> None:
        self._key = find.casefold()
        self._offset = offset
        self._tail = ""  # of the same line's pieces so far, where a match may begin that ends in the next one
        self._line = 0
        self.matches = 0

    def matching(self, pieces: _Pieces, first: int, last: int) -> Iterator[tuple[int, bool, str]]:
        """``(number, whether it matches, text)`` of the pieces that match, and of those around them."""
        before: list[tuple[int, str]] = []
        after = 0
        for number, (line, piece) in enumerate(pieces.walk(), 1):
            if number > last:
                break
            if number < first:
                continue
            text = piece.decode("utf-8", "replace").rstrip("\r\n")
            is_match = self._is_match(line, text)
            if is_match and number >= self._offset:
                for earlier, context in before:
                    yield earlier, False, context
                yield number, True, text
                before, after = [], CONTEXT
            elif after:
                yield number, False, text
                after -= 1
            else:
                before = [*before, (number, text)][-CONTEXT:]

    def _is_match(self, line: int, text: str) -> bool:
        """Whether an occurrence ends in this piece of a line."""
        joined = (self._tail if line == self._line else "") + text.casefold()
        self._line = line
        self._tail = joined[max(0, len(joined) - len(self._key) + 1) :]
        found = self._key in joined
        self.matches += found
        return found
