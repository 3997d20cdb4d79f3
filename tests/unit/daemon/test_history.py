"""Which sites a window has visited, by a history as Chrome writes it."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from cdpfetch.daemon.history import visited

EPOCH = 11_644_473_600
TYPED, LINK, AUTO_SUBFRAME, MANUAL_SUBFRAME = 1, 0, 3, 4


def profile(tmp_path: Path, *visits: tuple[str, float, int]) -> str:
    (tmp_path / "Default").mkdir()
    with closing(sqlite3.connect(tmp_path / "Default" / "History")) as database:
        database.execute("CREATE TABLE urls (id INTEGER PRIMARY KEY, url TEXT)")
        database.execute(
            "CREATE TABLE visits (id INTEGER PRIMARY KEY, url INTEGER, visit_time INTEGER, transition INTEGER)"
        )
        for number, (url, when, transition) in enumerate(visits):
            database.execute("INSERT INTO urls VALUES (?, ?)", (number, url))
            moment = int((when + EPOCH) * 1_000_000)
            database.execute(
                "INSERT INTO visits (url, visit_time, transition) VALUES (?, ?, ?)", (number, moment, transition)
            )
        database.commit()
    return str(tmp_path)


def test_pages_since_the_window_opened(tmp_path: Path) -> None:
    now = time.time()
    directory = profile(
        tmp_path,
        ("https://long.ago.example.org/", now - 3600, TYPED),
        ("https://login.example.co.uk/a?b", now + 5, TYPED | 0x30000000),
        ("https://www.example.co.uk:8443/", now + 6, LINK),
        ("http://127.0.0.1:8000/x", now, LINK),
        ("https://frame.example.net/", now + 7, AUTO_SUBFRAME),
        ("https://frame.example.net/2", now + 7, MANUAL_SUBFRAME | 0x10000000),
        ("chrome://settings/", now + 8, TYPED),
        ("file:///etc/passwd", now + 8, TYPED),
        ("not an address", now + 8, TYPED),
    )
    assert visited(directory, now) == {
        "example.co.uk": {"https://login.example.co.uk", "https://www.example.co.uk:8443"},
        "127.0.0.1": {"http://127.0.0.1:8000"},
    }


def test_a_history_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    assert visited(str(tmp_path), 0.0) == {}
    (tmp_path / "Default").mkdir()
    (tmp_path / "Default" / "History").write_bytes(b"no database at all" * 100)
    assert visited(str(tmp_path), 0.0) == {}
