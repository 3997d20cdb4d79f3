"""The words of PDF pages with their places, fonts and links, as pdfium sees them (pypdfium2)."""

from __future__ import annotations

import ctypes
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import pypdfium2
import pypdfium2.raw as pdfium

# A page with more characters than this is cut there.
MAX_CHARS = 200_000
_MAX_LINKS = 2000
# Characters that tell how a page's text is turned.
_SAMPLE = 40
# Flags of a font descriptor (ISO 32000-1, table 123) and the weight from which a font is bold.
_FIXED_PITCH = 1
_FORCE_BOLD = 1 << 18
_BOLD_WEIGHT = 600
_BOLD_NAME = re.compile(r"bold|black|heavy|semibold|demi|CMBX|SFBX", re.IGNORECASE)
_MONO_NAME = re.compile(r"mono|courier|consol|typewriter|menlo|CMTT|SFTT|inconsolata|fixed", re.IGNORECASE)
_HYPHENS = frozenset((0x02, 0xFFFE))


class Locked(Exception):
    """The document needs a password."""


class Unreadable(Exception):
    """The file is no PDF that can be opened; the text says why."""


class Word(NamedTuple):
    """A run of characters without a blank; lengths in points, the origin at the lower left as the page is shown."""

    text: str
    left: float
    right: float
    base: float
    size: float
    bold: bool
    mono: bool
    turned: bool
    link: str


class Page(NamedTuple):
    """A page: its words in the order of the file, its size, and how many images it shows."""

    words: list[Word]
    width: float
    height: float
    images: int


class Document:
    """An open PDF; a context manager.  Raises Locked or Unreadable."""

    def __init__(self, path: str) -> None:
        try:
            self._pdf = pypdfium2.PdfDocument(path)
            self.pages = len(self._pdf)
        except pypdfium2.PdfiumError as error:
            if getattr(error, "err_code", None) == pdfium.FPDF_ERR_PASSWORD or "password" in str(error).lower():
                raise Locked from None
            raise Unreadable(str(error)) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ending: object) -> None:
        self._pdf.close()

    def about(self) -> dict[str, str]:
        """``Title``, ``Author``, ``CreationDate`` and the like, as far as the file has them."""
        try:
            return {key: value for key, value in self._pdf.get_metadata_dict().items() if value}
        except (pypdfium2.PdfiumError, UnicodeDecodeError):
            return {}

    def page(self, index: int) -> Page | None:
        """A page by its number from 0, or None when it is broken."""
        try:
            page = self._pdf[index]
        except (pypdfium2.PdfiumError, KeyError):
            return None
        try:
            text = page.get_textpage()
            try:
                width, height = page.get_size()
                shown = page.get_rotation() // 90 % 4
                turn = _turn(text.raw, shown)
                if (turn - shown) % 2:
                    width, height = height, width
                place = _Placing(turn, width, height)
                words = list(_words(text.raw, place, list(_links(self._pdf.raw, page.raw, place))))
            finally:
                text.close()
            images = (
                sum(1 for _ in page.get_objects(filter=(pdfium.FPDF_PAGEOBJ_IMAGE,), max_depth=3)) if not words else 0
            )
            return Page(words, width, height, images)
        except pypdfium2.PdfiumError:
            return None
        finally:
            page.close()


def _turn(text: Any, shown: int) -> int:
    """The right angles by which most of a page's text is turned; those by which the page is shown, without text."""
    count = min(pdfium.FPDFText_CountChars(text), MAX_CHARS)
    step = max(1, count // _SAMPLE)
    angles = Counter(
        -round(pdfium.FPDFText_GetCharAngle(text, index) / (math.pi / 2)) % 4
        for index in range(0, count, step)
        if pdfium.FPDFText_GetUnicode(text, index) > 32
    )
    return angles.most_common(1)[0][0] if angles else shown


class _Placing(NamedTuple):
    """How a page's own coordinates become those of its text upright: turned by so many right angles."""

    turn: int
    width: float
    height: float

    def point(self, x: float, y: float) -> tuple[float, float]:
        if self.turn == 1:
            return y, self.height - x
        if self.turn == 2:
            return self.width - x, self.height - y
        return (self.width - y, x) if self.turn == 3 else (x, y)


class _Link(NamedTuple):
    """The box of a link and its address."""

    left: float
    bottom: float
    right: float
    top: float
    address: str


def _links(pdf: Any, page: Any, place: _Placing) -> Iterator[_Link]:
    position, link = ctypes.c_int(0), pdfium.FPDF_LINK()
    for _ in range(_MAX_LINKS):
        if not pdfium.FPDFLink_Enumerate(page, position, link):
            return
        action = pdfium.FPDFLink_GetAction(link)
        if not action or pdfium.FPDFAction_GetType(action) != pdfium.PDFACTION_URI:
            continue
        length = pdfium.FPDFAction_GetURIPath(pdf, action, None, 0)
        buffer = ctypes.create_string_buffer(min(length, 8192))
        pdfium.FPDFAction_GetURIPath(pdf, action, buffer, len(buffer))
        address = buffer.value.decode("utf-8", "replace").strip()
        if address:
            yield from _boxes(link, place, address)


def _boxes(link: Any, place: _Placing, address: str) -> Iterator[_Link]:
    """The boxes of a link: one a line where the file says so."""
    quad, rect = pdfium.FS_QUADPOINTSF(), pdfium.FS_RECTF()
    count = pdfium.FPDFLink_CountQuadPoints(link)
    for index in range(min(count, 50)):
        if pdfium.FPDFLink_GetQuadPoints(link, index, quad):
            xs, ys = (quad.x1, quad.x2, quad.x3, quad.x4), (quad.y1, quad.y2, quad.y3, quad.y4)
            yield _box(place, (min(xs), min(ys)), (max(xs), max(ys)), address)
    if count <= 0 and pdfium.FPDFLink_GetAnnotRect(link, rect):
        yield _box(place, (rect.left, rect.bottom), (rect.right, rect.top), address)


def _box(place: _Placing, one: tuple[float, float], other: tuple[float, float], address: str) -> _Link:
    (a, b), (c, d) = place.point(*one), place.point(*other)
    return _Link(min(a, c), min(b, d), max(a, c), max(b, d), address)


class _Chars:
    """Reads single characters; the buffers of the calls are made once."""

    def __init__(self, text: Any, place: _Placing) -> None:
        self._text = text
        self._place = place
        self._box = [ctypes.c_double() for _ in range(4)]
        self._flags = ctypes.c_int()
        self._name = ctypes.create_string_buffer(128)
        self._fonts: dict[tuple[bytes, int, int], tuple[bool, bool]] = {}

    def extent(self, index: int) -> tuple[float, float, float]:
        """Left, right and bottom edge of a character."""
        left, right, bottom, top = self._box
        pdfium.FPDFText_GetCharBox(self._text, index, left, right, bottom, top)
        a, b = self._place.point(left.value, bottom.value)
        c, d = self._place.point(right.value, top.value)
        return min(a, c), max(a, c), min(b, d)

    def base(self, index: int) -> float:
        x, y = self._box[0], self._box[1]
        pdfium.FPDFText_GetCharOrigin(self._text, index, x, y)
        return self._place.point(x.value, y.value)[1]

    def turned(self, index: int) -> bool:
        """Whether a character does not stand upright on the page as it is shown."""
        angle = float(pdfium.FPDFText_GetCharAngle(self._text, index)) + self._place.turn * math.pi / 2
        return abs(math.sin(angle / 2)) > 0.1

    def font(self, index: int) -> tuple[bool, bool]:
        """Whether a character is bold, and whether its font has one width for all."""
        self._name.value = b""
        pdfium.FPDFText_GetFontInfo(self._text, index, self._name, len(self._name), self._flags)
        weight = pdfium.FPDFText_GetFontWeight(self._text, index)
        key = self._name.value, self._flags.value, weight
        known = self._fonts.get(key)
        if known is None:
            name, flags = key[0].decode("latin-1"), max(key[1], 0)
            bold = weight >= _BOLD_WEIGHT or bool(flags & _FORCE_BOLD) or bool(_BOLD_NAME.search(name))
            known = self._fonts[key] = bold, bool(flags & _FIXED_PITCH) or bool(_MONO_NAME.search(name))
        return known


def _words(text: Any, place: _Placing, links: list[_Link]) -> Iterator[Word]:
    chars = _Chars(text, place)
    codes: list[int] = []
    start, turned, left, right, base, size = 0, False, 0.0, 0.0, 0.0, 0.0
    for index in range(min(pdfium.FPDFText_CountChars(text), MAX_CHARS)):
        code = pdfium.FPDFText_GetUnicode(text, index)
        blank = (code <= 32 and code not in _HYPHENS) or code == 0xA0
        a, b, bottom = (0.0, 0.0, 0.0) if blank else chars.extent(index)
        # Blanks are told by pdfium; between the boxes of narrow letters of one width there may be much room.
        # Some scripts run to the left.
        gap = max(a - right, left - b)
        apart = not turned and (gap > 0.9 * size or gap < -3 * size or abs(bottom - base) > 1.2 * size)
        if codes and (blank or apart):
            yield _word(chars, start, codes, (left, right, base, size, turned), links)
            codes = []
        if blank:
            continue
        if not codes:
            start, left, right, turned = index, a, b, chars.turned(index)
            base, size = chars.base(index), max(1.0, _size(text, index))
        codes.append(code)
        left, right = min(left, a), max(right, b)
    if codes:
        yield _word(chars, start, codes, (left, right, base, size, turned), links)


def _size(text: Any, index: int) -> float:
    """The size of a character on the page: that of its font, scaled as it is drawn."""
    size = float(pdfium.FPDFText_GetFontSize(text, index))
    matrix = pdfium.FS_MATRIX()
    if pdfium.FPDFText_GetMatrix(text, index, matrix):
        size *= math.hypot(matrix.c, matrix.d) or 1.0
    return size


def _word(
    chars: _Chars, start: int, codes: list[int], place: tuple[float, float, float, float, bool], links: list[_Link]
) -> Word:
    left, right, base, size, turned = place
    bold, mono = chars.font(start)
    x, y = (left + right) / 2, base + size * 0.3
    link = next((one.address for one in links if one.left <= x <= one.right and one.bottom <= y <= one.top), "")
    text = "".join("\u00ad" if code in _HYPHENS else chr(code) for code in codes if code < 0x110000)
    if not text.isascii():
        # Characters beyond the first plane may come in halves.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return Word(text, left, right, base, size, bold, mono, turned, link)
