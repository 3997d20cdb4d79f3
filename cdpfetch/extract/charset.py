"""Bytes to text as the Encoding standard says: byte order mark, then the declared label, then detection."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

# Labels of the Encoding standard whose decoder is not the one that Python gives for the same name.
_OVERRIDES = {
    "ascii": "cp1252",
    "us-ascii": "cp1252",
    "ansi_x3.4-1968": "cp1252",
    "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252",
    "iso88591": "cp1252",
    "iso_8859-1": "cp1252",
    "iso_8859-1:1987": "cp1252",
    "iso-ir-100": "cp1252",
    "l1": "cp1252",
    "latin1": "cp1252",
    "cp819": "cp1252",
    "ibm819": "cp1252",
    "x-cp1250": "cp1250",
    "x-cp1251": "cp1251",
    "x-cp1252": "cp1252",
    "iso-8859-9": "cp1254",
    "iso8859-9": "cp1254",
    "iso_8859-9": "cp1254",
    "latin5": "cp1254",
    "l5": "cp1254",
    "iso-8859-11": "cp874",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "dos-874": "cp874",
    "windows-874": "cp874",
    "gb2312": "gb18030",
    "gb_2312": "gb18030",
    "gb_2312-80": "gb18030",
    "gbk": "gb18030",
    "x-gbk": "gb18030",
    "chinese": "gb18030",
    "csgb2312": "gb18030",
    "big5": "big5hkscs",
    "big5-hkscs": "big5hkscs",
    "cn-big5": "big5hkscs",
    "x-x-big5": "big5hkscs",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "sjis": "cp932",
    "x-sjis": "cp932",
    "ms_kanji": "cp932",
    "csshiftjis": "cp932",
    "windows-31j": "cp932",
    "ms932": "cp932",
    "x-euc-jp": "euc_jp",
    "iso-2022-jp": "iso2022_jp_ext",
    "csiso2022jp": "iso2022_jp_ext",
    "euc-kr": "cp949",
    "cseuckr": "cp949",
    "korean": "cp949",
    "ks_c_5601-1987": "cp949",
    "ks_c_5601-1989": "cp949",
    "ksc5601": "cp949",
    "ksc_5601": "cp949",
    "windows-949": "cp949",
    "koi": "koi8_r",
    "koi8": "koi8_r",
    "koi8-ru": "koi8_u",
    "macintosh": "mac_roman",
    "mac": "mac_roman",
    "x-mac-roman": "mac_roman",
    "x-mac-cyrillic": "mac_cyrillic",
    "x-mac-ukrainian": "mac_cyrillic",
    "logical": "iso8859_8",
    "visual": "iso8859_8",
    "iso-8859-8-i": "iso8859_8",
    "iso-8859-8-e": "iso8859_8",
    "utf-16": "utf_16_le",
    "utf-16le": "utf_16_le",
    "utf-16be": "utf_16_be",
    "unicode": "utf_16_le",
    "ucs-2": "utf_16_le",
    "iso-10646-ucs-2": "utf_16_le",
    "csunicode": "utf_16_le",
    "unicodefeff": "utf_16_le",
    "unicodefffe": "utf_16_be",
    "utf8": "utf_8",
    "unicode-1-1-utf-8": "utf_8",
    "x-unicode20utf8": "utf_8",
    "unicode11utf8": "utf_8",
    "unicode20utf8": "utf_8",
}
_BOMS = ((b"\xef\xbb\xbf", "utf_8"), (b"\xff\xfe", "utf_16_le"), (b"\xfe\xff", "utf_16_be"))
# Codecs that are no text encodings of the web, or that a page must not be able to choose.
_TEXT_CODEC = re.compile(
    r"(cp|koi8|iso8859|iso2022|mac|euc|gb|big5|utf_8$|utf-8$|utf_16_|utf-16-|utf_32|shift|johab|hz|tis|kz|ptcp)"
)
# Labels of the western world, which are also the wrong ones most often.
_WESTERN = frozenset(("cp1252", "iso8859-1", "ascii"))
_TWO_BYTES = re.compile(rb"\x1b\$[@B].{2,}?\x1b\([BJ]", re.DOTALL)
# Detection looks at no more than this much: enough for letter statistics.
_SAMPLE = 64 << 10


class Decoded(NamedTuple):
    """A decoded text.

    Attributes:
        text: the characters, without byte order mark.
        encoding: the codec that was used.
        source: ``bom``, ``declared``, ``utf-8`` (valid as such) or ``guessed``.
        damaged: how many replacement characters the decoder put in.
    """

    text: str
    encoding: str
    source: str
    damaged: int = 0


def lookup(label: str | None) -> str | None:
    """The Python codec for a label of the Encoding standard, or None when there is none."""
    if not label:
        return None
    key = label.strip(" \t\r\n\f\"'").lower()
    name = _OVERRIDES.get(key, key)
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    found = _OVERRIDES.get(found, found)
    return found if _TEXT_CODEC.match(found.replace("-", "_")) else None


def decode(data: bytes, declared: str | None = None, *, hint: str | None = None) -> Decoded:
    """Decode ``data``.

    A byte order mark wins over ``declared`` (the header's label); without both, ``hint`` (a label found inside the
    data), valid UTF-8, and statistics are tried in this order.  Never raises: what can't be decoded becomes U+FFFD.
    """
    for mark, codec in _BOMS:
        if data.startswith(mark):
            return _finish(data[len(mark) :], codec, "bom")
    for label in (declared, hint):
        if codec_name := lookup(label):
            if codec_name in _WESTERN and _is_utf8(data):
                # The label that servers put on everything.
                return _finish(data, "utf_8", "utf-8")
            return _finish(data, codec_name, "declared")
    if guess := _utf16_pattern(data) or _escaped(data):
        return _finish(data, guess, "guessed")
    try:
        return Decoded(data.decode("utf-8"), "utf_8", "utf-8")
    except UnicodeDecodeError as error:
        # One broken or cut character at the very end, or a few in a long text, are damage and no other encoding.
        if error.start >= len(data) - 3 or _mostly_utf8(data):
            return _finish(data, "utf_8", "utf-8")
    return _finish(data, detect(data), "guessed")


def detect(data: bytes) -> str:
    """The most likely codec of undeclared bytes that are not UTF-8; windows-1252 when nothing speaks for another."""
    from charset_normalizer import from_bytes

    sample = data[:_SAMPLE]
    best = from_bytes(sample, steps=5, chunk_size=512).best()
    return lookup(best.encoding) or "cp1252" if best is not None else "cp1252"


def _utf16_pattern(data: bytes) -> str | None:
    """UTF-16 without a mark: NUL in every other byte of a text that is mostly ASCII."""
    sample = data[:2048]
    if len(sample) < 8 or 0 not in sample:
        return None
    pairs = len(sample) // 2
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    # Markup around a text of another script is ASCII enough.
    marked = {b"<\0": "utf_16_le", b"\0<": "utf_16_be"}.get(sample[:2])
    if (odd > pairs * 0.7 and even < pairs * 0.1) or (marked == "utf_16_le" and odd > pairs * 0.2 > even * 4):
        return "utf_16_le"
    if (even > pairs * 0.7 and odd < pairs * 0.1) or (marked == "utf_16_be" and even > pairs * 0.2 > odd * 4):
        return "utf_16_be"
    return None


def _escaped(data: bytes) -> str | None:
    """ISO-2022-JP, which says by escapes where its two-byte characters begin."""
    sample = data[:_SAMPLE]
    return "iso2022_jp" if _TWO_BYTES.search(sample) and sample.isascii() else None


def _is_utf8(data: bytes) -> bool:
    """Whether bytes are UTF-8, and not only ASCII: no text in another encoding is by chance."""
    if data.isascii():
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _mostly_utf8(data: bytes) -> bool:
    text = data[:_SAMPLE].decode("utf-8", "replace")
    bad = text.count("\ufffd")
    good = sum(1 for char in text if char > "\x7f") - bad
    return good > 20 * bad


def _finish(data: bytes, codec: str, source: str) -> Decoded:
    if codec in ("utf_16_le", "utf_16_be", "utf-16-le", "utf-16-be") and len(data) % 2:
        data = data[:-1]
    try:
        return Decoded(data.decode(codec), codec, source)
    except UnicodeDecodeError:
        pass
    if codec.startswith(("cp125", "cp874")):
        # The standard maps the unassigned bytes of these to the control characters of the same number.
        return Decoded(data.decode(codec, _C1_HANDLER), codec, source)
    text = data.decode(codec, "replace")
    return Decoded(text, codec, source, text.count("\ufffd"))


def _c1(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(map(chr, error.object[error.start : error.end])), error.end


_C1_HANDLER = "cdpfetch-c1"
codecs.register_error(_C1_HANDLER, _c1)

_META = re.compile(
    rb"""<meta[^>]{0,300}?\bcharset\s*=\s*["']?\s*([a-zA-Z0-9_:.\-]+)""",
    re.IGNORECASE,
)
_XML_DECLARATION = re.compile(rb"""^\s*<\?xml[^>]{0,100}?\bencoding\s*=\s*["']([a-zA-Z0-9_:.\-]+)["']""")


def html_hint(data: bytes) -> str | None:
    """The label that an HTML document gives itself within its head, or None."""
    head = re.split(rb"<body\b", data[:65536], maxsplit=1, flags=re.IGNORECASE)[0]
    found = _META.search(head)
    label = found.group(1).decode("ascii") if found else xml_hint(data)
    # A document whose meta element can be read as ASCII is not UTF-16, whatever it says.
    return "utf-8" if label and label.lower().startswith("utf-16") else label


def xml_hint(data: bytes) -> str | None:
    """The encoding of an XML declaration, or None."""
    found = _XML_DECLARATION.match(data[:300])
    return found.group(1).decode("ascii") if found else None
