"""Paging: every page is bounded, and all of them together are the file."""

import secrets
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cdpfetch import artifacts, reading
from cdpfetch.errors import CdpFetchError

ID = "example.com-doc-0123abcd"


def make(root, *bodies):
    with artifacts.Draft(str(root), ID) as draft:
        for name, role, data, content_type in bodies:
            draft.write(name, role, data, content_type)
        draft.commit(artifacts.new_document("https://example.com/"))


def make_content(root, data):
    make(root, ("content.md", "content", data, "text/markdown"))


def read_all(root, **options):
    pages = []
    offset = None
    while True:
        page = reading.read(str(root), ID, offset=offset, **options)
        pages.append(page)
        offset = page["next_offset"]
        if offset is None:
            return pages


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "one",
        "one\n",
        "a\r\nb\rc\u2028d\x0be\n\n\n",
        "x" * 300_000,
        "é漢😀" * 5000,
        "short\n" * 1000 + "汉" * 3000 + "\nend",
    ],
)
@pytest.mark.parametrize("limit", [1, 7, 80, 200])
def test_the_pages_are_the_file(tmp_path, text, limit):
    if limit == 1 and len(text) > 50_000:
        limit = 2
    make_content(tmp_path, text)
    pages = read_all(tmp_path, limit=limit)
    assert "".join(page["text"] for page in pages) == text
    assert all(len(page["text"].encode()) <= 8192 for page in pages)
    offsets = [page["offset"] for page in pages]
    assert offsets == sorted(set(offsets))
    assert pages[-1]["total_lines"] == pages[0]["total_lines"]


# Every kind of line end and almost-line-end, marks, and characters of one to four bytes that join with others.
BITS = st.sampled_from(
    [
        *("\n", "\r\n", "\r", "\x85", "\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\ufeff", "\0", "\x1b[31m"),
        *("a", "e\u0301", "\u0301", "é", "漢", "😀", "👩\u200d🚀", "\u202e", " ", "\t", "word " * 50),
        *("x" * 2047, "é" * 1024, "漢" * 700, "a" + "😀" * 600, "y" * 9000),
    ]
)
TEXTS = st.one_of(st.text(max_size=300), st.lists(BITS, max_size=15).map("".join))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=80)
@given(text=TEXTS, limit=st.integers(1, 250))
def test_any_text_pages_exactly(tmp_path, text, limit):
    root = tmp_path / secrets.token_hex(8)
    make_content(root, text)
    pages = read_all(root, limit=limit)
    assert "".join(page["text"] for page in pages) == text
    assert all(len(page["text"].encode()) <= 8192 for page in pages)
    # What an offset counts are pieces: each page has as many as the next offset says, and no more than the limit.
    ends = [page["next_offset"] for page in pages[:-1]] + [pages[-1]["total_lines"] + 1]
    counts = [end - page["offset"] for page, end in zip(pages, ends, strict=True)]
    assert all(0 < count <= min(limit, 200) for count in counts) or text == ""
    lines = text.split("\n")
    if all(len(line.encode()) < 2048 for line in lines):
        assert pages[0]["total_lines"] == len(lines) - (lines[-1] == "")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(data=st.binary(max_size=5000), limit=st.integers(1, 20))
def test_any_bytes_page_to_their_end(tmp_path, data, limit):
    root = tmp_path / secrets.token_hex(8)
    make(root, ("a.txt", "original", data, "text/plain"))
    pages = read_all(root, limit=limit)
    text = "".join(page["text"] for page in pages)
    assert text.replace("\ufffd", "") == data.decode("utf-8", "replace").replace("\ufffd", "")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(
    lines=st.lists(st.sampled_from(["hit", "miss", "a HIT here", "", "z" * 3000]), max_size=120),
    limit=st.integers(1, 9),
)
def test_each_match_is_shown_once(tmp_path, lines, limit):
    root = tmp_path / secrets.token_hex(8)
    make_content(root, "\n".join(lines))
    pages = read_all(root, find="hit", limit=limit)
    shown = [
        int(line.partition(":")[0])
        for page in pages
        for line in page["text"].split("\n")
        if "hit" in line.lower() and ":" in line
    ]
    numbers, number = [], 1
    for line in lines:
        if "hit" in line.lower():
            numbers.append(number)
        number += 2 if len(line) > 2048 else 1
    assert shown == numbers
    assert {page["matches"] for page in pages} == {len(numbers)}
    assert all(len(page["text"].encode()) <= 8192 for page in pages)


def test_a_match_across_the_pieces_of_a_line_is_found(tmp_path):
    make_content(tmp_path, "x" * 2045 + "needle" + "y" * 5000 + "\nnee\ndle\n")
    page = reading.read(str(tmp_path), ID, find="NEEDLE")
    assert page["matches"] == 1
    assert page["text"].splitlines()[1].startswith("2:dley")
    make_content(tmp_path / "long", "ab" * 3000)
    assert reading.read(str(tmp_path / "long"), ID, find="ab" * 2000)["matches"] == 2


def test_a_text_of_several_lines_is_not_looked_for(tmp_path):
    make_content(tmp_path, "a\nb\n")
    with pytest.raises(CdpFetchError, match="line feed"):
        reading.read(str(tmp_path), ID, find="a\nb")


def test_a_long_line_costs_no_memory(tmp_path):
    make_content(tmp_path, b"x" * 8_000_000)
    tracemalloc.start()
    try:
        page = reading.read(str(tmp_path), ID, offset=3_000)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
    assert (page["total_lines"], page["next_offset"]) == (3_907, 3_004)


def test_a_page_is_eighty_lines_by_default(tmp_path):
    make_content(tmp_path, "".join(f"line {number}\n" for number in range(1, 501)))
    page = reading.read(str(tmp_path), ID)
    assert page == {
        "fetch_id": ID,
        "format": "markdown",
        "name": "content.md",
        "path": str(tmp_path / ID / "content.md"),
        "offset": 1,
        "limit": 80,
        "text": "".join(f"line {number}\n" for number in range(1, 81)),
        "next_offset": 81,
        "total_lines": 500,
    }
    page = reading.read(str(tmp_path), ID, offset=400, limit=1000)
    assert page["limit"] == 200
    assert page["text"].startswith("line 400\n")
    assert page["next_offset"] is None


def test_pages_hold_eight_kib(tmp_path):
    make_content(tmp_path, ("y" * 1023 + "\n") * 20)
    page = reading.read(str(tmp_path), ID)
    assert len(page["text"]) == 8192
    assert page["next_offset"] == 9


@pytest.mark.parametrize("offset", [0, -1, 4, 10**9, True, 1.5, "2"])
def test_a_wrong_offset_is_explained(tmp_path, offset):
    make_content(tmp_path, "a\nb\nc\n")
    with pytest.raises(CdpFetchError, match=r"outside lines 1 to 3 of content\.md") as caught:
        reading.read(str(tmp_path), ID, offset=offset)
    assert caught.value.code == "invalid_request"


@pytest.mark.parametrize("limit", [0, -5, True, 2.0])
def test_a_wrong_limit_is_explained(tmp_path, limit):
    make_content(tmp_path, "a\n")
    with pytest.raises(CdpFetchError, match="limit is"):
        reading.read(str(tmp_path), ID, limit=limit)


def test_a_wrong_id_is_explained(tmp_path):
    make_content(tmp_path, "a\n")
    with pytest.raises(CdpFetchError, match="there is no document") as caught:
        reading.read(str(tmp_path), "example.com-none-0123abcd")
    assert ID in (caught.value.hint or "")


FULL = (
    ("content.md", "content", "# md", "text/markdown"),
    ("text.txt", "text", "plain", "text/plain"),
    ("page.html", "page", "<p>", "text/html"),
    ("data.json", "original", b"{}", "application/json"),
)


@pytest.mark.parametrize(
    ("count", "format", "name"),
    [
        (4, "markdown", "content.md"),
        (4, "text", "text.txt"),
        (4, "source", "data.json"),
        (4, "html", "page.html"),
        (1, "text", "content.md"),
        (3, "source", "page.html"),
    ],
)
def test_the_format_picks_the_body(tmp_path, count, format, name):  # noqa: A002
    make(tmp_path, *FULL[:count])
    assert reading.read(str(tmp_path), ID, format=format)["name"] == name


def test_a_textual_original_is_readable(tmp_path):
    make(tmp_path, ("a.csv", "original", b"a,b\n", "text/csv"))
    assert reading.read(str(tmp_path), ID)["text"] == "a,b\n"
    make(tmp_path / "html", ("a.html", "original", b"<p>", "text/html"))
    assert reading.read(str(tmp_path / "html"), ID, format="html")["text"] == "<p>"


def test_a_wrong_format_is_explained(tmp_path):
    make(tmp_path, *FULL[:1])
    with pytest.raises(CdpFetchError, match="no format 'pdf'") as caught:
        reading.read(str(tmp_path), ID, format="pdf")
    assert "markdown, text, source, html" in (caught.value.hint or "")
    with pytest.raises(CdpFetchError, match="has no html") as caught:
        reading.read(str(tmp_path), ID, format="html")
    assert "formats of this document: markdown, text" in (caught.value.hint or "")


def test_a_binary_document_names_its_file(tmp_path):
    make(tmp_path, ("a.zip", "original", b"PK", "application/zip"))
    with pytest.raises(CdpFetchError) as caught:
        reading.read(str(tmp_path), ID)
    assert str(tmp_path / ID / "a.zip") in (caught.value.hint or "")


SECTIONS = "intro\n\n# One\na\n## Deep\nb\n### Deeper\nc\n## **Other** part\nd\n# Two\ne\n"


@pytest.mark.parametrize(
    ("heading", "text", "first", "last"),
    [
        ("Deep", "## Deep\nb\n### Deeper\nc\n", 5, 8),
        ("## deep", "## Deep\nb\n### Deeper\nc\n", 5, 8),
        ("One", "# One\na\n## Deep\nb\n### Deeper\nc\n## **Other** part\nd\n", 3, 10),
        ("Two", "# Two\ne\n", 11, 12),
        ("other", "## **Other** part\nd\n", 9, 10),
    ],
)
def test_a_section_has_all_below_it(tmp_path, heading, text, first, last):
    make_content(tmp_path, SECTIONS)
    page = reading.read(str(tmp_path), ID, section=heading)
    assert page["text"] == text
    assert page["next_offset"] is None
    assert (page["section"]["first"], page["section"]["last"]) == (first, last)


def test_a_section_is_paged_to_its_end(tmp_path):
    make_content(tmp_path, "# A\n" + "x" * 5000 + "\n" + "line\n" * 300 + "# B\nend\n")
    pages = read_all(tmp_path, section="A", limit=50)
    assert "".join(page["text"] for page in pages) == "# A\n" + "x" * 5000 + "\n" + "line\n" * 300
    with pytest.raises(CdpFetchError, match="outside lines 1 to 304"):
        reading.read(str(tmp_path), ID, section="A", offset=305)


def test_an_unknown_heading_is_explained(tmp_path):
    make_content(tmp_path, SECTIONS)
    with pytest.raises(CdpFetchError, match="no heading 'Three'") as caught:
        reading.read(str(tmp_path), ID, section="Three")
    assert "One; Deep; Deeper; Other part; Two" in (caught.value.hint or "")
    with pytest.raises(CdpFetchError, match="4 headings contain 'e'") as caught:
        reading.read(str(tmp_path), ID, section="e")
    assert "they are: One; Deep; Deeper; Other part" in (caught.value.hint or "")


def test_find_shows_lines_with_context(tmp_path):
    make_content(tmp_path, "".join(f"line {number}\n" for number in range(1, 31)) + "Needle here\nlast\n")
    page = reading.read(str(tmp_path), ID, find="LINE 1\n".strip())
    assert page["matches"] == 11
    page = reading.read(str(tmp_path), ID, find="needle")
    assert page["text"] == "29-line 29\n30-line 30\n31:Needle here\n32-last\n"
    assert (page["matches"], page["next_offset"]) == (1, None)


def test_distant_matches_are_set_apart(tmp_path):
    make_content(tmp_path, "x\n" + "-\n" * 10 + "x\nx\n")
    assert reading.read(str(tmp_path), ID, find="x")["text"] == "1:x\n2--\n3--\n--\n10--\n11--\n12:x\n13:x\n"


def test_matches_are_paged_exactly(tmp_path):
    make_content(tmp_path, "".join(f"{'hit' if number % 5 == 0 else 'miss'} {number}\n" for number in range(1, 2001)))
    pages = read_all(tmp_path, find="hit", limit=60)
    hits = [int(line.split(":")[0]) for page in pages for line in page["text"].splitlines() if ":hit" in line]
    assert hits == list(range(5, 2001, 5))
    assert {page["matches"] for page in pages} == {400}
    assert len(pages) > 20


def test_find_stays_in_its_section(tmp_path):
    make_content(tmp_path, SECTIONS)
    page = reading.read(str(tmp_path), ID, section="Deep", find="d")
    assert page["text"] == "5:## Deep\n6-b\n7:### Deeper\n8-c\n"


def test_nothing_found_is_an_empty_page(tmp_path):
    make_content(tmp_path, SECTIONS)
    page = reading.read(str(tmp_path), ID, find="zebra")
    assert (page["text"], page["matches"], page["next_offset"]) == ("", 0, None)
    with pytest.raises(CdpFetchError, match="find is empty"):
        reading.read(str(tmp_path), ID, find="")
