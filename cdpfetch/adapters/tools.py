"""The tools for function calling: definitions as OpenAI and Anthropic take them, and one ``dispatch``.

tools = cdpfetch.adapters.tools.openai_tools()
...
text = cdpfetch.adapters.tools.dispatch(call.function.name, call.function.arguments)
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any, NamedTuple

from cdpfetch.adapters.definitions import Definition
from cdpfetch.adapters.toolset import ToolResult, Toolset, failure
from cdpfetch.asyncapi import AsyncClient, run
from cdpfetch.errors import InvalidRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping


def openai_tools(*, home: str | None = None, responses: bool = False) -> list[dict[str, Any]]:
    """The tools as Chat Completions takes them; with ``responses`` as the Responses API does (no inner object)."""
    flat = [
        {"name": one.name, "description": one.description, "parameters": one.input_schema}
        for one in _toolset(home).definitions()
    ]
    if responses:
        return [{"type": "function", **one} for one in flat]
    return [{"type": "function", "function": one} for one in flat]


def anthropic_tools(*, home: str | None = None) -> list[dict[str, Any]]:
    """The tools as Anthropic's Messages API takes them."""
    return [
        {"name": one.name, "description": one.description, "input_schema": one.input_schema}
        for one in _toolset(home).definitions()
    ]


def dispatch(name: str, arguments: Mapping[str, Any] | str | None, *, home: str | None = None) -> str:
    """Run a tool that a model called and return the text for it; ``arguments`` may be the JSON text of the call.

    What is wrong with the call is said in the text, for the model to mend.  From a coroutine await ``adispatch``:
    this one holds the caller's loop.
    """
    return run(adispatch(name, arguments, home=home)).text


async def adispatch(
    name: str, arguments: Mapping[str, Any] | str | None, *, home: str | None = None, client: AsyncClient | None = None
) -> ToolResult:
    """``dispatch`` for coroutines, with the data as well; a ``client`` that is passed in stays open."""
    try:
        given = _object(name, arguments)
    except InvalidRequest as error:
        return failure(error)
    if client is not None:
        return await Toolset(client).call(name, given)
    async with AsyncClient(home) as own:
        return await Toolset(own).call(name, given)


class Function(NamedTuple):
    """A tool for libraries of agents: ``call`` and ``acall`` take its arguments by keyword."""

    definition: Definition
    call: Callable[..., ToolResult]
    acall: Callable[..., Awaitable[ToolResult]]


def functions(*, home: str | None = None, client: AsyncClient | None = None) -> list[Function]:
    """The tools as functions.  A ``client`` serves ``acall``; ``call``, which may run in any thread, opens its own."""
    return [
        Function(one, partial(_call, one.name, home), partial(_acall, one.name, home, client))
        for one in (Toolset(client) if client else _toolset(home)).definitions()
    ]


def _call(name: str, home: str | None, /, **arguments: Any) -> ToolResult:
    return run(adispatch(name, arguments, home=home))


async def _acall(name: str, home: str | None, client: AsyncClient | None, /, **arguments: Any) -> ToolResult:
    return await adispatch(name, arguments, home=home, client=client)


def absent(module: str, extra: str, error: ImportError) -> ImportError:
    """The error of an adapter whose library is not installed."""
    return ImportError(f'{module} needs a library that is not there ({error}): pip install "cdpfetch[{extra}]"')


def _object(name: str, arguments: Mapping[str, Any] | str | None) -> dict[str, Any]:
    """The arguments as an object.  Raises InvalidRequest."""
    found: Any = arguments
    if isinstance(arguments, str):
        try:
            found = json.loads(arguments or "{}")
        except ValueError as error:
            raise InvalidRequest(f"{name}: the arguments are no JSON: {error}", "call it again") from error
    if found is not None and not hasattr(found, "items"):
        raise InvalidRequest(f"{name}: the arguments are no object", "call it again")
    return dict(found or {})


def _toolset(home: str | None) -> Toolset:
    """A toolset to ask for definitions; nothing is opened for that."""
    return Toolset(AsyncClient(home))
