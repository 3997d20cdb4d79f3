"""The MCP server as a process, driven by the SDK's own client; pages come from loopback through a real Chrome."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import mcp_types as types
import pytest
from commands import Command, wait_for
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from testsite import Site

from cdpfetch import Client as DaemonClient

pytestmark = pytest.mark.chrome
# The handshake of protocols up to 2025-11-25, and 2026-07-28, which has none.
ERAS = ["legacy", "auto"]


def server(command: Command) -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=["-m", "cdpfetch", "mcp"], env=command.environment)


@contextlib.asynccontextmanager
async def connected(command: Command, mode: str = "auto", **options: Any) -> AsyncIterator[Client]:
    async with Client(stdio_client(server(command)), mode=mode, **options) as client:
        yield client


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(50):
            await scenario()

    asyncio.run(bounded())


def text_of(result: types.CallToolResult) -> str:
    assert isinstance(result.content[0], types.TextContent)
    return result.content[0].text


@pytest.mark.parametrize("mode", ERAS)
def test_a_page_is_fetched_read_and_found_as_a_resource(command: Command, site: Site, mode: str) -> None:
    async def scenario() -> None:
        stages: list[str] = []

        async def progress(number: float, total: float | None, message: str | None) -> None:
            stages.append(message or "")

        async with connected(command, mode) as client:
            url = site.url(f"/page?for={mode}")
            result = await client.call_tool("web_fetch", {"url": url}, progress_callback=progress)
            assert not result.is_error
            (document,) = result.structured_content["documents"]
            assert document["ok"] and document["title"] == "About harbour"
            assert [stage.split(":")[0] for stage in stages][:2] == ["started", "navigating"]
            stages.clear()
            await client.call_tool("web_fetch", {"url": url}, progress_callback=progress)
            assert not stages, "what was fetched a moment ago comes from disk"
            await client.call_tool("web_fetch", {"url": url, "max_age": 0}, progress_callback=progress)
            assert stages
            assert "1. About harbour" in text_of(result)
            links = {link.uri: link for link in result.content if isinstance(link, types.ResourceLink)}
            page = await client.call_tool("web_fetch_read", {"fetch_id": document["fetch_id"], "section": "harbour"})
            assert page.structured_content["text"].startswith("# The harbour\n")
            listed = {resource.uri for resource in (await client.list_resources()).resources}
            assert set(links) <= listed
            (uri,) = [uri for uri in links if uri.endswith("/content.md")]
            (contents,) = (await client.read_resource(uri)).contents
            with open(document["dir"] + "/content.md", encoding="utf-8") as file:
                assert contents.text == file.read()

    run(scenario)


def test_the_first_page_comes_with_the_digest_when_lines_are_asked_for(command: Command, site: Site) -> None:
    async def scenario() -> None:
        async with connected(command) as client:
            result = await client.call_tool("web_fetch", {"url": site.url("/page"), "limit": 2})
            (page,) = result.structured_content["pages"]
            assert page["text"] == "# The harbour\n\n"
            assert page["next_offset"] == 3
            assert text_of(result).count("<web-content ") == 2

    run(scenario)


def test_the_tools_are_few_words_and_open_nothing(command: Command) -> None:
    async def scenario() -> None:
        async with connected(command) as client:
            tools = (await client.list_tools()).tools
            names = [tool.name for tool in tools]
            assert names == ["web_fetch", "web_fetch_read", "open_browser"]
            whole = "".join(tool.model_dump_json(by_alias=True, exclude_none=True) for tool in tools)
            # A token is rarely under three characters of JSON.
            assert len(whole) / 3 < 1500
            parameters = {name for tool in tools for name in tool.input_schema["properties"]}
            assert not parameters & {"allow", "insecure", "profile", "output_dir", "headers", "home", "proxy"}
            hints = {tool.name: tool.annotations for tool in tools}
            assert hints["web_fetch"].read_only_hint and hints["web_fetch"].open_world_hint
            assert hints["web_fetch_read"].read_only_hint and not hints["web_fetch_read"].open_world_hint
            assert not hints["open_browser"].read_only_hint

    run(scenario)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "web_fetch got no URL"),
        ({"url": "http://127.0.0.1:9/", "allow": ["127.0.0.1"]}, "'allow' was unexpected"),
        ({"url": 7}, "7 is not of type 'string'"),
        ({"url": "http://127.0.0.1:9/", "insecure": True}, "'insecure' was unexpected"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(command: Command, arguments: dict[str, Any], told: str) -> None:
    async def scenario() -> None:
        async with connected(command) as client:
            result = await client.call_tool("web_fetch", arguments)
            assert result.is_error and told in text_of(result)

    run(scenario)


def test_a_failure_is_an_error_with_its_reason(command: Command) -> None:
    async def scenario() -> None:
        async with connected(command) as client:
            result = await client.call_tool("web_fetch", {"url": "http://127.0.0.1:8080/x"})
            assert result.is_error and "127.0.0.1 is loopback" in text_of(result)
            assert result.structured_content["documents"][0]["error"]["code"] == "blocked_address"

    run(scenario)


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("answer", ["decline", "cancel"])
def test_no_window_opens_against_the_users_word(command: Command, mode: str, answer: str) -> None:
    asked: list[str] = []

    async def ask(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action=answer)

    async def scenario() -> None:
        async with connected(command, mode, elicitation_callback=ask) as client:
            result = await client.call_tool("open_browser", {"url": "https://example.com/login"})
            assert not result.is_error and result.structured_content == {"opened": False}
            assert asked == ["Open a browser window at https://example.com/login, for you to sign in?"]

    run(scenario)


@pytest.mark.parametrize("mode", ERAS)
def test_where_there_is_no_display_the_window_is_an_error(command: Command, mode: str) -> None:
    async def agree(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"confirm": True})

    async def scenario() -> None:
        async with connected(command, mode, elicitation_callback=agree) as client:
            result = await client.call_tool("open_browser", {})
            assert result.is_error and "display" in text_of(result)

    run(scenario)


def test_fifty_calls_at_once_are_all_answered(command: Command, site: Site) -> None:
    async def scenario() -> None:
        async with connected(command) as client:
            results = await asyncio.gather(
                *(client.call_tool("web_fetch", {"url": site.url(f"/page?n={n}")}) for n in range(50))
            )
            assert [result.structured_content["documents"][0]["url"] for result in results] == [
                site.url(f"/page?n={n}") for n in range(50)
            ]
            assert not any(result.is_error for result in results)

    run(scenario)


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_each_protocol_with_a_handshake_is_spoken(command: Command, version: str) -> None:
    def line(number: int | None, method: str, **params: Any) -> bytes:
        one = {"jsonrpc": "2.0", "method": method, "params": params, **({"id": number} if number else {})}
        return json.dumps(one).encode() + b"\n"

    async def scenario() -> None:
        running = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "cdpfetch",
            "mcp",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=command.environment,
        )
        assert running.stdin is not None and running.stdout is not None
        hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        running.stdin.write(line(1, "initialize", **hello) + line(None, "notifications/initialized"))
        assert json.loads(await running.stdout.readline())["result"]["protocolVersion"] == version
        running.stdin.write(line(2, "tools/list") + line(3, "tools/call", name="web_fetch", arguments={}))
        answers = [json.loads(await running.stdout.readline()) for _ in range(2)]
        found = {answer["id"]: answer["result"] for answer in answers}
        assert [tool["name"] for tool in found[2]["tools"]] == ["web_fetch", "web_fetch_read", "open_browser"]
        assert found[3]["isError"] and "got no URL" in found[3]["content"][0]["text"]
        running.stdin.close()
        assert await running.wait() == 0
        await running.communicate()

    run(scenario)


def test_the_newest_protocol_is_spoken_without_a_handshake(command: Command) -> None:
    async def scenario() -> None:
        async with connected(command, "auto") as client:
            assert client.protocol_version == "2026-07-28"

    run(scenario)


@pytest.mark.parametrize("mode", ERAS)
def test_the_model_of_the_client_answers_where_none_is_set_up(command: Command, site: Site, mode: str) -> None:
    asked: list[Any] = []

    async def model(context: Any, params: Any) -> types.CreateMessageResult:
        asked.append(params)
        said = types.TextContent(type="text", text="It is a \x1b[31mharbour\u200b.")
        return types.CreateMessageResult(role="assistant", content=said, model="client-1", stop_reason="endTurn")

    async def scenario() -> None:
        async with connected(command, mode, sampling_callback=model) as client:
            site.requests.clear()
            urls = [site.url(f"/page?sampled={mode}"), site.url("/nothing-here")]
            question = {"urls": urls, "prompt": "What is it?", "max_age": 0}
            result = await client.call_tool("web_fetch", question)
            good, bad = result.structured_content["documents"]
            assert good["answer"] == {"text": "It is a harbour.", "model": "client-1", "truncated": [], "error": None}
            assert "It is a harbour." in text_of(result) and bad["error"]["code"] == "http_error"
            assert [one["url"] for one in (good, bad)] == urls
            (params,) = asked
            text = params.messages[0].content.text
            assert "What is it?" in text and "# The harbour" in text
            (mark,) = re.findall(r"hold the mark ([0-9a-f]{32})", params.system_prompt)
            assert text.count(mark) == 2, "the content is fenced as for any other model"
            assert site.asked("/page") == 1, "nothing was fetched twice"

    run(scenario)


@pytest.mark.parametrize("mode", ERAS)
def test_where_there_is_no_model_at_all_the_result_says_so(command: Command, site: Site, mode: str) -> None:
    async def scenario() -> None:
        async with connected(command, mode) as client:
            result = await client.call_tool("web_fetch", {"url": site.url("/page"), "prompt": "What is it?"})
            assert not result.is_error and "no answer: no model is set up" in text_of(result)
            (document,) = result.structured_content["documents"]
            assert document["answer"]["error"]["code"] == "config_error"

    run(scenario)


def test_a_model_that_is_refused_is_an_answer_with_the_reason(command: Command, site: Site) -> None:
    async def refuse(context: Any, params: Any) -> types.ErrorData:
        return types.ErrorData(code=-1, message="the user said no")

    async def scenario() -> None:
        async with connected(command, "legacy", sampling_callback=refuse) as client:
            result = await client.call_tool("web_fetch", {"url": site.url("/page"), "prompt": "What is it?"})
            assert not result.is_error and "the user said no" in text_of(result)

    run(scenario)


def active(command: Command) -> int:
    with DaemonClient(command.home, start=False) as client:
        return int(client.status()["requests"]["active"])


@pytest.mark.parametrize("mode", ERAS)
def test_cancelling_a_call_ends_the_fetch(command: Command, site: Site, mode: str) -> None:
    async def scenario() -> None:
        async with connected(command, mode) as client:
            call = asyncio.create_task(client.call_tool("web_fetch", {"url": site.url("/hang")}))
            await asyncio.to_thread(wait_for, lambda: active(command) == 1)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            await asyncio.to_thread(wait_for, lambda: active(command) == 0)
            again = await client.call_tool("web_fetch", {"url": site.url("/page")})
            assert not again.is_error

    run(scenario)


def test_a_client_that_dies_ends_its_fetch_and_its_server(command: Command, site: Site) -> None:
    hello = [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2024-11-05",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "web_fetch", "arguments": {"url": site.url("/hang")}},
        },
    ]

    async def scenario() -> None:
        running = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "cdpfetch",
            "mcp",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=command.environment,
        )
        assert running.stdin is not None and running.stdout is not None
        running.stdin.write(b"".join(json.dumps(line).encode() + b"\n" for line in hello))
        await running.stdin.drain()
        answer = json.loads(await running.stdout.readline())
        assert answer["result"]["protocolVersion"] == "2024-11-05"
        await asyncio.to_thread(wait_for, lambda: active(command) == 1)
        running.stdin.close()
        assert await running.wait() == 0
        await asyncio.to_thread(wait_for, lambda: active(command) == 0)
        # Its transport is closed with the pipes that are left.
        await running.communicate()

    run(scenario)


def test_over_http_only_the_token_opens(command: Command, site: Site) -> None:
    import httpx2 as http

    async def dying(address: str, token: str, mode: str) -> None:
        """A session that ends in the middle of a call ends its fetch."""

        async def session() -> None:
            async with (
                http.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=50) as own,
                Client(streamable_http_client(address, http_client=own), mode=mode) as client,
            ):
                await client.call_tool("web_fetch", {"url": site.url("/hang")})

        task = asyncio.create_task(session())
        await asyncio.to_thread(wait_for, lambda: active(command) == 1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.to_thread(wait_for, lambda: active(command) == 0)

    async def scenario() -> None:
        token = "a-token-of-the-test-1234"
        running = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "cdpfetch",
            "mcp",
            "--http",
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env={**command.environment, "CDPFETCH_MCP_TOKEN": token},
        )
        try:
            assert running.stderr is not None
            told = re.search(r"http://127\.0\.0\.1:\d+/mcp", (await running.stderr.readline()).decode())
            assert told is not None
            async with (
                http.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=50) as with_token,
                Client(streamable_http_client(told[0], http_client=with_token)) as client,
            ):
                results = await asyncio.gather(
                    *(client.call_tool("web_fetch", {"url": site.url(f"/page?http={n}")}) for n in range(50))
                )
                assert not any(result.is_error for result in results)
                documents = [result.structured_content["documents"][0] for result in results]
                assert [one["url"] for one in documents] == [site.url(f"/page?http={n}") for n in range(50)]
            for mode in ERAS:
                await dying(told[0], token, mode)
            async with http.AsyncClient() as without:
                for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {token}"}):
                    assert (await without.post(told[0], json={}, headers=headers)).status_code == 401
                key = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
                for name, status in (("Host", 421), ("Origin", 403)):
                    foreign = {"Host": "evil.example", "Origin": "http://evil.example"}[name]
                    assert (await without.post(told[0], json={}, headers={**key, name: foreign})).status_code == status
        finally:
            running.terminate()
            await running.communicate()
        # It shut down in order, and then ended as who asked for it expects.
        assert running.returncode == -signal.SIGTERM

    run(scenario)


def test_a_token_that_can_be_guessed_is_refused(command: Command) -> None:
    os.environ["CDPFETCH_MCP_TOKEN"] = "short"
    try:
        environment = {**command.environment, "CDPFETCH_MCP_TOKEN": "short"}
    finally:
        del os.environ["CDPFETCH_MCP_TOKEN"]

    async def scenario() -> None:
        running = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "cdpfetch", "mcp", "--http", stderr=asyncio.subprocess.PIPE, env=environment
        )
        _, told = await running.communicate()
        assert running.returncode == 2 and b"the token has 5 characters" in told

    run(scenario)
