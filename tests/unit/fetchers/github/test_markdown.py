"""How somebody's words are put into a document of ours."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdpfetch.fetchers.github import fields
from cdpfetch.fetchers.github.load.refs import splits
from cdpfetch.fetchers.github.markdown import bullets, code, count, embed, fenced, line, link, table, when
from cdpfetch.fetchers.github.render.changes import cut
from cdpfetch.fetchers.github.render.files import nature
from cdpfetch.outline import outline


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# One\r\n\r\ntwo", "### One\n\ntwo"),
        ("##### Deep", "###### Deep"),
        ("Title\nof two lines\n===\nx", "### Title of two lines\nx"),
        ("Title\n---", "#### Title"),
        ("- item\n---", "- item\n---"),
        ("```sh\n# no heading\n```\n# Yes", "```sh\n# no heading\n```\n### Yes"),
        ("```sh\nopen", "```sh\nopen\n```"),
        ("~~~~\n```\n~~~", "~~~~\n```\n~~~\n~~~~"),
        ("> ```\n> quoted\nout", "> ```\n> quoted\n> ```\nout"),
        ("1. ```\n   code\nout", "1. ```\n   code\n   ```\nout"),
        ("a <!-- hidden --> b", "a  b"),
        ("a\n<!-- hidden\n# more\n-->\nb", "a\nb"),
        ("a\n<!-- never closed\nb", "a"),
        ("`<!--` is shown -->", "`<!--` is shown -->"),
        ("```\n<!-- code -->\n```", "```\n<!-- code -->\n```"),
        ("#hashtag", "#hashtag"),
    ],
)
def test_embedding(text, shown):
    assert embed(text, 2) == shown


_NASTY = st.lists(
    st.sampled_from(
        "# x|## ghost on 2026|===|---|```|````|~~~|> ```|- ```|1. ```|    ```|<!--|-->|text|- item|> quote|`|`<!--`|"
        "\t# tab|   # three|#|##|  ---|| x | y ||<h1>|\u2028# y|# a <!-- b|<!-- a --> # b|<!----># c".split("|")
    )
    | st.text(max_size=8),
    max_size=14,
)


@given(_NASTY)
@settings(max_examples=400)
def test_nobody_passes_for_another_or_swallows_the_next(rows):
    body = embed("\n".join(rows), 2)
    text = f"# Title\n\n## alice\n\n{body}\n\n## bob\n\nend\n"
    ours = [heading["text"] for heading in outline(text, None) if heading["level"] <= 2]
    assert ours == ["Title", "alice", "bob"]


def test_embedding_takes_linear_time():
    for text in (
        "<!--" * 200_000,
        "`" * 300_000,
        "> " * 200_000,
        "x\n" * 200_000 + "===",
        "```\n" * 100_001,
        "\t" * 300_000,
    ):
        begun = time.process_time()
        embed(text, 2)
        assert time.process_time() - begun < 5


@given(st.text())
def test_code_cannot_be_ended_from_within(text):
    rows = fenced(text).split("\n")
    ticks = rows[0]
    assert all(not row.strip(" ").startswith(ticks) for row in rows[1:-1])
    assert rows[-1] == ticks
    span_of = code(text)
    assert "\n" not in span_of
    assert span_of == "" or span_of.strip("`").count(span_of[: len(span_of) - len(span_of.lstrip("`"))]) == 0


def test_words():
    assert line(" a\n\tb  c ") == "a b c"
    assert line("x" * 30, 10) == "xxxxxxxxx…"
    assert (count(1, "file"), count(1200, "file"), count(2, "branch", "branches")) == (
        "1 file",
        "1,200 files",
        "2 branches",
    )
    assert (when("2024-01-02T03:04:05Z"), when("2024-01-02T03:04:05.123Z"), when("soon")) == (
        "2024-01-02 03:04 UTC",
        "2024-01-02 03:04 UTC",
        "soon",
    )
    assert link("a [b]", "https://x.example/(y)\n") == "[a \\[b\\]](<https://x.example/(y)>)"
    assert table(("A", "B"), [("x|y", "1\n2")]) == "| A | B |\n| --- | --- |\n| x\\|y | 1 2 |"
    assert bullets([("A", "1\n- B: 2"), ("C", "")]) == "- A: 1 - B: 2"


def test_fields_give_what_they_promise():
    data = {"a": {"b": "x", "n": 3, "t": True, "l": [{"name": "y"}, 4, "z"]}, "user": None}
    assert (fields.text(data, "a", "b"), fields.text(data, "a", "n"), fields.text(data, "a", "b", "c")) == ("x", "", "")
    assert (fields.number(data, "a", "n"), fields.number(data, "a", "t"), fields.number([], "a")) == (3, 0, 0)
    assert (fields.flag(data, "a", "t"), fields.flag(data, "a", "n")) == (True, False)
    assert (fields.records(data, "a", "l"), fields.texts(data, "a", "l")) == ([{"name": "y"}], ["z"])
    assert (fields.login(data), fields.names(data["a"], "l")) == ("ghost", ["y"])


def test_splits_of_refs_and_paths():
    assert list(splits(["a", "b", "c"])) == [("a", "b/c"), ("a/b", "c")]
    assert list(splits(["a", "b"], bare=True)) == [("a", "b"), ("a/b", "")]
    assert list(splits(["a"], bare=True)) == [("a", "")]
    assert list(splits(["refs", "heads", "a", "b"])) == [("refs/heads/a", "b")]
    assert list(splits(["a" * 40, "b", "c"], bare=True)) == [("a" * 40, "b/c")]
    assert len(list(splits(["x"] * 50))) == 8


@given(st.binary(max_size=400), st.integers(1, 200))
def test_a_patch_is_cut_to_a_prefix_that_ends_a_line(data, limit):
    patch = b"diff --git a b\n" + data
    found = cut(patch, limit)
    assert patch.startswith(found)
    assert len(found) <= max(limit, 0)
    assert found == patch or b"\n" not in patch[:limit] or found.endswith(b"\n")


def test_a_patch_is_cut_where_a_file_ends():
    patch = b"diff --git a b\n+1\n+2\ndiff --git c d\n+3\n+4\n"
    assert cut(patch, len(patch)) == patch
    assert cut(patch, len(patch) - 2) == b"diff --git a b\n+1\n+2\n"
    assert cut(patch, 19) == b"diff --git a b\n+1\n"


@given(st.text(max_size=20), st.binary(max_size=300), st.booleans())
def test_every_file_is_something(name, data, whole):
    known = nature(name, data, whole)
    assert known.role in ("content", "source", "original")
    if known.exact and known.text is not None:
        assert known.text.encode() == data
