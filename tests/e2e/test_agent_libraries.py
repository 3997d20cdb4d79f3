"""The tools by way of each library for agents, in its own loop; and what a hostile page leaves of itself in each."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import Command
from testsite import Site

from cdpfetch.adapters import tools

pytestmark = [
    pytest.mark.chrome,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning"),
]


@pytest.fixture
def home(command: Command, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The home of the daemon that runs, for adapters in this process."""
    for name in list(os.environ):
        if name.startswith("CDPFETCH_") and name != "CDPFETCH_CHROME":
            monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    yield command.home.root


def by_dispatch(home: str, name: str, arguments: dict[str, Any]) -> str:
    return tools.dispatch(name, json.dumps(arguments), home=home)


def by_langchain(home: str, name: str, arguments: dict[str, Any]) -> str:
    from cdpfetch.adapters import langchain

    (tool,) = [one for one in langchain.tools(home=home) if one.name == name]
    message = tool.invoke({"name": name, "args": arguments, "id": "call-1", "type": "tool_call"})
    assert message.status == "success" and message.artifact
    return str(message.content)


def by_langchain_async(home: str, name: str, arguments: dict[str, Any]) -> str:
    from cdpfetch.adapters import langchain

    (tool,) = [one for one in langchain.tools(home=home) if one.name == name]
    return str(asyncio.run(tool.ainvoke(arguments)))


def by_llamaindex(home: str, name: str, arguments: dict[str, Any]) -> str:
    from cdpfetch.adapters import llamaindex

    (tool,) = [one for one in llamaindex.tools(home=home) if one.metadata.name == name]
    assert tool.metadata.to_openai_tool()["function"]["parameters"]["properties"]
    return str(asyncio.run(tool.acall(**arguments)).content)


def by_llamaindex_blocking(home: str, name: str, arguments: dict[str, Any]) -> str:
    from cdpfetch.adapters import llamaindex

    (tool,) = [one for one in llamaindex.tools(home=home) if one.metadata.name == name]
    return str(tool.call(**arguments).content)


def by_pydantic_ai(home: str, name: str, arguments: dict[str, Any]) -> str:
    """Its agent's own loop, with a model that calls the tool and repeats what it got."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    from cdpfetch.adapters import pydantic_ai

    def model(messages: list[Any], info: Any) -> ModelResponse:
        assert name in [one.name for one in info.function_tools]
        found = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        if found:
            return ModelResponse([TextPart(str(found[0].content))])
        return ModelResponse([ToolCallPart(name, arguments)])

    agent = Agent(FunctionModel(model), toolsets=[pydantic_ai.toolset(home=home)])
    return str(asyncio.run(agent.run("read it")).output)


def by_openai_agents(home: str, name: str, arguments: dict[str, Any]) -> str:
    """Its runner's own loop, with a model that calls the tool and repeats what it got."""
    from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    from cdpfetch.adapters import openai_agents

    class Repeating(Model):
        async def get_response(self, *positional: Any, **options: Any) -> ModelResponse:
            asked = options["input"]
            last = asked[-1] if isinstance(asked, list) else {}
            if last.get("type") != "function_call_output":
                call = ResponseFunctionToolCall(
                    arguments=json.dumps(arguments), call_id="call-1", name=name, type="function_call"
                )
                return ModelResponse(output=[call], usage=Usage(), response_id=None)
            text = ResponseOutputText(annotations=[], text=str(last["output"]), type="output_text")
            said = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
            return ModelResponse(output=[said], usage=Usage(), response_id=None)

        def stream_response(self, *arguments: Any, **options: Any) -> Any:
            raise NotImplementedError

    agent = Agent(name="reader", model=Repeating(), tools=list(openai_agents.tools(home=home)))
    found = asyncio.run(Runner.run(agent, "read it", run_config=RunConfig(tracing_disabled=True)))
    return str(found.final_output)


def by_mcp(home: str, name: str, arguments: dict[str, Any]) -> str:
    from mcp import Client

    from cdpfetch.adapters.mcp.server import build

    async def call() -> str:
        async with Client(build(home)) as client:
            result = await client.call_tool(name, arguments)
            whole = json.dumps(result.structured_content, ensure_ascii=False)
            assert not HIDDEN.search(whole) and "\x1b" not in json.loads(json.dumps(whole))
            return result.content[0].text  # type: ignore[union-attr]

    return asyncio.run(call())


Way = Callable[[str, str, dict[str, Any]], str]
WAYS: list[Way] = [
    by_dispatch,
    by_langchain,
    by_langchain_async,
    by_llamaindex,
    by_llamaindex_blocking,
    by_pydantic_ai,
    by_openai_agents,
    by_mcp,
]
# Characters that a model reads and a person does not see: tags, zero-width, bidirectional overrides, escapes.
HIDDEN = re.compile("[\U000e0000-\U000e007f\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069\x1b\x9b]")

FENCE = re.compile(r"^<web-content ([0-9a-f]{24})>\n.*?^</web-content \1>\n", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_page_is_fetched_and_read_on(way: Way, home: str, site: Site) -> None:
    text = way(home, "web_fetch", {"url": site.url("/page?way=one")})
    assert "1. About harbour\n" in text and site.url("/page?way=one") in text
    (fetch_id,) = re.findall(r"fetch_id (\S+)\n", text)
    page = way(home, "web_fetch_read", {"fetch_id": fetch_id, "section": "harbour"})
    assert "# The harbour\n" in page


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_hostile_page_stays_within_its_fence(way: Way, home: str, site: Site) -> None:
    fetched = way(home, "web_fetch", {"url": site.url("/hostile-words"), "limit": 200})
    (fetch_id,) = re.findall(r"To read on: web_fetch_read with fetch_id (\S+)\n", fetched)
    for text in (fetched, way(home, "web_fetch_read", {"fetch_id": fetch_id})):
        assert not HIDDEN.search(text)
        assert "stolen" in text, "the page itself was read"
        nonces = [found[1] for found in FENCE.finditer(text)]
        assert nonces and len(set(nonces)) == len(nonces)
        outside = FENCE.sub("", text)
        assert "stolen" not in outside and "tool_result" not in outside and "Ignore" not in outside


def test_the_digest_of_a_hostile_page_steers_no_terminal(command: Command, site: Site) -> None:
    ended = command("fetch", site.url("/hostile-words"))
    assert ended.status == 0 and "\x1b" not in ended.out and "\x9b" not in ended.out


def test_in_strict_mode_only_what_a_result_showed_is_fetched(home: str, site: Site) -> None:
    from cdpfetch import AsyncClient
    from cdpfetch.adapters.toolset import Toolset

    secret = site.url("/page?secret=hunter2")

    async def scenario() -> None:
        async with AsyncClient(home) as client:
            strict = Toolset(client, require_known=True)
            refused = await strict.call("web_fetch", {"url": secret})
            assert refused.is_error and refused.data["documents"][0]["error"]["code"] == "blocked_address"
            # What the user fetches makes its links known.
            linked = site.url("/page?linked=1")
            assert (await strict.call("web_fetch", {"url": linked})).is_error
            await client.fetch(site.url(f"/known?to={linked}"), require_known=True, vouched=True)
            found = await strict.call("web_fetch", {"url": linked})
            assert not found.is_error, found.text

    asyncio.run(scenario())
    assert not [asked for _, asked, _ in site.requests if "hunter2" in asked]


def test_the_fence_is_marked_anew_each_time(home: str, site: Site) -> None:
    texts = [by_dispatch(home, "web_fetch", {"url": site.url("/page")}) for _ in range(3)]
    assert len({re.findall(r"<web-content ([0-9a-f]{24})>", text)[0] for text in texts}) == 3


def test_a_call_within_a_running_loop_is_served(home: str, site: Site) -> None:
    async def scenario() -> str:
        return by_dispatch(home, "web_fetch", {"url": site.url("/page")})

    assert "About harbour" in asyncio.run(scenario())


@pytest.mark.parametrize("name", ["langchain", "llamaindex", "pydantic_ai", "openai_agents"])
def test_the_example_in_the_readme_runs(name: str, home: str) -> None:
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    section = text[text.index("### In agent libraries") :]
    (block,) = re.findall(rf"```python\n(from cdpfetch\.adapters import {name}\n.*?)```", section, re.DOTALL)
    space: dict[str, Any] = {}
    exec(block, space)
    assert len(space["tools"]) >= 3
