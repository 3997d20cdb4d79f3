"""Every format of every kind of document, as it is printed: by both engines, from disk, and exactly."""

from __future__ import annotations

import re

import pytest
from commands import Command
from documents import fetch
from testsite import PDF, PIXEL, Site

LATIN = "Höhe;Größe\nça;là\n".encode("latin-1")


def typed(data: bytes, kind: str) -> str:
    """The address of these bytes as this type."""
    return f"/typed?kind={kind}&hex={data.hex()}"


# Path -> format -> what is printed: the whole text, a pattern of it, or the code of the failure.
PAGE = {
    "markdown": re.compile(r"# The quay\n\nThe keeper counted .*## Second part\n\nThe keeper counted .*\n", re.DOTALL),
    "text": re.compile(r"The quay\n\nThe keeper counted [^#]*Second part\n[^#]*"),
    "source": re.compile(r"<!DOCTYPE html>.*<h1>The quay</h1>.*", re.DOTALL),
    "html": re.compile(r"<!DOCTYPE html>.*<h1>The quay</h1>.*", re.DOTALL),
}
JSON = '{"gauge": "KELP-4", "depths": [3, 5]}'
CASES = {
    "/page?word=quay": PAGE,
    "/file.pdf": {
        "markdown": re.compile(".*Lantern KELP-77 inspected.*", re.DOTALL),
        "text": re.compile(".*Lantern KELP-77 inspected.*", re.DOTALL),
        "source": None,
        "html": None,
    },
    typed(JSON.encode(), "application/json"): {
        "markdown": re.compile(r'\{\n +"gauge": "KELP-4",.*', re.DOTALL),
        "text": re.compile(r'\{\n +"gauge": "KELP-4",.*', re.DOTALL),
        "source": JSON + "\n",
        "html": None,
    },
    typed(LATIN, "text/plain;charset=iso-8859-1"): {
        "markdown": LATIN.decode("latin-1"),
        "text": LATIN.decode("latin-1"),
        "source": LATIN.decode("latin-1"),
        "html": None,
    },
    typed("a,b\n1,ü\n".encode("utf-16"), "text/csv;charset=utf-16"): {
        "markdown": "| a | b |\n| --- | --- |\n| 1 | ü |\n",
        "text": "a\tb\n1\tü\n",
        "source": "a,b\n1,ü\n",
        "html": None,
    },
    "/pixel.png": {"markdown": None, "text": None, "source": None, "html": None},
    typed(bytes(range(256)), "application/octet-stream"): dict.fromkeys(PAGE),
}


@pytest.mark.parametrize("engine", ["http", "browser"])
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.partition("?")[0] + path[7:30].strip("/"))
def test_each_format_of_each_kind(command: Command, site: Site, path: str, engine: str) -> None:
    for name, wanted in CASES[path].items():
        done = command("fetch", "--print", "--format", name, "--engine", engine, site.url(path))
        if wanted is None:
            assert (done.status, done.out) == (1, ""), (name, done)
            assert f"has no {name}" in done.err
            assert "its files: /" in done.err
        elif isinstance(wanted, str):
            assert (done.status, done.out) == (0, wanted), name
        else:
            assert done.status == 0
            assert wanted.fullmatch(done.out), (name, done.out)


@pytest.mark.parametrize(
    ("path", "data"), [("/pixel.png", PIXEL), ("/file.pdf", PDF), (typed(bytes(range(256)), "x/y"), bytes(range(256)))]
)
def test_files_are_exact(command: Command, site: Site, path: str, data: bytes) -> None:
    document = fetch(command, site, path, "--engine", "http")
    assert document["ok"]
    (original,) = (one for one in document["bodies"] if one["role"] == "original")
    with open(original["path"], "rb") as file:
        assert file.read() == data


def test_a_document_is_read_in_the_formats_that_it_has(command: Command, site: Site) -> None:
    document = fetch(command, site, "/page?word=quay", "--engine", "http", "--format", "text")
    assert {body["name"]: body["role"] for body in document["bodies"]} == {
        "page.html": "page",
        "content.md": "content",
        "text.txt": "text",
    }
    assert command("read", document["fetch_id"], "--format", "text").out.startswith("The quay\n")
    assert command("read", document["fetch_id"]).out.startswith("# The quay\n")
    assert command("read", document["fetch_id"], "--format", "html", "--limit", "1").out.startswith("<!DOCTYPE html>")
