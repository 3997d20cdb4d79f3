"""The type of some bytes: the declared one, unless the bytes say otherwise (WHATWG MIME Sniffing, and a little more).

Beyond the standard, an unmistakable signature (PDF, ZIP, an image ...) also wins over a declared text or HTML type:
servers that mislabel a document are common, pages that begin with such a signature are not.
"""

from __future__ import annotations

import os
import re
import zipfile
from io import BytesIO

# The bytes that the standard reads.
HEADER = 1445
OCTETS = "application/octet-stream"
_UNKNOWN = ("", "unknown/unknown", "application/unknown", "*/*")
_HTML_START = (
    b"<!doctype html",
    b"<html",
    b"<head",
    b"<script",
    b"<iframe",
    b"<h1",
    b"<div",
    b"<font",
    b"<table",
    b"<a",
    b"<style",
    b"<title",
    b"<b",
    b"<body",
    b"<br",
    b"<p",
    b"<!--",
)
# (offset, signature, type), first match wins.
_SIGNATURES = (
    (0, b"%PDF-", "application/pdf"),
    (0, b"%!PS-Adobe-", "application/postscript"),
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBPVP", "image/webp"),
    (0, b"\x00\x00\x01\x00", "image/x-icon"),
    (0, b"\x00\x00\x02\x00", "image/x-icon"),
    (0, b"II*\x00", "image/tiff"),
    (0, b"MM\x00*", "image/tiff"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftypheic", "image/heic"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (8, b"AVI ", "video/avi"),
    (8, b"WAVE", "audio/wave"),
    (0, b"OggS\x00", "application/ogg"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"MThd\x00\x00\x00\x06", "audio/midi"),
    (0, b"fLaC", "audio/flac"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"PK\x05\x06", "application/zip"),
    (0, b"\x1f\x8b\x08", "application/gzip"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\x00", "application/x-xz"),
    (0, b"(\xb5/\xfd", "application/zstd"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (0, b"Rar!\x1a\x07", "application/x-rar-compressed"),
    (257, b"ustar", "application/x-tar"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (0, b"{\\rtf", "application/rtf"),
    (0, b"wOFF", "font/woff"),
    (0, b"wOF2", "font/woff2"),
    (0, b"\x7fELF", OCTETS),
    (0, b"SQLite format 3\x00", "application/vnd.sqlite3"),
)
# RIFF containers are told apart at offset 8; without RIFF in front that means nothing.
_NEEDS_RIFF = ("image/webp", "video/avi", "audio/wave")
# ZIP packages by the path of one of their members.
_PACKAGES = (
    ("word/", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("xl/", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("ppt/", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
)
_OLE = {
    "doc": "application/msword",
    "xls": "application/vnd.ms-excel",
    "ppt": "application/vnd.ms-powerpoint",
    "msg": "application/vnd.ms-outlook",
}
_EXTENSIONS = {
    "md": "text/markdown",
    "markdown": "text/markdown",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "tab": "text/tab-separated-values",
    "json": "application/json",
    "geojson": "application/geo+json",
    "jsonl": "application/x-ndjson",
    "ndjson": "application/x-ndjson",
    "ipynb": "application/x-ipynb+json",
    "eml": "message/rfc822",
    "mbox": "application/mbox",
    "rss": "application/rss+xml",
    "atom": "application/atom+xml",
    "xml": "application/xml",
    "svg": "image/svg+xml",
    "html": "text/html",
    "htm": "text/html",
    "xhtml": "application/xhtml+xml",
    "txt": "text/plain",
}
# Types that say too little: the name's extension, then the bytes, say more.
_VAGUE = ("text/plain", "application/json", "text/x-python", "text/xml", "application/xml", OCTETS, *_UNKNOWN)
_BINARY_BYTES = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_SPACE = b"\t\n\x0c\r "


def essence(content_type: str | None) -> str:
    """``type/subtype`` in lower case, or an empty string."""
    value = (content_type or "").split(";")[0].strip().lower()
    return value if re.fullmatch(r"[!#$%&'*+.^_`|~0-9a-z-]+/[!#$%&'*+.^_`|~0-9a-z-]+", value) else ""


def sniff(data: bytes, content_type: str | None = None, name: str = "") -> str:
    """The essence of the type of ``data`` (the whole file, or at least its beginning).

    ``content_type`` is the header's value, ``name`` a file name or path whose extension may help.
    """
    declared = essence(content_type)
    magic = signature(data)
    if magic == "application/zip":
        return package(data) or _declared_package(declared) or magic
    if magic == "application/x-ole-storage":
        return declared if declared in _OLE.values() else _OLE.get(_extension(name), magic)
    if magic:
        # SVG and other text images have no signature; anything else that claims to be text is mislabelled.
        return declared if declared.startswith(("image/", "audio/", "video/")) and magic[:5] == declared[:5] else magic
    if declared in _VAGUE:
        return _vague(data, declared, name)
    return declared


def signature(data: bytes) -> str | None:
    """The type that the first bytes prove, or None."""
    for offset, mark, kind in _SIGNATURES:
        if data.startswith(mark, offset):
            if kind in _NEEDS_RIFF and not data.startswith(b"RIFF"):
                continue
            if kind == "image/x-icon" and not 0 < int.from_bytes(data[4:6], "little") < 256:
                continue
            return kind
    # The standard allows leading blanks before a PDF's mark; readers look within the first kilobyte.
    return "application/pdf" if b"%PDF-" in data[:64] and data[:64].lstrip(_SPACE).startswith(b"%PDF-") else None


def package(data: bytes) -> str | None:
    """The document type of a ZIP file, or None for an ordinary archive."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            names = archive.namelist()[:2000]
            if "mimetype" in names and archive.getinfo("mimetype").file_size < 200:
                kind = archive.read("mimetype").decode("ascii", "replace").strip()
                return essence(kind) or None
            if "[Content_Types].xml" in names:
                for prefix, kind in _PACKAGES:
                    if any(member.startswith(prefix) for member in names):
                        return kind
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, ValueError, KeyError, EOFError):
        return None
    return None


def _declared_package(declared: str) -> str | None:
    """A declared document type for a ZIP that could not be opened: the converter will say what is broken."""
    return declared if "officedocument" in declared or "opendocument" in declared or "epub" in declared else None


def _extension(name: str) -> str:
    return os.path.splitext(name)[1].lstrip(".").lower()


def _vague(data: bytes, declared: str, name: str) -> str:
    by_name = _EXTENSIONS.get(_extension(name))
    if declared in ("text/xml", "application/xml", "application/json"):
        return "application/x-ipynb+json" if by_name == "application/x-ipynb+json" else declared
    if is_binary(data):
        return OCTETS if declared in ("text/plain", *_UNKNOWN) else declared
    if by_name:
        return by_name
    if declared in ("text/plain", "text/x-python"):
        return declared
    return text_kind(data)


def is_binary(data: bytes) -> bool:
    """Whether the beginning holds bytes that no text has (a Unicode byte order mark excuses them)."""
    head = data[:HEADER]
    if head.startswith((b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf")):
        return False
    if not _BINARY_BYTES.search(head):
        return False
    # UTF-16 without a mark is text, too; and so is ISO-2022, whose escapes are not in the table.
    even, odd = head[0::2].count(0), head[1::2].count(0)
    half = max(1, len(head) // 2)
    return not (min(even, odd) < half * 0.1 and max(even, odd) > half * 0.7)


def text_kind(data: bytes) -> str:
    """The type of a text that nobody declared."""
    head = data[:HEADER].lstrip(b"\xef\xbb\xbf").lstrip(_SPACE).lower()
    for start in _HTML_START:
        if head.startswith(start) and (start == b"<!--" or head[len(start) : len(start) + 1] in b" >\t\n\r"):
            return "text/html"
    if head.startswith(b"<?xml"):
        return "application/xml"
    return "text/plain"
