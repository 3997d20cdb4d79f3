"""Types by their bytes."""

from __future__ import annotations

import io
import zipfile

import pytest

from cdpfetch.extract import sniff

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 20
PDF = b"%PDF-1.4\n%\xe2\xe3"


@pytest.mark.parametrize(
    ("data", "declared", "name", "wanted"),
    [
        (PDF, "text/html; charset=utf-8", "", "application/pdf"),
        (PDF, None, "", "application/pdf"),
        (PNG, "text/plain", "", "image/png"),
        (PNG, "image/png", "", "image/png"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml", "", "image/svg+xml"),
        (b"  <!DOCTYPE HTML><p>x", None, "", "text/html"),
        (b"<!doctype htmlx>", None, "", "text/plain"),
        (b"<p>one", "application/octet-stream", "", "text/html"),
        (b"<?xml version='1.0'?><a/>", None, "", "application/xml"),
        (b"plain words", None, "", "text/plain"),
        (b"a,b\n1,2\n", "text/plain", "table.csv", "text/csv"),
        (b"\x00\x01\x02\x03binary", "text/plain", "", "application/octet-stream"),
        (b"\x00\x01\x02\x03binary", None, "", "application/octet-stream"),
        ("Gr\u00fc\u00dfe".encode("utf-16-le"), "text/plain", "", "text/plain"),
        (b"Text/HTML", "Text/HTML ; Charset=x", "", "text/html"),
        (b"# Title", "text/plain", "README.md", "text/markdown"),
        (b"{}", "application/json", "book.ipynb", "application/x-ipynb+json"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", None, "", "image/webp"),
        (b"xxxx\x00\x00\x00\x00WEBPVP8 ", None, "", "application/octet-stream"),
    ],
)
def test_sniff(data: bytes, declared: str | None, name: str, wanted: str) -> None:
    assert sniff.sniff(data, declared, name) == wanted


def test_a_package_is_told_from_an_archive() -> None:
    word, plain = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(word, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", "<w/>")
    with zipfile.ZipFile(plain, "w") as archive:
        archive.writestr("readme.txt", "kit")
    assert sniff.sniff(word.getvalue(), "application/zip").endswith("wordprocessingml.document")
    assert sniff.sniff(plain.getvalue(), "application/octet-stream") == "application/zip"


def test_the_essence_of_a_broken_type_is_empty() -> None:
    assert sniff.essence("text/html; charset=utf-8") == "text/html"
    assert sniff.essence("nonsense") == ""
    assert sniff.essence(None) == ""
