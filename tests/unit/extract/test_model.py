"""Segments, features, the trees and the choice."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdpfetch.extract import choose, context, convert, dom, features, metadata, model
from cdpfetch.extract.metadata import Metadata
from cdpfetch.extract.segment import Block, prune, segment


def body(html: str) -> dom.Node:
    root = dom.parse(html)
    assert root is not None
    return convert.prepare(root)


def texts(html: str) -> list[str]:
    return [block.text for block in segment(body(html))]


def test_blocks_are_runs_between_block_elements() -> None:
    html = "<div>one <b>two</b><p>three</p>four<br><br>five</div><ul><li>six<li>seven</ul>"
    assert texts(html) == ["one two", "three", "four", "five", "six", "seven"]


def test_a_listing_and_a_data_table_are_one_block_each() -> None:
    html = (
        f"<p>{'words ' * 40}</p><pre>a\n\nb</pre><table><tr><th>x</th><th>y"
        f"</th></tr><tr><td>1</td><td>2</td></tr></table>"
    )
    assert texts(html)[1:] == ["a b", "x y 1 2"]


def test_links_images_and_words_are_counted() -> None:
    (block,) = segment(body("<p><a href='/x'>four</a> and <img src=a.png alt=x> more</p>"))
    assert (block.words, block.links, block.link_chars, block.images) == (3, 1, 4, 1)
    (cjk,) = segment(body("<p>港の朝は静か</p>"))
    assert cjk.words >= 6


def test_pruning_takes_out_just_the_blocks() -> None:
    tree = body("<div>one<p>two</p>three <i>x</i></div><pre>four</pre>")
    found = segment(tree)
    prune([found[0], found[2], found[3]])
    assert tree.line() == "two"


def test_a_row_has_a_value_for_every_name() -> None:
    found = segment(body("<h1>T</h1><p>one two three.</p><ul class=nav><li><a href=/>x</a></ul>"))
    made = features.Features(found, Metadata(title="T"), "http://site.test/a/b-c")
    rows = made.rows()
    assert [len(row) for row in rows] == [len(features.NAMES)] * len(found)
    assert rows[0][features.NAMES.index("is_title")] == 1
    assert rows[2][features.NAMES.index("link_density")] == 1
    assert rows[2][features.NAMES.index("class_nav")] == 1
    second = context.second_rows(context.kin(found, rows, made.kinds), [0.5] * len(found))
    assert [len(row) for row in second] == [len(context.NAMES)] * len(found)


def test_the_shipped_model_fits_these_features_and_is_small() -> None:
    import json

    path = Path(model.__file__).with_name(model.FILE)
    data = json.loads(path.read_text())
    assert data["first"]["features"] == features.NAMES
    assert data["second"]["features"] == context.NAMES
    assert path.stat().st_size < 2_000_000


def test_trees_send_rows_down() -> None:
    trees: list[model._Tree] = [([[0, 1.5, ~0, 1], [1, 0.0, ~1, ~2]], [1.0, -1.0, 3.0]), ([], [0.5])]
    chances = model.chances(trees, [[1.0, 0.0], [2.0, 0.0], [2.0, 1.0]])
    assert [round(chance, 3) for chance in chances] == [0.818, 0.378, 0.971]
    assert model.chances(trees, []) == []


def test_the_cut_is_where_expected_f_is_best() -> None:
    assert choose.best_cut([0.9, 0.9, 0.1], [10, 10, 10]) == pytest.approx(0.6)
    assert choose.best_cut([0.55, 0.5, 0.1], [10, 10, 10]) == pytest.approx(0.5)
    assert choose.best_cut([0.5, 0.35, 0.1], [10, 10, 10], beta=2) < choose.best_cut(
        [0.5, 0.35, 0.1], [10, 10, 10], beta=0.5
    )


def chosen(html: str, chances: list[float], title: str = "") -> list[str]:
    found: list[Block] = segment(body(html))
    kept = choose.choose(found, chances, title)
    return [block.text or "image" for block, keep in zip(found, kept, strict=True) if keep]


LONG = "word " * 60


def test_a_heading_stays_with_its_text_and_an_image_with_its_neighbours() -> None:
    html = f"<h2>Head</h2><p>{LONG}</p><div><img src=a.png alt=x></div><p>{LONG}</p><p>out</p>"
    assert chosen(html, [0.05, 0.95, 0.0, 0.95, 0.01]) == ["Head", LONG.strip(), "image", LONG.strip()]


def test_lists_are_kept_whole() -> None:
    html = f"<p>{LONG}</p><ul><li>one of these<li>two of these<li>three<ul><li>four</ul></ul>"
    assert chosen(html, [0.9, 0.9, 0.9, 0.1, 0.1])[1:] == ["one of these", "two of these", "three", "four"]


def test_one_copy_of_a_text_is_enough() -> None:
    html = "<div class={}><p class={}>The same five words here</p></div>"
    html = f"<p>{LONG}</p>" + html.format("wide", "a") + html.format("narrow", "b")
    assert chosen(html, [0.9, 0.8, 0.8]) == [LONG.strip(), "The same five words here"]
    assert chosen(html, [0.9, 0.8, 0.95]) == [LONG.strip(), "The same five words here"]


def test_what_is_said_twice_in_one_place_or_quoted_is_no_copy() -> None:
    again = "The same five words here"
    assert chosen(f"<ul><li>{again}<li>{again}</ul>", [0.9, 0.8]) == [again, again]
    assert chosen(f"<p>{again}</p><blockquote><p>{again}</p></blockquote>", [0.9, 0.8]) == [again, again]


def test_the_pages_own_heading_stays_though_a_menu_follows_it() -> None:
    html = f"<h1>Tea of the East</h1><ul><li>Home and away<li>Shop for all of it</ul><p>{LONG}</p>"
    chances = [0.08, 0.01, 0.01, 0.95]
    assert chosen(html, chances, "Tea of the East - Site")[0] == "Tea of the East"
    assert chosen(html, chances, "Other words") == [LONG.strip()]


def test_what_looks_alike_is_judged_alike() -> None:
    cards = "<div class=card><p class=name>A name of it</p><p class=price>3 or more</p></div>"
    found = segment(body(f"<main>{cards * 4}</main>"))
    made = features.Features(found, Metadata(), "")
    kin = context.kin(found, made.rows(), made.kinds)
    settled = context.settled(kin, [0.9, 0.1, 0.3, 0.1, 0.9, 0.1, 0.9, 0.1])
    assert 0.3 < settled[2] < settled[0] < 0.9
    assert settled[1] == pytest.approx(0.1)


def test_texts_of_the_structured_data_are_a_witness() -> None:
    data = """<script type="application/ld+json">{"@type": "QAPage", "mainEntity": {"text": "How do I keep my tea
    warm in the winter?", "suggestedAnswer": [{"text": "Put the pot into a woollen hat and leave it there."}]}}
    </script>"""
    root = dom.parse(f"{data}<p>Put the pot into a woollen hat and leave it there.<p>Quite another text, not said.")
    meta = metadata.read(root)
    assert len(meta.texts) == 2
    assert "texts" not in meta.to_dict()
    rows = features.Features(segment(convert.prepare(root)), meta, "").rows()
    at = features.NAMES.index("said_share")
    assert [row[at] for row in rows] == [1.0, 0.0]


def test_something_is_always_kept() -> None:
    assert chosen("<p>only words</p>", [0.001]) == ["only words"]


def test_metadata_survives_nonsense() -> None:
    html = """<html><head><script type="application/ld+json">{"@graph": [{"@type": ["Product", 3], "offers": [1],
    "author": [{"name": ["A", "B"]}, null, 7]}, []]}</script><script type="application/ld+json">{broken</script>
    <meta property="article:published_time" content="soon"><link rel=canonical href="http://[bad"></head><body>x</body></html>"""
    found = metadata.read(dom.parse(html), "http://site.test/")
    assert (found.author, found.date, found.canonical) == ("A, B", None, None)
    assert found.types == ("Product",)


def test_a_product_has_its_price_as_a_fact() -> None:
    html = """<script type="application/ld+json">{"@type": "Product", "offers":
    {"price": "48.50", "priceCurrency": "EUR"}}
    </script><p>x</p>"""
    assert metadata.read(dom.parse(html)).facts() == ("48.50 EUR",)
