"""Pages through the seam: what is content, what is known of it, what is said when something is missing."""

from __future__ import annotations

import json

import pytest

from cdpfetch.errors import InvalidRequest
from cdpfetch.extract import Extraction, extract_html, extract_page, extractors

URL = "http://site.test/news/harbour-gate-closed"
PROSE = (
    "The harbour clerk copied the morning readings into a ledger, because the older notes had faded. "
    "A night watchman compared both tide tables line by line, while the kettle was still warm. "
)
NAVIGATION = (
    "<header><nav><ul>"
    + "".join(f"<li><a href='/s{i}'>Section {i}</a></li>" for i in range(8))
    + "</ul></nav></header>"
)
FOOTER = (
    "<footer><p>Copyright 2031 Harbour Museum. <a href='/privacy'>Privacy</a> <a href='/terms'>Terms</a></p></footer>"
)
ARTICLE = (
    "<main><article><h1>The gate is closed</h1>"
    + f"<p>{PROSE}</p>" * 3
    + "<h2>What next</h2>"
    + f"<p>{PROSE}</p>" * 2
    + "<pre><code class='language-sh'>tide up</code></pre><table><tr><th>Gauge</th><th>Depth</th></tr>"
    "<tr><td>Kelp</td><td>4 m</td></tr></table></article></main>"
)
HEAD = """<title>  The gate is
 closed </title><meta name="author" content="Ines Kelp"><meta property="og:site_name" content="Harbour News">
<meta property="article:published_time" content="2031-04-05T08:30:00Z"><link rel="canonical" href="/news/gate">
<meta name="description" content="Why the gate is closed.">
<script type="application/ld+json">{"@type": "NewsArticle"}</script>"""
PAGE = f"<!doctype html><html lang=de><head>{HEAD}</head><body>{NAVIGATION}{ARTICLE}{FOOTER}</body></html>"


@pytest.fixture(scope="module")
def page() -> Extraction:
    return extract_page(PAGE, URL, visible_chars=1500)


def test_the_article_is_content_and_the_furniture_is_not(page: Extraction) -> None:
    assert page.text.startswith("# The gate is closed\n\nThe harbour clerk copied")
    assert "```sh\ntide up\n```" in page.text
    assert "| Kelp | 4 m |" in page.text
    assert "Section 3" not in page.text
    assert "Copyright" not in page.text


def test_what_the_page_says_about_itself(page: Extraction) -> None:
    assert page.title == "The gate is closed"
    assert page.facts == ("by Ines Kelp", "2031-04-05", "Harbour News", "language de")
    assert page.meta["canonical"] == "http://site.test/news/gate"
    assert page.meta["date"] == "2031-04-05T08:30"
    assert page.meta["types"] == ["NewsArticle"]
    assert page.meta["description"] == "Why the gate is closed."


def test_outline_excerpt_and_coverage(page: Extraction) -> None:
    assert [(entry["level"], entry["text"]) for entry in page.outline] == [(1, "The gate is closed"), (2, "What next")]
    lines = page.text.split("\n")
    assert all(lines[entry["line"] - 1].endswith(entry["text"]) for entry in page.outline)
    assert page.excerpt is not None
    assert page.excerpt.startswith("The harbour clerk copied")
    assert page.coverage is not None
    assert 0.5 < page.coverage <= 1


def test_low_coverage_is_said() -> None:
    result = extract_page(PAGE, URL, visible_chars=50_000)
    assert [note["code"] for note in result.warnings] == ["low_coverage"]


@pytest.mark.parametrize("html", ["", "   ", "<html></html>", "<p> </p><script>x</script>", "\x00\x01"])
def test_nothing_visible_is_no_content(html: str) -> None:
    assert extract_page(html, URL).content is None
    assert extract_html(html, URL) == ""


@pytest.mark.parametrize(
    "html", ["word", "<a href='/x'>link</a>", "<nav>menu</nav>", "<footer><p>end</p></footer>", "<title>t</title>x"]
)
def test_never_empty_while_text_is_visible(html: str) -> None:
    assert extract_page(html, URL).content is not None


def test_an_article_only_in_structured_data_is_used_and_said() -> None:
    html = (
        '<script type="application/ld+json">{"@type": "Article",'
        ' "articleBody": "The whole text of it."}</script><div id=app></div>'
    )
    result = extract_page(html, URL)
    assert result.text == "The whole text of it.\n"
    assert [note["code"] for note in result.warnings] == ["from_structured_data"]


def test_a_shell_before_a_long_article_in_its_data_gives_way_to_it() -> None:
    data = f'<script type="application/ld+json">{{"@type": "Article", "articleBody": "{PROSE * 4}"}}</script>'
    shell = extract_page(f"<title>Gate</title>{data}<p>Loading the story</p>", URL, visible_chars=15)
    assert shell.text.startswith("The harbour clerk copied")
    assert "Loading" not in shell.text
    assert [note["code"] for note in shell.warnings] == ["from_structured_data"]
    shown = extract_page(f"<title>Gate</title>{data}<main><p>{PROSE * 2}</p></main>", URL)
    assert shown.warnings == ()
    assert shown.text.count("The harbour clerk") == 2


def test_embedded_state_is_used_only_when_nothing_shows() -> None:
    state = '{"props": {"post": {"body_html": "<p>' + PROSE + '</p>"}}}'
    script = f'<script id="__NEXT_DATA__" type="application/json">{state}</script>'
    hidden = extract_page(f"<div id=__next></div>{script}", URL)
    assert hidden.text.startswith("The harbour clerk")
    assert [note["code"] for note in hidden.warnings] == ["from_structured_data"]
    shown = extract_page(f"<div id=__next><p>Shown words are here.</p></div>{script}", URL)
    assert shown.text == "Shown words are here.\n"


def test_the_meta_charset_is_never_trusted() -> None:
    assert (
        extract_html("<meta charset='windows-1251'><p>Größe und Maß, schön und gut.</p>", URL)
        == "Größe und Maß, schön und gut.\n"
    )


def test_every_post_of_a_thread_stays() -> None:
    posts = "".join(
        (
            f"<li class='comment'><div class='comment-author'>user{i}</div><div"
            f" class='comment-body'><p>Post {i}: {PROSE}</p></div></li>"
        )
        for i in range(12)
    )
    text = extract_html(
        f"<title>Thread</title>{NAVIGATION}<main><h1>Thread</h1><ol class='comments'>{posts}</ol></main>{FOOTER}", URL
    )
    assert all(f"Post {i}:" in text for i in range(12))


def test_all_extractors_can_be_chosen() -> None:
    assert {"auto", "raw", "readability", "trafilatura"} <= set(extractors.names())
    for name in ("raw", "trafilatura", "readability"):
        result = extract_page(PAGE, URL, extractor=name)
        assert "The harbour clerk copied" in result.text, name
        assert result.meta["extractor"] == name
        assert result.title == "The gate is closed"
    assert "Copyright 2031" in extract_html(PAGE, URL, extractor="raw")
    with pytest.raises(InvalidRequest) as caught:
        extract_html(PAGE, URL, extractor="magic")
    assert "trafilatura" in str(caught.value)


def test_a_foreign_extractor_that_finds_nothing_gives_the_whole_page() -> None:
    result = extract_page("<p>word</p>", URL, extractor="trafilatura")
    assert result.text == "word\n"


def test_hostile_sizes_end() -> None:
    for html in (
        "[" * 300_000,
        "$\\(" * 50_000,
        "*_[](`" * 50_000,
        "<p>\\( x " * 2000,
        "<a href='/" + "a" * 100_000 + "'>x</a>",
    ):
        assert extract_html(f"<body><p>{html}", URL) != ""


def test_a_page_of_too_many_blocks_is_delivered_whole_and_said() -> None:
    result = extract_page("<div>a word</div>" * 20_001, URL)
    assert [note["code"] for note in result.warnings] == ["whole_page"]
    assert result.text.count("a word") == 20_001


def test_what_follows_an_element_without_content_stays() -> None:
    html = (
        "<main><h1>Films</h1><picture><source srcset='/p.webp'><source srcset='/q.webp'><img src='/p.jpg' alt='Pier'>"
        "</picture><p>One<wbr>word<embed src='/e.swf'> and the rest of it.</p><p>Another.</p></main>"
    )
    assert extract_html(html, "https://a.example/", extractor="raw") == (
        "# Films\n\n![Pier](https://a.example/p.jpg)\n\nOneword and the rest of it.\n\nAnother.\n"
    )


def test_players_are_links() -> None:
    html = (
        "<main><h1>Films</h1><iframe src='https://www.youtube-nocookie.com/embed/b_PXuEPxN50?rel=0' title='The pier'>"
        "</iframe><div data-cdpfetch-frame='https://player.vimeo.com/video/45725193?h=a'><p>Watch later</p></div>"
        "<video controls><source src='/v.mp4'>old browsers</video><audio src='/a.mp3' aria-label='Bell'></audio>"
        "<video autoplay muted src='/sea.mp4'></video><iframe src='https://ads.example/1'></iframe></main>"
    )
    assert extract_html(html, "https://a.example/", extractor="raw") == (
        "# Films\n\n[Embedded: The pier](https://www.youtube.com/watch?v=b_PXuEPxN50) "
        "[Embedded](https://vimeo.com/45725193) [Video](https://a.example/v.mp4) [Audio: Bell](https://a.example/a.mp3)\n"
    )


@pytest.mark.parametrize(
    "script",
    [
        "<script type='application/json' id='__NEXT_DATA__'>{state}</script>",
        "<script>window.__INITIAL_STATE__ = {state}; start()</script>",
        "<script>window.__PRELOADED_STATE__=JSON.parse({string})</script>",
    ],
)
def test_the_state_of_a_framework_is_read_where_nothing_is_shown(script: str) -> None:
    state = json.dumps({"post": {"body": f"<p>{PROSE}</p>"}})
    html = f"<div id=root></div>{script.replace('{state}', state).replace('{string}', json.dumps(state))}"
    result = extract_page(html, "https://a.example/", visible_chars=0)
    assert PROSE[:40] in result.text
    assert [note["code"] for note in result.warnings] == ["from_structured_data"]


def test_text_for_visitors_without_scripts_is_said_to_be_that() -> None:
    html = f"<div id=root></div><noscript><h1>Topic</h1><p>{PROSE * 12}</p></noscript>"
    result = extract_page(html, "https://a.example/", visible_chars=0)
    assert PROSE[:40] in result.text
    assert [note["code"] for note in result.warnings] == ["from_structured_data"]
    assert not extract_page(html, "https://a.example/").warnings
