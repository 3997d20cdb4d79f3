"""Bytes to text."""

from __future__ import annotations

import pytest

from cdpfetch.extract import charset

RUSSIAN = "Утром в гавани было тихо, и смотритель переписал уровень воды. "
JAPANESE = (
    "\u6e2f\u306e\u671d\u306f\u9759\u304b\u3067\u3001\u706f\u53f0\u306e\u5149\u304c\u6b8b\u3063\u3066\u3044\u305f\u3002"
)


@pytest.mark.parametrize(
    ("data", "declared", "text"),
    [
        (b"\xef\xbb\xbfcaf\xc3\xa9", "windows-1251", "caf\u00e9"),
        (b"\xff\xfeA\x00", "utf-8", "A"),
        ("\u590f".encode("utf-16-be"), "utf-16be", "\u590f"),
        (b"\x93quoted\x94 \x80", "iso-8859-1", "\u201cquoted\u201d \u20ac"),
        (b"a\x81b", "windows-1252", "a\x81b"),
        (JAPANESE.encode("cp932"), "Shift_JIS", JAPANESE),
        (JAPANESE.encode("iso2022_jp"), "iso-2022-jp", JAPANESE),
        (JAPANESE.encode("euc_jp"), "EUC-JP", JAPANESE),
        ("\uc81c\ubc29".encode("cp949"), "euc-kr", "\uc81c\ubc29"),
        ("\u957f\u6c5f".encode("gb18030"), "gb2312", "\u957f\u6c5f"),
        (b"caf\xc3\xa9", None, "caf\u00e9"),
        (b"caf\xc3\xa9", "no-such-charset", "caf\u00e9"),
        ("wei\u00df".encode("utf-16-le"), None, "wei\u00df"),
        (b"", None, ""),
    ],
)
def test_decode(data: bytes, declared: str | None, text: str) -> None:
    assert charset.decode(data, declared).text == text


def test_undeclared_single_byte_text_is_detected_and_said() -> None:
    decoded = charset.decode((RUSSIAN * 4).encode("cp1251"))
    assert decoded.text == RUSSIAN * 4
    assert decoded.source == "guessed"


def test_a_cut_last_character_is_damage_and_no_other_encoding() -> None:
    decoded = charset.decode("viele sch\u00f6ne Gr\u00fc\u00dfe aus K\u00f6ln \u2026".encode()[:-1])
    assert decoded.text.startswith("viele sch\u00f6ne Gr\u00fc\u00dfe")
    assert decoded.damaged == 1


def test_codecs_that_are_no_encodings_of_text_can_not_be_chosen() -> None:
    for label in ("rot13", "zlib", "hex", "idna", "unicode_escape", "utf-7", "base64"):
        assert charset.lookup(label) is None, label


def test_hints_inside_the_data() -> None:
    assert charset.html_hint(b"<!-- " + b"x" * 1500 + b"--><meta charset='windows-1252'><body>") == "windows-1252"
    assert charset.html_hint(b'<meta http-equiv=Content-Type content="text/html; charset=shift_jis">') == "shift_jis"
    assert charset.html_hint(b"<body><meta charset=koi8-r>") is None
    assert charset.xml_hint(b'<?xml version="1.0" encoding="ISO-8859-2"?>') == "ISO-8859-2"


@pytest.mark.parametrize("label", ["iso-8859-1", "windows-1252", "us-ascii"])
def test_utf8_under_the_label_that_servers_put_on_everything(label: str) -> None:
    assert charset.decode(RUSSIAN.encode(), label).text == RUSSIAN
    west = "Größe – „Façade“"
    assert charset.decode(west.encode("cp1252"), label).text == west


def test_undeclared_text_in_two_byte_encodings() -> None:
    page = f"<html><body><p>{RUSSIAN * 3}</p></body></html>"
    assert charset.decode(page.encode("utf-16-le")).text == page
    assert charset.decode(page.encode("utf-16-be")).text == page
    japanese = "<p>灯台の光は三日間続く予定です。</p>"
    assert charset.decode(japanese.encode("iso2022_jp")).text == japanese
