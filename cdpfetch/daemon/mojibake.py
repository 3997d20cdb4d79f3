"""Undeclared UTF-8 that a browser took for windows-1252, put right.  Pure.

Browsers do not guess UTF-8: a page that names no encoding anywhere is read as
windows-1252 (WHATWG HTML, "encoding sniffing algorithm", last step), and its UTF-8
sequences appear as two to four signs each.
"""

from __future__ import annotations

import re

# Bytes 0x80 to 0x9F in windows-1252 as the WHATWG Encoding standard has it: five of them stay C1 controls.
_HIGH = {
    0x20AC: 0x80, 0x201A: 0x82, 0x0192: 0x83, 0x201E: 0x84, 0x2026: 0x85, 0x2020: 0x86, 0x2021: 0x87, 0x02C6: 0x88,
    0x2030: 0x89, 0x0160: 0x8A, 0x2039: 0x8B, 0x0152: 0x8C, 0x017D: 0x8E, 0x2018: 0x91, 0x2019: 0x92, 0x201C: 0x93,
    0x201D: 0x94, 0x2022: 0x95, 0x2013: 0x96, 0x2014: 0x97, 0x02DC: 0x98, 0x2122: 0x99, 0x0161: 0x9A, 0x203A: 0x9B,
    0x0153: 0x9C, 0x017E: 0x9E, 0x0178: 0x9F,
}  # fmt: skip
_TABLE = {code: chr(byte) for code, byte in _HIGH.items()}
_RUN = re.compile("[\x80-\xff" + "".join(chr(code) for code in _HIGH) + "]+")


def repair(text: str) -> str:
    """The text with every run of such signs decoded, or as it is when one of the runs is no UTF-8.

    One run that does not decode says that the page really is in windows-1252.
    """
    runs = set(_RUN.findall(text))
    decoded: dict[str, str] = {}
    for run in runs:
        try:
            decoded[run] = run.translate(_TABLE).encode("latin-1").decode("utf-8")
        except UnicodeError:
            return text
    return _RUN.sub(lambda match: decoded[match[0]], text) if decoded else text
