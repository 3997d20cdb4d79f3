"""Names of files: read from headers and URLs as browsers do, and harmless afterwards."""

from __future__ import annotations

import os
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdpfetch.names import MAX_NAME_BYTES, from_content_disposition, from_url, natural_name, safe_name, type_of


@pytest.mark.parametrize(
    ("header", "name"),
    [
        (None, None),
        ("", None),
        ("inline", None),
        ("attachment", None),
        ("attachment; filename=", None),
        ("attachment; filename=plain.txt", "plain.txt"),
        ('attachment; filename="Tide survey 9.pdf"', "Tide survey 9.pdf"),
        ('inline; filename="shown inside.bin"', "shown inside.bin"),
        ("attachment;FileName = spaced.txt ; size=3", "spaced.txt"),
        ("attachment; filename=no quotes here.pdf; x=y", "no quotes here.pdf"),
        ('filename="no type.txt"', "no type.txt"),
        ('attachment; filename="list; part \\"two\\".bin"', 'list; part "two".bin'),
        ('attachment; filename="back\\\\slash.bin"', "back\\slash.bin"),
        ('attachment; filename="never closed.txt', "never closed.txt"),
        ("attachment; filename*=UTF-8''%e2%82%ac%20rates%20%E6%97%A5%E6%9C%AC.csv", "€ rates 日本.csv"),
        ("attachment; filename*=iso-8859-1'en'%A3%20rates.bin", "£ rates.bin"),
        ("attachment; filename=a.txt; filename*=UTF-8''b.txt", "b.txt"),
        ("attachment; filename*=UTF-8''b.txt; filename=a.txt", "b.txt"),
        ("attachment; filename=a.txt; filename*=UTF-8''%ff%fe", "a.txt"),
        ("attachment; filename=a.txt; filename*=x-klingon''b", "a.txt"),
        ("attachment; filename=a.txt; filename*=nothing", "a.txt"),
        ("attachment; filename=first.txt; filename=second.txt", "first.txt"),
        ("attachment; filename=naïve.txt", "naïve.txt"),
        ("attachment; filename=" + "日本.txt".encode().decode("latin-1"), "日本.txt"),
        ("attachment; filename=%E6%97%A5.txt", "日.txt"),
        ("attachment; filename=100%.txt", "100%.txt"),
        ("attachment; filename=%ff.txt", "%ff.txt"),
        ('attachment; filename="=?UTF-8?B?w6nDoC50eHQ=?="', "éà.txt"),
        ('attachment; filename="=?utf-8?Q?caf=C3=A9_bar.txt?="', "café bar.txt"),
        ('attachment; filename="=?utf-8?B?w6k=?= =?utf-8?B?w6A=?=.txt"', "éà.txt"),
        ('attachment; filename="=?nope?B?w6k=?="', "=?nope?B?w6k=?="),
        ("attachment; =; ;; filename=late.txt", "late.txt"),
        ("attachment; xfilename=a.txt", None),
    ],
)
def test_the_name_in_a_header(header: str | None, name: str | None) -> None:
    assert from_content_disposition(header) == name


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://example.com", None),
        ("https://example.com/", None),
        ("https://example.com/a/", None),
        ("https://example.com?x=/y.txt", None),
        ("https://example.com/a/b.pdf?x=1#y", "b.pdf"),
        ("https://example.com/a%20b%E2%82%AC.txt", "a b€.txt"),
        ("https://example.com/%ff.txt", "%ff.txt"),
        ("https://example.com/x%2Fy.txt", "x/y.txt"),
        ("https://example.com/r.pdf;jsessionid=AB12", "r.pdf"),
        ("https://example.com/a;b", "a;b"),
        ("https://example.com/dir\\file.bin", "file.bin"),
        ("/only/a/path.txt", "path.txt"),
    ],
)
def test_the_name_in_a_url(url: str, name: str | None) -> None:
    assert from_url(url) == name


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("plain.txt", "plain.txt"),
        ("../../../../tmp/zoo-escape.bin", "zoo-escape.bin"),
        ("..\\..\\Startup\\zoo-run.bin", "zoo-run.bin"),
        ("/etc/passwd", "passwd"),
        ("dir/", "dir"),
        ("", "download"),
        (".", "download"),
        ("..", "download"),
        ("...", "download"),
        (" . / .. ", "download"),
        ("---", "download"),
        (".bashrc", "bashrc"),
        ("-rf", "rf"),
        ("--help.txt", "help.txt"),
        ("trailing. . ", "trailing"),
        ("bell\x07tab\tname.bin", "bell tab name.bin"),
        ("line\nbreak\u2028.txt", "line break .txt"),
        ("esc\x1b[31m.txt", "esc [31m.txt"),
        ("CON", "_CON"),
        ("con.tar.gz", "_con.tar.gz"),
        ("LPT1 .txt", "_LPT1 .txt"),
        ("com\u00b2.log", "_com\u00b2.log"),
        ("console.log", "console.log"),
        ("file.txt:stream", "file.txt_stream"),
        ('a<b>c:d"e|f?g*h', "a_b_c_d_e_f_g_h"),
        ("$(id).txt", "_(id).txt"),
        ("`id`.txt", "_id_.txt"),
        ("US$ rates.csv", "US$ rates.csv"),
        ("O'Brien & Söhne; Teil 2.pdf", "O'Brien & Söhne; Teil 2.pdf"),
        ("evil\u202etxt.exe", "eviltxt.exe"),
        ("zero\u200bwidth\ufeff.txt", "zerowidth.txt"),
        ("نمونه\u200cها.txt", "نمونه\u200cها.txt"),
        ("👩\u200d🔬.txt", "👩\u200d🔬.txt"),
        ("e\u0301.txt", "é.txt"),
        ("lone\ud800.txt", "lone.txt"),
        ("two   blanks.txt", "two blanks.txt"),
        ("report.pdf/..", "report.pdf"),
    ],
)
def test_a_safe_name(name: str, safe: str) -> None:
    assert safe_name(name) == safe


def test_the_default_is_the_callers() -> None:
    assert safe_name("..", "page") == "page"
    assert safe_name("..", "") == ""


@pytest.mark.parametrize("extension", [".pdf", ".tar.gz", ""])
@pytest.mark.parametrize("unit", ["a", "é", "日", "👩\u200d🔬"])
def test_a_long_name_is_cut_and_keeps_its_extension(unit: str, extension: str) -> None:
    name = safe_name(unit * 300 + extension)
    assert MAX_NAME_BYTES - 12 <= len(name.encode()) <= MAX_NAME_BYTES
    assert name.endswith(extension)
    assert name.startswith(unit)


def test_an_overlong_extension_is_no_extension() -> None:
    name = safe_name("a." + "b" * 300)
    assert name == "a." + "b" * (MAX_NAME_BYTES - 2)


@pytest.mark.parametrize(
    ("disposition", "url", "content_type", "name"),
    [
        (None, "https://example.com/case/csv/", "text/csv; charset=utf-8", "download.csv"),
        (None, "https://example.com/", "application/octet-stream", "download"),
        (None, "https://example.com/", None, "download"),
        (None, "https://example.com/pdf/2401.01234", "application/pdf", "2401.01234.pdf"),
        (None, "https://example.com/report", "Application/PDF", "report.pdf"),
        (None, "https://example.com/view.php?id=3", "application/pdf", "view.pdf"),
        (None, "https://example.com/view.php", "application/octet-stream", "view.php"),
        (None, "https://example.com/dist/sheets.tar.gz", "application/gzip", "sheets.tar.gz"),
        (None, "https://example.com/roads", "application/geo+json", "roads.json"),
        (None, "https://example.com/favicon.ico", "image/x-icon", "favicon.ico"),
        ('attachment; filename="content.md"', "https://example.com/x.bin", "application/octet-stream", "content.md"),
        ('attachment; filename="view.php"', "https://example.com/", "text/plain", "view.php"),
        ('attachment; filename=".."', "https://example.com/d/real.bin", "application/octet-stream", "real.bin"),
        ('attachment; filename="Bericht 2"', "https://example.com/", "application/pdf", "Bericht 2.pdf"),
        ('attachment; filename=".csv"', "https://example.com/", "text/csv", "csv.csv"),
    ],
)
def test_a_natural_name(disposition: str | None, url: str, content_type: str | None, name: str) -> None:
    assert natural_name(disposition, url, content_type) == name


def test_a_long_name_without_extension_gets_one() -> None:
    name = natural_name(None, "https://example.com/" + "x" * 400, "application/pdf")
    assert name.endswith(".pdf")
    assert len(name.encode()) <= MAX_NAME_BYTES


@settings(deadline=None)  # a loaded machine is no defect
@given(st.text(max_size=400))
def test_any_text_becomes_a_harmless_name(text: str) -> None:
    name = safe_name(text)
    assert name == os.path.basename(name)
    assert name not in ("", ".", "..")
    assert name[0] not in " .-"
    assert name[-1] not in " ."
    assert "\\" not in name
    assert len(name.encode()) <= MAX_NAME_BYTES
    assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in name)
    assert safe_name(name) == name


@settings(deadline=None)  # a loaded machine is no defect
@given(st.text(max_size=200), st.text(max_size=200), st.text(max_size=60))
def test_no_header_url_or_type_fails(disposition: str, url: str, content_type: str) -> None:
    name = natural_name(disposition, url, content_type)
    assert name == os.path.basename(name)
    assert 0 < len(name.encode()) <= MAX_NAME_BYTES


def test_a_hostile_header_costs_linear_time() -> None:
    import time

    started = time.perf_counter()
    for hostile in ('filename="' + "\\" * 100_000, "a" * 100_000, "=" * 100_000, '"' * 100_000, ";" * 100_000):
        from_content_disposition("attachment; " + hostile)
    assert time.perf_counter() - started < 2


def test_the_type_that_an_extension_stands_for():
    assert type_of("a.py") == "text/x-python"
    assert type_of("A.DOCX") == "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    assert type_of("a.yaml") in ("application/yaml", "application/x-yaml")
    assert type_of("Makefile") is None
