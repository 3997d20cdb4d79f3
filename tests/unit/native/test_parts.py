"""The parts of cdpf, sanitised, against the Python that they stand for, on the same inputs."""

from __future__ import annotations

import json
import struct
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cdpfetch import artifacts, calls, delivery, errors, reading, wire
from cdpfetch.cli import output

HOSTILE = [
    "plain",
    "  a \t b\n\nc  ",
    "a\x1b[31mb\x1b[0m\x9b2Jc",
    "\x1b]0;title\x07after\x1bP1;2|data\x1b\\end",
    "\x9dopen string without end\nnext",
    "\x90x\x1b",
    "\x1b",
    "\x1b( Bx\x1b#8",
    "\x00\x08\x0b\x7f\x85\x9f\xa0\u2028\u3000\u202e\u2066é漢\U0001f600",
    "\ud800x\udfff",
    "word " * 200,
    "é" * 600,
    " " * 4100 + "late",
    "x" * 498 + " y z",
    "",
]
TEXTS = st.text(st.characters(codec=None), max_size=60) | st.text("\x1b[]P\\\x9b\x9d\x07\n 0;m@~a\u2028", max_size=40)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 10**14) | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)
BODIES = st.builds(
    lambda role, kind, name, lines, size: {
        "name": name,
        "path": "/x/" + name,
        "role": role,
        "content_type": kind,
        "lines": lines,
        "bytes": size,
    },
    st.sampled_from(["content", "text", "original", "source", "page", "screenshot"]),
    st.sampled_from(["text/html", "Text/Plain ; x", "application/ld+json", "application/pdf", "image/svg+xml", None]),
    TEXTS,
    st.none() | st.integers(0, 3),
    st.integers(0, 10**13),
)
DOCUMENTS = st.fixed_dictionaries(
    {
        "url": TEXTS,
        "title": st.none() | TEXTS,
        "link": st.none() | TEXTS,
        "facts": st.lists(TEXTS, max_size=3),
        "verdict": st.sampled_from(["ok", "partial", None]),
        "warnings": st.lists(st.fixed_dictionaries({"message": TEXTS}), max_size=2),
        "excerpt": st.none() | TEXTS,
        "dir": st.sampled_from([None, "/x/", "/y"]),
        "fetch_id": st.sampled_from([None, "x-0123abcd"]),
        "bodies": st.lists(BODIES, max_size=4),
        "attempts": st.lists(st.fixed_dictionaries({"source": st.just("github"), "reason": TEXTS}), max_size=3),
        "error": st.none() | st.fixed_dictionaries({"reason": TEXTS, "hint": st.none() | TEXTS}),
    }
)


def encoded(value: object) -> bytes:
    """A value as the daemon sends it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def shown(text: str) -> bytes:
    """A text as it is written to a stream."""
    return text.encode("utf-8", "backslashreplace")


class Driver:
    """Runs a use of the driver on many inputs."""

    def __init__(self, program: Path) -> None:
        self.program = program

    def __call__(self, use: str, inputs: Iterable[bytes]) -> list[bytes]:
        data = b"".join(struct.pack(">I", len(one)) + one for one in inputs)
        done = subprocess.run([self.program, use], input=data, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        outputs, at = [], 0
        while at < len(done.stdout):
            (size,) = struct.unpack_from(">I", done.stdout, at)
            outputs.append(done.stdout[at + 4 : at + 4 + size])
            at += 4 + size
        return outputs


@pytest.fixture
def ask(driver: Path) -> Driver:
    return Driver(driver)


# A process takes many inputs, so that few examples of many values each suffice.
many = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


@many
@given(values=st.lists(VALUES, min_size=20, max_size=60))
def test_values_are_printed_as_python_prints_them(ask: Driver, values: list[object]) -> None:
    assert ask("json", map(encoded, values)) == [shown(output.json_text(value)) for value in values]


def test_numbers_escapes_and_blanks_are_read_as_python_reads_them(ask: Driver) -> None:
    texts = [
        *("0", "-0", "1e5", "1.5E+300", "NaN", "-Infinity", "12345678901234567890123", "[]", "{}", '""', " [ 1 , 2 ] "),
        *('"\\ud83d\\ude00"', '"\\ud83d"', '"\\ud83d\\u0041"', '"\\/\\b\\f\\n\\r\\t\\"\\\\"', '{"a":1,"b":2,"a":3}'),
        *("01", "1.", ".5", "-", "+1", "1e", "[1,]", "{,}", '{"a"}', '{"a":}', "nul", "tru", '"', '"\\x"', '"\\u12g4"'),
        *('"a\nb"', '"\x00"', "[1 2]", "1 2", "", " ", "[", "'a'", "\ufeff", "[" * 99 + "]" * 99, "nan", "Infinit"),
    ]

    def read(text: str) -> bytes:
        try:
            value = json.loads(text)
        except ValueError:
            return b""
        # A number stays as it is written, and Python writes none otherwise.
        return shown(output.json_text(value)) if text not in ("1e5", "1.5E+300") else text.encode()

    assert ask("json", [text.encode() for text in texts]) == [read(text) for text in texts]


def test_what_is_no_utf8_or_too_deep_is_no_message(ask: Driver) -> None:
    bad = [
        b'"\xff"',
        b'"\xc0\xaf"',
        b'"\xe0\x80\x80"',
        b'"\xf5\x80\x80\x80"',
        b'"\xf4\x90\x80\x80"',
        b'"\xc3"',
        b'"\xe2\x82',
    ]
    deep = [b"[" * 1000 + b"]" * 1000, b'{"a":' * 101 + b"1" + b"}" * 101]
    wide = [b"{" + b",".join(b'"%d":0' % number for number in range(5000)) + b"}"]
    assert ask("json", [*bad, *deep, *wide]) == [b""] * 10
    assert ask("json", ['"\ud800"'.encode("utf-8", "surrogatepass")]) == [b'"\\ud800"']


@many
@given(texts=st.lists(TEXTS, min_size=30, max_size=60))
def test_one_line_is_the_same(ask: Driver, texts: list[str]) -> None:
    texts = [*texts, *HOSTILE]
    expected = [delivery.one_line(text, 20) + "\n" + delivery.one_line(text) for text in texts]
    assert ask("line", [text.encode("utf-8", "surrogatepass") for text in texts]) == list(map(shown, expected))


def test_sizes_are_the_same(ask: Driver) -> None:
    counts = [0, 1, 999, 1000, 1049, 1050, 1051, 25_949, 25_950, 999_949, 999_950, 10**6, 999_949_999, 10**9, 10**12]
    counts += [number * 7919 % 10**9 for number in range(2000)]
    assert ask("bytes", [b"%d" % count for count in counts]) == [delivery.human_bytes(one).encode() for one in counts]


def described(document: dict[str, object]) -> str:
    """The lines of a document, and what serves each format or why nothing does."""
    lines = [*delivery.entry_lines(7, document), *delivery.failure_lines(document)]
    for format in reading.FORMATS:  # noqa: A001
        try:
            lines.append(str(reading.pick_body(document, format)["path"]))
        except errors.InvalidRequest as error:
            lines.append(f"{error.reason}|{error.hint}")
    return "\n".join(lines) + "\n"


@many
@given(documents=st.lists(DOCUMENTS, min_size=10, max_size=30))
def test_documents_are_described_the_same(ask: Driver, documents: list[dict[str, object]]) -> None:
    assert ask("digest", map(encoded, documents)) == [shown(described(document)) for document in documents]


def test_failures_are_completed_the_same(ask: Driver) -> None:
    sent: list[dict[str, object]] = [{"code": code} for code in sorted(errors.CODES)]
    sent += [
        {"code": "strange", "hint": "try"},
        {"hint": None, "document": {"status": 404, "title": "x", "extra": [1], "ok": True}},
        {"code": "http_error", "document": {"error": {"code": "timeout"}, "attempts": [{"source": "github"}]}},
        {"document": {"source": "jina", "attempts": [], "error": {}}},
        {"document": "none"},
    ]

    def completed(event: dict[str, object]) -> bytes:
        error = wire.error_from({**event, "reason": "the reason"})
        document = event.get("document")
        made = calls.failed("http://x/", error, document if isinstance(document, dict) else None)
        assert set(artifacts.new_document("")) <= set(made)
        return shown(output.json_text(made))

    assert ask("failure", map(encoded, sent)) == list(map(completed, sent))


def test_only_plain_urls_are_ours(ask: Driver) -> None:
    plain = [
        *(
            "http://x/",
            "HTTPS://Example.com:80/a%20b?c#d",
            "http://127.0.0.1:80",
            "https://x?git",
            "fake:a b",
            "fake:é",
        )
    ]
    other = [
        *(
            "github.com",
            "https://github.com/a/b",
            "https://GitHub.com",
            "http://gist.github.com./",
            "/x",
            "://x",
            "http://x/GitHub",
            "1a:b",
        ),
        *("https://raw.githubusercontent.com/x", "http:github.com", "http:\\\\github.com", "http:///github.com", ""),
        *("http://g%69thub.com/", "http://ｇithub.com", "http://x/a b", "http://x/é", "http://x\\y", " http://x/"),
        *("http://[::1]/", "git://x/", "fake://x", "ht\ttp://x", "ssh:git@github.com", "http://x/\ty", "http://a@b/"),
    ]
    assert ask("url", [url.encode() for url in plain]) == [b"plain"] * len(plain)
    assert ask("url", [url.encode() for url in other]) == [b""] * len(other)


@pytest.mark.parametrize("part", ["fuzz-json", "fuzz-lines"])
def test_random_inputs_break_nothing(driver: Path, part: str) -> None:
    done = subprocess.run([driver, part, "20261130", "6000"], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
