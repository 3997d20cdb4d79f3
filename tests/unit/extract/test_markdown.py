"""Conversion: what is in the tree comes out, as Markdown that means the same."""

from __future__ import annotations

import pytest

from cdpfetch.extract import convert

URL = "http://site.test/dir/page?q=1"


def md(html: str) -> str:
    return convert.fragment(html, URL)


@pytest.mark.parametrize(
    ("html", "wanted"),
    [
        ("<h2>Second <a class=headerlink href='#x'>¶</a></h2>", "## Second"),
        ("<h3><a class='anchor' href='#t' aria-hidden='true'>#</a>Third</h3>", "### Third"),
        ("<h2><a href='/a'>Linked</a></h2>", "## [Linked](http://site.test/a)"),
        ("<p>a <b>bold</b>, <i> it </i>and <b><strong>one</strong></b></p>", "a **bold**, *it* and **one**"),
        ("<details><summary>More <b>here</b></summary><p>x</p></details>", "**More here**\n\nx"),
        ("<p>x <del>old</del></p>", "x ~~old~~"),
        ("<p>use <code>a_b*c</code> and <kbd>Ctrl</kbd></p>", "use `a_b*c` and `Ctrl`"),
        ("<p><code>a `tick`</code></p>", "`` a `tick` ``"),
        ("<p>one<br>two</p>", "one\\\ntwo"),
        ("<div>one<br><br>two</div>", "one\n\ntwo"),
        ("<div>Released</div><div>2031</div>", "Released\n\n2031"),
        ("<div><span style='display:block'>Maker</span><span style='display:block'>Ltd</span></div>", "Maker\n\nLtd"),
        ("<p>1 * 2 and snake_case_name and _lead</p>", "1 \\* 2 and snake_case_name and \\_lead"),
        ("<p># no heading</p>", "\\# no heading"),
        ("<p>1. no list</p>", "1\\. no list"),
        ("<p>- no list</p>", "\\- no list"),
        ("<p>&lt;b&gt; &amp;amp; a&lt;b</p>", "\\<b> \\&amp; a\\<b"),
        ("<p>H<sub>2</sub>O</p>", "H<sub>2</sub>O"),
        ("<p><ruby>漢<rt>かん</rt></ruby></p>", "漢(かん)"),
        ("<p>می\u200cخواهم</p>", "می\u200cخواهم"),
        ("<blockquote><p>one</p><p>two</p></blockquote>", "> one\n>\n> two"),
        ("<dl><dt>Term</dt><dd>Meaning</dd></dl>", "**Term**\n: Meaning"),
        ("<details><summary>More</summary><p>text</p></details>", "**More**\n\ntext"),
        ("<p>a</p><hr><p>b</p>", "a\n\n---\n\nb"),
    ],
)
def test_elements(html: str, wanted: str) -> None:
    assert md(html) == wanted


@pytest.mark.parametrize(
    ("html", "wanted"),
    [
        ("<a href='files/a b.pdf'>x</a>", "[x](http://site.test/dir/files/a%20b.pdf)"),
        ("<a href='../up'>x</a>", "[x](http://site.test/up)"),
        ("<a href='//cdn.test/x'>x</a>", "[x](http://cdn.test/x)"),
        ("<a href='javascript:go()'>x</a>", "x"),
        ("<a href='http://a.test/x_(y'>x</a>", "[x](http://a.test/x_%28y)"),
        ("<a href='/a'></a>text", "text"),
        ("<a href='/a'><img src='i.png' alt='pic'></a>", "[![pic](http://site.test/dir/i.png)](http://site.test/a)"),
        ("<img src='data:image/gif;base64,R0' data-src='real.png' alt='x'>", "![x](http://site.test/dir/real.png)"),
        ("<img src='data:,' srcset='s-320.png 320w, s-640.png 640w' alt='x'>", "![x](http://site.test/dir/s-640.png)"),
        ("<img src='/t.gif' width=1 height=1>", ""),
        ("<a href='/a'><h3>Card</h3><p>words</p></a>", "### [Card](http://site.test/a)\n\nwords"),
        ("<a href='/a'><div>Card</div><div>words</div></a>", "[Card](http://site.test/a)\n\nwords"),
    ],
)
def test_links_and_images(html: str, wanted: str) -> None:
    assert md(html) == wanted


def test_the_base_element_counts() -> None:
    assert md("<head><base href='/b/c/'></head><body><a href='x'>x</a>") == "[x](http://site.test/b/c/x)"


def test_nested_lists_keep_their_levels_and_numbers() -> None:
    html = (
        "<ul><li>Rope</li><li>Sail<ul><li>Main<ul><li>Patch</li></ul></li>"
        "</ul></li></ul><ol start=5><li>Fifth<li>Sixth</ol>"
    )
    assert md(html) == "- Rope\n- Sail\n  - Main\n    - Patch\n\n5. Fifth\n6. Sixth"


def test_code_in_a_list_item() -> None:
    html = "<ol><li><p>Write:</p><pre><code>a:\n  - 3</code></pre></li><li><pre>x</pre></li></ol>"
    assert md(html) == "1. Write:\n\n   ```\n   a:\n     - 3\n   ```\n\n2.\n   ```\n   x\n   ```"


def test_tasks() -> None:
    assert md("<ul><li><input type=checkbox checked>done<li><input type=checkbox>open</ul>") == "- [x] done\n- [ ] open"


def test_a_heading_in_a_list() -> None:
    assert md("<ol><li><h3>Head</h3><p>text</p></li></ol>") == "1. ### Head\n\n   text"


def test_tables_have_one_line_a_row() -> None:
    html = (
        "<table><tr><th>A</th><th>B</th></tr><tr><td><p><b>x</b></p></td><td>a|b<br>c</td></tr>"
        "<tr><td><ul><li>1<li>2</ul></td><td><code>k</code></td></tr></table>"
    )
    assert md(html).splitlines() == ["| A | B |", "| --- | --- |", "| **x** | a\\|b c |", "| • 1 • 2 | `k` |"]


def test_spans_keep_the_number_of_cells() -> None:
    html = (
        "<table><tr><th colspan=2>Left</th><th>Right</th></tr><tr><td rowspan=2>tall</td><td>m2</td><td>r2</td></tr>"
        "<tr><td>m3</td><td>r3</td></tr></table>"
    )
    assert md(html).splitlines() == [
        "| Left |  | Right |",
        "| --- | --- | --- |",
        "| tall | m2 | r2 |",
        "|  | m3 | r3 |",
    ]


def test_layout_tables_are_blocks() -> None:
    assert md("<table><tr><td><h1>Title</h1><p>text</p></td><td><pre>code</pre></td></tr></table>") == (
        "# Title\n\ntext\n\n```\ncode\n```"
    )


def test_a_fence_is_longer_than_what_it_holds() -> None:
    assert md("<pre>a\n```sh\nb\n```\nc</pre>") == "````\na\n```sh\nb\n```\nc\n````"


def test_raw_tex_is_not_escaped() -> None:
    assert md(r"<p>Let \(x_1 * y_2\) and $$a_b*c$$ be.</p>") == r"Let \(x_1 * y_2\) and $$a_b*c$$ be."


def test_nothing_gives_nothing() -> None:
    assert md("") == ""
    assert md("<div> <p></p></div>") == ""
