"""The tools as data: names, descriptions and JSON Schemas, the same for every adapter.

An agent pays for each word here in every conversation, so there are few.  No parameter reaches what is the user's to
decide: which private hosts may be reached, certificates, the profile, or paths outside the artifacts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

MAX_URLS = 20
# Seconds for which a page that was fetched may serve again.
MAX_AGE = 900


class Definition(NamedTuple):
    """One tool.  ``read_only`` and ``open_world`` are MCP's hints of those names."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    read_only: bool
    open_world: bool


def _object(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


_FORMAT = {"enum": ["markdown", "text", "source", "html"]}
_LINES: dict[str, Any] = {
    "section": {"type": "string", "description": "only the section under this heading"},
    "offset": {"type": "integer", "minimum": 1, "description": "first line"},
    "limit": {"type": "integer", "minimum": 1, "maximum": 200, "description": "lines, default 80"},
}
_PAGE = {
    "type": "object",
    "properties": {
        "fetch_id": {"type": "string"},
        "text": {"type": "string"},
        "offset": {"type": ["integer", "null"]},
        "next_offset": {"type": ["integer", "null"]},
        "total_lines": {"type": "integer"},
    },
}

FETCH = Definition(
    "web_fetch",
    "Fetch web pages and files",
    "Fetch URLs (pages, PDFs, Office files, data, GitHub) through the user's browser into local files. Returns a "
    "digest: title, facts, outline, file paths; the content is on disk. Read it with web_fetch_read or grep the files. "
    "To see the first lines at once, pass limit or section. Verdicts other than ok say what is missing; on "
    "login_required offer open_browser.",
    _object(
        {
            "url": {"type": "string"},
            "urls": {"type": "array", "items": {"type": "string"}, "maxItems": MAX_URLS, "description": "several"},
            "format": _FORMAT,
            "prompt": {"type": "string", "description": "question that a small model answers from the content"},
            "max_age": {"type": "number", "minimum": 0, "description": f"seconds, default {MAX_AGE}; 0: fetch anew"},
            "screenshot": {"type": "boolean"},
            "wait_for": {"type": "string", "description": "CSS selector to wait for"},
            **_LINES,
        }
    ),
    {
        "type": "object",
        "properties": {
            "documents": {"type": "array", "items": {"type": "object"}},
            "pages": {"type": "array", "items": _PAGE},
        },
        "required": ["documents"],
    },
    read_only=True,
    open_world=True,
)

READ = Definition(
    "web_fetch_read",
    "Read a fetched document",
    "Read on in a document that web_fetch saved, by lines, section or search. No network.",
    _object(
        {
            "fetch_id": {"type": "string"},
            "format": _FORMAT,
            **_LINES,
            "find": {"type": "string", "description": "only lines with this text, and their context"},
        },
        ["fetch_id"],
    ),
    {**_PAGE, "required": ["fetch_id", "text", "next_offset", "total_lines"]},
    read_only=True,
    open_world=False,
)

SEARCH = "web_search"
_SEARCH_OUTPUT = {
    "type": "object",
    "properties": {
        "results": {"type": "array", "items": {"type": "object"}},
        "report_path": {"type": "string"},
        "fetch_id": {"type": "string"},
    },
    "required": ["results", "report_path", "fetch_id"],
}


def search(description: str, input_schema: dict[str, Any]) -> Definition:
    """The search tool, in the words of the provider that is set up."""
    return Definition(
        SEARCH, "Search the web", description, input_schema, _SEARCH_OUTPUT, read_only=True, open_world=True
    )


OPEN_BROWSER = Definition(
    "open_browser",
    "Open a browser window for the user",
    "Open a browser window on the user's screen, so that they can sign in to a site; fetches fail until they close "
    "it. Ask the user first.",
    _object({"url": {"type": "string", "description": "page to open"}}),
    {"type": "object", "properties": {"opened": {"type": "boolean"}}, "required": ["opened"]},
    read_only=False,
    open_world=True,
)
