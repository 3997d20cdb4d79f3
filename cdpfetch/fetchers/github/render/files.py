"""What a file of a repository is, by its name and bytes, and what is said of it."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from cdpfetch import artifacts, names, outline
from cdpfetch.delivery import human_bytes
from cdpfetch.extract import charset
from cdpfetch.extract.result import first_line
from cdpfetch.fetchers.github.markdown import Rendered, count
from cdpfetch.fetchers.github.render.repository import is_markdown

_SAMPLE = 1 << 16
# Types of files whose text an extraction can take out.
_DOCUMENTS = (
    "application/epub",
    "application/msword",
    "application/pdf",
    "application/rtf",
    "application/vnd.ms-excel",
    "application/vnd.ms-powerpoint",
    "application/vnd.oasis.opendocument.",
    "application/vnd.openxmlformats-officedocument.",
    "application/xhtml",
    "text/html",
)
_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
_POINTER_SIZE = re.compile(rb"^size (\d{1,18})$", re.MULTILINE)


class Nature(NamedTuple):
    """What a file is: the role and type of its body, and its text (None: binary, or too large to be looked at).

    ``exact`` is whether the text in UTF-8 is the file's bytes.
    """

    role: str
    content_type: str
    text: str | None
    exact: bool


def nature(name: str, data: bytes, whole: bool) -> Nature:
    """What a file is; ``data`` is all of it, or (``whole`` false) only its beginning.

    Code and other text is ``source``, Markdown is ``content``; pages, and what is in another encoding or binary, are
    ``original``.
    """
    guessed = names.type_of(name)
    if _is_binary(data):
        known = guessed if guessed and not artifacts.is_textual(guessed) else "application/octet-stream"
        return Nature("original", known, None, True)
    kind = guessed if guessed and (artifacts.is_textual(guessed) or guessed.endswith("+xml")) else "text/plain"
    try:
        text = data.decode("utf-8") if whole else None
    except UnicodeDecodeError:
        return Nature("original", kind, charset.decode(data).text, False)
    if kind in ("text/html", "application/xhtml+xml"):
        return Nature("original", kind, text, True)
    if is_markdown(name):
        return Nature("content" if whole else "source", "text/markdown", text, True)
    return Nature("source", kind, text, True)


def _is_binary(data: bytes) -> bool:
    sample = data[:_SAMPLE]
    if b"\x00" in sample:
        return charset.decode(sample).encoding not in ("utf_16_le", "utf_16_be")
    controls = sum(byte < 9 or 13 < byte < 27 for byte in sample)
    return sample.startswith(b"%PDF-") or controls * 20 > len(sample)


class Place(NamedTuple):
    """Where a file is: repository, ref ("" is the default branch), path, and the page that shows it."""

    name: str
    ref: str
    path: str
    url: str


def file(place: Place, known: Nature, size: int, sha256: str, head: bytes) -> Rendered:
    """The document of a file whose body is written apart."""
    facts = [f"at {place.ref}" if place.ref else "", human_bytes(size)]
    warnings: list[tuple[str, str]] = []
    excerpt: str | None = None
    headings: tuple[dict[str, Any], ...] = ()
    if known.text is not None:
        lines = known.text.split("\n")
        total = len(lines) - (lines[-1] == "")
        facts.append(count(total, "line"))
        if known.role == "content":
            headings = tuple(outline.outline(known.text))
            excerpt = outline.excerpt(known.text)
        excerpt = excerpt or first_line(known.text)
    if known.content_type.startswith(_DOCUMENTS):
        warnings.append(("not_extracted", "`cdpfetch extract FILE` takes the text out of the file"))
    if head.startswith(_POINTER):
        found = _POINTER_SIZE.search(head)
        of = f" of {human_bytes(int(found[1]))}" if found else ""
        warnings.append(("git_lfs", f"this is a Git LFS pointer; the file itself{of} is not in the repository"))
    return Rendered(
        "github.file",
        f"{place.name}: {place.path}",
        place.url,
        None,
        facts=tuple(facts),
        warnings=tuple(warnings),
        content_type=known.content_type,
        size=size,
        sha256=sha256,
        excerpt=excerpt,
        outline=headings,
    )
