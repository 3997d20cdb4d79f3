"""Files of every kind through the seam."""

from __future__ import annotations

import gzip
import json
import lzma
import zipfile
from pathlib import Path

import pytest

from cdpfetch.extract import Extraction, extract_file

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "extract"


def read(directory: Path, name: str, data: bytes | str, content_type: str | None = None, **options: str) -> Extraction:
    path = directory / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return extract_file(path, content_type=content_type, url="http://site.test/dir/", **options)


def codes(result: Extraction) -> list[str]:
    return [note["code"] for note in result.warnings]


def test_text_is_literal(tmp_path: Path) -> None:
    source = 'def keep(x):\n\tif x < 3:\n\t    return "<b>a</b> &amp; more"\n\n\n    # four\n'
    result = read(tmp_path, "code", source, "text/plain; charset=utf-8")
    assert result.text == source
    assert result.content is not None
    assert (result.content.name, result.content.role) == ("text.txt", "text")


def test_json_keeps_every_token(tmp_path: Path) -> None:
    source = (
        '{"serial":9007199254740993,"r":0.10000000000000000555,"t":"<b>\\u00e9\\/ é</b>","e":{},"l":[1,[],{"d":null}]}'
    )
    result = read(tmp_path, "a.json", source, "application/json")
    for token in ("9007199254740993", "0.10000000000000000555", '"<b>\\u00e9\\/ é</b>"', '"e": {}', '"d": null'):
        assert token in result.text
    assert json.loads(result.text) == json.loads(source)


@pytest.mark.parametrize("broken", ['{"a": 1', "[1, 2]]", '{"a": }x', "callback({})", '{"a": "open}'])
def test_what_is_not_json_is_delivered_as_it_is(tmp_path: Path, broken: str) -> None:
    result = read(tmp_path, "a.json", broken, "application/json")
    assert result.text == broken
    assert codes(result) == ["invalid_json"]


def test_json_lines_stay(tmp_path: Path) -> None:
    source = '{"a": 1}\n{"a": 2}\n'
    assert read(tmp_path, "a.jsonl", source, "application/x-ndjson").text == source


def test_csv_becomes_a_table(tmp_path: Path) -> None:
    source = (
        'name,terms,comment\r\n"Harbour, north",cheap | fast,"two\nlines"\r\nOld mill,plain,"said ""no"""\r\nshort\r\n'
    )
    result = read(tmp_path, "a.csv", source, "text/csv; charset=utf-8")
    assert result.text.splitlines() == [
        "| name | terms | comment |",
        "| --- | --- | --- |",
        "| Harbour, north | cheap \\| fast | two<br>lines |",
        '| Old mill | plain | said "no" |',
        "| short |  |  |",
    ]


def test_semicolons_tabs_and_old_charsets(tmp_path: Path) -> None:
    source = "ort;preis;währung\r\nKöln;12,50;€\r\n".encode("cp1252")
    assert "| Köln | 12,50 | € |" in read(tmp_path, "a.csv", source, "text/csv; charset=windows-1252").text
    assert "| a, b | c |" in read(tmp_path, "a.tsv", "x\ty\na, b\tc\n", "text/tab-separated-values").text


RSS = """<?xml version="1.0"?><rss version="2.0"><channel><title>Harbour</title><link>http://feed.test/</link>
<description>Levels</description><item><title>Bulletin &amp; news</title><link>/b/1</link>
<pubDate>Tue, 01 Apr 2031 08:00:00 GMT</pubDate><description><![CDATA[<p>Water <b>10</b> cm</p>]]></description></item>
</channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>Log – Größe</title><entry><title>Entry 1</title>
<link rel="enclosure" href="/x.mp3"/><link href="/e/1"/><updated>2031-04-01T00:00:00Z</updated>
<author><name>Ines</name></author>
<content type="xhtml">
<div xmlns="http://www.w3.org/1999/xhtml"><p>One <em>fine</em> day</p></div></content></entry></feed>"""


def test_feeds_are_entries_with_links_and_dates(tmp_path: Path) -> None:
    rss = read(tmp_path, "r.xml", RSS, "application/xml")
    assert rss.title == "Harbour"
    assert "## [Bulletin & news](http://site.test/b/1)" in rss.text
    assert "Tue, 01 Apr 2031 08:00:00 GMT" in rss.text
    assert "Water **10** cm" in rss.text
    atom = read(tmp_path, "a.xml", ATOM, "text/xml")
    assert "# Log – Größe" in atom.text
    assert "## [Entry 1](http://site.test/e/1)\n\n2031-04-01T00:00:00Z · Ines\n\nOne *fine* day" in atom.text


def test_json_feed(tmp_path: Path) -> None:
    feed = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "Notes",
        "items": [{"id": "1", "url": "/n/1", "title": "First", "content_html": "<p>Hello <b>you</b></p>"}],
    }
    result = read(tmp_path, "f.json", json.dumps(feed), "application/json")
    assert "## [First](http://site.test/n/1)\n\nHello **you**" in result.text


def test_xml_is_text_and_expands_nothing(tmp_path: Path) -> None:
    plain = "<?xml version='1.0'?><stock><part n='1'>bolt</part></stock>"
    assert read(tmp_path, "s.xml", plain, "application/xml").text == plain
    laughs = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    bomb = f'<!DOCTYPE rss [<!ENTITY l0 "ha">{laughs}]><rss><channel><title>&l9;</title></channel></rss>'
    assert len(read(tmp_path, "b.xml", bomb, "application/rss+xml").text) < 2000
    outside = '<!DOCTYPE rss [<!ENTITY x SYSTEM "file:///etc/passwd">]><rss><channel><title>&x;</title></channel></rss>'
    assert "root:" not in read(tmp_path, "x.xml", outside, "application/rss+xml").text


def test_images_are_facts_only(tmp_path: Path) -> None:
    png = extract_file(FIXTURES / "dot.png", content_type="image/png")
    assert (png.content, png.facts) == (None, ("PNG image, 24 \u00d7 24 pixels",))
    assert extract_file(FIXTURES / "dot.ico").facts == ("ICO image, 16 \u00d7 16 pixels",)
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 40">'
        "<title>Buoy sign</title><script>x()</script></svg>"
    )
    result = read(tmp_path, "s.svg", svg, "image/svg+xml")
    assert (result.content, result.title, result.facts) == (None, "Buoy sign", ("SVG image, 120 \u00d7 40 pixels",))


def test_archives_are_listed(tmp_path: Path) -> None:
    listing = extract_file(FIXTURES / "sheets.tar.gz")
    assert "| sheets/day1.txt | 1280 | 2023-11-14 |" in listing.text
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("a|b.txt", (2031, 4, 5, 0, 0, 0)), "kit")
    assert "| a\\|b.txt | 3 | 2031-04-05 |" in extract_file(tmp_path / "a.zip").text
    assert codes(read(tmp_path, "b.zip", b"PK\x03\x04broken")) == ["extraction_failed"]


def test_a_spreadsheet_keeps_its_values() -> None:
    text = extract_file(FIXTURES / "stores.xlsx").text
    assert "| North quay | 12 | true | 2031-04-05 | NA |" in text
    for wrong in ("NaN", "12.0", "00:00:00"):
        assert wrong not in text


def test_office_documents() -> None:
    memo = extract_file(FIXTURES / "memo.docx").text
    assert "# Scope" in memo
    assert "\n\n- Clean the lens\n- Trim the wick\n- Log the hour\n\n" in memo or "1. Clean the lens" in memo
    assert "| Inner | 9 | 0 |" in memo
    deck = extract_file(FIXTURES / "deck.pptx").text
    assert "PIER-61" in deck
    assert "| East | 120 |" in deck
    assert "thank the welders" in deck


def test_pdfs() -> None:
    sample = extract_file(FIXTURES / "sample.pdf", content_type="text/html")
    assert "KELP-4417" in sample.text
    assert "HERON-88" in sample.text
    assert "<!-- page 2 -->" in sample.text
    assert codes(sample) == ["mislabelled"]
    assert "2 pages" in sample.facts
    locked = extract_file(FIXTURES / "encrypted.pdf")
    assert (locked.content, codes(locked)) == (None, ["encrypted"])


def test_broken_documents_say_why(tmp_path: Path) -> None:
    assert codes(read(tmp_path, "a.pdf", b"%PDF-1.4\nnothing here")) == ["extraction_failed"]
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    assert codes(read(tmp_path, "a.docx", b"PK\x03\x04 cut off", kind)) == ["extraction_failed"]


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ropes.docx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", b"rope " * (6 << 20))
    assert codes(extract_file(path)) == ["too_large"]


def test_notebooks(tmp_path: Path) -> None:
    book = {
        "metadata": {"language_info": {"name": "python"}},
        "cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "words"]},
            {"cell_type": "code", "source": "print(1)", "outputs": [{"output_type": "stream", "text": ["1\n"]}]},
        ],
    }
    result = read(tmp_path, "b.ipynb", json.dumps(book), "application/json")
    assert result.text == "# Title\nwords\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n"


def test_mail(tmp_path: Path) -> None:
    message = (
        b"From: a@b.test\r\nTo: c@d.test\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\nMIME-Version: 1.0\r\n"
        b"Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: text/plain; charset=iso-8859-1\r\n\r\n"
        b"sch\xf6n\r\n--x\r\nContent-Type: application/pdf\r\n"
        b"Content-Disposition: attachment; filename=a.pdf\r\n\r\nx\r\n--x--\r\n"
    )
    result = read(tmp_path, "m.eml", message, "message/rfc822")
    assert result.title == "Grüße"
    assert "- From: a@b.test" in result.text
    assert "schön" in result.text
    assert "- a.pdf (application/pdf, 1 bytes)" in result.text


def test_markdown_stays_as_it_is(tmp_path: Path) -> None:
    result = read(tmp_path, "a.md", "# One\n\n* two\n", "text/markdown")
    assert (result.text, result.title) == ("# One\n\n* two\n", "One")


def test_binary_and_empty_files_have_no_content(tmp_path: Path) -> None:
    assert read(tmp_path, "a.bin", bytes(range(256)), "application/octet-stream").content is None
    assert read(tmp_path, "a.txt", b"", "text/plain").content is None
    assert read(tmp_path, "a.mp3", b"ID3\x03\x00", "audio/mpeg").content is None


def test_html_files_use_what_they_say_of_themselves(tmp_path: Path) -> None:
    html = '<meta charset="Shift_JIS"><title>港</title><main><p>灯台の光がまだ残っていた。</p></main>'.encode("cp932")
    result = read(tmp_path, "a.html", html, "text/html")
    assert result.title == "港"
    assert "灯台の光" in result.text


def test_a_forwarded_message_is_read_too(tmp_path: Path) -> None:
    inner = b"From: z@x.test\r\nSubject: Inner\r\n\r\nwords inside\r\n"
    message = (
        b"Subject: Outer\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n"
        b"--x\r\nContent-Type: text/plain\r\n\r\nsee below\r\n--x\r\nContent-Type: message/rfc822\r\n\r\n"
    )
    result = read(tmp_path, "m.eml", message + inner + b"--x--\r\n", "message/rfc822")
    assert "- Inner (message/rfc822)" in result.text
    assert result.text.endswith("---\n\n# Inner\n\n- From: z@x.test\n\nwords inside\n")


def test_a_text_that_was_compressed_by_itself_is_read(tmp_path: Path) -> None:
    table = read(tmp_path, "a.csv.gz", gzip.compress(b"a,b\n1,2\n"), "application/gzip")
    assert table.text == "| a | b |\n| --- | --- |\n| 1 | 2 |\n"
    assert "gzip of 8 bytes (text/csv)" in table.facts
    page = lzma.compress(b"<!doctype html><h1>T</h1><p>para</p>")
    assert read(tmp_path, "a.xz", page, "application/x-xz").text == "# T\n\npara\n"
    # What is no text is listed, and what is too large is not unpacked.
    assert "(one compressed file)" in read(tmp_path, "p.gz", gzip.compress(bytes(range(256))), "application/gzip").text
    bomb = read(tmp_path, "b.gz", gzip.compress(bytes(64 << 20)), "application/gzip")
    assert "gzip archive: 1 entry, 67108864 bytes unpacked" in bomb.text


def test_archives_that_are_not_listed_say_so(tmp_path: Path) -> None:
    found = read(tmp_path, "a.7z", b"7z\xbc\xaf\x27\x1c\x00\x04" + bytes(90), "application/x-7z-compressed")
    assert found.content is None
    assert found.warnings[0]["code"] == "not_listed"


def test_feeds_say_what_they_enclose_and_where_they_are_from(tmp_path: Path) -> None:
    feed = b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://a.example/blog/"><title type="html">Tides
    &amp;amp; [oil]</title><link href="/"/><entry xml:base="sub/"><title>One</title><link rel="enclosure" href="1.mp3"
    type="audio/mpeg"/><link href="one"/><content type="html">&lt;a href="x"&gt;see&lt;/a&gt;</content></entry>
    </feed>"""
    assert read(tmp_path, "a.xml", feed, "application/atom+xml").text == (
        "# [Tides & \\[oil\\]](https://a.example/)\n\n## [One](https://a.example/blog/sub/one)\n\n"
        "[see](https://a.example/blog/sub/x)\n\n[audio/mpeg](https://a.example/blog/sub/1.mp3)\n"
    )
    rss = b"""<rss xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel><title>Cast</title>
    <link>https://a.example/</link><item><title>Ep 1</title><link>/1</link><itunes:duration>31:05</itunes:duration>
    <enclosure url="https://b.example/1.mp3" type="audio/mpeg"/></item></channel></rss>"""
    text = read(tmp_path, "a.rss", rss, "application/rss+xml").text
    assert "## [Ep 1](http://site.test/1)\n\n[audio/mpeg, 31:05](https://b.example/1.mp3)\n" in text


def test_notebooks_keep_tables_and_markdown_among_their_outputs(tmp_path: Path) -> None:
    frame = "<table><tr><th></th><th>a</th></tr><tr><th>0</th><td>1</td></tr></table>"
    outputs = [
        {"output_type": "execute_result", "data": {"text/html": frame, "text/plain": "   a"}},
        {"output_type": "display_data", "data": {"text/markdown": "**bold**"}},
        {"output_type": "display_data", "data": {"application/json": {"k": 1}}},
    ]
    book = {"nbformat": 4, "cells": [{"cell_type": "code", "source": "x", "outputs": outputs}]}
    assert read(tmp_path, "a.ipynb", json.dumps(book).encode(), "application/json").text == (
        '```\nx\n```\n\n|  | a |\n| --- | --- |\n| 0 | 1 |\n\n**bold**\n\n```json\n{\n  "k": 1\n}\n```\n'
    )
