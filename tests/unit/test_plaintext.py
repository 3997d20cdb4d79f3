"""Markdown without its marks, and with all of its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdpfetch.plaintext import plain_text


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("", ""),
        ("# A *tide* ##\n\nText\n", "A tide\n\nText\n"),
        ("Tide\n====\n\nDeep\n---\n", "Tide\n\nDeep\n"),
        ("a **b** _c_ ~~d~~ ***e***", "a b c d e\n"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4\n"),
        ('[words](https://x.example/a_(b) "t") ![alt](p.png) <https://x.example/>', "words alt https://x.example/\n"),
        ("a `x*y*_z_` b ``c ` d``", "a x*y*_z_ b c ` d\n"),
        (r"\*not\* \_this\_ \[nor\]\(that\) 1\. a\\b", "*not* _this_ [nor](that) 1. a\\b\n"),
        ("* one\n  + two\n- three\n1. four\n", "- one\n  - two\n- three\n1. four\n"),
        ("> quoted\n> > twice\n", "quoted\ntwice\n"),
        ("| a | **b** |\n|---|:-:|\n| 1 \\| 2 | `c` |\n", "a\tb\n1 | 2\tc\n"),
        ("```py\nx = *a, **b  # `c`\n\n| no |\n```\nend\n", "x = *a, **b  # `c`\n\n| no |\nend\n"),
        ("~~~~\n~~~\n```\n~~~~\n*end*", "~~~\n```\nend\n"),
        ("    code *kept*\n", "    code *kept*\n"),
        ("a\n\n***\n\nb\r\n", "a\n\n\nb\n"),
    ],
)
def test_the_marks_go_and_the_words_stay(markdown: str, text: str) -> None:
    assert plain_text(markdown) == text


@given(st.text(alphabet="ab \n*_`[]()!#>|\\-~<\t", max_size=200))
def test_no_letter_is_lost_outside_of_addresses(markdown: str) -> None:
    def letters(text: str) -> int:
        return sum(char in "ab" for char in text)

    if "](" not in markdown and "][" not in markdown and "```" not in markdown and "~~~" not in markdown:
        assert letters(plain_text(markdown)) == letters(markdown)
