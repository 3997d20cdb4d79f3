"""`cdpfetch adapters`: every target installed, installed again, looked at, and taken out."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from cdpfetch import cli
from cdpfetch.adapters.install.targets import TARGETS

FILES = [name for name, one in TARGETS.items() if one.is_file]
FOLDERS = [name for name, one in TARGETS.items() if not one.is_file]


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user who has nothing yet."""
    for name in ("PI_CODING_AGENT_DIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CDPFETCH_HOME", str(tmp_path / "home"))
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    assert cli.main(["adapters", *words]) == status
    told = capsys.readouterr()
    return told.out if status == 0 else told.err


def states(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    return {one["name"]: one["installed"] for one in map(json.loads, run(capsys, "list", "--json").splitlines())}


def tree(folder: Path) -> dict[str, bytes]:
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def entries(path: Path, table: str) -> Any:
    text = path.read_text()
    return (tomllib.loads(text) if path.suffix == ".toml" else json.loads(text))[table]


@pytest.mark.parametrize("name", TARGETS)
def test_installing_twice_is_installing_once(name: str, account: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert states(capsys)[name] == "no"
    told = run(capsys, "install", name)
    first = tree(account)
    assert {line.removeprefix("wrote ") for line in told.splitlines() if line.startswith("wrote ")} == {
        str(account / one) for one in first
    }
    assert states(capsys) == {other: "yes" if other == name else "no" for other in TARGETS}
    assert "all is there already" in run(capsys, "install", name)
    assert tree(account) == first
    assert "removed" in run(capsys, "uninstall", name) or name in FILES
    assert states(capsys)[name] == "no"
    run(capsys, "uninstall", name)


@pytest.mark.parametrize("name", FILES)
def test_the_entry_starts_this_command(name: str, account: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "install", name)
    target = TARGETS[name]
    (path,) = account.rglob("*.*json" if target.kind == "json" else "*.toml")
    entry = entries(path, target.table)["cdpfetch"]
    assert os.access(entry["command"], os.X_OK) and os.path.isabs(entry["command"])
    assert entry["args"][-1] == "mcp"
    assert entry["env"] == {"CDPFETCH_HOME": str(account / "home")}
    assert entry.get("type") == ("stdio" if name in ("claude-code", "vscode") else None)


@pytest.mark.parametrize("name", TARGETS)
def test_print_writes_nothing(name: str, account: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = run(capsys, "install", name, "--print")
    assert not tree(account)
    path = TARGETS[name].path(str(account), {}, "linux" if os.uname().sysname == "Linux" else "darwin")
    assert path in told.splitlines()[0]
    if name in FILES:
        body = told.partition("\n")[2]
        data = json.loads(body) if TARGETS[name].kind == "json" else tomllib.loads(body)
        assert data[TARGETS[name].table]["cdpfetch"]["args"][-1] == "mcp"


def test_other_entries_and_a_copy_stay(account: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = account / ".mcp.json"
    text = '{"mcpServers": {"b": {"command": "x", "env": {"KEY": "secret"}}}}'
    path.write_text(text)
    path.chmod(0o640)
    assert "secret" not in run(capsys, "install", "claude-code", "--file", str(path), "--print")
    told = run(capsys, "install", "claude-code", "--file", str(path))
    (copy,) = account.glob(".mcp.json.bak-*")
    assert copy.read_text() == text and f"as it was: {copy}" in told
    assert entries(path, "mcpServers")["b"]["env"] == {"KEY": "secret"}
    assert path.stat().st_mode & 0o777 == 0o640
    run(capsys, "uninstall", "claude-code", "--file", str(path))
    assert json.loads(path.read_text()) == json.loads(text)


def test_a_malformed_file_is_refused_and_left(account: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = account / "mcp.json"
    path.write_text('{"servers": {')
    told = run(capsys, "install", "vscode", "--file", str(path), status=2)
    assert f"{path}: it is no JSON: " in told and "line 1 column" in told
    assert tree(account) == {"mcp.json": b'{"servers": {'}


def test_the_list_tells_what_is_old_and_what_cannot_be_read(account: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("cursor", "codex", "pi"):
        run(capsys, "install", name)
    (account / ".cursor" / "mcp.json").write_text('{"mcpServers": {"cdpfetch": {"command": "/old/cdpfetch"}}}')
    (account / ".codex" / "config.toml").write_text("[")
    (account / ".pi" / "agent" / "extensions" / "cdpfetch" / "render.ts").unlink()
    found = states(capsys)
    assert (found["cursor"], found["codex"], found["pi"]) == ("changed", "unreadable", "changed")
    run(capsys, "install", "cursor")
    assert states(capsys)["cursor"] == "yes"


def test_the_extension_of_another_version_is_replaced_and_kept(
    account: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "install", "pi", "--dir", str(account / "x"))
    folder = account / "x" / "cdpfetch"
    whole = (folder / "index.ts").read_bytes()
    (folder / "index.ts").write_text("// older\n")
    run(capsys, "install", "pi", "--dir", str(account / "x"))
    assert (folder / "index.ts").read_bytes() == whole
    (copy,) = folder.glob("*.bak-*")
    assert copy.read_text() == "// older\n"
    run(capsys, "uninstall", "pi", "--dir", str(account / "x"))
    assert os.listdir(folder) == [copy.name], "what the user may want is not thrown away"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["install", "emacs"], "there is no target 'emacs'\n  hint: targets: pi, skill, claude-code"),
        (["install", "pi", "--file", "x"], "pi takes --dir, and not --file"),
        (["uninstall", "codex", "--dir", "x"], "codex takes --file, and not --dir"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(
    words: list[str], told: str, account: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told in run(capsys, *words, status=2)


def test_the_extension_drives_no_browser_and_needs_no_package() -> None:
    """Beside pi's own parts it imports what Node has, and talks to the command alone."""
    import re

    from cdpfetch.adapters import fence, pi

    (folder,) = pi.__path__
    texts = {one.name: one.read_text() for one in Path(folder).glob("*.ts")}
    assert set(texts) == {"index.ts", "command.ts", "render.ts", "history.ts"}
    imported = {name for text in texts.values() for name in re.findall(r'(?:from|import\()\s*"([^"]+)"', text)}
    assert {name for name in imported if not name.startswith(("node:", "./"))} == {
        "@earendil-works/pi-coding-agent",
        "@earendil-works/pi-tui",
        "@mariozechner/pi-tui",
    }
    assert 'import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent"' in texts["index.ts"]
    assert f'"{fence.NOTE}"' in texts["history.ts"], "its receipts have the fence that results have"
    assert imported & {f"node:{name}" for name in ("net", "http", "https", "tls")} == set()
