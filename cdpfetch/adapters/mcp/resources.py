"""The bodies of fetched documents as MCP resources: ``cdpfetch://FETCH_ID/NAME``."""

from __future__ import annotations

import base64
import contextlib
from typing import Any
from urllib.parse import quote, unquote

import mcp_types as types
from mcp.shared.exceptions import MCPError

from cdpfetch import artifacts, retention
from cdpfetch.errors import CdpFetchError

SCHEME = "cdpfetch://"
TEMPLATE = SCHEME + "{fetch_id}/{name}"
# Documents a page of the list, and bytes that one body may have: larger ones are read by page, or from the file.
PAGE = 50
MAX_BYTES = 4 << 20


def uri_of(fetch_id: str, name: str) -> str:
    """The address of a body."""
    return f"{SCHEME}{fetch_id}/{quote(name)}"


def links(document: dict[str, Any]) -> list[types.ResourceLink]:
    """The bodies of a document, for a tool's result."""
    return [types.ResourceLink(**fields) for fields in _described(document)]


def listed(root: str, cursor: str | None) -> types.ListResourcesResult:
    """A page of all bodies on disk, newest documents first; the cursor is the number of documents before it."""
    start = int(cursor) if cursor and cursor.isdecimal() else 0
    entries = retention.list_documents(root)
    found: list[types.Resource] = []
    for entry in entries[start : start + PAGE]:
        # One that is pruned just now is not listed.
        with contextlib.suppress(CdpFetchError):
            found += [types.Resource(**fields) for fields in _described(artifacts.load(root, entry["fetch_id"]))]
    following = str(start + PAGE) if start + PAGE < len(entries) else None
    return types.ListResourcesResult(resources=found, next_cursor=following)


def read(root: str, uri: str) -> types.ReadResourceResult:
    """A body, whole.  Raises MCPError when there is none, or when it is too large."""
    fetch_id, slash, name = uri.removeprefix(SCHEME).partition("/")
    if not uri.startswith(SCHEME) or not slash:
        raise _refused(f"{uri} is not an address of a fetched document; they look like {TEMPLATE}")
    try:
        document = artifacts.load(root, fetch_id)
    except CdpFetchError as error:
        raise _refused(f"{error.reason}; {error.hint or 'fetch it again'}") from error
    body = next((body for body in document["bodies"] if body["name"] == unquote(name)), None)
    if body is None:
        raise _refused(f"{fetch_id} has no {unquote(name)}; it has: {', '.join(b['name'] for b in document['bodies'])}")
    if body["bytes"] > MAX_BYTES:
        raise _refused(f"{name} has {body['bytes']:,} bytes, over {MAX_BYTES:,}: use web_fetch_read, or {body['path']}")
    try:
        with open(body["path"], "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise _refused(f"cannot read {body['path']}: {error.strerror}; fetch it again") from error
    return types.ReadResourceResult(contents=[_contents(uri, body, data)])


def _contents(uri: str, body: dict[str, Any], data: bytes) -> types.TextResourceContents | types.BlobResourceContents:
    kind = body["content_type"] or "application/octet-stream"
    if body["role"] in artifacts.TEXT_ROLES or artifacts.is_textual(kind):
        return types.TextResourceContents(uri=uri, mime_type=kind, text=data.decode("utf-8", "replace"))
    return types.BlobResourceContents(uri=uri, mime_type=kind, blob=base64.b64encode(data).decode("ascii"))


def _described(document: dict[str, Any]) -> list[dict[str, Any]]:
    if not document.get("fetch_id"):
        return []
    return [
        {
            "uri": uri_of(document["fetch_id"], body["name"]),
            "name": f"{document['fetch_id']}/{body['name']}",
            "mime_type": body["content_type"],
            "size": body["bytes"],
        }
        for body in document["bodies"]
    ]


def _refused(message: str) -> MCPError:
    return MCPError(code=types.INVALID_PARAMS, message=message)
