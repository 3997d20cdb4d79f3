"""The agents that cdpfetch can be installed into, as a table: where each keeps its settings, and in which shape.

As the clients document it: Claude Code ("MCP scopes": ``~/.claude.json``, and ``.mcp.json`` of a project, of the same
shape), Claude Desktop ("Local MCP servers"), Codex (``config.toml``, ``CODEX_HOME``), Cursor (``~/.cursor/mcp.json``),
VS Code (``mcp.json`` of the user's profile, table ``servers``), Gemini CLI (``settings.json``, ``GEMINI_CLI_HOME``),
pi ("Extension locations", ``PI_CODING_AGENT_DIR``), and skills as Claude Code finds them.  Entries were listed by
Claude Code, Codex and Gemini CLI themselves.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# The name of our entry, and of our folder.
NAME = "cdpfetch"


class Target(NamedTuple):
    """An agent.

    ``kind``: ``json`` and ``toml`` are files with an entry below ``table``, beside ``extra`` of its own; ``pi`` and
    ``skill`` are folders that get files of ours.
    ``place``: words of the path below the account's home (``mac``: on macOS, where it differs); the environment's
    ``variable``, where it is set, stands for all but the last ``own`` words (not on macOS where that has a place of its
    own).
    """

    name: str
    title: str
    kind: str
    place: tuple[str, ...]
    table: str = "mcpServers"
    extra: Mapping[str, Any] = {}
    mac: tuple[str, ...] = ()
    variable: str | None = None
    own: int = 1

    @property
    def is_file(self) -> bool:
        """Whether it gets an entry in a file, and not files in a folder."""
        return self.kind in ("json", "toml")

    def path(self, account: str, environ: Mapping[str, str], platform: str) -> str:
        """The file or folder of this user on this platform."""
        if self.mac and platform == "darwin":
            return os.path.join(account, *self.mac)
        base = environ.get(self.variable) if self.variable else None
        if base:
            return os.path.join(os.path.abspath(os.path.expanduser(base)), *self.place[-self.own :])
        return os.path.join(account, *self.place)


_STDIO = {"type": "stdio"}
_SUPPORT = ("Library", "Application Support")

TARGETS = {
    one.name: one
    for one in (
        Target("pi", "pi (extension)", "pi", (".pi", "agent", "extensions"), variable="PI_CODING_AGENT_DIR"),
        Target("skill", "skill for agents", "skill", (".claude", "skills"), variable="CLAUDE_CONFIG_DIR"),
        Target("claude-code", "Claude Code", "json", (".claude.json",), extra=_STDIO, variable="CLAUDE_CONFIG_DIR"),
        Target(
            "claude-desktop",
            "Claude Desktop",
            "json",
            (".config", "Claude", "claude_desktop_config.json"),
            mac=(*_SUPPORT, "Claude", "claude_desktop_config.json"),
            variable="XDG_CONFIG_HOME",
            own=2,
        ),
        Target("codex", "Codex", "toml", (".codex", "config.toml"), table="mcp_servers", variable="CODEX_HOME"),
        Target("cursor", "Cursor", "json", (".cursor", "mcp.json")),
        Target(
            "vscode",
            "VS Code",
            "json",
            (".config", "Code", "User", "mcp.json"),
            table="servers",
            extra=_STDIO,
            mac=(*_SUPPORT, "Code", "User", "mcp.json"),
            variable="XDG_CONFIG_HOME",
            own=3,
        ),
        Target("gemini", "Gemini CLI", "json", (".gemini", "settings.json"), variable="GEMINI_CLI_HOME", own=2),
    )
}
