"""One table in a TOML text: comments, order and other tables stay."""

from __future__ import annotations

import tomllib

import pytest

from cdpfetch.adapters.install import tomlfile
from cdpfetch.errors import InvalidRequest

WANTED = {"command": "/opt/bin/cdpfetch", "args": ["mcp"]}
ENTRY = '[mcp_servers.cdpfetch]\ncommand = "/opt/bin/cdpfetch"\nargs = ["mcp"]\n'


def added(text: str) -> str:
    return tomlfile.with_entry(text, "mcp_servers", "cdpfetch", WANTED)


def removed(text: str) -> str:
    return tomlfile.without_entry(text, "mcp_servers", "cdpfetch")


def test_an_empty_file_gets_the_table() -> None:
    assert added("") == ENTRY
    assert tomlfile.shown("mcp_servers", "cdpfetch", WANTED) == ENTRY


@pytest.mark.parametrize(
    "text",
    [
        '# mine\nmodel = "x" # good\n',
        'model = "x"\n\n[mcp_servers.b] # theirs\ncommand = "b"\n\n[profiles.p]\nmodel = "y"\n',
        '[mcp_servers]\nb = { command = "b" }\n',
        'mcp_servers.b.command = "b"\n',
        "[profiles.p]\r\nmodel = 'y'\r\n",
    ],
)
def test_all_else_stays(text: str) -> None:
    new = added(text)
    for line in text.splitlines():
        assert line in new
    old, data = tomllib.loads(text.replace("\r\n", "\n")), tomllib.loads(new.replace("\r\n", "\n"))
    assert data["mcp_servers"].pop("cdpfetch") == WANTED
    assert {**old, "mcp_servers": old.get("mcp_servers", {})} == data
    assert added(new) == new
    again = tomllib.loads(removed(new).replace("\r\n", "\n"))
    assert {**again, "mcp_servers": again.get("mcp_servers", {})} == data


def test_keys_that_the_user_added_stay() -> None:
    text = '[mcp_servers.cdpfetch]\n# quick\ncommand = "/old"\nargs = ["mcp"]\nstartup_timeout_sec = 20\n'
    assert added(text) == text.replace("/old", "/opt/bin/cdpfetch")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a = \n", "it is no TOML: Invalid value (at line 1, column 5)"),
        ("mcp_servers = 7\n", "'mcp_servers' is no table"),
        ('[mcp_servers.cdpfetch]\nurl = "http://x/"\n', "not a command to start"),
    ],
)
def test_what_cannot_be_edited_is_refused_with_the_reason(text: str, told: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        added(text)
    assert told in caught.value.reason and caught.value.hint


def test_a_text_without_the_table_stays() -> None:
    assert removed("a = 1\n") == "a = 1\n"
