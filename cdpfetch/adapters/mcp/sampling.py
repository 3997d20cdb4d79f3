"""Prompts that the client's own model answers, where the settings name none (MCP's sampling).

Where the protocol answers a call with what it needs and has it made again, the pages are not fetched again: the state
that goes to and fro names them.  The client could change it, and would get what it can read by ``fetch_id`` anyway.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from cdpfetch import answers, artifacts, calls
from cdpfetch.adapters.fence import visible
from cdpfetch.adapters.mcp.asking import Peer
from cdpfetch.delivery import terminal_safe
from cdpfetch.errors import CdpFetchError

_MAX_TOKENS = 2000
_MAX_STATE = 100_000
_WITHOUT = "set llm.base_url and llm.model, or read it without a prompt: web_fetch_read"


class ClientModel:
    """The model of the client that made a call; ``root`` is where documents are found by ``fetch_id``."""

    def __init__(self, peer: Peer, root: str) -> None:
        self._peer = peer
        self._root = root

    def earlier(self) -> list[dict[str, Any]] | None:
        """The documents that an earlier round of this call fetched; None when there was none, or one is gone."""
        state = self._peer.request_state
        if state is None or len(state) > _MAX_STATE:
            return None
        try:
            return [self._restored(entry) for entry in json.loads(state)["documents"]]
        except (CdpFetchError, ValueError, KeyError, TypeError):
            return None

    def _restored(self, entry: Any) -> dict[str, Any]:
        if isinstance(entry, str):
            return artifacts.load(self._root, entry)
        code, reason, hint = (entry[name] and str(entry[name])[:2000] for name in ("code", "reason", "hint"))
        return calls.failed(str(entry["url"])[:2048], CdpFetchError(code, reason, hint))

    async def answer(self, documents: list[dict[str, Any]], question: str) -> None:
        """Put ``answer`` into each document that was fetched.  Raises InputRequired."""
        good = [document for document in documents if document["ok"]]
        for document in good:
            document["answer"] = {"text": None, "model": None, "truncated": [], "error": None}
        if not self._peer.has_model:
            for document in good:
                document["answer"]["error"] = _error(
                    "config_error", "no model is set up, and this client does not offer its own (sampling)"
                )
            return
        asked: dict[str, answers.Asked] = {}
        for place, document in enumerate(good):
            try:
                asked[f"answer-{place + 1}"] = await asyncio.to_thread(answers.ask, question, document)
            except CdpFetchError as error:
                document["answer"]["error"] = _error(error.code, error.reason)
        if not asked:
            return
        state = json.dumps({"documents": [_remembered(document) for document in documents]})
        messages = {key: (one.system, one.user) for key, one in asked.items()}
        said = await self._peer.sample(messages, max_tokens=_MAX_TOKENS, request_state=state)
        for key, one in asked.items():
            found = good[int(key.removeprefix("answer-")) - 1]["answer"]
            found["truncated"] += [one.cut] if one.cut else []
            _take(found, said[key])


def _remembered(document: dict[str, Any]) -> Any:
    """What of a document goes to and fro."""
    if document["ok"]:
        return document["fetch_id"]
    return {"url": document["url"], **{name: document["error"].get(name) for name in ("code", "reason", "hint")}}


def _take(answer: dict[str, Any], said: types.CreateMessageResult | MCPError) -> None:
    if isinstance(said, MCPError):
        answer["error"] = _error("cancelled", f"the client's model was not to be had: {visible(str(said))[:300]}")
        return
    text = said.content.text.strip() if isinstance(said.content, types.TextContent) else ""
    answer["model"] = visible(said.model)[:200]
    if not text:
        answer["error"] = _error("no_content", "the client's model said nothing")
        return
    answer["text"] = terminal_safe(visible(text))[: answers.CONTENT_LIMIT]
    if said.stop_reason == "maxTokens":
        answer["truncated"].append(f"the answer was cut off at {_MAX_TOKENS} tokens")


def _error(code: str, reason: str) -> dict[str, Any]:
    return CdpFetchError(code, reason, _WITHOUT).to_json()
