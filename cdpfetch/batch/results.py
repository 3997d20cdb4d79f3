"""Files of results: JSON Lines, or Parquet (extra ``parquet``).  Each is made whole from rows, or not at all."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import Any

from cdpfetch.errors import ConfigError

_LISTS = ("facts",)
_TEXTS = (
    "id", "url", "kind", "source", "link", "title", "excerpt", "content_type", "sha256", "verdict", "fetch_id", "dir",
)  # fmt: skip


def check(kind: str) -> None:
    """Raises ConfigError when results of this kind can't be written here."""
    if kind == "parquet":
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            raise ConfigError(
                "results as Parquet need pyarrow", "pip install 'cdpfetch[parquet]', or --results jsonl"
            ) from None


def encode(rows: Iterable[dict[str, Any]], kind: str) -> bytes:
    """The bytes of a file."""
    if kind == "parquet":
        return _parquet(list(rows))
    return b"".join(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n" for row in rows)


def decode(data: bytes, kind: str) -> list[dict[str, Any]]:
    """The rows of a file that ``encode`` made."""
    if kind == "parquet":
        import pyarrow.parquet

        return [dict(row) for row in pyarrow.parquet.read_table(io.BytesIO(data)).to_pylist()]
    return [json.loads(line) for line in data.splitlines()]


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    text = pa.string()
    noted = pa.list_(pa.struct([("code", text), ("message", text)]))
    body = [
        ("name", text),
        ("role", text),
        ("content_type", text),
        ("lines", pa.int64()),
        ("bytes", pa.int64()),
    ]
    schema = pa.schema(
        [
            ("item", pa.int64()),
            *((name, text) for name in _TEXTS),
            ("ok", pa.bool_()),
            ("facts", pa.list_(text)),
            ("status", pa.int32()),
            ("bytes", pa.int64()),
            ("coverage", pa.float64()),
            ("warnings", noted),
            ("bodies", pa.list_(pa.struct(body))),
            ("attempts", pa.list_(pa.struct([("source", text), ("code", text), ("reason", text)]))),
            ("error", pa.struct([("code", text), ("reason", text), ("hint", text)])),
            ("timings", pa.map_(text, pa.float64())),
        ]
    )
    flat = [
        {**row, "timings": list(row["timings"].items()) if isinstance(row["timings"], dict) else row["timings"]}
        for row in rows
    ]
    clean = json.loads(json.dumps(flat, ensure_ascii=False).encode("utf-8", "replace"))
    for row in clean:
        row["timings"] = [tuple(pair) for pair in row["timings"] if isinstance(pair[1], (int, float))]
    sink = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(clean, schema=schema), sink, compression="zstd")
    return sink.getvalue()
