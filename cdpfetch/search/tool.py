"""The search as an agent's tool: the words and the schema for what the chosen provider can do, and no more."""

from __future__ import annotations

from typing import Any, NamedTuple

from cdpfetch.search.providers import commands_of, is_configured
from cdpfetch.search.requests import FIELDS, schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cdpfetch.config import Config

_BOUNDS = ("minLength", "maxLength", "maxItems", "minimum", "additionalProperties")
_MEANINGS = {
    "image_query": "image_query finds pictures",
    "open": "open shows a source by ref_id or URL",
    "click": "click follows a link of an opened source",
    "find": "find searches in an opened source",
    "screenshot": "screenshot shows a page of a PDF",
    "finance": "finance gives prices",
    "weather": "weather gives forecasts",
    "sports": "sports gives schedules and standings",
    "time": "time gives the time at an offset",
}


class Described(NamedTuple):
    """The description of the tool, and the JSON Schema of its input."""

    description: str
    input_schema: dict[str, Any]


def described(config: Config) -> Described | None:
    """The tool for the chosen provider; None when none is chosen."""
    if not is_configured(config):
        return None
    commands = commands_of(config)
    extras = [_MEANINGS[name] for name in FIELDS if name in commands and name in _MEANINGS]
    description = (
        "Search the web. Returns a report with the results' URLs, and its path; fetch what matters with web_fetch. "
        "response_length short/medium/long: 5/10/15 results in all." + (f" {'; '.join(extras)}." if extras else "")
    )
    return Described(description, {**_short(schema(commands)), "additionalProperties": False})


def _short(found: Any) -> Any:
    """A schema without bounds: an agent pays for each word, and calls are checked by the whole."""
    if isinstance(found, dict):
        return {name: _short(value) for name, value in found.items() if name not in _BOUNDS}
    return found
