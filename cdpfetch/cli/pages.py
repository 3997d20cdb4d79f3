"""``cdpfetch read`` and ``cdpfetch extract``: reading what is on disk."""

from __future__ import annotations

import sys

from cdpfetch.cli.output import complain, print_json, tell, write_content
from cdpfetch.cli.parser import Parser, whole
from cdpfetch.errors import EXIT_OK, EXIT_SOME_FAILED, CdpFetchError, InvalidRequest
from cdpfetch.paths import find_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

READ_EXAMPLES = """\
  cdpfetch read example.com-3m9x0q2k                         the first 80 lines
  cdpfetch read example.com-3m9x0q2k --offset 81             the next ones
  cdpfetch read example.com-3m9x0q2k --section Installation  one section
  cdpfetch read example.com-3m9x0q2k --find timeout          lines that contain a text
"""
EXTRACT_EXAMPLES = """\
  cdpfetch extract report.pdf
  curl -s https://example.com/ | cdpfetch extract - --url https://example.com/
"""


def run_read(arguments: list[str]) -> int:
    """Print one page of a document."""
    from cdpfetch.reading import FORMATS, read

    parser = Parser("read", "Read a fetched document page by page, from disk.", READ_EXAMPLES)
    parser.add_argument("fetch_id", metavar="FETCH_ID")
    parser.add_argument("--format", choices=tuple(FORMATS), default="markdown", help="which body to read")
    parser.add_argument("--offset", type=whole(1), metavar="LINE", help="where to begin (default: 1)")
    parser.add_argument("--limit", type=whole(1), metavar="N", help="lines a page (default: 80, at most 200)")
    parser.add_argument("--section", metavar="HEADING", help="only the section with this heading")
    parser.add_argument("--find", metavar="TEXT", help="only lines that contain TEXT, with two around each")
    parser.add_json()
    given = parser.parse_intermixed_args(arguments)
    page = read(
        find_home().artifacts,
        given.fetch_id,
        format=given.format,
        offset=given.offset,
        limit=given.limit,
        section=given.section,
        find=given.find,
    )
    if given.json:
        print_json(page)
        return EXIT_OK
    write_content(page["text"].encode("utf-8", "surrogatepass"))
    if sys.stderr is not None and sys.stderr.isatty():
        following = page["next_offset"]
        more = f"; next: --offset {following}" if following else ""
        tell(f"-- {page['name']}, from line {page['offset']} of {page['total_lines']}{more}")
    return EXIT_OK


def run_extract(arguments: list[str]) -> int:
    """Print the readable content of a file."""
    parser = Parser("extract", "Turn an HTML page or a document into Markdown, without a browser.", EXTRACT_EXAMPLES)
    parser.add_argument("file", metavar="FILE", help="a file, or - for standard input")
    parser.add_argument("--url", default="", metavar="URL", help="the address that links are relative to")
    parser.add_argument("--content-type", metavar="TYPE", help="what the file is, where its name does not tell")
    parser.add_argument("--extractor", default="auto", metavar="NAME", help="auto (default), trafilatura, ...")
    parser.add_json()
    given = parser.parse_intermixed_args(arguments)
    extraction = _extract(given.file, given.content_type, given.url, given.extractor)
    if given.json:
        body = extraction.content
        print_json(
            {
                "title": extraction.title,
                "facts": list(extraction.facts),
                "excerpt": extraction.excerpt,
                "outline": list(extraction.outline),
                "coverage": extraction.coverage,
                "warnings": list(extraction.warnings),
                "meta": extraction.meta,
                "content_type": body.content_type if body else None,
                "text": body.text if body else None,
            }
        )
    elif extraction.content is not None:
        text = extraction.text.encode("utf-8", "surrogatepass")
        write_content(text if text.endswith(b"\n") else text + b"\n")
    if extraction.content is not None:
        return EXIT_OK
    if not given.json:
        reasons = "; ".join(note["message"] for note in extraction.warnings)
        reason = f"no text could be taken from {given.file}" + (f": {reasons}" if reasons else "")
        complain(CdpFetchError("no_content", reason))
    return EXIT_SOME_FAILED


def _extract(path: str, content_type: str | None, url: str, extractor: str) -> Any:
    """The extraction of a file, or of standard input.  Raises CdpFetchError."""
    from cdpfetch.api import extract_file

    try:
        if path != "-":
            return extract_file(path, content_type=content_type, url=url, extractor=extractor)
        import tempfile

        with tempfile.NamedTemporaryFile(prefix="cdpfetch-") as file:
            while chunk := sys.stdin.buffer.read(1 << 20):
                file.write(chunk)
            file.flush()
            return extract_file(file.name, content_type=content_type, url=url, extractor=extractor)
    except OSError as error:
        raise InvalidRequest(f"cannot read {path}: {error.strerror or error}", "give a file, or - for input") from error
