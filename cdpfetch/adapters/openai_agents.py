"""The tools for the OpenAI Agents SDK (extra ``openai-agents``): ``Agent(name=..., tools=openai_agents.tools())``."""

from __future__ import annotations

from typing import Any

from cdpfetch.adapters.tools import Function, absent, adispatch, functions
from cdpfetch.asyncapi import AsyncClient

try:
    from agents import FunctionTool
except ImportError as error:
    raise absent(__name__, "openai-agents", error) from error


def tools(*, home: str | None = None, client: AsyncClient | None = None) -> list[FunctionTool]:
    """The tools, for ``Agent(tools=...)``.  A ``client`` is used in its own loop alone, and stays open."""
    return [_tool(one, home, client) for one in functions(home=home, client=client)]


def _tool(function: Function, home: str | None, client: AsyncClient | None) -> FunctionTool:
    name = function.definition.name

    async def invoke(context: Any, arguments: str) -> str:
        # The arguments are a model's own text: what is wrong with it is told to the model.
        return (await adispatch(name, arguments, home=home, client=client)).text

    return FunctionTool(
        name=name,
        description=function.definition.description,
        params_json_schema=function.definition.input_schema,
        on_invoke_tool=invoke,
        strict_json_schema=False,  # strict schemas know no optional parameters
    )
