"""The tools for LlamaIndex (extra ``llamaindex``): ``FunctionAgent(tools=llamaindex.tools(), llm=...)``."""

from __future__ import annotations

from typing import Any

from cdpfetch.adapters.tools import Function, absent, functions
from cdpfetch.asyncapi import AsyncClient

try:
    from llama_index.core.bridge.pydantic import BaseModel, ConfigDict
    from llama_index.core.tools import FunctionTool, ToolMetadata
except ImportError as error:
    raise absent(__name__, "llamaindex", error) from error


def tools(*, home: str | None = None, client: AsyncClient | None = None) -> list[FunctionTool]:
    """The tools, for ``call`` and ``acall``.  A ``client`` serves ``acall`` and stays open."""
    return [_tool(one) for one in functions(home=home, client=client)]


def _tool(function: Function) -> FunctionTool:
    def call(**arguments: Any) -> str:
        return function.call(**arguments).text

    async def acall(**arguments: Any) -> str:
        return (await function.acall(**arguments)).text

    metadata = ToolMetadata(
        name=function.definition.name,
        description=function.definition.description,
        fn_schema=_model(function.definition.name, function.definition.input_schema),
    )
    return FunctionTool(fn=call, async_fn=acall, metadata=metadata)


def _model(name: str, schema: dict[str, Any]) -> Any:
    """The class by which LlamaIndex knows a schema; the arguments themselves are checked by the tool."""

    def model_json_schema(cls: Any, *arguments: Any, **options: Any) -> dict[str, Any]:
        return schema

    space = {"model_config": ConfigDict(extra="allow"), "model_json_schema": classmethod(model_json_schema)}
    return type(name, (BaseModel,), {"__module__": __name__, **space})
