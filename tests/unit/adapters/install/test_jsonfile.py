"""One entry in a JSON text: all else stays byte for byte, comments too."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdpfetch.adapters.install import jsonfile
from cdpfetch.errors import InvalidRequest

WANTED = {"command": "/opt/bin/cdpfetch", "args": ["mcp"]}
ENTRY = """\
    "cdpfetch": {
      "command": "/opt/bin/cdpfetch",
      "args": [
        "mcp"
      ]
    }
"""


def added(text: str) -> str:
    return jsonfile.with_entry(text, "mcpServers", "cdpfetch", WANTED)


def removed(text: str) -> str:
    return jsonfile.without_entry(text, "mcpServers", "cdpfetch")


@pytest.mark.parametrize("text", ["", "\n", "{}", "{}\n", "{\n}\n"])
def test_an_empty_file_gets_the_table(text: str) -> None:
    new = added(text)
    assert new.rstrip("\n") == '{\n  "mcpServers": {\n' + ENTRY + "  }\n}"
    assert added(new) == new


def test_what_stands_before_and_behind_stays_as_it_is() -> None:
    text = '{"a": 1.50,\n\t"mcpServers": {\n\t\t"b": {"command": "x"}\n\t},\n"z":"\\u00e9" }'
    new = added(text)
    assert new.startswith('{"a": 1.50,\n\t"mcpServers": {\n\t\t"b": {"command": "x"},\n\t\t"cdpfetch": {')
    assert new.endswith('\n\t},\n"z":"\\u00e9" }')
    assert json.loads(new)["mcpServers"]["cdpfetch"] == WANTED
    assert removed(new) == text


def test_comments_and_trailing_commas_stay_where_they_are() -> None:
    text = (
        '// head\n{\n  /* of a // " */ "mcpServers": {\n    "b": {"url": "http://x/*"}, // about b\n'
        "    // nothing more\n  }, // end\n}\n"
    )
    new = added(text)
    assert new == text.replace("    // nothing more\n", "    // nothing more\n" + ENTRY)
    assert added(new) == new
    assert "// about b" in removed(new) and "// nothing more" in removed(new)


def test_the_comma_goes_before_a_comment_and_not_into_it() -> None:
    text = '{\n  "mcpServers": {\n    "b": {} // the last\n  }\n}\n'
    assert '"b": {}, // the last\n    "cdpfetch"' in added(text)
    assert removed(added(text)) == text


def test_line_ends_and_a_byte_order_mark_stay() -> None:
    text = '\ufeff{\r\n  "a": 1\r\n}\r\n'
    new = added(text)
    assert new.startswith('\ufeff{\r\n  "a": 1,\r\n  "mcpServers": {\r\n    "cdpfetch": {\r\n')
    assert "\n" not in new.replace("\r\n", "")


def test_keys_that_the_user_added_to_the_entry_stay() -> None:
    mine = {"command": "/old/cdpfetch", "args": ["mcp"], "timeout": 5, "env": {"A": "1"}}
    text = json.dumps({"mcpServers": {"cdpfetch": mine, "b": {}}})
    new = jsonfile.with_entry(text, "mcpServers", "cdpfetch", {**WANTED, "env": {"CDPFETCH_HOME": "/h"}})
    entry = json.loads(new)["mcpServers"]["cdpfetch"]
    assert entry == {**WANTED, "timeout": 5, "env": {"A": "1", "CDPFETCH_HOME": "/h"}}
    assert jsonfile.with_entry(new, "mcpServers", "cdpfetch", WANTED) == new


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": }', "it is no JSON: Expecting value: line 1 column 7"),
        ("[]", "the file is no JSON object"),
        ('{"mcpServers": []}', "'mcpServers' is no JSON object"),
        ('{"mcpServers": {"cdpfetch": {"url": "http://x/"}}}', "not a command to start"),
        ('{"mcpServers": {"cdpfetch": 7}}', "not a command to start"),
        ('{"a": 1 /* open', "it is no JSON"),
        ('{"a" 1}', "it is no JSON"),
        ("[" * 100_000, "it is no JSON"),
    ],
)
def test_what_cannot_be_edited_is_refused_with_the_reason(text: str, told: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        added(text)
    assert told in caught.value.reason and caught.value.hint


def test_a_name_that_comes_twice_is_changed_where_readers_look_and_removed_wholly() -> None:
    text = '{"mcpServers": {"cdpfetch": {"command": "a"}, "b": {}, "cdpfetch": {"command": "b"}}}'
    assert json.loads(added(text))["mcpServers"]["cdpfetch"] == WANTED
    assert json.loads(removed(text)) == {"mcpServers": {"b": {}}}


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_entry_is_taken_out_from_any_place(place: int) -> None:
    lines = ['    "a": {"command": "x"}', '    "b": {"command": "y"}']
    whole = [*lines[:place], '    "cdpfetch": {"command": "z"}', *lines[place:]]
    text = '{\n  "mcpServers": {\n' + ",\n".join(whole) + "\n  }\n}\n"
    assert removed(text) == '{\n  "mcpServers": {\n' + ",\n".join(lines) + "\n  }\n}\n"


NAMES = st.text(st.sampled_from('ab"/*\\,}{é\n'), max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@given(
    data=st.dictionaries(NAMES, VALUES, max_size=4),
    servers=st.none() | st.dictionaries(NAMES, VALUES, max_size=3),
    indent=st.sampled_from([None, 1, 2, "\t"]),
    separators=st.sampled_from([None, (",", ":"), (" ,", " : ")]),
)
def test_any_object_keeps_all_that_is_not_ours(
    data: dict[str, Any], servers: dict[str, Any] | None, indent: Any, separators: Any
) -> None:
    if servers is not None:
        data = {**data, "mcpServers": servers}
    text = json.dumps(data, indent=indent, separators=separators)
    new = added(text)
    assert json.loads(new) == {**data, "mcpServers": {**(servers or {}), "cdpfetch": WANTED}}
    assert added(new) == new
    assert json.loads(removed(new)) == {**data, "mcpServers": servers or {}}
