"""Bringing the disk and the manifest together after a run that was ended by force.  Blocks."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from cdpfetch.batch import results, shards
from cdpfetch.batch.manifest import Finish, Item, Manifest, Postpone, result_row
from cdpfetch.batch.store import Store


def adopt(manifest: Manifest, store: Store) -> int:
    """Take the documents whose fetches ended unseen as results; the other leased items are pending again.

    Returns how many there were.  A document that is still being written now is found by ``settle``.
    """
    leased = manifest.leased()
    for folder, items in _by_folder(leased).items():
        good = {document.get("url"): document for document in store.documents(folder).values() if document.get("ok")}
        outcomes: list[Finish | Postpone] = []
        for item in items:
            document = good.get(item.url)
            if document is None:
                outcomes.append(Postpone(item.id, item.tries, 0.0, lost=True))
            else:
                outcomes.append(Finish(item.id, item.tries + 1, result_row(item, document, folder)))
        manifest.commit(outcomes, ())
    return len(leased)


def settle(manifest: Manifest, store: Store) -> None:
    """Remove what a fetch that was lost sight of has brought besides the result.  Nothing is under way then."""
    lost = manifest.lost()
    for folder, items in _by_folder(lost).items():
        store.sweep(folder)
        mine = {item.url: item.fetch_id for item in items}
        for fetch_id, document in store.documents(folder).items():
            if document.get("url") in mine and mine[document["url"]] != fetch_id:
                store.remove(folder, fetch_id)
        manifest.settled(item.id for item in items)


def recall(manifest: Manifest, store: Store, kind: str) -> None:
    """Take the rows of items that are to be fetched again out of the files of results."""
    for shard in manifest.recalled():
        name = shards.result_name(shard, kind)
        members = manifest.members(shard)
        try:
            rows: list[dict[str, Any]] = results.decode(store.read(name), kind)
        except FileNotFoundError:
            continue  # it was not written yet, and will be without them
        store.write(name, results.encode((row for row in rows if row["item"] in members), kind))
    manifest.recall_done()


def write_results(manifest: Manifest, store: Store, kind: str) -> None:
    """Put every file of results in its place that was given rows."""
    for shard in manifest.unfinished():
        store.write(shards.result_name(shard, kind), results.encode(manifest.rows(shard), kind))
        manifest.written(shard)


def write_duplicates(manifest: Manifest, store: Store) -> None:
    """``duplicates.jsonl``: the lines that named a URL again, and the item that stands for each."""
    rows = [{"line": line, "url": url, "id": name, "item": item} for line, url, name, item in manifest.duplicates()]
    if rows:
        store.write("duplicates.jsonl", results.encode(rows, "jsonl"))


def postponed(item: Item, seconds: float, *, counts: bool, lost: bool = False) -> Postpone:
    """An item's next try, in so many seconds."""
    return Postpone(item.id, item.tries + counts, time.time() + seconds, lost)


def _by_folder(items: Iterable[Item]) -> dict[str, list[Item]]:
    found: defaultdict[str, list[Item]] = defaultdict(list)
    for item in items:
        found[shards.folder(item.id)].append(item)
    return found
