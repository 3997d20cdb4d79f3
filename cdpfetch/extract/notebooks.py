"""Jupyter notebooks as Markdown: prose as it is, code in fences, outputs in bounded fences."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_OUTPUT_CHARS = 20_000
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class NotANotebook(ValueError):
    """The text is no notebook of a known version."""


def markdown(text: str) -> str:
    """The Markdown of a notebook.  Raises NotANotebook."""
    try:
        book = json.loads(text)
    except (ValueError, RecursionError):
        raise NotANotebook("it is not JSON") from None
    cells = book.get("cells") if isinstance(book, dict) else None
    if cells is None and isinstance(book, dict) and isinstance(book.get("worksheets"), list):
        sheets = [sheet for sheet in book["worksheets"] if isinstance(sheet, dict)]
        cells = [cell for sheet in sheets for cell in sheet.get("cells", [])]
    if not isinstance(cells, list):
        raise NotANotebook("it has no cells")
    language = _language(book.get("metadata"))
    parts = [part for cell in cells if isinstance(cell, dict) for part in _cell(cell, language)]
    return "\n\n".join(parts) + "\n" if parts else ""


def _language(metadata: Any) -> str:
    info = metadata.get("language_info") if isinstance(metadata, dict) else None
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) and re.fullmatch(r"[\w+#.-]{1,30}", name) else ""


def _joined(value: Any) -> str:
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def fence(code: str, language: str = "") -> str:
    """``code`` in a fence that it can't close by itself."""
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    mark = "`" * (longest + 1)
    return f"{mark}{language}\n{code.rstrip()}\n{mark}"


def _cell(cell: dict[str, Any], language: str) -> list[str]:
    source = _joined(cell.get("source") or cell.get("input"))
    kind = cell.get("cell_type")
    if kind == "heading":
        return [f"{'#' * int(cell.get('level') or 1)} {source.strip()}"] if source.strip() else []
    if kind != "code":
        return [source.strip()] if source.strip() else []
    parts = [fence(source, language)] if source.strip() else []
    for output in cell.get("outputs") or []:
        text = _output(output) if isinstance(output, dict) else ""
        if text.strip():
            parts.append(fence(text[:MAX_OUTPUT_CHARS] + ("…" if len(text) > MAX_OUTPUT_CHARS else ""), "text"))
    return parts


def _output(output: dict[str, Any]) -> str:
    if output.get("output_type") in ("error", "pyerr"):
        trace = output.get("traceback")
        lines = [line for line in trace if isinstance(line, str)] if isinstance(trace, list) else []
        return _ANSI.sub("", "\n".join(lines) or f"{output.get('ename')}: {output.get('evalue')}")
    data = output.get("data")
    bundle = data if isinstance(data, dict) else output
    return _ANSI.sub("", _joined(bundle.get("text/markdown") or bundle.get("text/plain") or output.get("text")))
