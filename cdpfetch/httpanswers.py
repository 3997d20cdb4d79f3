"""What services answer in JSON, read with suspicion: it may be anything."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cdpfetch.delivery import one_line

if TYPE_CHECKING:
    import httpx


def json_object(response: httpx.Response) -> dict[str, Any] | None:
    """The JSON object of a response, or None when it is something else."""
    try:
        value = json.loads(response.content)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def message(response: httpx.Response) -> str:
    """What an error says of itself, in one short line; empty when it says nothing.

    Services put it into ``error`` (a text, or an object with a ``message``), ``message`` or ``detail``.
    """
    data = json_object(response) or {}
    error = data.get("error", data.get("message", data.get("detail", "")))
    words = error.get("message", error.get("detail", "")) if isinstance(error, dict) else error
    return one_line(str(words), 200) if words else ""


def texts(value: Any) -> list[str]:
    """The texts of a list; none when it is no list."""
    return [part for part in value if isinstance(part, str)] if isinstance(value, list) else []


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; none when it is no list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
