"""Repairs: listings, formulas, hidden things, lazy images."""

from __future__ import annotations

import pytest

from cdpfetch.extract import convert, dom
from cdpfetch.extract.repair import code, math


def md(html: str) -> str:
    return convert.fragment(html, "http://site.test/")


@pytest.mark.parametrize(
    ("html", "wanted"),
    [
        ('<pre><code class="language-python">a\n\n\tb</code></pre>', "```python\na\n\n\tb\n```"),
        ('<div class="highlight-sh notranslate"><div class="highlight"><pre>$ x</pre></div></div>', "```sh\n$ x\n```"),
        ('<pre class="brush: js; toolbar: false">x</pre>', "```js\nx\n```"),
        ('<pre data-lang="rust">x</pre>', "```rust\nx\n```"),
        (
            '<pre><code><div class="ln">a {</div><div class="ln">  b</div><div class="ln">}</div></code></pre>',
            "```\na {\n  b\n}\n```",
        ),
        ('<pre><code><span class="line">a</span>\n<span class="line">b</span></code></pre>', "```\na\nb\n```"),
        (
            '<pre><code><span class="line">a</span><span class="line"></span><span class="line">b</span></code></pre>',
            "```\na\n\nb\n```",
        ),
        ("<pre>a<br>b<br/></pre>", "```\na\nb\n```"),
        ('<pre><span class="lineno">1</span>a\n<span class="lineno">2</span>b\n</pre>', "```\na\nb\n```"),
        ("<pre><button>Copy</button>a</pre>", "```\na\n```"),
        (
            (
                '<table class="highlighttable"><tr><td class="linenos"><pre>1\n2</pre>'
                '</td><td class="code"><pre>a\nb</pre></td></tr></table>'
            ),
            "```\na\nb\n```",
        ),
        ("<p><code>a<br>b</code></p>", "```\na\nb\n```"),
        ("<p>see <code>a\nb</code></p>", "see `a b`"),
    ],
)
def test_listings(html: str, wanted: str) -> None:
    assert md(html) == wanted


def test_a_language_is_a_name_and_no_class_word() -> None:
    for classes in ("highlight", "language-none", "lang-text", "code container"):
        assert code.language(dom.Node("pre", {"class": classes})) == "", classes


ANNOTATED = (
    "<math display='{}'><semantics><mrow><mi>E</mi></mrow>"
    "<annotation encoding='application/x-tex'>E_{{max}} = 256</annotation></semantics></math>"
)


@pytest.mark.parametrize(
    ("html", "wanted"),
    [
        (f"<p>The {ANNOTATED.format('inline')} bound</p>", "The $E_{max} = 256$ bound"),
        (f"<p>The</p>{ANNOTATED.format('block')}", "The\n\n$$\nE_{max} = 256\n$$"),
        ('<p>x <script type="math/tex">a_1</script></p>', "x $a_1$"),
        (
            (
                '<p>x <span class="MathJax_Preview">[pic]</span><span'
                ' class="MathJax">pic</span><script type="math/tex">a</script></p>'
            ),
            "x $a$",
        ),
        (
            (
                '<p><span class="katex"><span class="katex-mathml"><math><semantics><mi>a</mi><annotation '
                'encoding="application/x-tex">a^2</annotation></semantics></math></span><span class="katex-html" '
                'aria-hidden="true">a2</span></span></p>'
            ),
            "$a^2$",
        ),
        ('<p><img src="https://latex.codecogs.com/svg.image?%5Cfrac%7Ba%7D%7Bb%7D"></p>', r"$\frac{a}{b}$"),
        (r'<p><img class="tex" alt="x^2 + y" src="/t.png"></p>', "$x^2 + y$"),
        ('<p><img alt="A photo, 50% = half" src="/t.png"></p>', "![A photo, 50% = half](http://site.test/t.png)"),
    ],
)
def test_formulas(html: str, wanted: str) -> None:
    assert md(html) == wanted


@pytest.mark.parametrize(
    ("mathml", "wanted"),
    [
        ("<mfrac><mi>a</mi><mi>b</mi></mfrac>", r"\frac{a}{b}"),
        ("<msup><mn>10</mn><mrow><mo>−</mo><mn>4</mn></mrow></msup>", "{10}^{- 4}"),
        ("<msubsup><mi>x</mi><mn>1</mn><mn>2</mn></msubsup>", "x_1^2"),
        ("<msqrt><mi>α</mi></msqrt>", r"\sqrt{\alpha}"),
        ("<mover><mi>x</mi><mo>¯</mo></mover>", r"\bar{x}"),
        ("<mi>a</mi><mo>≤</mo><mi>b</mi>", r"a \leq b"),
        (
            "<mo>(</mo><mtable><mtr><mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr></mtable><mo>)</mo>",
            r"\begin{pmatrix} a & b \end{pmatrix}",
        ),
    ],
)
def test_mathml_becomes_tex(mathml: str, wanted: str) -> None:
    node = dom.fragment(f"<math>{mathml}</math>").find_all("math")[0]
    assert math.to_tex(node) == wanted


@pytest.mark.parametrize(
    "hidden",
    [
        '<div style="display:none">secret</div>',
        '<p style="color:red; visibility: hidden">secret</p>',
        "<p hidden>secret</p>",
        '<span aria-hidden="true">secret</span>',
        '<div data-cdpfetch-hidden="">secret</div>',
        "<template><p>secret</p></template>",
        "<noscript><p>secret</p></noscript>",
        '<div id="onetrust-consent-sdk"><p>secret</p></div>',
        "<!-- secret --><script>secret</script><style>secret</style>",
        '<span class="sr-only">secret</span>',
    ],
)
def test_what_nobody_sees_is_out(hidden: str) -> None:
    assert md(f"<p>Some words that anybody can see here.</p>{hidden}") == "Some words that anybody can see here."


@pytest.mark.parametrize(
    "folded",
    [
        '<button aria-controls="p1">Q</button><div id="p1" hidden>An answer that is long enough to be one.</div>',
        '<div role="tabpanel" style="display:none">An answer that is long enough to be one.</div>',
        '<div class="accordion-content" aria-hidden="true">An answer that is long enough to be one.</div>',
        "<details><summary>Q</summary>An answer that is long enough to be one.</details>",
        '<template shadowrootmode="open"><p>An answer that is long enough to be one.</p></template>',
        (
            "<table><tr><th>A</th><th>B</th></tr><tr><td>x</td><td><span"
            ' class="sr-only">An answer that is long enough to be one.</span></td></tr></table>'
        ),
    ],
)
def test_what_is_only_folded_stays(folded: str) -> None:
    assert "An answer that is long enough to be one." in md(f"<p>Some words that anybody can see here.</p>{folded}")


def test_what_holds_the_only_title_and_most_of_the_text_is_the_page_though_hidden() -> None:
    story = "<p>Many words that make the page what it is about, and more of them than the menu has.</p>" * 3
    menu = "<ul>" + "".join(f"<li><a href='/{n}'>Part {n} of the shop</a></li>" for n in range(12)) + "</ul>"
    locked = f"{menu}<div data-cdpfetch-hidden=''><h1>Dark roast</h1>{story}</div>"
    assert "# Dark roast" in md(locked)
    assert "Many words" not in md(f"<h1>Shop</h1>{locked}")


def test_a_page_that_a_script_would_show_is_not_hidden() -> None:
    assert md('<div style="visibility:hidden"><p>All there is on this page.</p></div>') == "All there is on this page."


def test_a_noscript_that_holds_the_page_is_the_page() -> None:
    post = "A whole post with its many words. " * 20
    assert "A whole post" in md(f"<div>Loading</div><noscript><article><p>{post}</p></article></noscript>")


def test_a_lazy_image_has_its_address_in_the_noscript_beside_it() -> None:
    html = (
        '<p>Words.</p><figure><img src="data:image/gif;base64,R0"'
        ' alt="Bridge"><noscript><img src="/b.png"></noscript></figure>'
    )
    assert "![Bridge](http://site.test/b.png)" in md(html)


@pytest.mark.parametrize("depth", [300, 3000, 30_000])
def test_deep_nesting_keeps_its_words(depth: int) -> None:
    text = md("<div>" * depth + "<p>deepest words</p>" + "</div>" * depth + "<p>after</p>")
    assert text == "deepest words\n\nafter"


def test_what_stands_after_the_end_of_the_document_belongs_to_it() -> None:
    html = "<html><body><header>a</header></body></html><div>after words</div></body></html><p>more</p>"
    assert md(html) == "a\n\nafter words\n\nmore"


def test_streamed_parts_that_no_script_moved_stay() -> None:
    assert "late words" in md('<p>Early words.</p><div hidden id="S:0" data-cdpfetch-hidden=""><p>late words</p></div>')


def test_elements_without_a_body_tag_are_content() -> None:
    assert md("<title>t</title><main><p>words</p></main>") == "words"
