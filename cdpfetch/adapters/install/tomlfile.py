"""One table in a TOML text, set or removed with comments and order kept; pure."""

from __future__ import annotations

import tomllib
from typing import Any

from cdpfetch.adapters.install.jsonfile import merged
from cdpfetch.errors import InvalidRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def with_entry(text: str, table: str, name: str, wanted: Mapping[str, Any]) -> str:
    """The text with ``[table.name]`` as wanted; keys of a table that is there already stay.

    Raises InvalidRequest for a text that is no TOML, or whose parts are of another kind.
    """
    data = _data(text)
    entries = _entries(data, table)
    old = entries.get(name, {})
    new = merged(old, wanted, name)
    if new == old:
        return text
    import tomlkit

    document = _document(text)
    if table not in document:
        document[table] = tomlkit.table(is_super_table=True)
    if name not in document[table]:
        document[table][name] = tomlkit.table()
    for key, value in new.items():
        if old.get(key) != value:
            document[table][name][key] = value
    entries[name] = new
    return _checked(tomlkit.dumps(document), {**data, table: entries})


def without_entry(text: str, table: str, name: str) -> str:
    """The text without the table; the same text when there is none.  Raises InvalidRequest as ``with_entry``."""
    data = _data(text)
    entries = _entries(data, table)
    if name not in entries:
        return text
    import tomlkit

    document = _document(text)
    del document[table][name]
    del entries[name]
    return _checked(tomlkit.dumps(document), {**data, table: entries})


def shown(table: str, name: str, wanted: Mapping[str, Any]) -> str:
    """The entry as it would stand in a file of its own."""
    return with_entry("", table, name, wanted)


def _data(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"it is no TOML: {error}", "mend or move it, and try again") from error


def _document(text: str) -> Any:
    """The text as tomlkit has it.  Raises InvalidRequest where its rules are stricter than tomllib's."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise InvalidRequest(f"it can't be edited: {error}", "add the entry yourself: --print shows it") from error


def _entries(data: dict[str, Any], table: str) -> dict[str, Any]:
    found = data.get(table, {})
    if not isinstance(found, dict):
        raise InvalidRequest(f"{table!r} is no table", "mend or move it, and try again")
    return dict(found)


def _checked(text: str, expected: dict[str, Any]) -> str:
    """The text, when it says what is expected, empty tables apart.  Raises InvalidRequest."""

    def full(data: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in data.items() if value != {}}

    if full(_data(text)) != full(expected):
        raise InvalidRequest("its other entries would change", "add the entry yourself: --print shows it")
    return text
