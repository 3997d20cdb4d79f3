"""The manifest of a batch: what is known of every URL, in SQLite (WAL), so that a kill at any moment loses nothing.

An item is pending, leased (a fetch of it may be under way) or done.  A done item's row of the results stays here
until the file that holds it is in its place; so each row is in exactly one file.  One thread at a time.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cdpfetch import artifacts
from cdpfetch.batch.input import Block, Entry
from cdpfetch.calls import failed
from cdpfetch.errors import InvalidRequest

VERSION = 1
PENDING, LEASED, DONE = 0, 1, 2
_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE input (block INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, lines INTEGER NOT NULL, digest BLOB NOT NULL);
CREATE TABLE items (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,   -- digest of the canonical URL
    url TEXT NOT NULL,
    name TEXT,                  -- the input's own id
    host TEXT NOT NULL,
    line INTEGER NOT NULL,
    state INTEGER NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,   -- those that count
    due REAL NOT NULL DEFAULT 0,        -- not before (seconds since the epoch)
    again INTEGER NOT NULL DEFAULT 0,   -- whether a fetch was lost sight of, so that a second document may come
    code TEXT,
    verdict TEXT,
    fetch_id TEXT,
    shard INTEGER,                      -- the file of its row
    row TEXT                            -- its row, until that file is there
);
CREATE TABLE duplicates (line INTEGER PRIMARY KEY, url TEXT NOT NULL, name TEXT, item INTEGER NOT NULL);
CREATE INDEX ready ON items (host, due, id) WHERE state = 0;
CREATE INDEX leased ON items (id) WHERE state = 1;
CREATE INDEX lost ON items (id) WHERE again = 1;
CREATE INDEX unwritten ON items (id) WHERE row IS NOT NULL AND shard IS NULL;
CREATE INDEX writing ON items (shard) WHERE row IS NOT NULL;
"""


class Item(NamedTuple):
    """One URL; ``fetch_id`` is that of its result, if it has one that is on disk."""

    id: int
    url: str
    name: str | None
    host: str
    tries: int
    fetch_id: str | None = None


class Finish(NamedTuple):
    """A final outcome."""

    item: int
    tries: int
    row: Mapping[str, Any]


class Postpone(NamedTuple):
    """An outcome that is not final: the item is pending again, from ``due`` (seconds since the epoch) on."""

    item: int
    tries: int
    due: float
    lost: bool = False  # whether its fetch may still be going on somewhere


class Manifest:
    """Owns the database.  Methods raise ``sqlite3.Error`` when it can't be used."""

    def __init__(self, path: str, settings: Mapping[str, str]) -> None:
        """Open or make the manifest; ``settings`` are what runs in one directory must have in common.

        Raises InvalidRequest for a manifest of another version or with other settings.
        """
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10.0)
        try:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute("PRAGMA cache_size = -65536")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                self._create(settings)
            elif version != VERSION:
                raise InvalidRequest(
                    f"{path} is a manifest of version {version}, and this cdpfetch knows {VERSION}",
                    "use the cdpfetch that made it, or another -o DIR",
                )
            self._compare(path, settings)
            self.pending = self._count("state = 0")
            self.items: int = self._db.execute("SELECT coalesce(max(id), 0) FROM items").fetchone()[0]
            self.unwritten = self._count("row IS NOT NULL AND shard IS NULL")
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        """Safe to call again."""
        self._db.close()

    def _create(self, settings: Mapping[str, str]) -> None:
        script = f"BEGIN;{_SCHEMA}PRAGMA user_version = {VERSION};"
        self._db.executescript(script)
        self._db.executemany("INSERT INTO meta VALUES (?, ?)", settings.items())
        self._db.execute("COMMIT")

    def _compare(self, path: str, settings: Mapping[str, str]) -> None:
        kept = dict(self._db.execute("SELECT name, value FROM meta"))
        for name, value in settings.items():
            if kept.get(name) != value:
                raise InvalidRequest(
                    f"{path} was begun with {name} {kept.get(name)!r}, not {value!r}",
                    f"give --{name} {kept.get(name)}, or another -o DIR",
                )

    def _count(self, condition: str) -> int:
        return int(self._db.execute(f"SELECT count(*) FROM items WHERE {condition}").fetchone()[0])  # noqa: S608 - fixed texts

    # Input

    def blocks(self) -> list[tuple[int, bytes]]:
        """Length and digest of the blocks that were read, in order."""
        return self._db.execute("SELECT bytes, digest FROM input ORDER BY block").fetchall()

    def read_so_far(self) -> tuple[int, int]:
        """Bytes and lines of the input that are known."""
        row = self._db.execute("SELECT coalesce(sum(bytes), 0), coalesce(sum(lines), 0) FROM input").fetchone()
        return int(row[0]), int(row[1])

    def add(self, block: Block, first_line: int) -> None:
        """Take in a block of the input, as a whole."""
        with _Transaction(self._db):
            for entry in block.entries(first_line):
                self._add(entry)
            lines = block.lines
            self._db.execute(
                "INSERT INTO input (bytes, lines, digest) VALUES (?, ?, ?)", (len(block.data), lines, block.digest)
            )

    def _add(self, entry: Entry) -> None:
        row = None
        if entry.error is not None:
            row = result_row(Item(0, entry.url, None, "", 0), failed(entry.url, entry.error), None)
        state = PENDING if row is None else DONE
        done = self._db.execute(
            "INSERT INTO items (key, url, name, host, line, state, code, row) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (key) DO NOTHING",
            (
                entry.key,
                _storable(entry.url),
                entry.name,
                entry.host,
                entry.line,
                state,
                entry.error.code if entry.error else None,
                None if row is None else json.dumps(row),
            ),
        )
        if done.rowcount == 0:
            self._db.execute(
                "INSERT INTO duplicates SELECT ?, ?, ?, id FROM items WHERE key = ?",
                (entry.line, _storable(entry.url), entry.name, entry.key),
            )
            return
        self.items += 1
        if row is None:
            self.pending += 1
        else:
            self.unwritten += 1

    # Work

    def next_host(self, after: str) -> tuple[str, float] | None:
        """The next host behind ``after`` that has pending items, and when the first of them is due."""
        row = self._db.execute(
            "SELECT host, due FROM items WHERE state = 0 AND host > ? ORDER BY host, due LIMIT 1", (after,)
        ).fetchone()
        return None if row is None else (row[0], row[1])

    def due(self, host: str, now: float, limit: int) -> list[Item]:
        """Pending items of a host that may be fetched."""
        rows = self._db.execute(
            "SELECT id, url, name, host, tries FROM items WHERE state = 0 AND host = ? AND due <= ?"
            " ORDER BY due, id LIMIT ?",
            (host, now, limit),
        )
        return [Item(*row) for row in rows]

    def commit(self, outcomes: Sequence[Finish | Postpone], leases: Iterable[int]) -> None:
        """Record, at once, what ended and what begins."""
        begun = [(item,) for item in leases]
        with _Transaction(self._db):
            for outcome in outcomes:
                if isinstance(outcome, Finish):
                    self._finish(outcome)
                else:
                    self._db.execute(
                        "UPDATE items SET state = 0, tries = ?, due = ?, again = again OR ? WHERE id = ? AND state = 1",
                        (outcome.tries, outcome.due, outcome.lost, outcome.item),
                    )
                    self.pending += 1
            self._db.executemany("UPDATE items SET state = 1 WHERE id = ? AND state = 0", begun)
            self.pending -= len(begun)

    def _finish(self, outcome: Finish) -> None:
        row = outcome.row
        error = row["error"]
        self._db.execute(
            "UPDATE items SET state = 2, tries = ?, code = ?, verdict = ?, fetch_id = ?, row = ?"
            " WHERE id = ? AND state = 1",
            (
                outcome.tries,
                error["code"] if error else None,
                row["verdict"],
                row["fetch_id"],
                json.dumps(row),
                outcome.item,
            ),
        )
        self.unwritten += 1

    def leased(self) -> list[Item]:
        """Items whose fetch was under way when the last run ended by force."""
        return [Item(*row) for row in self._db.execute("SELECT id, url, name, host, tries FROM items WHERE state = 1")]

    def lost(self) -> list[Item]:
        """Done items of which a second document may have come."""
        columns = "id, url, name, host, tries, fetch_id"
        rows = self._db.execute(f"SELECT {columns} FROM items WHERE again = 1 AND state = 2")  # noqa: S608 - fixed texts
        return [Item(*row) for row in rows]

    def settled(self, items: Iterable[int]) -> None:
        """Second documents of these are gone."""
        with _Transaction(self._db):
            self._db.executemany("UPDATE items SET again = 0 WHERE id = ?", [(item,) for item in items])

    def retry_failed(self) -> None:
        """Make items that failed pending again, but for invalid URLs; their rows are taken back (see ``recalled``)."""
        condition = "state = 2 AND code IS NOT NULL AND host <> ''"
        with _Transaction(self._db):
            shards = self._db.execute(f"SELECT DISTINCT shard FROM items WHERE {condition} AND shard IS NOT NULL")  # noqa: S608
            known = {*self.recalled(), *(row[0] for row in shards)}
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('recalled', ?)", (json.dumps(sorted(known)),))
            self._db.execute(
                "UPDATE items SET state = 0, tries = 0, due = 0, again = 1, code = NULL, verdict = NULL,"  # noqa: S608 - fixed texts
                f" fetch_id = NULL, shard = NULL, row = NULL WHERE {condition}"
            )
        self.pending = self._count("state = 0")
        self.unwritten = self._count("row IS NOT NULL AND shard IS NULL")

    def recalled(self) -> list[int]:
        """Files of results from which rows are to be removed."""
        row = self._db.execute("SELECT value FROM meta WHERE name = 'recalled'").fetchone()
        return json.loads(row[0]) if row else []

    def recall_done(self) -> None:
        """Those rows are removed."""
        self._db.execute("DELETE FROM meta WHERE name = 'recalled'")

    def members(self, shard: int) -> set[int]:
        """The items whose rows belong in a file."""
        return {row[0] for row in self._db.execute("SELECT id FROM items WHERE shard = ? AND state = 2", (shard,))}

    # Results

    def gather(self, limit: int) -> None:
        """Give up to ``limit`` rows that are in no file the next file."""
        with _Transaction(self._db):
            row = self._db.execute("SELECT value FROM meta WHERE name = 'shards'").fetchone()
            number = int(row[0]) if row else 0
            taken = self._db.execute(
                "UPDATE items SET shard = ? WHERE id IN"
                " (SELECT id FROM items WHERE row IS NOT NULL AND shard IS NULL LIMIT ?)",
                (number, limit),
            ).rowcount
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('shards', ?)", (str(number + 1),))
            self.unwritten -= taken

    def unfinished(self) -> list[int]:
        """Files that were given rows, and may not be there."""
        return [
            row[0] for row in self._db.execute("SELECT DISTINCT shard FROM items WHERE row IS NOT NULL AND shard >= 0")
        ]

    def rows(self, shard: int) -> list[dict[str, Any]]:
        """The rows of a file, in the order of the input."""
        found = self._db.execute(
            "SELECT id, name, row FROM items WHERE shard = ? AND row IS NOT NULL ORDER BY id", (shard,)
        )
        return [{**json.loads(row), "item": item, "id": name} for item, name, row in found]

    def written(self, shard: int) -> None:
        """A file is in its place."""
        self._db.execute("UPDATE items SET row = NULL WHERE shard = ? AND row IS NOT NULL", (shard,))

    def duplicates(self) -> Iterable[tuple[int, str, str | None, int]]:
        """Lines that name a URL again: (line, url, id, item that stands for it)."""
        return self._db.execute("SELECT line, url, name, item FROM duplicates ORDER BY line")

    def totals(self) -> list[tuple[int, str | None, str | None, int]]:
        """How many items there are of each (state, error code, verdict)."""
        return self._db.execute("SELECT state, code, verdict, count(*) FROM items GROUP BY 1, 2, 3").fetchall()

    def duplicate_count(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM duplicates").fetchone()[0])


class _Transaction:
    """All of it, or nothing."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._db.execute("COMMIT" if kind is None else "ROLLBACK")


def _storable(text: str) -> str:
    """A text as UTF-8 has it: a lone surrogate, which a JSON input may hold, as a question mark."""
    return text.encode("utf-8", "replace").decode()


_KEPT = (
    "ok kind source link title facts excerpt status content_type bytes sha256 verdict coverage warnings"
    " fetch_id bodies attempts error timings"
).split()


def result_row(item: Item, document: Mapping[str, Any], folder: str | None) -> dict[str, Any]:
    """The row of a document; its ``dir`` is below ``folder``, relative to the batch's directory."""
    whole = {**artifacts.new_document(item.url), **document}
    row = {"item": item.id, "id": item.name, "url": item.url, **{name: whole[name] for name in _KEPT}}
    row["bodies"] = [{name: body[name] for name in body if name != "path"} for body in whole["bodies"]]
    row["dir"] = f"{folder}/{whole['fetch_id']}" if whole["fetch_id"] else None
    return row
