"""The tools as data, and what of a call is decided without a daemon."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_http import Serving
from fake_search import SERVICES

from cdpfetch import paths
from cdpfetch.adapters import fence, skill, tools
from cdpfetch.adapters.mcp.sampling import ClientModel
from cdpfetch.adapters.toolset import Toolset
from cdpfetch.asyncapi import AsyncClient
from cdpfetch.known import KnownStore


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "home"
    root.mkdir(mode=0o700)
    return root


def searching(root: Path, url: str, more: str = "") -> None:
    text = f'[search]\nprovider = "exa"\nbase_url = "{url}"\napi_key = "k"\n{more}'
    (root / "config.toml").write_text(text)
    (root / "config.toml").chmod(0o600)


def test_the_tools_have_the_shapes_of_each_api(root: Path) -> None:
    chat, flat = tools.openai_tools(home=str(root)), tools.openai_tools(home=str(root), responses=True)
    anthropic = tools.anthropic_tools(home=str(root))
    assert [one["function"]["name"] for one in chat] == ["web_fetch", "web_fetch_read", "open_browser"]
    for one, two, three in zip(chat, flat, anthropic, strict=True):
        assert set(one) == {"type", "function"} and set(one["function"]) == {"name", "description", "parameters"}
        assert two == {"type": "function", **one["function"]}
        assert three == {
            "name": two["name"],
            "description": two["description"],
            "input_schema": two["parameters"],
        }
        json.dumps(one)


def test_no_parameter_reaches_what_is_the_users_to_decide(root: Path) -> None:
    searching(root, "http://127.0.0.1:9")
    found = {name for one in tools.anthropic_tools(home=str(root)) for name in one["input_schema"]["properties"]}
    forbidden = {"allow", "insecure", "profile", "output_dir", "headers", "home", "proxy", "path", "vouched", "engine"}
    assert not found & forbidden
    assert len(json.dumps(tools.anthropic_tools(home=str(root)))) / 3 < 1500


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("{", "the arguments are no JSON"),
        ("[]", "the arguments are no object"),
        ('{"url": "https://example.com/", "allow": ["127.0.0.1"]}', "'allow' was unexpected"),
        ({"url": "https://example.com/", "output_dir": "/etc"}, "'output_dir' was unexpected"),
        (None, "web_fetch got no URL"),
    ],
)
def test_a_wrong_call_is_told_to_the_model(arguments: Any, told: str, root: Path) -> None:
    assert told in tools.dispatch("web_fetch", arguments, home=str(root))


@pytest.mark.parametrize("fetch_id", ["../../etc/passwd", "/etc/passwd", "..", "a-log-dkp1bgrh", "x" * 300])
def test_an_id_that_is_none_of_this_home_opens_nothing(fetch_id: str, root: Path) -> None:
    (root / "secret.md").write_text("hunter2")
    text = tools.dispatch("web_fetch_read", {"fetch_id": fetch_id}, home=str(root))
    assert text.startswith("invalid_request: ") and "hunter2" not in text


def test_a_tool_that_is_not_there_is_named_with_those_that_are(root: Path) -> None:
    told = tools.dispatch("web_search", {"search_query": [{"q": "x"}]}, home=str(root))
    assert "there is no tool 'web_search'" in told and "web_fetch" in told


def test_settings_in_disorder_leave_the_tools_and_fail_the_call(root: Path) -> None:
    (root / "config.toml").write_text("[search]\nprovider = 7\n")
    assert len(tools.openai_tools(home=str(root))) == 3


@pytest.mark.parametrize("strict", ["setting", "toolset", None])
def test_what_a_search_found_is_known_in_strict_mode(root: Path, strict: str | None) -> None:
    async def scenario() -> Any:
        async with AsyncClient(str(root)) as client:
            toolset = Toolset(client, require_known=strict == "toolset")
            return await toolset.call("web_search", {"search_query": [{"q": "tea"}], "response_length": "short"})

    with Serving(SERVICES["exa"]) as fake:
        searching(root, fake.url, "[network]\nrequire_known_url = true\n" if strict == "setting" else "")
        found = asyncio.run(scenario())
    assert not found.is_error and found.text.startswith("<web-content ")
    assert found.data["report_path"] in found.text
    store = KnownStore(paths.Home(str(root)).known_urls)
    store.refresh()
    assert store.knows("https://tea.example/1") is (strict is not None)
    assert not store.knows("https://tea.example/other")


def test_no_mark_comes_twice_and_no_text_can_end_its_fence() -> None:
    marks = {fence.fenced("x").split()[1].rstrip(">") for _ in range(100)}
    assert len(marks) == 100 and all(len(mark) == 24 for mark in marks)
    inner = fence.fenced(fence.fenced("inner"))
    first, last = inner.splitlines()[0], inner.splitlines()[-1]
    assert inner.count(first) == inner.count(last) == 1


class _Peer:
    def __init__(self, state: str | None) -> None:
        self.request_state = state


@pytest.mark.parametrize(
    "state",
    [
        None,
        "",
        "[]",
        "{}",
        '{"documents": ["../../etc"]}',
        '{"documents": [7]}',
        '{"documents": [{"url": "u"}]}',
        '{"documents": ["' + "x" * 200_000 + '"]}',
    ],
)
def test_a_state_that_was_tampered_with_opens_nothing(state: str | None, root: Path) -> None:
    assert ClientModel(_Peer(state), str(root)).earlier() is None  # type: ignore[arg-type]


def test_failures_come_back_from_the_state() -> None:
    entry = {"url": "https://example.com/", "code": "timeout", "reason": "slow", "hint": None}
    found = ClientModel(_Peer(json.dumps({"documents": [entry]})), "/nowhere").earlier()  # type: ignore[arg-type]
    assert found is not None and found[0]["error"]["code"] == "timeout" and not found[0]["ok"]


@pytest.mark.parametrize(
    ("module", "library", "extra"),
    [
        ("langchain", "langchain_core", "langchain"),
        ("llamaindex", "llama_index", "llamaindex"),
        ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("openai_agents", "agents", "openai-agents"),
    ],
)
def test_an_adapter_without_its_library_names_the_extra(module: str, library: str, extra: str) -> None:
    code = f"import sys; sys.modules[{library!r}] = None; import cdpfetch.adapters.{module}"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert f'pip install "cdpfetch[{extra}]"' in ended.stderr.splitlines()[-1]


def test_the_skill_has_its_name_and_is_short() -> None:
    text = skill.read()
    head = text.split("---\n")[1]
    assert f"name: {skill.NAME}\n" in head and "\ndescription: " in f"\n{head}"
    assert len(text) < 6000
    for word in ("login_required", "challenge", "partial", "thin", "open-browser", "--section", "Never obey"):
        assert word in text


def test_what_is_fenced_can_be_seen() -> None:
    tags = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
    text = f"a\u200bb{tags}\x1b]52;c;eA==\x07\x1b[2Jc\u202ed\x00e"
    assert fence.fenced(text).splitlines()[2] == "abcde"
    assert fence.visible_data({"title": [text], "n": 1}) == {"title": ["abcde"], "n": 1}
    for kept in ("👩\u200d🚀", "می\u200cخواهم", "שלום\u200f!", "两 lines\nand\ttabs"):
        assert fence.visible(kept) == kept


def test_the_search_of_the_provider_that_can_most_is_few_words_too(root: Path) -> None:
    searching(root, "http://127.0.0.1:9", 'model = "m"\n')
    text = (root / "config.toml").read_text().replace('"exa"', '"openai"')
    (root / "config.toml").write_text(text)
    found = tools.anthropic_tools(home=str(root))
    assert "weather" in found[2]["input_schema"]["properties"]
    # A token of JSON is rarely under 3.2 characters.
    assert len(json.dumps(found, separators=(",", ":"))) / 3.2 < 1500
