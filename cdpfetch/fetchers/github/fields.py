"""Reading JSON that somebody else wrote: each accessor gives a value of its type, whatever is there.

Pure.  A user that is gone is null, a count may be missing, and an answer may lie about its types.
"""

from __future__ import annotations

from typing import Any


def value(data: Any, *keys: str) -> Any:
    """What lies under nested keys, or None."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def text(data: Any, *keys: str) -> str:
    """A string, else an empty one."""
    found = value(data, *keys)
    return found if isinstance(found, str) else ""


def number(data: Any, *keys: str) -> int:
    """A whole number, else 0."""
    found = value(data, *keys)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def flag(data: Any, *keys: str) -> bool:
    """True only where true stands."""
    return value(data, *keys) is True


def record(data: Any, *keys: str) -> dict[str, Any]:
    """An object, else an empty one."""
    found = value(data, *keys)
    return found if isinstance(found, dict) else {}


def records(data: Any, *keys: str) -> list[dict[str, Any]]:
    """The objects of an array, else none."""
    found = value(data, *keys)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def texts(data: Any, *keys: str) -> list[str]:
    """The strings of an array, else none."""
    found = value(data, *keys)
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def login(data: Any, key: str = "user") -> str:
    """The name of an account; ``ghost`` stands for one that is gone, as on the web page."""
    return text(data, key, "login") or "ghost"


def names(data: Any, key: str, name: str = "name") -> list[str]:
    """One string of each object of an array: the names of labels, say."""
    return [found for item in records(data, key) if (found := text(item, name))]
