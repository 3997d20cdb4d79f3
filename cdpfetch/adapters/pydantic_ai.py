"""The tools for Pydantic AI (extra ``pydantic-ai``): ``Agent(model, toolsets=[pydantic_ai.toolset()])``."""

from __future__ import annotations

from typing import Any

from cdpfetch.adapters.tools import Function, absent, functions
from cdpfetch.asyncapi import AsyncClient

try:
    from pydantic_ai import FunctionToolset, Tool
except ImportError as error:
    raise absent(__name__, "pydantic-ai", error) from error


def tools(*, home: str | None = None, client: AsyncClient | None = None) -> list[Tool[Any]]:
    """The tools, for ``Agent(tools=...)``.  A ``client`` is used in its own loop alone, and stays open."""
    return [_tool(one) for one in functions(home=home, client=client)]


def toolset(*, home: str | None = None, client: AsyncClient | None = None) -> FunctionToolset[Any]:
    """The tools as one toolset, for ``Agent(toolsets=...)``, and to be filtered, prefixed or approved."""
    return FunctionToolset(tools(home=home, client=client))


def _tool(function: Function) -> Tool[Any]:
    async def call(**arguments: Any) -> str:
        return (await function.acall(**arguments)).text

    name, description = function.definition.name, function.definition.description
    return Tool.from_schema(call, name=name, description=description, json_schema=function.definition.input_schema)
