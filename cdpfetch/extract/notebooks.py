"""Jupyter notebooks as Markdown: prose as it is, code in fences, outputs in bounded fences."""

from __future__ import annotations

import json
import re
from typing import Any

from cdpfetch.extract import convert

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
    own = cell.get("language")
    parts = [fence(source, language or (own if isinstance(own, str) else ""))] if source.strip() else []
    for output in cell.get("outputs") or []:
        text = _output(output) if isinstance(output, dict) else ""
        if text.strip():
            parts.append(text)
    return parts


def _output(output: dict[str, Any]) -> str:
    """What a cell has put out, as Markdown: the richest form that is text."""
    if output.get("output_type") in ("error", "pyerr"):
        trace = output.get("traceback")
        lines = [line for line in trace if isinstance(line, str)] if isinstance(trace, list) else []
        return _fenced("\n".join(lines) or f"{output.get('ename')}: {output.get('evalue')}")
    data = output.get("data")
    bundle = data if isinstance(data, dict) else output
    if (html := _joined(bundle.get("text/html"))) and "<table" in html.lower():
        return convert.fragment(html[:MAX_OUTPUT_CHARS])
    for kind in ("text/markdown", "text/latex"):
        if rich := _joined(bundle.get(kind)).strip():
            return rich[:MAX_OUTPUT_CHARS]
    if plain := _joined(bundle.get("text/plain") or output.get("text")):
        return _fenced(plain)
    if (value := bundle.get("application/json")) is not None:
        return fence(json.dumps(value, indent=2, ensure_ascii=False)[:MAX_OUTPUT_CHARS], "json")
    return ""


def _fenced(text: str) -> str:
    text = _ANSI.sub("", text)
    return (
        fence(text[:MAX_OUTPUT_CHARS] + ("…" if len(text) > MAX_OUTPUT_CHARS else ""), "text") if text.strip() else ""
    )
