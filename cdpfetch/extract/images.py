"""Width and height of an image from its first bytes, without decoding it."""

from __future__ import annotations

import re
import struct

_JPEG_FRAMES = frozenset((0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF))
_NAMES = {
    "image/png": "PNG",
    "image/apng": "PNG",
    "image/jpeg": "JPEG",
    "image/gif": "GIF",
    "image/webp": "WebP",
    "image/x-icon": "ICO",
    "image/vnd.microsoft.icon": "ICO",
    "image/svg+xml": "SVG",
    "image/bmp": "BMP",
    "image/avif": "AVIF",
    "image/heic": "HEIC",
    "image/tiff": "TIFF",
}
_LENGTH = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*(?:px)?\s*\Z")
_SVG_TAG = re.compile(r"<(?:\w+:)?svg\b[^>]*>", re.DOTALL | re.IGNORECASE)


def size(data: bytes) -> tuple[int, int] | None:
    """``(width, height)`` in pixels, or None when the bytes do not tell."""
    try:
        return _size(data)
    except (struct.error, IndexError, ValueError):
        return None


def _size(data: bytes) -> tuple[int, int] | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return struct.unpack(">II", data[16:24])
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return struct.unpack("<HH", data[6:10])
    if data.startswith(b"\xff\xd8"):
        return _jpeg(data)
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return _webp(data)
    if data[:4] in (b"\x00\x00\x01\x00", b"\x00\x00\x02\x00"):
        return _icon(data)
    if data.startswith(b"BM"):
        width, height = struct.unpack("<ii", data[18:26])
        return width, abs(height)
    if data[4:8] == b"ftyp":
        at = data.find(b"ispe", 0, 65536)
        return struct.unpack(">II", data[at + 8 : at + 16]) if at > 0 else None
    if b"<svg" in data[:65536].lower() or b":svg" in data[:65536].lower():
        return svg_size(data[:65536].decode("utf-8", "replace"))
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 < len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in _JPEG_FRAMES:
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:
            at += 2
        else:
            at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return None


def _icon(data: bytes) -> tuple[int, int] | None:
    """The largest image of an icon file."""
    count = int.from_bytes(data[4:6], "little")
    sizes = [(data[at] or 256, data[at + 1] or 256) for at in range(6, 6 + 16 * count, 16) if at + 16 <= len(data)]
    return max(sizes, default=None)


def svg_size(text: str) -> tuple[int, int] | None:
    """Width and height attributes of the root element, else those of its viewBox."""
    tag = _SVG_TAG.search(text)
    if tag is None:
        return None
    width, height = _length(tag.group(), "width"), _length(tag.group(), "height")
    if width and height:
        return width, height
    box = re.search(r"""\bviewBox\s*=\s*["']([^"']+)["']""", tag.group())
    numbers = re.split(r"[\s,]+", box.group(1).strip()) if box else []
    return (round(float(numbers[2])), round(float(numbers[3]))) if len(numbers) == 4 else None


def _length(tag: str, name: str) -> int | None:
    found = re.search(rf"""\s{name}\s*=\s*["']([^"']*)["']""", tag)
    number = _LENGTH.match(found.group(1)) if found else None
    return round(float(number.group(1))) if number else None


def facts(data: bytes, content_type: str) -> tuple[str, ...]:
    """One fact on an image: its format and, where known, its dimensions."""
    name = _NAMES.get(content_type, content_type.partition("/")[2].upper())
    dimensions = size(data)
    return (f"{name} image, {dimensions[0]} \u00d7 {dimensions[1]} pixels" if dimensions else f"{name} image",)
