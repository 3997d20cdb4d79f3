"""Stand-ins for hosted services on loopback: Parallel's extract API and Jina's reader, in good and bad health."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from fake_http import Answer, Seen, answer, silence


def parallel(**results: Any) -> Answer:
    """The extract API, knowing ``results``: URL -> changes of a result, or an error entry (with ``error_type``)."""

    def answers(seen: Seen) -> bytes:
        body: dict[str, Any] = {"extract_id": "extract_1", "session_id": "session_1", "results": [], "errors": []}
        for url in json.loads(seen.body)["urls"]:
            known = results.get(url, {})
            if known is None:
                continue
            if "error_type" in known:
                body["errors"].append({"url": url, "http_status_code": None, "content": None, **known})
                continue
            good = {
                "title": "A title",
                "publish_date": "2026-03-04",
                "excerpts": ["part"],
                "full_content": "# A\n\nText.",
            }
            body["results"].append({"url": url, **good, **known})
        return answer(body=json.dumps(body).encode(), content_type="application/json")

    return answers


def reader(text: str = "# A\n\nText.", *lines: str) -> bytes:
    """An answer of Jina's reader, with further lines of metadata."""
    head = ["Title: A title", "URL Source: https://x.example/a", *lines]
    return answer(body=("\n\n".join([*head, f"Markdown Content:\n{text}"])).encode(), content_type="text/plain")


async def endless(writer: asyncio.StreamWriter) -> None:
    """More than anybody asked for."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")
    while True:
        writer.write(b"[" * 65536)
        await writer.drain()


async def broken(writer: asyncio.StreamWriter) -> None:
    """An answer that ends in the middle."""
    writer.write(b'HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n{"results": [')
    await writer.drain()


# What a sick service does, by name.
SICK: dict[str, Any] = {
    "outage": answer(503, b"<html>unavailable</html>", content_type="text/html"),
    "slow": silence,
    "malformed": answer(200, b"\xff\xfe{]", content_type="application/json"),
    "null": answer(200, b"null", content_type="application/json"),
    "strange": answer(200, b'{"results": {"url": 7}, "errors": "none"}', content_type="application/json"),
    "deep": answer(200, b"[" * 100_000, content_type="application/json"),
    "huge": endless,
    "cut": broken,
    "empty": answer(200, b""),
    "no HTTP": b"SSH-2.0-x\r\n\r\n",
    "refused key": answer(401, b'{"type":"error","error":{"message":"bad key","ref_id":"r"}}'),
    "too many": answer(429, b"{}", retry_after="17"),
    "redirect inside": answer(302, location="http://10.0.0.1/secret"),
}


def sick(name: str) -> Callable[[Seen], Any]:
    """A service in one kind of bad health."""
    return lambda seen: SICK[name]
