"""File names for what a server sends: read from its header or URL, and made safe for any disk.

Pure, standard library only.  A name from the network is hostile until ``safe_name`` has seen it: the result has no
path parts, no control, invisible or direction-changing characters, no name that a platform reserves, no leading dot
or dash, and fits in ``MAX_NAME_BYTES``.
"""

from __future__ import annotations

import re
import unicodedata

MAX_NAME_BYTES = 180
_MAX_EXTENSION = 20

# Devices of Windows: a file of that name, with any extension, can't be made or read there.
_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$", "clock$"]
    + [f"{port}{number}" for port in ("com", "lpt") for number in "123456789\u00b9\u00b2\u00b3"]
)
# Invisible or direction-changing; the joiners U+200C and U+200D stay, since scripts and emoji need them.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
# Refused by a file system of a supported platform, or read by a shell as more than a name.
_UNSAFE = re.compile(r'[<>:"|?*`]|\$(?=[({])')
_COMPOUND = re.compile(r"\.tar\.[A-Za-z0-9]{1,5}$")
# Extensions that name a program on the server, not the kind of the file.
_DYNAMIC = frozenset(["php", "php3", "php5", "asp", "aspx", "ashx", "axd", "jsp", "jspx", "cgi", "do", "action", "cfm"])
_PARAMETER = re.compile(r'\s*([^\s=;"]+)\s*(?:=\s*("(?:[^"\\]|\\.)*"?|[^;]*))?\s*(?:;|$)', re.DOTALL)
_ENCODED_WORD = re.compile(r"=\?([\w-]+)\?([bBqQ])\?([^?\s]*)\?=")

_OFFICE = "vnd.openxmlformats-officedocument."
_OPEN = "vnd.oasis.opendocument."
_EXTENSIONS = {
    "application/atom+xml": "xml",
    "application/epub+zip": "epub",
    "application/gzip": "gz",
    "application/javascript": "js",
    "application/json": "json",
    "application/jsonl": "jsonl",
    "application/ld+json": "jsonld",
    "application/msword": "doc",
    "application/pdf": "pdf",
    "application/postscript": "ps",
    "application/rss+xml": "xml",
    "application/rtf": "rtf",
    "application/sql": "sql",
    "application/toml": "toml",
    "application/vnd.apache.parquet": "parquet",
    "application/vnd.ms-excel": "xls",
    "application/vnd.ms-powerpoint": "ppt",
    f"application/{_OFFICE}presentationml.presentation": "pptx",
    f"application/{_OFFICE}spreadsheetml.sheet": "xlsx",
    f"application/{_OFFICE}wordprocessingml.document": "docx",
    f"application/{_OPEN}presentation": "odp",
    f"application/{_OPEN}spreadsheet": "ods",
    f"application/{_OPEN}text": "odt",
    "application/vnd.sqlite3": "sqlite3",
    "application/wasm": "wasm",
    "application/x-7z-compressed": "7z",
    "application/x-bzip2": "bz2",
    "application/x-gzip": "gz",
    "application/x-ndjson": "ndjson",
    "application/x-rar-compressed": "rar",
    "application/x-sh": "sh",
    "application/x-sqlite3": "sqlite3",
    "application/x-tar": "tar",
    "application/x-tex": "tex",
    "application/x-xz": "xz",
    "application/x-yaml": "yaml",
    "application/x-zip-compressed": "zip",
    "application/xhtml+xml": "xhtml",
    "application/xml": "xml",
    "application/yaml": "yaml",
    "application/zip": "zip",
    "application/zstd": "zst",
    "audio/aac": "aac",
    "audio/flac": "flac",
    "audio/mp4": "m4a",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg",
    "audio/wav": "wav",
    "audio/webm": "weba",
    "audio/x-wav": "wav",
    "font/otf": "otf",
    "font/ttf": "ttf",
    "font/woff": "woff",
    "font/woff2": "woff2",
    "image/avif": "avif",
    "image/bmp": "bmp",
    "image/gif": "gif",
    "image/heic": "heic",
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/svg+xml": "svg",
    "image/tiff": "tiff",
    "image/vnd.microsoft.icon": "ico",
    "image/webp": "webp",
    "image/x-icon": "ico",
    "message/rfc822": "eml",
    "text/calendar": "ics",
    "text/css": "css",
    "text/csv": "csv",
    "text/html": "html",
    "text/javascript": "js",
    "text/markdown": "md",
    "text/plain": "txt",
    "text/rtf": "rtf",
    "text/tab-separated-values": "tsv",
    "text/vcard": "vcf",
    "text/x-bibtex": "bib",
    "text/xml": "xml",
    "text/yaml": "yaml",
    "video/mp4": "mp4",
    "video/mpeg": "mpeg",
    "video/ogg": "ogv",
    "video/quicktime": "mov",
    "video/webm": "webm",
    "video/x-matroska": "mkv",
}


def from_content_disposition(header: str | None) -> str | None:
    """The name that a ``Content-Disposition`` header carries (RFC 6266), or None; not yet safe.

    ``filename*`` (RFC 5987, in UTF-8 or ISO-8859-1) wins over ``filename``, and one that can't be decoded is ignored.
    What browsers accept in a plain ``filename`` besides the RFC is accepted: blanks without quotes, raw UTF-8,
    percent-escapes and encoded words.  The first of several parameters of one name counts.
    """
    if not header:
        return None
    plain: str | None = None
    extended: str | None = None
    for name, value in _parameters(header):
        if name == "filename*" and extended is None:
            extended = _decode_extended(value) or None
        elif name == "filename" and plain is None:
            plain = _decode_plain(value) or None
    return extended or plain


def from_url(url: str) -> str | None:
    """The last segment of a URL's path, percent-decoded, or None when the path ends in a slash; not yet safe."""
    rest = re.split(r"[?#]", url, maxsplit=1)[0].replace("\\", "/")
    match = re.match(r"[A-Za-z][A-Za-z0-9+.-]*:(?://[^/]*)?", rest)
    path = rest[match.end() :] if match else rest
    segment = re.sub(r";[^;=]*=.*$", "", path.rpartition("/")[2])
    return _percent_decode(segment) or None


def safe_name(name: str, default: str = "download") -> str:
    """``name`` as a file name that is harmless on any disk, in a shell and on a screen; never empty.

    Only the last path part is kept (of either slash).  ``default`` is used when nothing is left.
    """
    text = unicodedata.normalize("NFC", name.encode("utf-8", "ignore").decode())
    text = _INVISIBLE.sub("", text)
    text = "".join(" " if unicodedata.category(char) in ("Cc", "Zl", "Zp", "Zs") else char for char in text)
    parts = [part for part in re.split(r"[/\\]", text) if part.strip(" .")]
    text = _UNSAFE.sub("_", parts[-1] if parts else "")
    text = _trim(" ".join(text.split()))
    if text.partition(".")[0].rstrip().casefold() in _RESERVED:
        text = "_" + text
    return _trim(_shorten(text)) or default


def natural_name(disposition: str | None, url: str, content_type: str | None) -> str:
    """The safe name for a response: from its header, else its URL, else ``download``.

    ``content_type`` (with or without parameters) gives the extension where the name has none, or where the URL's one
    names a program of the server (``view.php``).
    """
    extension = _EXTENSIONS.get(_essence(content_type)) or _suffix_extension(_essence(content_type))
    given = from_content_disposition(disposition)
    if given and (name := safe_name(given, "")):
        return _with_extension(name, extension)
    name = safe_name(from_url(url) or "")
    stem, dot, last = name.rpartition(".")
    if dot and extension and last.lower() in _DYNAMIC:
        name = stem
    return _with_extension(name, extension)


def type_of(name: str) -> str | None:
    """The media type that a name's extension stands for, the same on every machine, or None."""
    import mimetypes

    extension = name.rpartition(".")[2].lower()
    known = next((kind for kind, usual in _EXTENSIONS.items() if usual == extension), None)
    return mimetypes.MimeTypes().guess_type(name)[0] or known


def _parameters(header: str) -> list[tuple[str, str]]:
    """The parameters of a header as (lower-case name, unquoted value); the disposition type has no value."""
    found: list[tuple[str, str]] = []
    position = 0
    while position < len(header):
        match = _PARAMETER.match(header, position)
        if match is None or match.end() == position:
            # What can't be read as a parameter is left out up to the next one.
            position = header.find(";", position) + 1 or len(header)
            continue
        position = match.end()
        value = match[2]
        if value is not None:
            found.append((match[1].lower(), _unquote(value.strip())))
    return found


def _unquote(value: str) -> str:
    if not value.startswith('"'):
        return value
    inner = value[1:-1] if len(value) > 1 and value.endswith('"') else value[1:]
    return re.sub(r"\\(.)", r"\1", inner, flags=re.DOTALL)


def _decode_extended(value: str) -> str | None:
    charset, quote, rest = value.partition("'")
    _language, second, encoded = rest.partition("'")
    if not quote or not second or charset.lower() not in ("utf-8", "iso-8859-1"):
        return None
    try:
        return _percent_bytes(encoded).decode(charset)
    except UnicodeDecodeError:
        return None


def _decode_plain(value: str) -> str:
    if "=?" in value:
        return _ENCODED_WORD.sub(_decode_word, re.sub(r"\?=\s+=\?", "?==?", value))
    if "%" in value:
        return _percent_decode(value)
    try:
        # A header's bytes reach us one by one as Latin-1; servers mean UTF-8 when it is valid as that.
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


def _decode_word(match: re.Match[str]) -> str:
    """One encoded word of RFC 2047; one that can't be decoded stays as it is."""
    import binascii

    charset, encoding, text = match.groups()
    try:
        if encoding in "bB":
            data = binascii.a2b_base64(text + "=" * (-len(text) % 4))
        else:
            data = binascii.a2b_qp(text.encode("ascii"), header=True)
        return data.decode(charset)
    except (ValueError, LookupError):
        return match[0]


def _percent_bytes(text: str) -> bytes:
    return re.sub(
        rb"%([0-9A-Fa-f]{2})", lambda match: bytes([int(match[1], 16)]), text.encode("utf-8", "surrogatepass")
    )


def _percent_decode(text: str) -> str:
    """Percent-decoded as UTF-8; a text that would not be valid UTF-8 stays as it is."""
    try:
        return _percent_bytes(text).decode("utf-8")
    except UnicodeDecodeError:
        return text


def _essence(content_type: str | None) -> str:
    return (content_type or "").partition(";")[0].strip().lower()


def _suffix_extension(essence: str) -> str | None:
    """The extension of a structured suffix (RFC 6838): ``application/geo+json`` is JSON."""
    suffix = essence.rpartition("+")[2] if "+" in essence else ""
    return suffix if suffix in ("json", "xml", "zip", "yaml") else None


def _with_extension(name: str, extension: str | None) -> str:
    if extension is None or _has_extension(name):
        return name
    return safe_name(f"{_shorten(name, MAX_NAME_BYTES - len(extension) - 1)}.{extension}")


def _has_extension(name: str) -> bool:
    """Whether a name ends in what can be an extension: up to ten letters and digits, not digits alone."""
    stem, dot, last = name.rpartition(".")
    return bool(dot and stem and len(last) <= 10 and last.isascii() and last.isalnum() and not last.isdigit())


def _trim(name: str) -> str:
    """Without the ends that hide a file, read as an option, or vanish on some disks."""
    return name.lstrip(" .-").rstrip(" .")


def _shorten(name: str, limit: int = MAX_NAME_BYTES) -> str:
    """``name`` cut in its stem to at most ``limit`` UTF-8 bytes; its extension stays."""
    if len(name.encode()) <= limit:
        return name
    match = _COMPOUND.search(name)
    extension = match[0] if match else "." + name.rpartition(".")[2] if "." in name else ""
    if len(extension.encode()) > _MAX_EXTENSION:
        extension = ""
    stem = name[: len(name) - len(extension)].encode()[: limit - len(extension.encode())]
    return stem.decode("utf-8", "ignore").rstrip(" .\u200c\u200d") + extension
