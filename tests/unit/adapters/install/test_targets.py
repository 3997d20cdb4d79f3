"""The table of agents: where each keeps its settings, by platform and environment."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cdpfetch import paths
from cdpfetch.adapters.install import command
from cdpfetch.adapters.install.targets import TARGETS

LINUX = {
    "pi": "/u/.pi/agent/extensions",
    "skill": "/u/.claude/skills",
    "claude-code": "/u/.claude.json",
    "claude-desktop": "/u/.config/Claude/claude_desktop_config.json",
    "codex": "/u/.codex/config.toml",
    "cursor": "/u/.cursor/mcp.json",
    "vscode": "/u/.config/Code/User/mcp.json",
    "gemini": "/u/.gemini/settings.json",
}
MAC = {
    **LINUX,
    "claude-desktop": "/u/Library/Application Support/Claude/claude_desktop_config.json",
    "vscode": "/u/Library/Application Support/Code/User/mcp.json",
}


@pytest.mark.parametrize(("platform", "expected"), [("linux", LINUX), ("darwin", MAC)])
def test_each_has_its_place(platform: str, expected: dict[str, str]) -> None:
    assert {name: one.path("/u", {}, platform) for name, one in TARGETS.items()} == expected


@pytest.mark.parametrize(
    ("name", "variable", "expected"),
    [
        ("pi", "PI_CODING_AGENT_DIR", "/else/extensions"),
        ("skill", "CLAUDE_CONFIG_DIR", "/else/skills"),
        ("claude-code", "CLAUDE_CONFIG_DIR", "/else/.claude.json"),
        ("codex", "CODEX_HOME", "/else/config.toml"),
        ("gemini", "GEMINI_CLI_HOME", "/else/.gemini/settings.json"),
        ("vscode", "XDG_CONFIG_HOME", "/else/Code/User/mcp.json"),
        ("claude-desktop", "XDG_CONFIG_HOME", "/else/Claude/claude_desktop_config.json"),
    ],
)
def test_the_clients_own_variables_are_obeyed(name: str, variable: str, expected: str) -> None:
    assert TARGETS[name].path("/u", {variable: "/else"}, "linux") == expected
    assert TARGETS[name].path("/u", {variable: ""}, "linux") == LINUX[name]
    if MAC[name] != LINUX[name]:
        assert TARGETS[name].path("/u", {variable: "/else"}, "darwin") == MAC[name]


def test_the_tables_are_named_as_the_clients_name_them() -> None:
    assert {name: one.table for name, one in TARGETS.items() if one.is_file} == {
        "claude-code": "mcpServers",
        "claude-desktop": "mcpServers",
        "codex": "mcp_servers",
        "cursor": "mcpServers",
        "vscode": "servers",
        "gemini": "mcpServers",
    }


def test_the_command_is_absolute_and_a_link_to_it_is_kept(tmp_path: Path) -> None:
    real, link = tmp_path / "venv" / "cdpfetch", tmp_path / "bin" / "cdpfetch"
    for one in (real, link):
        one.parent.mkdir()
    real.write_text("#!/bin/sh\n")
    real.chmod(0o755)
    link.symlink_to(real)
    assert command.running(str(link), "/no/python") == [str(link)]
    assert command.running("/x/cdpfetch/__main__.py", str(tmp_path / "venv" / "python")) == [str(real)]
    assert command.running("/x/cdpfetch/__main__.py", "/no/python") == ["/no/python", "-m", "cdpfetch"]
    assert command.running("/gone/cdpfetch", "/no/python") == ["/no/python", "-m", "cdpfetch"]
    assert Path(command.here()[0]).is_absolute()
    assert Path(command.here()[0]).parent == Path(sys.executable).absolute().parent


def test_an_entry_names_the_home_only_where_it_is_another() -> None:
    usual = paths.Home(f"{paths.account_home()}/.cdpfetch")
    assert command.entry(["/c"], command.environment(usual), {}) == {"command": "/c", "args": ["mcp"]}
    env = command.environment(paths.Home("/else"))
    assert command.entry(["/p", "-m", "cdpfetch"], env, {"type": "stdio"}) == {
        "type": "stdio",
        "command": "/p",
        "args": ["-m", "cdpfetch", "mcp"],
        "env": {"CDPFETCH_HOME": "/else"},
    }
