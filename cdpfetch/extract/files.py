"""A file's bytes become something to read: sniff the type, decode, dispatch."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from cdpfetch import artifacts
from cdpfetch.extract import (
    archives,
    documents,
    feeds,
    images,
    jsontext,
    mail,
    notebooks,
    sniff,
    tables,
    xmltext,
)
from cdpfetch.extract import (
    charset as charsets,
)
from cdpfetch.extract.html import extract_page
from cdpfetch.extract.result import Body, Extraction, content_body, readable, source_body, text_body, warning

_HTML_TYPES = ("text/html", "application/xhtml+xml")
# A text above this many bytes is not decoded as a whole.
MAX_TEXT = 128 << 20


class _File(NamedTuple):
    """A file to read, with what is known about it."""

    path: str
    data: bytes
    kind: str
    charset: str | None
    url: str
    extractor: str


def extract_file(
    path: str | os.PathLike[str],
    *,
    content_type: str | None = None,
    charset: str | None = None,
    url: str = "",
    extractor: str = "auto",
) -> Extraction:
    """What can be read in the file at ``path``.

    ``content_type`` and ``charset`` are what the server said (a ``charset`` inside ``content_type`` counts, too),
    ``url`` the address that links are relative to.  A file without readable text (an image, a program) or a broken,
    encrypted or scanned document gives an Extraction without content, whose facts or warnings say why.  Raises OSError
    for a file that can't be read, InvalidRequest for an unknown ``extractor``.
    """
    path = os.fspath(path)
    with open(path, "rb") as f:
        data = f.read(MAX_TEXT)
    kind = sniff.sniff(data, content_type, path)
    declared = sniff.essence(content_type)
    file = _File(path, data, kind, charset or _charset_parameter(content_type), url, extractor)
    result = _reader(kind)(file)
    meta = {**result.meta, "detected_type": kind}
    notes = result.warnings
    if declared and declared != kind and sniff.signature(data) and not _same_family(declared, kind):
        notes = (*notes, warning("mislabelled", f"sent as {declared}, but the bytes are {kind}"))
    return result._replace(meta=meta, warnings=notes, others=(*result.others, *_source(file)))


def _source(file: _File) -> tuple[Body, ...]:
    """The decoded text of a textual file that is not UTF-8, so that it can be read as it was sent."""
    if not artifacts.is_textual(file.kind):
        return ()
    try:
        file.data.decode("utf-8")
    except UnicodeDecodeError:
        hint = charsets.html_hint(file.data) if file.kind in _HTML_TYPES else charsets.xml_hint(file.data)
        return (source_body(charsets.decode(file.data, file.charset, hint=hint).text),)
    return ()


def _charset_parameter(content_type: str | None) -> str | None:
    for part in (content_type or "").split(";")[1:]:
        name, _, value = part.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip("\"'") or None
    return None


def _same_family(declared: str, kind: str) -> bool:
    """Whether the declared type is only a vaguer name of the detected one."""
    if declared in (sniff.OCTETS, "binary/octet-stream", "application/x-download", "application/force-download"):
        return True
    if declared.split("/", maxsplit=1)[0] == kind.split("/", maxsplit=1)[0] and declared.startswith(
        ("image/", "audio/", "video/")
    ):
        return True
    return {declared, kind} <= set(archives.TYPES) or declared.removeprefix("application/x-") == kind.removeprefix(
        "application/"
    )


def _reader(kind: str) -> Callable[[_File], Extraction]:
    if kind in _READERS:
        return _READERS[kind]
    if kind in documents.TYPES:
        return _document
    if kind in archives.TYPES:
        return _archive
    if kind in archives.UNLISTED:
        return _unlisted
    if kind.endswith("+json"):
        return _json
    if kind.endswith("+xml") and not kind.startswith("image/"):
        return _xml
    return _by_family(kind)


def _by_family(kind: str) -> Callable[[_File], Extraction]:
    family = kind.partition("/")[0]
    if family == "image":
        return _image
    if family == "text" or kind in _SOURCE_TYPES:
        return _text
    if family in ("audio", "video", "font", "model"):
        return _nothing
    return _unknown


_SOURCE_TYPES = frozenset(
    f"application/{name}"
    for name in (
        *("javascript", "x-javascript", "ecmascript", "typescript", "x-sh", "x-python", "x-perl", "x-ruby"),
        *("x-httpd-php", "toml", "yaml", "x-yaml", "sql", "graphql", "x-tex", "x-latex", "x-subrip"),
        *("pgp-signature", "pgp-keys", "x-x509-ca-cert", "x-pem-file", "xml-dtd", "x-www-form-urlencoded"),
    )
)


def _nothing(file: _File) -> Extraction:
    return Extraction(None)


def _unknown(file: _File) -> Extraction:
    """An unknown application type: its text, if it is text."""
    return _nothing(file) if sniff.is_binary(file.data) or not file.data else _text(file)


def _decoded(file: _File, hint: str | None = None) -> tuple[str, tuple[dict[str, str], ...]]:
    decoded = charsets.decode(file.data, file.charset, hint=hint)
    notes = []
    if len(file.data) == MAX_TEXT:
        notes.append(warning("truncated", f"only the first {MAX_TEXT} bytes were read as text"))
    if decoded.source == "guessed":
        notes.append(warning("charset_guessed", f"no charset was declared; read as {decoded.encoding}"))
    if decoded.damaged:
        notes.append(
            warning("charset_damaged", f"{decoded.damaged} characters could not be read as {decoded.encoding}")
        )
    return decoded.text, tuple(notes)


def _text(file: _File) -> Extraction:
    text, notes = _decoded(file)
    return readable(text_body(text), warnings=notes) if text else Extraction(None, warnings=notes)


def _markdown(file: _File) -> Extraction:
    text, notes = _decoded(file)
    if not text.strip():
        return Extraction(None, warnings=notes)
    result = readable(content_body(text), warnings=notes)
    return result._replace(title=next((entry["text"] for entry in result.outline if entry["level"] == 1), None))


def _html(file: _File) -> Extraction:
    text, notes = _decoded(file, charsets.html_hint(file.data))
    result = extract_page(text, file.url, extractor=file.extractor)
    return result._replace(warnings=(*notes, *result.warnings))


def _json(file: _File) -> Extraction:
    text, notes = _decoded(file)
    if feed := feeds.read_json(text, file.url):
        return _feed(feed, notes)
    if len(text) > jsontext.MAX_CHARS:
        notes = (*notes, warning("not_reformatted", "too large to be indented; delivered as it was sent"))
        return readable(text_body(text), warnings=notes)
    try:
        return readable(text_body(jsontext.reindent(text)), warnings=notes)
    except jsontext.NotJson as error:
        # JSON Lines under a JSON type, a JSONP call, an error page: readable all the same.
        note = warning("invalid_json", f"delivered as it was sent: {error}")
        return readable(text_body(text), warnings=(*notes, note)) if text.strip() else Extraction(None, warnings=notes)


def _table(file: _File) -> Extraction:
    text, notes = _decoded(file)
    if len(text) > tables.MAX_CHARS:
        note = warning("not_converted", "too large for a Markdown table; delivered as it was sent")
        return readable(text_body(text), warnings=(*notes, note))
    table = tables.markdown_table(text, "\t" if "tab-separated" in file.kind else None)
    if not table:
        return Extraction(None, warnings=notes)
    rows = table.count("\n") - 2
    result = readable(content_body(table), warnings=notes, facts=(f"{rows} rows",), outline=())
    return result._replace(excerpt=tables_excerpt(table))


def tables_excerpt(table: str) -> str:
    """The head of a table as one line."""
    head = table.partition("\n")[0].strip("| ").replace(" | ", ", ")
    return head[:259] + "…" if len(head) > 260 else head


def _xml(file: _File) -> Extraction:
    text, notes = _decoded(file, charsets.xml_hint(file.data))
    root = xmltext.parse(text)
    if root is not None and feeds.is_feed(root):
        return _feed(feeds.read(root, file.url), notes)
    if root is not None and xmltext.local_name(root) == "html":
        result = extract_page(text, file.url, extractor=file.extractor)
        return result._replace(warnings=(*notes, *result.warnings))
    if root is not None and xmltext.local_name(root) == "svg":
        return _image(file._replace(kind="image/svg+xml"))
    return readable(text_body(text), warnings=notes) if text.strip() else Extraction(None, warnings=notes)


def _feed(feed: feeds.Feed, notes: tuple[dict[str, str], ...]) -> Extraction:
    facts = [f"feed, {len(feed.entries)} entries"]
    if feed.entries and feed.entries[0].date:
        facts.append(f"newest {feed.entries[0].date}")
    body = content_body(feed.markdown())
    return readable(body, title=feed.title or None, facts=tuple(facts), warnings=notes)


def _image(file: _File) -> Extraction:
    title = None
    if file.kind == "image/svg+xml":
        root = xmltext.parse(_decoded(file, charsets.xml_hint(file.data))[0])
        found = next((node for node in root if xmltext.local_name(node) == "title"), None) if root is not None else None
        title = " ".join("".join(found.itertext()).split())[:500] or None if found is not None else None
    facts = images.facts(file.data, file.kind)
    dimensions = images.size(file.data)
    return Extraction(None, title=title, facts=facts, meta={"dimensions": list(dimensions)} if dimensions else {})


def _archive(file: _File) -> Extraction:
    if (inner := _compressed(file)) is not None:
        return inner
    try:
        listing = archives.listing(file.path, file.kind)
    except archives.NotListed as error:
        return Extraction(None, warnings=(warning("extraction_failed", str(error)),))
    notes = (warning("encrypted", "members of this archive need a password"),) if listing.encrypted else ()
    facts = (f"{listing.kind} archive, {listing.entries} {'entry' if listing.entries == 1 else 'entries'}",)
    return readable(content_body(listing.markdown()), facts=facts, warnings=notes, outline=())


def _compressed(file: _File) -> Extraction | None:
    """A text that was compressed by itself, read like any other; None for anything else."""
    data = archives.single(file.path, file.kind)
    if data is None:
        return None
    # The name without the compression's own ending: as saved, or as the address has it.
    names = [os.path.splitext(name)[0] for name in (file.path, file.url.partition("?")[0])]
    kind = sniff.sniff(data, None, next((name for name in names if os.path.splitext(name)[1]), names[0]))
    reader = _reader(kind)
    # Documents are read from their own files, and what is no text is listed.
    if reader in (_document, _archive, _nothing, _image, _ole) or (reader is _unknown and sniff.is_binary(data)):
        return None
    found = reader(file._replace(data=data, kind=kind, charset=None))
    fact = f"{archives.TYPES[file.kind]} of {len(data)} bytes ({kind})"
    return found._replace(facts=(*found.facts, fact)) if found.content is not None else None


def _unlisted(file: _File) -> Extraction:
    note = warning(
        "not_listed", f"{archives.UNLISTED[file.kind]} archives are saved, but their contents are not listed"
    )
    return Extraction(None, warnings=(note,))


def _document(file: _File) -> Extraction:
    return documents.extract(file.path, file.kind)


def _ole(file: _File) -> Extraction:
    """A compound file of no known name: an encrypted document says so inside."""
    if "EncryptedPackage".encode("utf-16-le") in file.data:
        return Extraction(None, warnings=(documents.ENCRYPTED,))
    return Extraction(None)


def _notebook(file: _File) -> Extraction:
    text, notes = _decoded(file)
    try:
        markdown = notebooks.markdown(text)
    except notebooks.NotANotebook:
        return _json(file)
    return readable(content_body(markdown), warnings=notes) if markdown else Extraction(None, warnings=notes)


def _mail(file: _File) -> Extraction:
    subject, markdown = mail.markdown(file.data)
    return readable(content_body(markdown), title=subject)


def _mailbox(file: _File) -> Extraction:
    text, count = mail.mailbox(file.data)
    return (
        readable(content_body(text), facts=(f"mailbox, {count} message{'s' * (count != 1)}",)) if count else _text(file)
    )


_READERS: dict[str, Callable[[_File], Extraction]] = {
    "text/html": _html,
    "application/xhtml+xml": _html,
    "text/markdown": _markdown,
    "text/x-markdown": _markdown,
    "application/json": _json,
    "text/json": _json,
    "application/x-ndjson": _text,
    "application/jsonl": _text,
    "application/json-seq": _text,
    "text/csv": _table,
    "text/tab-separated-values": _table,
    "application/csv": _table,
    "text/xml": _xml,
    "application/xml": _xml,
    "image/svg+xml": _image,
    "application/x-ipynb+json": _notebook,
    "message/rfc822": _mail,
    "application/mbox": _mailbox,
    "application/x-ole-storage": _ole,
    sniff.OCTETS: _unknown,
}
