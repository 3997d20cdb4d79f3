"""Office documents and PDFs by kreuzberg, OCR off, with the mends that its output needs."""

from __future__ import annotations

import re
import zipfile
from typing import Any

from cdpfetch.extract import opendocument, slides, word
from cdpfetch.extract.package import NotAPackage, Package, child, children
from cdpfetch.extract.result import Extraction, content_body, readable, warning

_OFFICE = "application/vnd.openxmlformats-officedocument."
_OPEN = "application/vnd.oasis.opendocument."
TYPES = frozenset(
    {
        "application/pdf",
        "application/msword",
        "application/vnd.ms-excel",
        "application/vnd.ms-powerpoint",
        "application/vnd.ms-outlook",
        "application/rtf",
        "text/rtf",
        "application/epub+zip",
        *(
            _OFFICE + kind
            for kind in ("wordprocessingml.document", "spreadsheetml.sheet", "presentationml.presentation")
        ),
        *(_OPEN + kind for kind in ("text", "spreadsheet", "presentation")),
    }
)
_RENAMED = {"text/rtf": "application/rtf"}
# What a package may unpack to, and the share of that which makes it a bomb rather than a large document.
MAX_UNPACKED = 300 << 20
MAX_RATIO = 200
_TINY = 20 << 20
# How the converter writes times of day, and lengths of time of a day and more: as if from the calendar's beginning.
# A midnight that the sheet does not show: dates without a time of day.
_DURATION = re.compile(r"DURATION: PT(\d+)H(\d+)M(\d+)(?:[.,]\d+)?S")
_CLOCK = re.compile(r"(?<=\| )1899-12-3[01] (\d\d:\d\d:\d\d)(?= \|)")
_SPAN = re.compile(r"(?<=\| )1900-01-(\d\d) (\d\d)(:\d\d:\d\d)(?= \|)")
_MIDNIGHT = re.compile(r"(?<=\d{4}-\d\d-\d\d) 00:00:00(?= \|)")
ENCRYPTED = warning("encrypted", "the document is encrypted: its text needs a password")
# How the converter writes a formula's error, and how a spreadsheet does.
_CELL_ERRORS = {
    "Div0": "#DIV/0!",
    "NA": "#N/A",
    "Name": "#NAME?",
    "Null": "#NULL!",
    "Num": "#NUM!",
    "Ref": "#REF!",
    "Value": "#VALUE!",
}
_CELL_ERROR = re.compile(r"\\?#ERR: (" + "|".join(_CELL_ERRORS) + r")\b")
_FRONT_MATTER = re.compile(r"^---\ntitle: .*\n---\n+", re.MULTILINE)
_FILE_LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\((?:[^():\s]*\.x?html?)?(?:#[^()\s]*)?(?<!\()\)")
_ENCRYPTED = re.compile(r"password|encrypt|protected", re.IGNORECASE)


def extract(path: str, kind: str) -> Extraction:
    """The text of the document at ``path`` as Markdown; a warning instead when there is none to be had."""
    if note := _refused(path):
        return Extraction(None, warnings=(note,))
    if kind == opendocument.TYPE:
        return _presentation(path)
    if kind == "application/pdf" and (found := _pdf(path)) is not None:
        return found
    import kreuzberg

    try:
        result = kreuzberg.extract_file_sync(path, _RENAMED.get(kind, kind), _config())
    except kreuzberg.KreuzbergError as error:
        return Extraction(None, warnings=(_failure(kind, str(error)),))
    text = _mend(result.content, kind)
    if kind.endswith("wordprocessingml.document"):
        text = _word(path) or text
    elif kind.endswith("spreadsheetml.sheet"):
        text = _hidden_sheets(path, text)
    elif kind.endswith("presentationml.presentation"):
        text = _slides(path) or text
    title, facts, meta = _about(dict(result.metadata or {}), kind)
    if not re.sub(r"<!-- (?:page|slide) \d+(?: \(hidden\))? -->", "", text).strip():
        return Extraction(None, title=title, facts=facts, meta=meta, warnings=(_nothing(kind),))
    return readable(content_body(text), title=title, facts=facts, meta=meta)


def _pdf(path: str) -> Extraction | None:
    """A PDF; None where the reader can't open it, and another may."""
    try:
        from cdpfetch.extract import pdf, pdfwords
    except ImportError:
        # No wheel of pdfium for this system.
        return None
    try:
        with pdf.LOCK, pdfwords.Document(path) as document:
            found, about = pdf.read(document), document.about()
    except pdfwords.Locked:
        return Extraction(None, warnings=(ENCRYPTED,))
    except pdfwords.Unreadable:
        return None
    kind = "application/pdf"
    dates = {"created_at": _date(about.get("CreationDate", "")), "modified_at": _date(about.get("ModDate", ""))}
    named = {"title": about.get("Title"), "authors": [author] if (author := about.get("Author")) else None}
    title, facts, meta = _about({**named, "page_count": found.pages, **dates}, kind)
    notes = []
    if found.read < found.pages:
        notes.append(warning("truncated", f"only the first {found.read} of {found.pages} pages were read"))
    if len(found.wordless) == found.read:
        nothing = _nothing(kind) if found.images else warning("no_text", "the PDF's pages hold neither text nor images")
        return Extraction(None, title=title, facts=facts, meta=meta, warnings=(*notes, nothing))
    if found.wordless:
        numbers = ", ".join(map(str, found.wordless[:20])) + (", …" if len(found.wordless) > 20 else "")
        why = " (they are images, and OCR is off)" if found.images else ""
        said = f"{len(found.wordless)} of {found.read} pages hold no text{why}: {numbers}"
        notes.append(warning("pages_without_text", said))
    return readable(content_body(found.markdown), title=title, facts=facts, meta=meta, warnings=tuple(notes))


def _date(value: str) -> str | None:
    """A PDF's date (ISO 32000-1, 7.9.4) in the form of ISO 8601, or None."""
    found = re.match(r"D?:?(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d))?", value)
    if found is None:
        return None
    day = "-".join(found.group(1, 2, 3))
    return f"{day}T{':'.join(found.group(4, 5, 6))}" if found.group(4) else day


def _presentation(path: str) -> Extraction:
    """An OpenDocument presentation, which the converter does not know."""
    try:
        text, slides = opendocument.markdown(path)
    except opendocument.NotReadable as error:
        return Extraction(None, warnings=(_failure(opendocument.TYPE, str(error)),))
    if not re.sub(r"<!-- slide \d+ -->", "", text).strip():
        return Extraction(None, warnings=(_nothing(opendocument.TYPE),))
    return readable(content_body(text + "\n"), facts=(f"{slides} slide{'s' * (slides != 1)}",))


def _slides(path: str) -> str:
    """A PowerPoint presentation; empty when its parts can't be found."""
    try:
        with Package(path) as package:
            found = slides.markdown(package)
    except NotAPackage:
        return ""
    return found[0] if found is not None else ""


def _word(path: str) -> str:
    """A Word file; empty when its text can't be found."""
    try:
        with Package(path) as package:
            return word.markdown(package) or ""
    except NotAPackage:
        return ""


def _config() -> Any:
    from kreuzberg import ConcurrencyConfig
    from kreuzberg import ExtractionConfig as Config

    # disable_ocr is missing in the package's own stubs.
    options: dict[str, Any] = {"output_format": "markdown", "use_cache": False, "disable_ocr": True}
    return Config(**options, concurrency=ConcurrencyConfig(max_threads=1))


def _refused(path: str) -> dict[str, str] | None:
    """A warning for a package whose declared size makes it a bomb."""
    if not zipfile.is_zipfile(path):
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        return warning("extraction_failed", f"the document is broken: {error}")
    packed = sum(info.compress_size for info in infos) or 1
    unpacked = sum(info.file_size for info in infos)
    if unpacked > MAX_UNPACKED or (unpacked > _TINY and unpacked / packed > MAX_RATIO):
        return warning(
            "too_large",
            f"not converted: {packed} bytes would unpack to {unpacked}, which looks like a decompression bomb",
        )
    return None


def _failure(kind: str, reason: str) -> dict[str, str]:
    name = kind.rpartition("/")[2]
    if _ENCRYPTED.search(reason):
        return ENCRYPTED
    return warning(
        "extraction_failed", f"no text could be read from this {name} file: {' '.join(reason.split())[:300]}"
    )


def _nothing(kind: str) -> dict[str, str]:
    if kind == "application/pdf":
        return warning("no_text", "the PDF holds no text: its pages are images (a scan), and OCR is off")
    return warning("no_text", "the document holds no text")


def _mend(text: str, kind: str) -> str:
    text = text.replace("\r\n", "\n").replace("\x00", "")
    if "spreadsheet" in kind or "excel" in kind:
        text = _DURATION.sub(r"\1:\2:\3", text)
        text = _SPAN.sub(_as_span, _CLOCK.sub(r"\1", _MIDNIGHT.sub("", text)))
        text = _CELL_ERROR.sub(lambda found: _CELL_ERRORS[found.group(1)], text)
    elif kind.startswith(_OPEN):
        text = text.replace("&#9;", " ")
        # The converter repeats marks of notes as paragraphs, and parts notes from their names.
        text = re.sub(
            r"^(\[\^\w+\]:)\n {4}", r"\1 ", re.sub(r"^\[\^\w+\]\n\n", "", text, flags=re.MULTILINE), flags=re.MULTILINE
        )
    elif kind == "application/epub+zip":
        # The converter puts the title of every file before it, and keeps links from one file of the book to another.
        text = _FILE_LINK.sub(r"\1", _FRONT_MATTER.sub("", text))
    return text.strip() + "\n"


def _as_span(found: re.Match[str]) -> str:
    """Hours, minutes and seconds of what was written as a day and a time."""
    return f"{int(found.group(1)) * 24 + int(found.group(2))}{found.group(3)}"


def _hidden_sheets(path: str, text: str) -> str:
    """The Markdown of a workbook whose headings say which sheets are hidden."""
    try:
        with Package(path) as package:
            sheets = children(child(package.part("xl/workbook.xml"), "sheets"), "sheet")
    except NotAPackage:
        return text
    for sheet in sheets:
        if sheet.get("state") in ("hidden", "veryHidden"):
            heading = f"## {sheet.get('name') or ''}"
            text = re.sub(
                rf"^{re.escape(heading)}$", lambda found: f"{found.group()} (hidden)", text, flags=re.MULTILINE
            )
    return text


def _about(metadata: dict[str, Any], kind: str) -> tuple[str | None, tuple[str, ...], dict[str, Any]]:
    title = metadata.get("title")
    title = " ".join(title.split())[:500] if isinstance(title, str) else None
    title = None if title and title.lower() in ("untitled", "(anonymous)", "(unspecified)") else title
    authors = metadata.get("authors")
    author = ", ".join(map(str, authors)) if isinstance(authors, list) else None
    facts, meta = [], {"document_type": kind}
    if author and author.lower() not in ("anonymous", "(anonymous)", "python-docx", "openpyxl", "unknown"):
        facts.append(f"by {author}")
        meta["author"] = author
    for key, label in (("page_count", "pages"), ("sheet_count", "sheets"), ("slide_count", "slides")):
        count = metadata.get(key)
        if isinstance(count, int) and count > 0:
            facts.append(f"{count} {label if count != 1 else label[:-1]}")
            meta[key] = str(count)
    for key in ("created_at", "modified_at"):
        if isinstance(metadata.get(key), str):
            meta[key] = metadata[key]
    return title or None, tuple(facts), meta
