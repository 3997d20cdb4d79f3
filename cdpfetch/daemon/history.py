"""Which sites were visited in the window: by Chrome's own history, once the window has closed."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
from urllib.parse import quote

from cdpfetch.daemon.sessions import site_of
from cdpfetch.errors import CdpFetchError
from cdpfetch.urls import parse_url

log = logging.getLogger(__name__)

# Seconds from 1601-01-01, where Chrome begins to count, to 1970-01-01.
_EPOCH = 11_644_473_600
# Seconds that a clock may be wrong, or a page be quicker than the note of its window.
_SLACK = 2.0
# Documents of frames (PageTransition AUTO_SUBFRAME and MANUAL_SUBFRAME) are nobody's visit.
_QUERY = """
    SELECT DISTINCT urls.url FROM visits JOIN urls ON urls.id = visits.url
    WHERE visits.visit_time >= ? AND visits.transition & 255 NOT IN (3, 4)
"""
_MAX = 100_000


def visited(directory: str, since: float) -> dict[str, set[str]]:
    """The origins whose pages were shown since ``since`` (seconds since the epoch) with the profile ``directory``.

    By their sites.
    What can't be read is told in the log and counts as none.
    """
    path = os.path.join(directory, "Default", "History")
    if not os.path.exists(path):
        return {}
    moment = int((since - _SLACK + _EPOCH) * 1_000_000)
    try:
        with contextlib.closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=2.0)) as database:
            rows = database.execute(_QUERY, (moment,)).fetchmany(_MAX)
    except sqlite3.Error as error:
        log.warning("%s can't be read: %s", path, error)
        return {}
    found: dict[str, set[str]] = {}
    for (text,) in rows:
        # Pages of other schemes are Chrome's own.
        with contextlib.suppress(CdpFetchError):
            url = parse_url(str(text))
            found.setdefault(site_of(url.host), set()).add("/".join(url.href.split("/")[:3]))
    return found
