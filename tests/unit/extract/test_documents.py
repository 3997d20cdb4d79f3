"""Documents of every office, made here part by part: what must survive of each."""

from __future__ import annotations

import zipfile
from pathlib import Path

from cdpfetch.extract import Extraction, extract_file, tables

XML = '<?xml version="1.0" encoding="UTF-8"?>'
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
SHOW = "http://schemas.openxmlformats.org/presentationml/2006/main"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OPEN = "urn:oasis:names:tc:opendocument:xmlns:"
OPEN_NAMES = " ".join(
    f'xmlns:{name}="{OPEN}{value}:1.0"'
    for name, value in {
        "office": "office",
        "table": "table",
        "text": "text",
        "draw": "drawing",
        "presentation": "presentation",
        "manifest": "manifest",
    }.items()
)


def packed(path: Path, parts: dict[str, str], mimetype: str = "") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        if mimetype:
            archive.writestr("mimetype", mimetype)
        for name, text in parts.items():
            archive.writestr(name, XML + text)
    return path


def relations(*targets: tuple[str, str, str]) -> str:
    inner = "".join(f'<Relationship Id="{i}" Type="{RELATIONS}/{kind}" Target="{to}"/>' for i, kind, to in targets)
    return f'<Relationships xmlns="{PACKAGE}">{inner}</Relationships>'


def content_types(**overrides: str) -> str:
    inner = "".join(
        f'<Override PartName="/{name.replace("__", "/")}.xml" '
        f'ContentType="application/vnd.openxmlformats-officedocument.{kind}+xml"/>'
        for name, kind in overrides.items()
    )
    return (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{inner}</Types>'
    )


def sheet(path: Path, rows: str, second: str) -> Path:
    styles = (
        f'<styleSheet xmlns="{SHEET}"><fonts count="1"><font/></fonts><fills count="1"><fill/></fills>'
        '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="2"><xf/>'
        '<xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>'
    )
    return packed(
        path,
        {
            "[Content_Types].xml": content_types(
                xl__workbook="spreadsheetml.sheet.main",
                xl__worksheets__sheet1="spreadsheetml.worksheet",
                xl__worksheets__sheet2="spreadsheetml.worksheet",
                xl__styles="spreadsheetml.styles",
            ),
            "_rels/.rels": relations(("a", "officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{RELATIONS}"><sheets><sheet name="Depths" '
            'sheetId="1" r:id="a"/><sheet name="Last" sheetId="2" r:id="b"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": relations(
                ("a", "worksheet", "worksheets/sheet1.xml"),
                ("b", "worksheet", "worksheets/sheet2.xml"),
                ("c", "styles", "styles.xml"),
            ),
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{SHEET}"><sheetData>{rows}</sheetData>'
            '<mergeCells count="1"><mergeCell ref="A3:B3"/></mergeCells></worksheet>',
            "xl/worksheets/sheet2.xml": f'<worksheet xmlns="{SHEET}"><sheetData>{second}</sheetData></worksheet>',
            "xl/styles.xml": styles,
        },
    )


def text(cell: str, value: str) -> str:
    return f'<c r="{cell}" t="inlineStr"><is><t>{value}</t></is></c>'


def test_every_sheet_with_dates_booleans_results_and_errors(tmp_path: Path) -> None:
    rows = (
        f'<row r="1">{text("A1", "Name")}{text("B1", "When")}{text("C1", "Open")}{text("D1", "Sum")}</row>'
        f'<row r="2">{text("A2", "Kelp")}<c r="B2" s="1"><v>46000</v></c><c r="C2" t="b"><v>1</v></c>'
        '<c r="D2"><f>SUM(1,2)</f><v>3</v></c></row>'
        f'<row r="3">{text("A3", "both")}<c r="C3" t="b"><v>0</v></c><c r="D3" t="e"><f>1/0</f><v>#DIV/0!</v></c></row>'
    )
    found = extract_file(sheet(tmp_path / "a.xlsx", rows, f'<row r="1">{text("A1", "end")}</row>'))
    assert "| Kelp | 2025-12-09 | true | 3 |" in found.text
    assert "| both |  | false | #DIV/0! |" in found.text
    assert found.text.index("## Depths") < found.text.index("## Last") < found.text.index("| end |")


def paragraph(value: str, *, level: int = -1, number: int = 1) -> str:
    numbering = f'<w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr></w:pPr>'
    return f"<w:p>{numbering if level >= 0 else ''}<w:r><w:t>{value}</w:t></w:r></w:p>"


def word(path: Path, body: str, **more: str) -> Path:
    parts = {f"word/{name}.xml": f'<w:{name} xmlns:w="{WORD}">{inner}</w:{name}>' for name, inner in more.items()}
    kinds = {f"word__{name}": f"wordprocessingml.{name}" for name in more}
    return packed(
        path,
        {
            "[Content_Types].xml": content_types(word__document="wordprocessingml.document.main", **kinds),
            "_rels/.rels": relations(("a", "officeDocument", "word/document.xml")),
            "word/_rels/document.xml.rels": relations(*((name, name, f"{name}.xml") for name in more)),
            "word/document.xml": f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>',
            **parts,
        },
    )


def test_word_keeps_inner_lists(tmp_path: Path) -> None:
    numbering = (
        '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl>'
        '<w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    )
    body = (
        paragraph("before")
        + paragraph("first", level=0)
        + paragraph("inner", level=1)
        + paragraph("second", level=0)
        + paragraph("after")
    )
    found = extract_file(word(tmp_path / "a.docx", body, numbering=numbering))
    assert found.text == "before\n\n1. first\n   - inner\n2. second\n\nafter\n"


def test_word_notes_and_comments_are_told_apart(tmp_path: Path) -> None:
    body = (
        '<w:p><w:r><w:t>One</w:t></w:r><w:r><w:footnoteReference w:id="7"/></w:r><w:r><w:t> two</w:t></w:r>'
        '<w:r><w:commentReference w:id="0"/></w:r></w:p>'
    )
    found = extract_file(
        word(
            tmp_path / "a.docx",
            body,
            footnotes=f'<w:footnote w:id="7">{paragraph("The note.")}</w:footnote>',
            comments=f'<w:comment w:id="0" w:author="Ann">{paragraph("Check it.")}</w:comment>',
        )
    )
    assert found.text == "One[^1] two[^c1]\n\n[^1]: The note.\n\n[^c1]: Ann: Check it.\n"


def opened(path: Path, kind: str, body: str) -> Extraction:
    mimetype = f"application/vnd.oasis.opendocument.{kind}"
    inner = f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    entry = f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{mimetype}"/>'
    parts = {
        "content.xml": f"<office:document-content {OPEN_NAMES}>{inner}</office:document-content>",
        "META-INF/manifest.xml": f"<manifest:manifest {OPEN_NAMES}>{entry}</manifest:manifest>",
    }
    return extract_file(packed(path, parts, mimetype))


def test_word_keeps_what_stands_beside_plain_runs(tmp_path: Path) -> None:
    def said(text: str, about: str = "") -> str:
        return f'<w:r><w:rPr>{about}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'

    math = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    one = "<m:r><m:t>{}</m:t></m:r>"
    fraction = f"<m:f><m:num>{one.format('a')}</m:num><m:den>{one.format('b+1')}</m:den></m:f>"
    power = f"<m:sSup><m:e>{one.format('x')}</m:e><m:sup>{one.format('2')}</m:sup></m:sSup>"
    field = (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
        '<w:r><w:instrText>HYPERLINK "https://a.example/f"</w:instrText></w:r>'
        f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{said("field")}<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )
    merged = '<w:tcPr><w:vMerge w:val="{}"/></w:tcPr>'
    rows = (
        f"<w:tr><w:tc><w:tcPr><w:gridSpan w:val='2'/></w:tcPr>{paragraph('Wide')}</w:tc></w:tr>"
        f"<w:tr><w:tc>{merged.format('restart')}{paragraph('tall')}</w:tc><w:tc>{paragraph('1')}</w:tc></w:tr>"
        f"<w:tr><w:tc>{merged.format('continue')}{paragraph('')}</w:tc><w:tc>{paragraph('2')}</w:tc></w:tr>"
    )
    body = (
        f'<w:p><w:pPr><w:pStyle w:val="Heading2"/></w:pPr>{said("Part &lt;two&gt;")}</w:p>'
        f"<w:p>{said('bo', '<w:b/>')}{said('ld', '<w:b/>')}<w:r><w:tab/><w:t>tab</w:t></w:r>"
        f"<w:ins>{said(' new')}</w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del> {field}</w:p>"
        f"<w:p>{said('So ')}<m:oMath {math}>{fraction}{one.format('=')}{power}</m:oMath>{said(' holds.')}</w:p>"
        f"<w:p><w:r><w:pict><w:txbxContent>{paragraph('in a box')}</w:txbxContent></w:pict></w:r></w:p>"
        f"<w:sdt><w:sdtContent>{paragraph('in a control')}</w:sdtContent></w:sdt><w:tbl>{rows}</w:tbl>"
    )
    styles = '<w:style w:styleId="Heading2"><w:name w:val="heading 2"/></w:style>'
    assert extract_file(word(tmp_path / "a.docx", body, styles=styles)).text == (
        "## Part \\<two>\n\n**bold** tab new[field](https://a.example/f)\n\n"
        "So $\\frac{a}{b + 1} = x^2$ holds.\n\nin a box\n\nin a control\n\n"
        "| Wide |  |\n| --- | --- |\n| tall | 1 |\n|  | 2 |\n"
    )


def test_hidden_sheets_and_times_are_said_to_be_that(tmp_path: Path) -> None:
    rows = (
        f'<row r="1">{text("A1", "When")}{text("B1", "How long")}</row>'
        '<row r="2"><c r="A2" s="1"><v>0.5729166666666666</v></c><c r="B2" s="1"><v>1.25</v></c></row>'
    )
    path = sheet(tmp_path / "a.xlsx", rows, f'<row r="1">{text("A1", "end")}</row>')
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    parts["xl/workbook.xml"] = parts["xl/workbook.xml"].replace('name="Last"', 'name="Last" state="hidden"')
    parts["xl/styles.xml"] = parts["xl/styles.xml"].replace('numFmtId="14"', 'numFmtId="21"')
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    found = extract_file(path).text
    assert "| 13:45:00 | 30:00:00 |" in found
    assert "## Last (hidden)" in found


def shape(text: str, kind: str = "", top: int = -1, level: int = -1) -> str:
    holder = f'<p:nvPr><p:ph type="{kind}" idx="1"/></p:nvPr>' if kind else "<p:nvPr/>"
    place = f'<a:xfrm><a:off x="0" y="{top}"/></a:xfrm>' if top >= 0 else ""
    about = f'<a:pPr lvl="{level}"/>' if level >= 0 else ""
    return (
        f"<p:sp><p:nvSpPr>{holder}</p:nvSpPr><p:spPr>{place}</p:spPr>"
        f"<p:txBody><a:p>{about}{text}</a:p></p:txBody></p:sp>"
    )


def run(text: str, about: str = "") -> str:
    return f"<a:r><a:rPr{about}/><a:t>{text}</a:t></a:r>"


def slide(shapes: str, hidden: str = "") -> str:
    names = f'xmlns:p="{SHOW}" xmlns:a="{DRAWING}" xmlns:r="{RELATIONS}"'
    return f"<p:sld {names}{hidden}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"


def test_slides_are_in_the_order_of_the_show(tmp_path: Path) -> None:
    link = '<a:r><a:rPr><a:hlinkClick r:id="l"/></a:rPr><a:t>the site</a:t></a:r>'
    table = (
        "<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tr>"
        '<a:tc gridSpan="2"><a:txBody><a:p><a:r><a:t>Depths | all</a:t></a:r></a:p></a:txBody></a:tc>'
        '<a:tc hMerge="1"><a:txBody><a:p/></a:txBody></a:tc></a:tr><a:tr>'
        "<a:tc><a:txBody><a:p><a:r><a:t>Kelp</a:t></a:r></a:p></a:txBody></a:tc>"
        "<a:tc><a:txBody><a:p><a:r><a:t>4</a:t></a:r></a:p></a:txBody></a:tc></a:tr></a:tbl>"
        "</a:graphicData></a:graphic></p:graphicFrame>"
    )
    group = f"<p:grpSp><p:grpSpPr/>{shape(run('in a group'), top=5)}</p:grpSp>"
    chart = (
        '<c:chartSpace xmlns:c="urn:c"><c:ser><c:tx><c:v>Oil</c:v></c:tx><c:cat><c:pt idx="0"><c:v>Q1</c:v></c:pt>'
        '</c:cat><c:val><c:pt idx="0"><c:v>1.5</c:v></c:pt></c:val></c:ser></c:chartSpace>'
    )
    frame = (
        '<p:graphicFrame><a:graphic><a:graphicData><c:chart xmlns:c="urn:c" r:id="c"/></a:graphicData></a:graphic>'
        "</p:graphicFrame>"
    )
    last = shape(run("below"), top=900) + shape(run("above"), top=100) + table + group
    parts = {
        "[Content_Types].xml": content_types(
            ppt__presentation="presentationml.presentation.main", ppt__slides__slide1="presentationml.slide"
        ),
        "_rels/.rels": relations(("a", "officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{SHOW}" xmlns:r="{RELATIONS}"><p:sldIdLst>'
        '<p:sldId id="256" r:id="b"/><p:sldId id="257" r:id="a"/></p:sldIdLst></p:presentation>',
        "ppt/_rels/presentation.xml.rels": relations(
            ("a", "slide", "slides/slide1.xml"), ("b", "slide", "slides/slide2.xml")
        ),
        "ppt/slides/slide1.xml": slide(last, ' show="0"'),
        "ppt/slides/slide2.xml": slide(
            shape(run("Outer"), "body", level=0) + shape(run("Depths"), "title") + shape(link, top=9000) + frame
        ),
        "ppt/slides/_rels/slide2.xml.rels": relations(
            ("n", "notesSlide", "../notesSlides/notesSlide9.xml"), ("c", "chart", "../charts/chart1.xml")
        ).replace(
            "</Relationships>",
            f'<Relationship Id="l" Type="{RELATIONS}/hyperlink" Target="https://a.example/" TargetMode="External"/>'
            "</Relationships>",
        ),
        "ppt/notesSlides/notesSlide9.xml": slide(shape(run("7"), "sldNum") + shape(run("Say hello."), "body")),
        "ppt/charts/chart1.xml": chart,
    }
    found = extract_file(packed(tmp_path / "a.pptx", parts)).text
    assert found == (
        "<!-- slide 1 -->\n\n## Depths\n\n[the site](https://a.example/)\n\n- Outer\n\n"
        "|  | Oil |\n| --- | --- |\n| Q1 | 1.5 |\n\nNotes: Say hello.\n\n<!-- slide 2 (hidden) -->\n\n"
        "above\n\nbelow\n\n| Depths \\| all |  |\n| --- | --- |\n| Kelp | 4 |\n\nin a group\n"
    )


def test_open_presentations(tmp_path: Path) -> None:
    def frame(inner: str, kind: str = "") -> str:
        named = f' presentation:class="{kind}"' if kind else ""
        return f"<draw:frame{named}><draw:text-box>{inner}</draw:text-box></draw:frame>"

    items = "<text:list><text:list-item><text:p>a</text:p><text:list><text:list-item><text:p>b</text:p>"
    items += "</text:list-item></text:list></text:list-item></text:list>"
    first = frame(items) + frame("<text:p>Tides</text:p>", "title")
    notes = f"<presentation:notes>{frame('<text:p>Say hello</text:p>')}</presentation:notes>"
    table = "<table:table>" + "".join(
        f"<table:table-row><table:table-cell><text:p>{cell}</text:p></table:table-cell></table:table-row>"
        for cell in "xy"
    )
    found = opened(
        tmp_path / "a.odp",
        "presentation",
        f"<draw:page>{first}{notes}</draw:page><draw:page><draw:frame>{table}</table:table></draw:frame></draw:page>",
    )
    assert found.facts == ("2 slides",)
    assert found.text == (
        "<!-- slide 1 -->\n\n## Tides\n\n- a\n  - b\n\nNotes: Say hello\n\n<!-- slide 2 -->\n\n| x |\n| --- |\n| y |\n"
    )


def test_a_presentation_that_is_broken_or_locked_says_so(tmp_path: Path) -> None:
    kind = "application/vnd.oasis.opendocument.presentation"
    broken = extract_file(packed(tmp_path / "a.odp", {"other.xml": "<a/>"}, kind))
    assert [note["code"] for note in broken.warnings] == ["extraction_failed"]
    manifest = f"<manifest:manifest {OPEN_NAMES}><manifest:encryption-data/></manifest:manifest>"
    locked = extract_file(packed(tmp_path / "b.odp", {"META-INF/manifest.xml": manifest}, kind))
    assert [note["code"] for note in locked.warnings] == ["encrypted"]


def test_open_sheets_and_texts(tmp_path: Path) -> None:
    cell = '<table:table-cell office:value-type="{0}" office:{0}-value="{1}"><text:p>{2}</text:p></table:table-cell>'
    words = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    head = words.format("When") + words.format("Open")
    row = cell.format("date", "2031-04-05", "05.04.31") + cell.format("boolean", "true", "WAHR")
    table = f"<table:table-row>{head}</table:table-row><table:table-row>{row}</table:table-row>"
    # What a sheet without an end looks like on disk.
    table += '<table:table-row table:number-rows-repeated="1000000"><table:table-cell/></table:table-row>'
    found = opened(tmp_path / "a.ods", "spreadsheet", f'<table:table table:name="One">{table}</table:table>')
    assert found.text == "## One\n\n| When | Open |\n| --- | --- |\n| 2031-04-05 | true |\n"
    note = (
        '<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation><text:note-body>'
        "<text:p>Aside.</text:p></text:note-body></text:note>"
    )
    written = opened(tmp_path / "a.odt", "text", f"<text:p>Words{note}</text:p>")
    assert written.text == "Words[^1]\n\n[^1]: Aside.\n"


def test_an_encrypted_office_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le"))
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    assert "encrypted" in [note["code"] for note in extract_file(path, content_type=kind).warnings]


def test_mailboxes(tmp_path: Path) -> None:
    path = tmp_path / "a.mbox"
    path.write_bytes(
        b"From ann@x.test Mon Jan  5 10:00:00 2026\nFrom: Ann <ann@x.test>\nSubject: One\n\n"
        b"From here on.\n\n>From the sea.\n\n"
        b"From bo@x.test Mon Jan  5 11:00:00 2026\nFrom: bo@x.test\nSubject: =?utf-8?q?Zw=C3=B6lf?=\n\nSecond.\n"
    )
    found = extract_file(path)
    assert found.facts == ("mailbox, 2 messages",)
    assert found.text == (
        "# One\n\n- From: Ann <ann@x.test>\n\nFrom here on.\n\nFrom the sea.\n\n---\n\n"
        "# Zwölf\n\n- From: bo@x.test\n\nSecond.\n"
    )


def test_books_are_in_reading_order(tmp_path: Path) -> None:
    def chapter(name: str) -> str:
        inner = f"<head><title>{name}</title></head><body><h1>{name}</h1><p>Words of {name}.</p>"
        links = '<p><a href="z.xhtml#s">there</a> and <a href="https://a.example/">out</a></p>'
        return f'<html xmlns="http://www.w3.org/1999/xhtml">{inner}{links}</body></html>'

    found = extract_file(
        packed(
            tmp_path / "a.epub",
            {
                "META-INF/container.xml": '<container version="1.0" '
                'xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="c.opf" '
                'media-type="application/oebps-package+xml"/></rootfiles></container>',
                "c.opf": '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata '
                'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Book</dc:title></metadata><manifest>'
                '<item id="b" href="a.xhtml" media-type="application/xhtml+xml"/>'
                '<item id="a" href="z.xhtml" media-type="application/xhtml+xml"/></manifest>'
                '<spine><itemref idref="a"/><itemref idref="b"/></spine></package>',
                "z.xhtml": chapter("First"),
                "a.xhtml": chapter("Last"),
            },
            "application/epub+zip",
        )
    )
    assert found.title == "Book"
    links = "there and [out](https://a.example/)"
    assert found.text == f"# First\n\nWords of First.\n\n{links}\n\n# Last\n\nWords of Last.\n\n{links}\n"


def test_a_table_that_is_too_large_is_delivered_as_it_was_sent(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "1,2\n" * (tables.MAX_CHARS // 4))
    found = extract_file(path)
    assert found.text.startswith("a,b\n1,2\n")
    assert [note["code"] for note in found.warnings] == ["not_converted"]
