"""The first part of a ``multipart/x-mixed-replace`` body (RFC 2046): a camera's picture, say.  Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

_BOUNDARY = re.compile(r'boundary\s*=\s*(?:"([^"]{1,100})"|([^\s;,]{1,100}))', re.IGNORECASE)


class Part(NamedTuple):
    """One part: its Content-Type as sent (or None) and its bytes."""

    content_type: str | None
    body: bytes


def first_part(data: bytes, content_type: str) -> Part | None:
    """The first whole part of a body, or None when there is none."""
    match = _BOUNDARY.search(content_type)
    if match is None:
        return None
    # Servers differ in whether the parameter holds the leading dashes.
    mark = b"--" + (match[1] or match[2]).removeprefix("--").encode("latin-1", "replace")
    start = data.find(mark)
    if start < 0:
        return None
    head_end = re.compile(rb"\r?\n\r?\n").search(data, start)
    if head_end is None:
        return None
    headers: dict[str, str] = {}
    for line in data[start + len(mark) : head_end.start()].decode("latin-1").splitlines():
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    length = headers.get("content-length", "")
    if length.isdigit() and head_end.end() + int(length) <= len(data):
        body = data[head_end.end() : head_end.end() + int(length)]
    else:
        end = data.find(mark, head_end.end())
        if end < 0:
            return None
        body = data[head_end.end() : end].removesuffix(b"\n").removesuffix(b"\r")
    return Part(headers.get("content-type"), body) if body else None
