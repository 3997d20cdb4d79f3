"""PDFs, written here object by object: what a reader sees on their pages must come out, in the order of reading."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdpfetch.extract import Extraction, extract_file, pdf

PROSE = "The keeper of the tide gauge wrote all the depths of the night"


def text(x: float, y: float, words: str, font: str = "F1", size: float = 10) -> str:
    escaped = words.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return f"BT /{font} {size} Tf 1 0 0 1 {x} {y} Tm ({escaped}) Tj ET"


def written(path: Path, *pages: str, more: str = "", info: str = "") -> Path:
    """A PDF whose pages have these contents; F1 is Helvetica, F2 bold, F3 Courier."""
    fonts = ("Helvetica", "Helvetica-Bold", "Courier")
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {len(pages)}/Kids[{' '.join(f'{6 + 2 * i} 0 R' for i in range(len(pages)))}]>>",
        *(f"<</Type/Font/Subtype/Type1/BaseFont/{name}/Encoding/WinAnsiEncoding>>" for name in fonts),
    ]
    for index, page in enumerate(pages):
        about = "/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R/F2 4 0 R/F3 5 0 R>>>>"
        objects.append(f"<</Type/Page/Parent 2 0 R{about}{more}/Contents {7 + 2 * index} 0 R>>")
        objects.append(f"<</Length {len(page)}>>\nstream\n{page}\nendstream")
    objects.append(f"<<{info}>>")
    out, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}".encode()
    trailer = f"trailer<</Size {len(objects) + 1}/Root 1 0 R/Info {len(objects)} 0 R>>"
    path.write_bytes(out + f"{trailer}\nstartxref\n{out.rfind(b'xref')}\n%%EOF".encode())
    return path


def read(path: Path, *pages: str, **more: str) -> Extraction:
    return extract_file(written(path / "a.pdf", *pages, **more))


def test_headings_paragraphs_and_links(tmp_path: Path) -> None:
    links = (
        "/Annots[<</Type/Annot/Subtype/Link/Rect[98 698 125 710]/A<</S/URI/URI(https://a.example/x_\\(1\\))>>>>"
        "<</Type/Annot/Subtype/Link/Rect[50 600 90 612]/A<</S/URI/URI(https://a.example/y)>>>>]"
    )
    page = "\n".join(
        [
            text(50, 760, "Depths of the quay", "F2", 18),
            text(50, 700, "All of the tables are kept in this book, and nobody has"),
            text(50, 688, "read it yet."),
            text(50, 660, "Rules", "F2", 14),
            text(50, 630, "A second paragraph of the book which is about light-"),
            text(50, 618, "houses and *stars*."),
        ]
    )
    info = "/Title(A book)/Author(Ines)/CreationDate(D:20310405060708Z)"
    found = read(tmp_path, page, more=links, info=info)
    assert found.text == (
        "# Depths of the quay\n\nAll of the [tables](https://a.example/x_(1)) are kept in this book, and nobody has "
        "read it yet.\n\n## Rules\n\nA second paragraph of the book which is about lighthouses and \\*stars\\*.\n"
    )
    assert (found.title, found.facts) == ("A book", ("by Ines", "1 page"))
    assert found.meta["created_at"] == "2031-04-05T06:07:08"


def test_columns_are_read_one_after_the_other(tmp_path: Path) -> None:
    lines = [text(50, 800, "A title over both columns of the page", "F2", 16)]
    for index in range(8):
        lines.append(text(50, 760 - 12 * index, f"left {index} speaks of boats and of tides"))
        lines.append(text(310, 760 - 12 * index, f"right {index} goes on with lamps and lights"))
    found = read(tmp_path, "\n".join(lines)).text
    assert found.startswith("# A title over both columns of the page\n\nleft 0 speaks of boats and of tides left 1 ")
    assert found.index("left 7") < found.index("right 0") < found.index("right 7")
    assert "|" not in found


def test_tables_with_and_without_rules(tmp_path: Path) -> None:
    rows = [("Quay", "Depth", "Keeper"), ("North", "4.5 m", "Ines | Tom"), ("South", "", "Olga")]
    cells = [
        text(50 + 90 * column, 700 - 18 * row, cell)
        for row, line in enumerate(rows)
        for column, cell in enumerate(line)
    ]
    wrapped = text(230, 652, "of the south")
    page = "\n".join([text(50, 730, f"{PROSE}."), *cells, wrapped, text(50, 600, f"{PROSE}.")])
    assert read(tmp_path, page).text == (
        f"{PROSE}.\n\n| Quay | Depth | Keeper |\n| --- | --- | --- |\n| North | 4.5 m | Ines \\| Tom |\n"
        f"| South |  | Olga of the south |\n\n{PROSE}.\n"
    )


def test_listings_keep_their_blanks(tmp_path: Path) -> None:
    code = ["def ebb(x):", "    if x < 0:", "        return None", "    return x * 2"]
    lines = [text(50, 700 - 12 * index, line, "F3") for index, line in enumerate(code)]
    page = "\n".join([text(50, 730, f"{PROSE}:"), *lines])
    assert read(tmp_path, page).text == f"{PROSE}:\n\n```\n" + "\n".join(code) + "\n```\n"


def test_lists(tmp_path: Path) -> None:
    page = "\n".join(
        [
            text(50, 730, f"{PROSE}:"),
            text(50, 710, "\x95 Clean the lens, which takes a while, so that one"),
            text(60, 698, "line is not enough"),
            text(70, 686, "\x95 inner"),
            text(50, 674, "\x95 Trim the wick"),
            text(50, 640, f"{PROSE}."),
            text(50, 620, "1. one"),
            text(50, 608, "2) two"),
        ]
    )
    assert read(tmp_path, page).text == (
        f"{PROSE}:\n\n- Clean the lens, which takes a while, so that one line is not enough\n   - inner\n"
        f"- Trim the wick\n\n{PROSE}.\n\n1. one\n2. two\n"
    )


def test_pages_are_marked_and_those_without_words_named(tmp_path: Path) -> None:
    def page(number: int) -> str:
        head, foot = text(50, 820, "Harbour Quarterly"), text(280, 20, f"Page {number} of 5")
        return "\n".join([head, text(50, 700, f"{PROSE}, page {number}."), foot])

    found = read(tmp_path, page(1), page(2), "", page(4), page(5))
    assert [entry for entry in found.text.split("\n\n") if entry.startswith("<!--")] == [
        f"<!-- page {number} -->" for number in range(1, 6)
    ]
    assert found.text.count("Harbour Quarterly") == 1, "what runs along all pages is told once"
    assert [note["code"] for note in found.warnings] == ["pages_without_text"]
    assert "1 of 5 pages hold no text: 3" in found.warnings[0]["message"]
    none = read(tmp_path, "")
    assert none.content is None
    assert none.warnings[0]["code"] == "no_text"


def test_turned_pages_and_stamps(tmp_path: Path) -> None:
    stamp = "BT /F1 10 Tf 0 1 -1 0 30 300 Tm (Received at the quay) Tj ET"
    upright = read(tmp_path, "\n".join([stamp, text(50, 700, f"{PROSE}.")]))
    assert upright.text == f"{PROSE}.\n\nReceived at the quay\n"
    landscape = "BT /F1 10 Tf 0 1 -1 0 50 300 Tm (A wide page of many words) Tj ET"
    assert read(tmp_path, landscape, more="/Rotate 90").text == "A wide page of many words\n"
    assert read(tmp_path, landscape).text == "A wide page of many words\n"


def test_a_broken_table_of_objects_is_mended_and_a_broken_file_named(tmp_path: Path) -> None:
    path = written(tmp_path / "a.pdf", text(50, 700, f"{PROSE}."))
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rfind(b"startxref")] + b"startxref\n99999999\n%%EOF")
    assert extract_file(path).text == f"{PROSE}.\n"
    path.write_bytes(b"%PDF-1.7\n")
    assert [note["code"] for note in extract_file(path).warnings] == ["extraction_failed"]


def test_long_documents_are_read_as_far_as_the_time_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [text(50, 700, f"Page word{number}.") for number in range(1, 121)]
    found = read(tmp_path, *pages)
    assert "<!-- page 120 -->\n\nPage word120." in found.text
    monkeypatch.setattr(pdf, "MAX_SECONDS", 0.0)
    found = read(tmp_path, *pages)
    assert "word1." in found.text
    assert [note["code"] for note in found.warnings] == ["truncated"]
    assert "the first 1 of 120 pages" in found.warnings[0]["message"]
