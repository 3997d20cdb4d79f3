"""Asking the client of a call: its user (elicitation) or its model (sampling).

Up to protocol 2025-11-25 the server sends a request of its own and waits.  From 2026-07-28 on it answers the call with
what it needs (``InputRequiredResult``), and the client makes the call again with the answers.
"""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server.context import ServerRequestContext

WIDTH = 4
"""Questions to a client's model under way at once."""
SECONDS = 120.0
"""For one answer of a client's model, before which its user may be asked."""
_Answer = TypeVar("_Answer", bound=types.Result)


class InputRequired(Exception):
    """The call must be answered with requests for its client; ``request_state`` comes back with the answers."""

    def __init__(self, requests: dict[str, Any], request_state: str | None = None) -> None:
        super().__init__(", ".join(requests))
        self.requests = requests
        self.request_state = request_state

    def result(self) -> types.InputRequiredResult:
        """What the call is answered with."""
        return types.InputRequiredResult(input_requests=self.requests, request_state=self.request_state)


class Peer:
    """The client that made a call."""

    def __init__(self, context: ServerRequestContext[Any], params: types.InputResponseRequestParams) -> None:
        self._context = context
        self._params = params

    @property
    def request_state(self) -> str | None:
        """What an earlier round of this call left; the client could have changed it."""
        return self._params.request_state

    @property
    def has_user(self) -> bool:
        """Whether it can put a form before its user."""
        found = self._capabilities.elicitation
        return found is not None and (found.form is not None or found.url is None)

    @property
    def has_model(self) -> bool:
        """Whether it lets its model be asked."""
        return self._capabilities.sampling is not None

    @property
    def _capabilities(self) -> types.ClientCapabilities:
        return self._context.session.client_capabilities or types.ClientCapabilities()

    async def confirm(self, key: str, message: str) -> bool:
        """Whether the user says yes.  Raises InputRequired."""
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {"confirm": {"type": "boolean", "title": "Yes", "default": True}},
        }
        request = types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))
        answer = await self._ask(key, request, types.ElicitResult, None)
        return answer.action == "accept" and (answer.content or {}).get("confirm", True) is True

    async def sample(
        self, asked: Mapping[str, tuple[str, str]], *, max_tokens: int, request_state: str | None = None
    ) -> dict[str, types.CreateMessageResult | MCPError]:
        """What the client's model says to messages of their own, ``{key: (system, user)}``, four at a time.

        Raises InputRequired, in which all are asked at once.
        """
        requests = {key: _message(system, text, max_tokens) for key, (system, text) in asked.items()}
        if self._is_modern and not self._params.input_responses:
            raise InputRequired(requests, request_state)
        width = asyncio.Semaphore(WIDTH)

        async def one(key: str, request: types.CreateMessageRequest) -> types.CreateMessageResult | MCPError:
            async with width:
                try:
                    async with asyncio.timeout(SECONDS):
                        return await self._ask(key, request, types.CreateMessageResult, request_state)
                except InputRequired:
                    return MCPError(code=types.INTERNAL_ERROR, message="it gave no answer")
                except TimeoutError:
                    return MCPError(code=types.INTERNAL_ERROR, message=f"no answer within {SECONDS:g} s")
                except (MCPError, ValueError) as error:
                    return error if isinstance(error, MCPError) else _unreadable(error)

        found = await asyncio.gather(*(one(key, request) for key, request in requests.items()))
        return dict(zip(requests, found, strict=True))

    @property
    def _is_modern(self) -> bool:
        return self._context.session.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def _ask(self, key: str, request: Any, kind: type[_Answer], request_state: str | None) -> _Answer:
        if self._is_modern:
            given = (self._params.input_responses or {}).get(key)
            if given is None:
                raise InputRequired({key: request}, request_state)
            return given if isinstance(given, kind) else kind.model_validate(given.model_dump(by_alias=True))
        related = ServerMessageMetadata(related_request_id=self._context.request_id)
        return await self._context.session.send_request(request, kind, metadata=related)


def _message(system: str, text: str, max_tokens: int) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(
            messages=[message], system_prompt=system, max_tokens=max_tokens, include_context="none"
        )
    )


def _unreadable(error: ValueError) -> MCPError:
    return MCPError(code=types.INVALID_PARAMS, message=f"its answer has another shape: {str(error)[:200]}")
