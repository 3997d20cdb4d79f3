"""The tools for LangChain and LangGraph (extra ``langchain``): ``create_agent(model, tools=langchain.tools())``."""

from __future__ import annotations

from typing import Any

from cdpfetch.adapters.tools import Function, absent, functions
from cdpfetch.adapters.toolset import ToolResult
from cdpfetch.asyncapi import AsyncClient

try:
    from langchain_core.tools import BaseTool, StructuredTool, ToolException
except ImportError as error:
    raise absent(__name__, "langchain", error) from error


def tools(*, home: str | None = None, client: AsyncClient | None = None) -> list[BaseTool]:
    """The tools, for ``invoke`` and ``ainvoke``; the data of a result is the message's ``artifact``.

    What fails is a message of status ``error``, for the model to mend.  A ``client`` serves ``ainvoke`` and stays open.
    """
    return [_tool(one) for one in functions(home=home, client=client)]


def _tool(function: Function) -> BaseTool:
    def call(**arguments: Any) -> tuple[str, dict[str, Any]]:
        return _answer(function.call(**arguments))

    async def acall(**arguments: Any) -> tuple[str, dict[str, Any]]:
        return _answer(await function.acall(**arguments))

    return StructuredTool(
        name=function.definition.name,
        description=function.definition.description,
        args_schema=function.definition.input_schema,
        func=call,
        coroutine=acall,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def _answer(result: ToolResult) -> tuple[str, dict[str, Any]]:
    if result.is_error:
        raise ToolException(result.text)
    return result.text, result.data
