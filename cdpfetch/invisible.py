"""Characters that nobody sees but a model reads: taken out of what is read, except where a script needs them.

Tag characters, bidirectional controls, zero-width characters, stray variation selectors and control characters can
carry text past a reader's eyes.  Persian, the Indic scripts, Hebrew and emoji need some of them, in certain places.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

_SOFT_HYPHEN = "\u00ad"
_ZWSP, _ZWNJ, _ZWJ = "\u200b", "\u200c", "\u200d"
_MARKS = frozenset("\u200e\u200f\u061c")  # LRM, RLM, ALM: they only order what is around them
_FILLERS = frozenset("\u115f\u1160")
_TAG_FLAGS = ("gbeng", "gbsct", "gbwls")  # the sequences that Unicode recommends for interchange
_BLACK_FLAG, _CANCEL_TAG = "\U0001f3f4", "\U000e007f"

# Everything that is looked at.  Egyptian hieroglyphs' and number signs' format characters show, and are not in it.
_SUSPECTS = re.compile(
    "["
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "]"
)
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u061b\u061d-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
# Scripts whose letters join or stack: Arabic and its relatives, the Indic ones, Tibetan, Myanmar, Khmer, Mongolian.
_JOINING = re.compile(
    "[\u0600-\u08ff\u0900-\u0dff\u0e00-\u109f\u1780-\u18af\u1900-\u1cff\ua800-\ua8ff\ua930-\ua9df\uaa00-\uabff"
    "\ufb50-\ufdff\ufe70-\ufefc\U00010d00-\U00010d3f\U00010f30-\U00010fff\U00011000-\U00011fff\U0001e900-\U0001e95f]"
)
# Scripts that put no blanks between words and mark their borders with a zero-width one.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1980-\u19df\u1a20-\u1aaf\uaa60-\uaadf]")
_IDEOGRAPH = re.compile("[\u2e80-\u2fdf\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af]")
_JAMO = re.compile("[\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]")
_MONGOLIAN = re.compile("[\u1800-\u18af]")
_KHMER = re.compile("[\u1780-\u17ff]")
_KEYCAPS = frozenset("0123456789#*\u203c\u2049\u3030\u303d")


def clean(text: str) -> tuple[str, int]:
    """The text without what nobody sees, and how many characters that was; soft hyphens go uncounted.

    A line that shows right-to-left letters keeps single direction marks; single joiners stay beside letters that join
    and between the parts of an emoji; one variation selector stays after a character that has variants.  Takes linear
    time, and no line feed, so that line numbers stay.
    """
    kept: list[str] = []
    removed = 0
    position = 0
    line = _Line(text)
    for match in _SUSPECTS.finditer(text):
        index = match.start()
        if index < position:
            continue  # inside a flag that was kept as a whole
        kept.append(text[position:index])
        position = index + 1
        length = _needed(text, index, line)
        if length:
            kept.append(text[index : index + length])
            position = index + length
        elif text[index] != _SOFT_HYPHEN:
            removed += 1
    kept.append(text[position:])
    return "".join(kept), removed


class _Line:
    """Whether the line around an index shows right-to-left letters; asked with growing indexes, each line once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._end = -1  # of the line that was looked at last
        self._found = False

    def is_right_to_left(self, index: int) -> bool:
        if index >= self._end:
            bound = max(0, self._end)
            start = self._text.rfind("\n", bound, index) + 1 or bound
            end = self._text.find("\n", index)
            self._end = len(self._text) if end < 0 else end
            self._found = _RIGHT_TO_LEFT.search(self._text, start, self._end) is not None
        return self._found


def _needed(text: str, index: int, line: _Line) -> int:
    """How many characters from ``index`` on are needed where they stand; 0 when the one there is not."""
    char = text[index]
    before = text[index - 1] if index else ""
    after = text[index + 1 : index + 2]
    if char in _MARKS:
        return int(before not in _MARKS and line.is_right_to_left(index))
    if char in (_ZWNJ, _ZWJ):
        return int(_joins(char, before, after))
    if char == _ZWSP:
        return int(bool(_UNSPACED.match(before) and _UNSPACED.match(after)))
    if "\U000e0000" <= char <= "\U000e007f":
        return _flag(text, index) if before == _BLACK_FLAG else 0
    return int(_varies(char, before) or _fills(char, before, after))


def _joins(char: str, before: str, after: str) -> bool:
    if _SUSPECTS.match(before) and not "\ufe0e" <= before <= "\ufe0f":
        return False  # one of a run
    if char == _ZWJ and _is_pictorial(after) and (_is_pictorial(before) or before == "\ufe0f"):
        return True
    return bool(_JOINING.match(before) or _JOINING.match(after))


def _is_pictorial(char: str) -> bool:
    """Whether a character can be a part of an emoji: a symbol, or a tone of skin."""
    return bool(char) and (unicodedata.category(char) in ("So", "Sm") or "\U0001f3fb" <= char <= "\U0001f3ff")


def _flag(text: str, index: int) -> int:
    """The length of the tags of a flag of a part of the United Kingdom, or 0."""
    for name in _TAG_FLAGS:
        tags = "".join(chr(0xE0000 + ord(letter)) for letter in name) + _CANCEL_TAG
        if text.startswith(tags, index):
            return len(tags)
    return 0


def _varies(char: str, before: str) -> bool:
    """Whether a variation selector follows a character that has variants."""
    if not before or _SUSPECTS.match(before):
        return False
    if "\ufe0e" <= char <= "\ufe0f":
        return before in _KEYCAPS or unicodedata.category(before).startswith("S")
    if "\ufe00" <= char <= "\ufe0d":
        return before == "0" or unicodedata.category(before) in ("Sm", "So", "Lo")
    if "\U000e0100" <= char <= "\U000e01ef":
        return bool(_IDEOGRAPH.match(before))
    return "\u180b" <= char <= "\u180f" and bool(_MONGOLIAN.match(before))


def _fills(char: str, before: str, after: str) -> bool:
    """Whether a filler stands in a syllable of its script."""
    if char in _FILLERS:
        return bool(_JAMO.match(before if char == "\u1160" else after))
    return char in "\u17b4\u17b5" and bool(_KHMER.match(before))


def clean_data(value: Any) -> Any:
    """A JSON-ready value with all its texts cleaned."""
    if isinstance(value, str):
        return clean(value)[0]
    if isinstance(value, dict):
        return {key: clean_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(clean_data(item) for item in value)
    return value
