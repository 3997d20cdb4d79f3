"""The MCP server by a client of somebody else: ``@modelcontextprotocol/inspector --cli``, from npm.

It is installed once, into a folder of the account's cache.  Without npm, or where npm reaches no registry, these tests
are skipped with that reason; where a browser is required, npm is required, too.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import Command
from testsite import Site

pytestmark = [pytest.mark.chrome, pytest.mark.timeout(600)]
VERSION = "2.12.0"
PACKAGE = f"@modelcontextprotocol/inspector@{VERSION}"
# What npm says when there is nobody to ask.
UNREACHABLE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT", "ENETUNREACH", "ECONNRESET", "E404", "E403")


@pytest.fixture(scope="session")
def inspector() -> list[str]:
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        assert os.environ.get("CDPFETCH_REQUIRE_CHROME") != "1", "npm is needed (Debian: apt-get install npm)"
        pytest.skip("npm is not installed")
    folder = Path.home() / ".cache" / "cdpfetch-tests" / f"inspector-{VERSION}"
    done = folder / "done"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        words = ["install", "--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund", PACKAGE]
        ended = subprocess.run([npm, *words], check=False, capture_output=True, text=True, timeout=560, cwd=folder)
        if ended.returncode and any(word in ended.stderr for word in UNREACHABLE):
            pytest.skip(f"npm could not get {PACKAGE}: {ended.stderr.strip()[:200]}")
        assert ended.returncode == 0, ended.stderr
        done.touch()
    return [node, str(folder / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"), "--cli"]


def ask(inspector: list[str], command: Command, *words: str) -> Any:
    """What the server answers to one method."""
    server = ["-e", f"CDPFETCH_HOME={command.home.root}", "-e", f"PYTHONPATH={command.environment['PYTHONPATH']}"]
    ended = subprocess.run(
        [*inspector, *server, sys.executable, "-m", "cdpfetch", "mcp", *words],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env=command.environment,
        stdin=subprocess.DEVNULL,
    )
    assert ended.stdout.strip().startswith("{"), (ended.returncode, ended.stdout[-500:], ended.stderr[-2000:])
    return json.loads(ended.stdout)


def test_every_tool_is_listed_without_a_fault_and_called(inspector: list[str], command: Command, site: Site) -> None:
    listed = ask(inspector, command, "--method", "tools/list", "--strict")
    assert [tool["name"] for tool in listed["tools"]] == ["web_fetch", "web_fetch_read", "open_browser"]

    def call(name: str, *arguments: str) -> Any:
        words = [word for argument in arguments for word in ("--tool-arg", argument)]
        return ask(inspector, command, "--method", "tools/call", "--tool-name", name, *words)

    fetched = call("web_fetch", f"url={site.url('/page')}")
    (document,) = fetched["structuredContent"]["documents"]
    assert document["title"] == "About harbour" and not fetched.get("isError")
    read = call("web_fetch_read", f"fetch_id={document['fetch_id']}", "section=harbour")
    assert read["structuredContent"]["text"].startswith("# The harbour\n")
    opened = call("open_browser")
    assert opened["isError"] and "display" in opened["content"][0]["text"]
    listed = ask(inspector, command, "--method", "resources/list")
    assert f"cdpfetch://{document['fetch_id']}/content.md" in {one["uri"] for one in listed["resources"]}
