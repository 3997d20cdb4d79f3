"""Headings with their lines, and the first prose."""

import time

import pytest

from cdpfetch.outline import excerpt, outline, plain

TEXT = """\
Title
=====

Some prose.

## Second ##
```python
# not a heading
```
~~~~
## nor this
```
~~~~
> # quoted

Third
---
#hashtag
####### seven
   ### indented **bold** [link](https://e.example/a_(b)) `code`
    # code block
"""


def test_atx_and_setext_outside_fences():
    assert outline(TEXT) == [
        {"level": 1, "text": "Title", "line": 1},
        {"level": 2, "text": "Second", "line": 6},
        {"level": 2, "text": "Third", "line": 16},
        {"level": 3, "text": "indented bold link code", "line": 20},
    ]


def test_lines_are_those_of_grep():
    text = "a\u2028b\x0b\x0cc\r\n# One\r\n\x85\n# Two"
    assert [(entry["text"], entry["line"]) for entry in outline(text)] == [("One", 2), ("Two", 4)]


def test_a_rule_after_a_list_or_nothing_is_no_heading():
    assert outline("- item\n---\n\n---\n| a |\n---\n") == []


def test_it_is_bounded():
    assert len(outline("# x\n" * 5000)) == 300
    assert len(outline("# x\n" * 5000, limit=None)) == 5000
    assert len(outline("# " + "word " * 1000)[0]["text"]) <= 200


@pytest.mark.parametrize(
    "hostile",
    ["#" + " " * 500_000 + "x", "# " + "# " * 200_000, "[" * 400_000, "`" * 400_000, ("- " * 4000 + "\n") * 50],
)
def test_hostile_lines_cost_little(hostile):
    start = time.process_time()
    outline(hostile)
    excerpt(hostile)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("# Head\n\n![logo](a.png)\n\nThe **first** real [sentence](x) is\nhere, over two lines.\n\nMore.", None),
        ("Menu\n\n---\n\nThe first real sentence is here, over two lines.", None),
        ("| a | b |\n|---|---|\n\nThe first real sentence is here, over two lines.", None),
        (
            (
                "```\ncode that is long enough to be taken for prose, surely\n```\n"
                "The first real sentence is here, over two lines."
            ),
            None,
        ),
        ("- Short\n", "Short"),
        ("# Only a heading\n", "Only a heading"),
        ("", None),
        ("\n\n---\n", None),
    ],
)
def test_the_excerpt_is_the_first_prose(markdown, expected):
    if expected is None and "sentence" in markdown:
        expected = "The first real sentence is here, over two lines."
    assert excerpt(markdown) == expected


def test_the_excerpt_is_cut_at_a_word():
    text = excerpt("word " * 100, limit=60)
    assert text == "word " * 11 + "word…"
    assert excerpt("汉" * 400, limit=60) == "汉" * 59 + "…"


def test_code_alone_still_has_an_excerpt():
    assert excerpt("```\nprint(1)\n```\n") == "print(1)"


def test_inline_marks_are_taken_off():
    assert plain("a **b** _c_ `d` ~~e~~ [f](g) ![h](i) \\*j snake_case") == "a b c d e f h *j snake_case"


def test_a_rule_under_a_quotation_is_no_heading():
    assert outline("> quote\n  ---\n\n> quote\n---\n\nreal\n---\n") == [{"level": 2, "text": "real", "line": 7}]
