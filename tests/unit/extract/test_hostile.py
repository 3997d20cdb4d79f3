"""Documents that attack their parsers: each ends in time with an answer or an error, and the next job is fine."""

from __future__ import annotations

import gzip
import io
import shutil
import socket
import struct
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cdpfetch.extract.pool import ExtractionFailed, ExtractPool

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "extract"
SENTINEL = "sentinel-5f1c9a-unread"
SECONDS = 30.0
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
ODT = "application/vnd.oasis.opendocument.text"
EPUB = "application/epub+zip"
DEEP = 10_000


def package(*parts: tuple[str, bytes], level: int = 6) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, data in parts:
            archive.writestr(name, data)
    return out.getvalue()


def replaced(fixture: str, part: str, change: Callable[[bytes], bytes]) -> bytes:
    """A sound package with one part changed."""
    with zipfile.ZipFile(FIXTURES / fixture) as archive:
        parts = [(name, archive.read(name)) for name in archive.namelist()]
    return package(*((name, change(data) if name == part else data) for name, data in parts))


def entity(data: bytes, doctype: str, text_tag: bytes) -> bytes:
    """XML with a DOCTYPE and its entity at the beginning of every text of a tag."""
    head, mark, rest = data.partition(b"?>")
    body = (rest if mark else head).replace(b"<" + text_tag + b">", b"<" + text_tag + b">&x;")
    return b'<?xml version="1.0" encoding="UTF-8"?>' + doctype.encode() + body


def external(uri: str) -> tuple[str, ...]:
    """The ways to name a resource in a DOCTYPE: an entity, a parameter entity, the DTD itself."""
    return (
        f'<!DOCTYPE x [<!ENTITY x SYSTEM "{uri}">]>',
        f'<!DOCTYPE x [<!ENTITY % p SYSTEM "{uri}"> %p; <!ENTITY x "y">]>',
        f'<!DOCTYPE x SYSTEM "{uri}">',
    )


def laughs() -> str:
    entities = ['<!ENTITY l0 "ha">']
    entities += [f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12)]
    return f'<!DOCTYPE x [{"".join(entities)}<!ENTITY x "&l11;">]>'


def odt(doctype: str) -> bytes:
    office = "urn:oasis:names:tc:opendocument:xmlns:"
    return (
        f'<?xml version="1.0"?>{doctype}<o:document-content xmlns:o="{office}office:1.0" xmlns:t="{office}text:1.0">'
        "<o:body><o:text><t:p>words &x;</t:p></o:text></o:body></o:document-content>"
    ).encode()


def epub(doctype: str) -> bytes:
    container = (
        f'<?xml version="1.0"?>{doctype}<container version="1.0" '
        'xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
        '<rootfiles><rootfile full-path="c.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    opf = (
        f'<?xml version="1.0"?>{doctype}<package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>&x;</dc:title></metadata>'
        '<manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="a"/></spine></package>'
    )
    page = f'<?xml version="1.0"?>{doctype}<html xmlns="http://www.w3.org/1999/xhtml"><body><p>&x;</p></body></html>'
    return package(
        ("mimetype", EPUB.encode()),
        ("META-INF/container.xml", container.encode()),
        ("c.opf", opf.encode()),
        ("a.xhtml", page.encode()),
    )


XML_KINDS: dict[str, tuple[str, Callable[[str], bytes]]] = {
    "docx": (DOCX, lambda d: replaced("memo.docx", "word/document.xml", lambda b: entity(b, d, b"w:t"))),
    "docx-core": (DOCX, lambda d: replaced("memo.docx", "docProps/core.xml", lambda b: entity(b, d, b"dc:title"))),
    "xlsx": (XLSX, lambda d: replaced("stores.xlsx", "xl/workbook.xml", lambda b: entity(b, d, b"t"))),
    "xlsx-strings": (XLSX, lambda d: replaced("stores.xlsx", "xl/worksheets/sheet1.xml", lambda b: entity(b, d, b"t"))),
    "pptx": (PPTX, lambda d: replaced("deck.pptx", "ppt/slides/slide1.xml", lambda b: entity(b, d, b"a:t"))),
    "odt": (ODT, lambda d: package(("mimetype", ODT.encode()), ("content.xml", odt(d)))),
    "epub": (EPUB, epub),
    "svg": (
        "image/svg+xml",
        lambda d: f'<?xml version="1.0"?>{d}<svg xmlns="http://www.w3.org/2000/svg"><title>&x;</title></svg>'.encode(),
    ),
    "xml": ("application/xml", lambda d: f'<?xml version="1.0"?>{d}<html><p>&x;</p></html>'.encode()),
    "rss": (
        "application/rss+xml",
        lambda d: (
            f'<?xml version="1.0"?>{d}<rss version="2.0"><channel><title>&x;</title><item><title>a&x;</title>'
            "<description>&x;</description></item></channel></rss>".encode()
        ),
    ),
    "xhtml": (
        "application/xhtml+xml",
        lambda d: (
            f'<?xml version="1.0"?>{d}<html xmlns="http://www.w3.org/1999/xhtml"><body><p>&x;</p></body></html>'.encode()
        ),
    ),
}


class Hostile:
    """Runs hostile files in one worker, and sees that an ordinary page is fine after each."""

    def __init__(self, directory: Path) -> None:
        self._pool = ExtractPool(1)
        self._directory = directory

    async def __aenter__(self) -> None:
        await self._pool.start()

    async def __aexit__(self, *error: object) -> None:
        await self._pool.close()

    async def run(self, data: bytes, kind: str, op: str = "file") -> tuple[dict[str, Any] | str, str]:
        """The answer, or the error's kind, and everything that was written or answered as one text."""
        out = self._directory / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        source = self._directory / "input"
        source.write_bytes(data)
        job = {"op": op, "path": str(source), "url": "http://a.test/", "content_type": kind, "out_dir": str(out)}
        started = time.monotonic()
        answer: dict[str, Any] | str
        try:
            answer = await self._pool.run(job, SECONDS)
        except ExtractionFailed as failed:
            answer = failed.kind
        assert time.monotonic() - started < SECONDS + 5
        written = "".join(path.read_text(errors="replace") for path in out.iterdir())
        await self._page()
        return answer, written + str(answer)

    async def _page(self) -> None:
        path = self._directory / "page.html"
        path.write_text("<title>Tides</title><main><h1>Tides</h1><p>The tide rises twice a day here.</p></main>")
        job = {"op": "page", "path": str(path), "url": "http://a.test/", "out_dir": str(self._directory)}
        assert (await self._pool.run(job, 60))["title"] == "Tides"


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    return Hostile(tmp_path)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A port that nobody may knock at."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.setblocking(False)
        yield made
        with pytest.raises(BlockingIOError):
            made.accept()


async def test_external_entities_read_no_file_and_reach_no_server(
    hostile: Hostile, tmp_path: Path, listener: socket.socket
) -> None:
    async with hostile:
        sentinel = tmp_path / "sentinel"
        sentinel.write_text(SENTINEL)
        port = listener.getsockname()[1]
        for name, (kind, make) in XML_KINDS.items():
            for uri in (sentinel.as_uri(), f"http://127.0.0.1:{port}/{name}"):
                for doctype in external(uri):
                    _, seen = await hostile.run(make(doctype), kind)
                    assert SENTINEL not in seen, (name, doctype)


async def test_a_billion_laughs_are_not_heard(hostile: Hostile) -> None:
    async with hostile:
        for name, (kind, make) in XML_KINDS.items():
            _, seen = await hostile.run(make(laughs()), kind)
            assert len(seen) < 100_000, name
            assert "haha" not in seen, name


def lying(data: bytes) -> bytes:
    """A ZIP file whose directory says that every member unpacks to ten bytes."""
    out = bytearray(data)
    for signature, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        at = out.find(signature)
        while at >= 0:
            out[at + offset : at + offset + 4] = struct.pack("<I", 10)
            at = out.find(signature, at + 4)
    return bytes(out)


def bomb(fixture: str, part: str, tag: bytes, size: int = 400 << 20) -> bytes:
    return replaced(fixture, part, lambda b: b.replace(b"</" + tag + b">", b" " * size + b"</" + tag + b">", 1))


def nested() -> bytes:
    data = package(("zeros", bytes(50 << 20)))
    for _ in range(6):
        data = package(*((f"{n}.zip", data) for n in range(10)))
    return data


async def test_bombs_are_told_and_not_unpacked(hostile: Hostile) -> None:
    async with hostile:
        docx = bomb("memo.docx", "word/document.xml", b"w:t")
        for data, kind in ((docx, DOCX), (bomb("stores.xlsx", "xl/worksheets/sheet1.xml", b"sheetData"), XLSX)):
            answer, _ = await hostile.run(data, kind)
            assert isinstance(answer, dict)
            assert answer["content"] is None
            assert [note["code"] for note in answer["warnings"]] == ["too_large"]
        # Its directory lies: what bounds it then is the parser's own limit, or the worker's memory.
        answer, seen = await hostile.run(lying(docx), DOCX)
        assert len(seen) < 1 << 20


async def test_archives_in_archives_are_listed_once(hostile: Hostile) -> None:
    async with hostile:
        answer, seen = await hostile.run(nested(), "application/zip")
        assert isinstance(answer, dict)
        assert seen.count(".zip") == 10
        answer, seen = await hostile.run(gzip.compress(b"a" * (600 << 20), 1), "application/gzip")
        assert isinstance(answer, dict)
        assert "at least" in seen


def pdf(*objects: str, trailer: str = "/Root 1 0 R", start: int | None = None) -> bytes:
    out = bytearray(b"%PDF-1.7\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    place = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{offset:010d} 00000 n \n".encode() for offset in offsets)
    at = place if start is None else start
    trailer = trailer.replace("HERE", str(place))
    out += f"trailer\n<< /Size {len(objects) + 1} {trailer} >>\nstartxref\n{at}\n%%EOF\n".encode()
    return bytes(out)


CATALOG = "<< /Type /Catalog /Pages 2 0 R >>"
PAGES = "<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
PAGE = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources 5 0 R >>"
FORM = "/XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /F 6 0 R >> >>"
PDFS = {
    "xref points at itself": pdf(CATALOG, PAGES, trailer="/Root 1 0 R /Prev HERE"),
    "hybrid xref points at itself": pdf(CATALOG, PAGES, trailer="/Root 1 0 R /XRefStm HERE"),
    "xref outside of the file": pdf(CATALOG, PAGES, start=99_999_999),
    "pages hold themselves": pdf(CATALOG, "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"),
    "page is its own content": pdf(CATALOG, PAGES, PAGE.replace("4 0 R", "3 0 R")),
    "an object is itself": pdf("1 0 R", PAGES),
    "length is itself": pdf(CATALOG, PAGES, PAGE, "<< /Length 4 0 R >>\nstream\nx\nendstream"),
    "a form draws itself": pdf(
        CATALOG,
        PAGES,
        PAGE,
        "<< /Length 4 >>\nstream\n/F Do\nendstream",
        "<< /XObject << /F 6 0 R >> >>",
        f"<< /Type {FORM} /Length 11 >>\nstream\n/F Do /F Do\nendstream",
    ),
    "a million pages": pdf(CATALOG, "<< /Type /Pages /Kids [3 0 R] /Count 1000000 >>", PAGE),
    "deep arrays": pdf(CATALOG, "[" * 50_000 + "]" * 50_000),
    "outlines in a circle": pdf(
        "<< /Type /Catalog /Pages 2 0 R /Outlines 3 0 R >>",
        "<< /Type /Pages /Kids [] /Count 0 >>",
        "<< /First 4 0 R /Last 4 0 R >>",
        "<< /Title (a) /Next 4 0 R /First 4 0 R /Parent 3 0 R >>",
    ),
}


@pytest.mark.parametrize("name", PDFS)
async def test_pdfs_in_circles_end(hostile: Hostile, name: str) -> None:
    async with hostile:
        answer, seen = await hostile.run(PDFS[name], "application/pdf")
        assert len(seen) < 1 << 20
        assert answer != "deadline"


DEEPS = {
    "xml": ("application/xml", b"<a>" * DEEP + b"x" + b"</a>" * DEEP),
    "open xml": ("application/xml", b"<a>" * DEEP * 10),
    "svg": ("image/svg+xml", b"<svg><g>" + b"<g>" * DEEP + b"</g>" * DEEP + b"</g></svg>"),
    "json": ("application/json", b"[" * DEEP + b"]" * DEEP),
    "json objects": ("application/json", b'{"a":' * DEEP * 10 + b"1" + b"}" * DEEP * 10),
    "notebook": ("application/x-ipynb+json", b'{"cells":' + b"[" * DEEP + b"]" * DEEP + b"}"),
    "feed": ("application/feed+json", b'{"version":"https://jsonfeed.org/version/1","items":' + b"[" * DEEP),
    "html": ("text/html", b"<div>" * DEEP + b"words" + b"</div>" * DEEP),
    "html lists": ("text/html", b"<ul><li>" * DEEP + b"words"),
    "html tables": ("text/html", b"<table><tr><td>" * DEEP + b"words"),
    "html quotes": ("text/html", b"<blockquote><p>" * DEEP + b"words"),
    "html inline": ("text/html", b"<b><i><a href=x>" * DEEP + b"words"),
    "mail": (
        "message/rfc822",
        b"".join(b"Content-Type: multipart/mixed; boundary=%d\r\n\r\n--%d\r\n" % (n, n) for n in range(2000)),
    ),
    "markdown": ("text/markdown", b">" * DEEP + b" words\n" + b"- " * DEEP + b"x\n" + b"[" * DEEP + b"]" * DEEP),
    "rtf": ("application/rtf", b"{\\rtf1 " + b"{" * DEEP * 10 + b"words" + b"}" * DEEP * 10 + b"}"),
    "docx": (
        DOCX,
        replaced(
            "memo.docx",
            "word/document.xml",
            lambda b: b.replace(
                b"</w:body>", b"<w:sdt><w:sdtContent>" * DEEP + b"</w:sdtContent></w:sdt>" * DEEP + b"</w:body>"
            ),
        ),
    ),
}


@pytest.mark.parametrize("name", DEEPS)
async def test_deep_nesting_ends(hostile: Hostile, name: str) -> None:
    async with hostile:
        kind, data = DEEPS[name]
        answer, _ = await hostile.run(data, kind)
        assert answer != "deadline"


async def test_deep_pages_end(hostile: Hostile) -> None:
    async with hostile:
        answer, _ = await hostile.run(b"<div>" * DEEP * 5 + b"words", "text/html", "page")
        assert answer != "deadline"


async def test_sound_documents_are_read_in_the_sandbox(hostile: Hostile) -> None:
    async with hostile:
        for name, kind in (
            ("memo.docx", DOCX),
            ("stores.xlsx", XLSX),
            ("deck.pptx", PPTX),
            ("sample.pdf", "application/pdf"),
        ):
            answer, _ = await hostile.run((FIXTURES / name).read_bytes(), kind)
            assert isinstance(answer, dict), name
            assert answer["content"]["name"] == "content.md", name
