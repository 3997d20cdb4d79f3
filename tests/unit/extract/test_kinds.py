"""Kinds of pages, each with what it must read like: documentation, references, threads, shops."""

from __future__ import annotations

import pytest

from cdpfetch.extract import convert, dom, extract_html, markdown

URL = "http://site.test/p"


def md(html: str) -> str:
    return convert.fragment(html, URL)


@pytest.mark.parametrize(
    ("html", "wanted"),
    [
        (
            (
                '<p>Tea<sup id="fnref1"><a href="#fn1">1</a></sup> and milk.</p><section class="footnotes"><ol>'
                '<li id="fn1"><p>From leaves. <a href="#fnref1">↩</a></p><p>Dried.</p></li></ol></section>'
            ),
            "Tea[^1] and milk.\n\n[^1]: From leaves.\n\n    Dried.",
        ),
        (
            (
                '<p>Moon<sup class="reference" id="cite_ref-1"><a href="#cite_note-1">[1]</a></sup> rises.</p>'
                '<ol class="references"><li id="cite_note-1"><span class="cite-back"><b><a href="#cite_ref-1">^</a>'
                "</b></span> <span>Smith, <i>Moon</i>.</span></li></ol>"
            ),
            "Moon[^1] rises.\n\n[^1]: Smith, *Moon*.",
        ),
        (
            (
                '<p>Two<a href="#_ftn1" name="_ftnref1">[1]</a> forms.</p>'
                '<div id="ftn1"><p><a href="#_ftnref1" name="_ftn1">[1]</a> A word processor.</p></div>'
            ),
            "Two[^1] forms.\n\n[^1]: A word processor.",
        ),
    ],
)
def test_footnotes_and_references(html: str, wanted: str) -> None:
    assert md(html) == wanted


@pytest.mark.parametrize(
    "html",
    [
        '<p>See <a href="#thm">1</a> and x<sup>2</sup>.</p><h2 id="thm">Theorem 1</h2><p>Words.</p>',
        '<p>x<sup><a href="#gone">1</a></sup> leads nowhere.</p>',
    ],
)
def test_what_is_no_footnote(html: str) -> None:
    assert "[^" not in md(html)


def test_a_mark_whose_note_is_not_written_is_a_link() -> None:
    note = '<ol class="footnotes"><li id="fn1">Leaves <a href="#r">↩</a></li></ol>'
    html = f'<p>Tea<sup><a href="#fn1">1</a></sup>.</p>{note}'
    body = convert.prepare(dom.parse(html))
    next(node for node in body.walk() if node.tag == "fn").kids = []
    assert markdown.render(body, URL) == "Tea[1](http://site.test/p#fn1).\n"


@pytest.mark.parametrize(
    ("html", "wanted"),
    [
        (
            '<div class="admonition note"><p class="admonition-title">Note</p><p>Mind it.</p></div>',
            "> [!NOTE]\n> Mind it.",
        ),
        (
            (
                '<div class="markdown-alert markdown-alert-warning"><p class="markdown-alert-title">Warning</p>'
                "<p>Hot.</p></div>"
            ),
            "> [!WARNING]\n> Hot.",
        ),
        (
            (
                '<div class="theme-admonition theme-admonition-danger"><div class="admonitionHeading_x1">danger</div>'
                '<div class="admonitionContent_x2"><p>High.</p></div></div>'
            ),
            "> [!CAUTION]\n> High.",
        ),
        (
            '<div class="tip custom-block"><p class="custom-block-title">Good to know</p><p>Use it.</p></div>',
            "> **Good to know**\n>\n> Use it.",
        ),
        (
            (
                '<div class="admonitionblock tip"><table><tr><td class="icon"><i title="Tip"></i></td>'
                '<td class="content"><p>Short.</p></td></tr></table></div>'
            ),
            "> [!TIP]\n> Short.",
        ),
        ('<div class="callout"><p>No title, so no box.</p></div>', "No title, so no box."),
    ],
)
def test_admonitions(html: str, wanted: str) -> None:
    assert md(html) == wanted


@pytest.mark.parametrize(
    "html",
    [
        (
            '<div class="tabs-container"><ul role="tablist"><li role="tab">npm</li><li role="tab">yarn</li></ul><div>'
            '<div role="tabpanel"><pre><code class="language-sh">npm i x</code></pre></div>'
            '<div role="tabpanel" hidden><pre><code class="language-sh">yarn add x</code></pre></div></div></div>'
        ),
        (
            '<div class="vp-code-group"><div class="tabs"><input type="radio"><label>npm</label><input type="radio">'
            '<label>yarn</label></div><div class="blocks"><div><button class="copy">Copy</button>'
            '<span class="lang">sh</span><pre><code>npm i x</code></pre></div><div><button class="copy"></button>'
            '<span class="lang">sh</span><pre><code>yarn add x</code></pre></div></div></div>'
        ),
        (
            '<div><div role="tablist"><button role="tab" aria-controls="a">npm</button><button role="tab" '
            'aria-controls="b">yarn</button></div></div><div id="a"><pre data-lang="sh">npm i x</pre></div>'
            '<div id="b" style="display:none"><pre data-lang="sh">yarn add x</pre></div>'
        ),
    ],
)
def test_tabs_and_code_groups_keep_their_labels(html: str) -> None:
    assert md(html) == "**npm**\n\n```sh\nnpm i x\n```\n\n**yarn**\n\n```sh\nyarn add x\n```"


@pytest.mark.parametrize(
    ("html", "wanted"),
    [
        (
            (
                '<dl class="py function"><dt class="sig sig-object py" id="m.open"><span class="descname">m.open</span>'
                '(<em class="sig-param">path</em>, <em>mode=\'r\'</em>)<a class="headerlink" href="#m.open">¶</a></dt>'
                "<dd><p>Opens.</p></dd></dl>"
            ),
            "`m.open(path, mode='r')`\n: Opens.",
        ),
        (
            '<div class="member-signature"><span>public</span>&nbsp;<span>int</span>&nbsp;<span>size</span>()</div>',
            "`public int size()`",
        ),
        (
            "<dl><dt>tide</dt><dd>water moves</dd><dd>twice a day</dd><dt>ebb</dt><dt>fall</dt><dd>it goes</dd></dl>",
            "**tide**\n: water moves\n: twice a day\n\n**ebb**\n**fall**\n: it goes",
        ),
        (
            '<div class="code"><button>Copy</button><pre>x = 1</pre><button>Copy to clipboard</button></div>',
            "```\nx = 1\n```",
        ),
        (
            '<div class="head"><span>bash</span><button>Copy code</button></div><pre>ls</pre>',
            "```bash\nls\n```",
        ),
        (
            (
                '<table class="infobox"><tr><th colspan="2">Kelp</th></tr><tr><th scope="row">Order</th>'
                "<td>Laminariales</td></tr></table>"
            ),
            "| Kelp |  |\n| --- | --- |\n| Order | Laminariales |",
        ),
        (
            (
                "<table><tr><td>Weight</td><td>2 kg</td></tr><tr><td>Mast</td><td>9 m</td></tr></table>"
                "<dl><div><dt>Ports</dt><dd>2 × USB</dd></div></dl>"
            ),
            "| Weight | 2 kg |\n| --- | --- |\n| Mast | 9 m |\n\n**Ports**\n: 2 × USB",
        ),
        (
            "<ol><li>one<ul><li>a<pre><code class='language-sh'>ls</code></pre></li></ul></li><li>two</li></ol>",
            "1. one\n   - a\n\n     ```sh\n     ls\n     ```\n2. two",
        ),
        (
            (
                "<table><thead><tr><th rowspan=2>A</th><th colspan=2>B</th></tr><tr><th>x</th><th>y</th></tr></thead>"
                "<tr><td>1</td><td>2</td><td>3</td></tr></table>"
            ),
            "| A | B |  |\n| --- | --- | --- |\n|  | x | y |\n| 1 | 2 | 3 |",
        ),
        (
            '<figure><img src="a.png" alt="A"><figcaption>Fig. 1</figcaption></figure>',
            "![A](http://site.test/a.png)\n\nFig. 1",
        ),
    ],
)
def test_documentation_and_tables(html: str, wanted: str) -> None:
    assert md(html) == wanted


POSTS = (
    ("Ines Kelp", "2031-04-05T08:30", "The north gate sticks again, and the chain makes a sound that I do not like."),
    ("Bo Tern", "2031-04-05T09:10", "Grease it where the third link meets the wheel; that is where ours had rust."),
    ("Ada Quay", "2031-04-06T21:00", "We replaced the whole wheel last spring and have not heard a thing since then."),
)
MENU = "<nav>" + "".join(f"<a href='/s{n}'>Section {n}</a>" for n in range(8)) + "</nav>"
THREADS = {
    "forum": "<div class='post'><div class='postprofile'><a class='username' href='/member/7'>{0}</a></div>"
    "<p class='author'><time datetime='{1}'>{1}</time></p><div class='content'><p>{2}</p></div></div>",
    "microdata": "<li itemprop='comment'><div class='meta'><span itemprop='author'>{0}</span>, "
    "<time itemprop='dateCreated'>{1}</time></div><div itemprop='text'><p>{2}</p></div></li>",
    "chat": "<div class='message'><span class='sender'>{0}</span> <span class='timestamp'>{1}</span>"
    "<div class='text'>{2}</div></div>",
    "comments": "<article class='comment'><footer><a rel='author' href='/u/1'>{0}</a> <small class='date'>{1}</small>"
    "</footer><p>{2}</p></article>",
}


@pytest.mark.parametrize("kind", THREADS)
def test_every_post_keeps_author_and_time(kind: str) -> None:
    posts = "".join(THREADS[kind].format(*post) for post in POSTS)
    text = extract_html(f"<body>{MENU}<main><h1>Gate trouble</h1><div>{posts}</div></main></body>", URL)
    position = 0
    for post in POSTS:
        for part in post:
            found = text.find(part, position)
            assert found >= 0, (part, text)
            position = found
    assert "Section 3" not in text


def test_short_posts_keep_author_and_time_and_joining_is_no_post() -> None:
    def post(name: str, day: str, text: str, joined: str = "") -> str:
        return (
            f"<article class='message js-post'><div class='cell cell--user'><h4><a href='/members/{name}.1/'>{name}</a>"
            f"</h4>{joined}</div><div class='cell cell--main'><ul><li><a href='/p'><time>{day}</time></a></li></ul>"
            f"<div class='body'>{text}</div></div></article>"
        )

    long = "My lamp does not light at all when the wick is dry, whatever it is that I do about it."
    joined = "<dl><dt>Joined</dt><dd>Mar 3, 2020</dd></dl>"
    posts = (
        post("Ines", "Jan 1, 2031", long, joined)
        + post("Tom", "Jan 2, 2031", long)
        + post("Olga", "Jan 3, 2031", "No.")
    )
    text = extract_html(f"<body><h1>Lamp</h1><div>{posts}</div></body>")
    for name, day in (("Ines", "Jan 1, 2031"), ("Tom", "Jan 2, 2031"), ("Olga", "Jan 3, 2031")):
        assert name in text
        assert day in text


def test_the_author_beside_a_time_is_kept_with_it() -> None:
    def answer(name: str, day: str) -> str:
        return (
            "<div class='answer'><p>Use scissors, they are far better than any other tool that was made for it.</p>"
            f"<div class='user-info'><div class='user-action-time'>answered <span>Jan {day} at 12:00</span></div>"
            f"<div class='user-details'><a href='/users/{day}/{name.lower()}'>{name}</a></div></div></div>"
        )

    text = extract_html(f"<body><h1>How?</h1><div>{answer('Tom', '4')}{answer('Olga', '5')}</div></body>")
    for words in ("[Tom](", "[Olga](", "Jan 4 at 12:00", "Jan 5 at 12:00"):
        assert words in text


PROSE = "This guide explains how the tide tool is installed on each of the systems that we support, with options. "


def test_companions_of_what_is_kept_are_kept() -> None:
    html = (
        f"<main><h1>Install</h1><p>{PROSE * 3}</p><div class='admonition'><p class='admonition-title'>Warning</p>"
        f"<p>Mind it.</p></div><p>{PROSE * 3}</p>"
        "<ul role='tablist'><li role='tab'>npm</li><li role='tab'>yarn</li></ul><div>"
        "<div role='tabpanel'><pre>npm install tide</pre></div><div role='tabpanel' hidden><pre>yarn add tide</pre>"
        "</div></div><figure><img src='/a.png' alt='A gauge'><figcaption>Plate 1</figcaption></figure>"
        f"<p>{PROSE * 3}</p><dl><dt>Parameters</dt><dd>{PROSE * 2}</dd></dl></main>"
    )
    text = extract_html(html)
    for wanted in (
        "> [!WARNING]\n> Mind it.",
        "**npm**\n\n```\nnpm install tide\n```\n\n**yarn**\n\n```\nyarn add tide\n```",
        "![A gauge](/a.png)\n\nPlate 1",
        "**Parameters**\n: This guide",
    ):
        assert wanted in text


RUST = (
    "<details open><summary><section><a class='src' href='/s'>Source</a><a href='#m' class='anchor'>§</a>"
    "<h4 class='code-header'>pub fn <a href='#g'>get</a>(&amp;self)</h4></section></summary><p>It.</p></details>"
)
WIKI = "<div><h2>History</h2><span class='mw-editsection'>[<a href='/e'>edit</a>]</span></div><p>x</p>"
SPHINX = "<dl><dt class='sig'><span>read</span>()<a class='reference' href='/m'>[source]</a></dt><dd>x</dd></dl>"


@pytest.mark.parametrize(
    ("html", "wanted"),
    [
        (RUST, "#### `pub fn get(&self)`\n\nIt.\n"),
        (WIKI, "## History\n\nx\n"),
        ("<h2><span class='permalink'><a href='#a'>◆</a></span>flow()</h2>", "## flow()\n"),
        (SPHINX, "`read()`\n: x\n"),
    ],
)
def test_what_leads_to_sources_and_places_is_left_out(html: str, wanted: str) -> None:
    assert extract_html(html, extractor="raw") == wanted
