"""`cdpfetch tool`: an agent's tool as a process, with JSON in and JSON lines out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from commands import LIMIT, Command, wait_for
from testsite import Site

from cdpfetch import Client
from cdpfetch.adapters.toolset import Toolset
from cdpfetch.asyncapi import AsyncClient

pytestmark = pytest.mark.chrome


def start(command: Command, *words: str, **options: Any) -> subprocess.Popen[bytes]:
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    environment = command.environment
    return subprocess.Popen([sys.executable, "-m", "cdpfetch", "tool", *words], env=environment, **{**pipes, **options})


def call(command: Command, name: str, arguments: bytes) -> tuple[int, list[dict[str, Any]]]:
    with start(command, name) as running:
        out, err = running.communicate(arguments, timeout=LIMIT)
    assert not err, err
    return running.returncode, [json.loads(line) for line in out.splitlines()]


def test_the_tools_are_listed_as_every_adapter_has_them(command: Command) -> None:
    with start(command, "--list") as running:
        out, _ = running.communicate(timeout=LIMIT)
    listed = [json.loads(line) for line in out.splitlines()]
    assert listed == [one._asdict() for one in Toolset(AsyncClient(command.home)).definitions()]


def test_a_page_is_fetched_with_its_stages_and_read(command: Command, site: Site) -> None:
    status, lines = call(command, "web_fetch", json.dumps({"url": site.url("/page?for=tool"), "max_age": 0}).encode())
    assert status == 0
    *stages, result = lines
    assert [one["event"] for one in stages] == ["progress"] * len(stages)
    assert [one["text"].split(":")[0] for one in stages][:2] == ["started", "navigating"]
    assert set(result) == {"event", "text", "data", "is_error"} and result["event"] == "result"
    assert "1. About harbour" in result["text"] and result["text"].startswith("<web-content ")
    (document,) = result["data"]["documents"]
    asked = json.dumps({"fetch_id": document["fetch_id"], "section": "harbour"}, indent=1).encode()
    status, (page,) = call(command, "web_fetch_read", asked)
    assert status == 0 and page["data"]["text"].startswith("# The harbour\n")


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("web_fetch", b"", "web_fetch got no URL"),
        ("web_fetch", b"{", "web_fetch: the arguments are no JSON: "),
        ("web_fetch", b"[]", "web_fetch: the arguments are no object"),
        ("web_fetch", b"[" * 200_000, "web_fetch: the arguments are no JSON: "),
        ("web_fetch", b" " * 1_000_001, "the arguments have over 1,000,000 bytes"),
        ("web_fetch", b'{"url": "http://10.0.0.1/", "allow": ["10.0.0.1"]}', "'allow' was unexpected"),
        ("web_fetch", b'{"url": "http://10.0.0.1/"}', "10.0.0.1 is private"),
        ("nothing", b"{}", "there is no tool 'nothing'"),
    ],
)
def test_what_is_wrong_is_a_result(command: Command, name: str, arguments: bytes, told: str) -> None:
    status, lines = call(command, name, arguments)
    assert status == 1 and lines[-1]["is_error"]
    assert told in lines[-1]["text"]


@pytest.mark.parametrize("words", [[], ["web_fetch", "--list"]])
def test_a_tool_or_the_list(command: Command, words: list[str]) -> None:
    with start(command, *words) as running:
        _, err = running.communicate(timeout=LIMIT)
    assert running.returncode == 2 and b"give the NAME of a tool, or --list" in err


def active(command: Command) -> int:
    with Client(command.home, start=False) as client:
        return int(client.status()["requests"]["active"])


@pytest.fixture
def hanging(command: Command, site: Site) -> Iterator[subprocess.Popen[bytes]]:
    """A call under way whose page never comes."""
    wait_for(lambda: active(command) == 0)
    with start(command, "web_fetch", "--hold") as running:
        assert running.stdin is not None
        running.stdin.write(json.dumps({"url": site.url("/hang")}).encode() + b"\n")
        running.stdin.flush()
        wait_for(lambda: active(command) == 1)
        yield running
        wait_for(lambda: active(command) == 0)


def test_the_end_of_its_input_ends_a_held_call(hanging: subprocess.Popen[bytes]) -> None:
    assert hanging.stdin is not None and hanging.stdout is not None
    hanging.stdin.write(b"more of no interest\n")
    hanging.stdin.close()
    assert hanging.wait(LIMIT) == 130
    assert all(json.loads(line)["event"] == "progress" for line in hanging.stdout)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_a_call(hanging: subprocess.Popen[bytes], number: signal.Signals) -> None:
    hanging.send_signal(number)
    assert hanging.wait(LIMIT) == 130


def test_a_held_call_whose_input_is_a_file_goes_on(command: Command, site: Site, tmp_path: Any) -> None:
    path = tmp_path / "arguments.json"
    path.write_text(json.dumps({"url": site.url("/page")}) + "\n")
    with open(path, "rb") as file, start(command, "web_fetch", "--hold", stdin=file) as running:
        out, _ = running.communicate(timeout=LIMIT)
    assert running.returncode == 0 and json.loads(out.splitlines()[-1])["data"]["documents"][0]["ok"]


def test_nobody_to_hear_ends_a_call(command: Command, site: Site) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    arguments = json.dumps({"url": site.url("/hang")}).encode() + b"\n"
    with start(command, "web_fetch", stdout=writing) as running:
        os.close(writing)
        _, err = running.communicate(arguments, timeout=LIMIT)
    assert running.returncode == 130 and not err
    wait_for(lambda: active(command) == 0)
