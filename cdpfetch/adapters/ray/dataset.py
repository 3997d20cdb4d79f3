"""A stage of Ray Data that fetches the URLs of a column."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from zlib import crc32

from cdpfetch.adapters.ray.place import Place

_COLUMNS = ("ok", "title", "link", "status", "content_type", "verdict", "coverage", "fetch_id")


def fetch_dataset(
    dataset: Any,
    *,
    storage: str,
    url_column: str = "url",
    concurrency: int = 1,
    batch_size: int = 16,
    cpus: float = 2.0,
    settings: str = "",
    **options: Any,
) -> Any:
    """A dataset with the columns of ``dataset`` and what became of each URL.

    Added are ``ok, title, link, status, content_type, verdict, coverage, fetch_id``, ``dir`` (below ``storage``, an
    fsspec URL that all nodes reach; None where nothing was saved) and ``error`` (its code, or None).  ``concurrency``
    is the number of browsers, ``batch_size`` the URLs that one is given at once, ``cpus`` the cores that each counts
    for; ``options`` are those of ``cdpfetch.fetch``.  A fetch may be repeated where Ray repeats a task; politeness to
    hosts is kept by ``cdpfetch batch --engine ray``, not here.
    """
    return dataset.map_batches(
        Stage,
        fn_constructor_args=(storage, options, url_column, settings),
        concurrency=concurrency,
        batch_size=batch_size,
        num_cpus=cpus,
    )


class Stage:
    """What each actor of the stage runs; its browser ends with the actor."""

    def __init__(self, storage: str, options: Mapping[str, Any], url_column: str, settings: str) -> None:
        self._column = url_column
        self._runner = asyncio.Runner()
        self._place = Place(storage, options, settings)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        documents = self._runner.run(self._fetch([str(url) for url in batch[self._column]]))
        added: dict[str, list[Any]] = {name: [one[name] for one in documents] for name in _COLUMNS}
        added["dir"] = [f"{folder_of(one['url'])}/{one['fetch_id']}" if one["fetch_id"] else None for one in documents]
        added["error"] = [one["error"]["code"] if one["error"] else None for one in documents]
        return {**batch, **added}

    async def _fetch(self, urls: list[str]) -> list[dict[str, Any]]:
        return list(await asyncio.gather(*(self._place.fetch(url, folder_of(url)) for url in urls)))

    def __del__(self) -> None:
        self._runner.run(self._place.close())
        self._runner.close()


def folder_of(url: str) -> str:
    """The folder of a URL's document: two levels, by a checksum."""
    digest = f"{crc32(url.encode('utf-8', 'replace')):08x}"
    return f"{digest[:2]}/{digest[2:4]}"
