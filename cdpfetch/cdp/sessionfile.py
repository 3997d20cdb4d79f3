"""What a Chrome window shows, by the file in which it notes its tabs for the next start; pure.

A window without a debugging switch tells nobody what it shows, but Chrome writes each navigation of each tab, with its
HTTP status, to ``Default/Sessions/Session_*`` within seconds (2.5 s after the change; measured with version 156).  The
layout is that of Chromium's ``components/sessions``: ``SNSS``, a version, then commands of a length (16 bits), a number
(8 bits) and a payload; the one of a navigation holds a pickle of 32-bit values, each padded to four bytes.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

_MAGIC = b"SNSS"
# kCommandUpdateTabNavigation
_NAVIGATION = 6


class Shown(NamedTuple):
    """One navigation of one tab; ``status`` is 0 where Chrome has noted none."""

    tab: int
    url: str
    status: int


class _Pickle:
    """Reads the values of a pickle in order; raises struct.error beyond its end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 4  # behind the pickle's own length

    def number(self) -> int:
        """A signed 32-bit value."""
        (value,) = struct.unpack_from("<i", self._data, self._at)
        self._at += 4
        return int(value)

    def skip(self, size: int) -> None:
        self._at += size

    def text(self, width: int = 1) -> bytes:
        """A string of characters of ``width`` bytes."""
        size = self.number() * width
        if size < 0 or self._at + size > len(self._data):
            raise struct.error("a string goes beyond its pickle")
        value = self._data[self._at : self._at + size]
        self._at += size + -size % 4
        return value


def navigations(data: bytes) -> list[Shown]:
    """The navigations in the order in which they were noted; what can't be read is left out."""
    found: list[Shown] = []
    if not data.startswith(_MAGIC):
        return found
    at = 8
    while at + 3 <= len(data):
        (size,) = struct.unpack_from("<H", data, at)
        command, payload = data[at + 2], data[at + 3 : at + 2 + size]
        at += 2 + size
        if at > len(data) or command != _NAVIGATION:
            continue
        try:
            found.append(_navigation(payload))
        except struct.error:
            continue
    return found


def _navigation(payload: bytes) -> Shown:
    """By SerializedNavigationEntry::WriteToPickle; raises struct.error."""
    pickle = _Pickle(payload)
    tab = pickle.number()
    pickle.number()  # its place in the tab's history
    url = pickle.text().decode("utf-8", "replace")
    pickle.text(2)  # the title, of the document before at this moment
    pickle.text()  # the page's state
    pickle.skip(8)  # how it was come to, and whether by POST
    pickle.text()  # the referrer
    pickle.skip(4)  # its policy
    pickle.text()  # the address that was asked for
    pickle.skip(4 + 8)  # whether the user agent is another, and when
    pickle.text(2)  # what was searched for
    return Shown(tab, url, pickle.number())
