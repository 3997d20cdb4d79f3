"""The digest text and what a terminal may see."""

import pytest

from cdpfetch import artifacts, delivery


def document(url, **fields):
    return {**artifacts.new_document(url), **fields}


GOOD = document(
    "https://example.com/a",
    ok=True,
    title="A  title\nover two lines",
    facts=["by Ann", "2024-05-01"],
    link="https://example.com/a/",
    excerpt="First words of it.",
    dir="/home/u/.cdpfetch/artifacts/example.com-a-0123abcd",
    bodies=[
        {"name": "content.md", "lines": 260, "bytes": 25_904},
        {"name": "page.html", "lines": 1, "bytes": 999},
        {"name": "photo.png", "lines": None, "bytes": 1_200_000},
    ],
)


def test_a_good_document():
    assert delivery.digest([GOOD]) == (
        "1. A title over two lines\n"
        "   by Ann · 2024-05-01\n"
        "   https://example.com/a/\n"
        "   bodies (in /home/u/.cdpfetch/artifacts/example.com-a-0123abcd/):\n"
        "   - content.md (260 lines, 25.9 KB)\n"
        "   - page.html (1 line, 999 B)\n"
        "   - photo.png (1.2 MB)\n"
        "   excerpt: First words of it.\n"
    )


def test_failures_close_the_digest_with_their_trail():
    failed = document(
        "https://example.com/b",
        attempts=[
            {"source": "github", "code": "http_error", "reason": "404 Not Found"},
            {"source": "local", "code": "timeout", "reason": "page load timed out after 15s"},
        ],
        error={"code": "timeout", "reason": "page load timed out after 15s", "hint": "raise --deadline"},
    )
    text = delivery.digest([failed, GOOD, failed])
    assert text.startswith("1. A title")
    assert text.endswith(
        "Failed:\n"
        "- https://example.com/b: github: 404 Not Found → local: page load timed out after 15s\n"
        "   hint: raise --deadline\n"
        "- https://example.com/b: github: 404 Not Found → local: page load timed out after 15s\n"
        "   hint: raise --deadline\n"
    )


def test_a_failure_with_bodies_names_them():
    failed = document(
        "https://e.example/",
        error={"code": "http_error", "reason": "404 Not Found", "hint": None},
        dir="/d/x",
        bodies=[{"name": "content.md", "lines": 3, "bytes": 40}],
    )
    assert delivery.digest([failed]) == (
        "Failed:\n- https://e.example/: local: 404 Not Found\n   bodies (in /d/x/):\n   - content.md (3 lines, 40 B)\n"
    )


def test_a_document_without_title_shows_its_link_and_its_verdict():
    text = delivery.digest([document("https://e.example/", ok=True, verdict="partial")])
    assert text == "1. https://e.example/\n   verdict: partial\n   https://e.example/\n"


def test_warnings_are_shown():
    text = delivery.digest([document("https://e.example/", ok=True, warnings=[{"code": "sandbox", "message": "off"}])])
    assert "   warning: off\n" in text


def test_nothing_is_nothing():
    assert delivery.digest([]) == ""


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 KB"),
        (999_949, "999.9 KB"),
        (999_950, "1.0 MB"),
        (104_857_600, "104.9 MB"),
        (3_000_000_000, "3.0 GB"),
        (5_000_000_000_000, "5000.0 GB"),
    ],
)
def test_sizes_for_people(count, text):
    assert delivery.human_bytes(count) == text


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("plain", "plain"),
        ("a\x1b[31mred\x1b[0m", "ared"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://evil/\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPdevice\x1b\\x", "x"),
        ("\x9b2Jx\x9d0;t\x9cy", "xy"),
        ("over\rwrite\x08\x07\x00", "overwrite"),
        ("keep\ttabs\nand lines", "keep\ttabs\nand lines"),
        ("rtl \u202etxt.exe", "rtl txt.exe"),
        (
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f468\u200d\U0001f469",
            "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f468\u200d\U0001f469",
        ),
        ("\x1b", ""),
        ("\x1b]0;never ended\nnext line", "\nnext line"),
    ],
)
def test_a_terminal_is_not_steered(hostile, shown):
    assert delivery.terminal_safe(hostile) == shown


def test_one_line_is_bounded():
    assert delivery.one_line("x" * 10_000, 100) == "x" * 99 + "…"
    assert delivery.one_line(" a\n\tb\x1b[1mc ") == "a bc"
