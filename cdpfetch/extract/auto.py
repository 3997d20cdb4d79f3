"""The default extractor: the model chooses the blocks, the repaired tree without the others is converted."""

from __future__ import annotations

from cdpfetch.extract import choose, companions, convert, dom, embedded, markdown, metadata, model
from cdpfetch.extract.dom import Element
from cdpfetch.extract.extractors import PageText
from cdpfetch.extract.metadata import Metadata
from cdpfetch.extract.result import RECOVERED, warning
from cdpfetch.extract.segment import Block, prune, segment

# A page of more blocks than this is converted whole: judging each would take seconds.
MAX_BLOCKS = 20_000
# A shorter description is a slogan, not a summary of the page.
_MIN_DESCRIPTION = 100
# A page that shows fewer characters than this is a shell, when the article in its data has as many as that.
_LITTLE_TEXT = 200
_MUCH_DATA = 600


def survey(html: str) -> tuple[Element | None, int]:
    """The tree and the number of its visible characters."""
    root = dom.parse(html)
    return root, _visible(segment(convert.prepare(root))) if root is not None else 0


def extract(html: str, url: str) -> PageText:
    """The page's content."""
    root = dom.parse(html)
    if root is None:
        return PageText("", Metadata(), 0, 0)
    meta = metadata.read(root, url)
    base = convert.base(root, url)
    body = convert.prepare(root)
    found = segment(body)
    visible = _visible(found)
    if visible < _LITTLE_TEXT and (not visible or len(meta.article_body or "") >= _MUCH_DATA):
        return _from_data(root, meta, base)._replace(visible_chars=visible, text_chars=visible)
    if len(found) > MAX_BLOCKS:
        note = warning("whole_page", f"{len(found)} blocks are too many to judge; this is the whole page")
        return PageText(markdown.render(body, base), meta, visible, visible, (note,))
    kept = choose.choose(found, model.judge(found, meta, url), meta.title or "")
    companions.keep(found, kept)
    chosen = [block for block, keep in zip(found, kept, strict=True) if keep]
    prune(block for block, keep in zip(found, kept, strict=True) if not keep)
    return PageText(markdown.render(body, base), meta, visible, _visible(chosen))


def _visible(found: list[Block]) -> int:
    """Characters of text, white space not counted (as the browser's own figure)."""
    return sum(len(block.text) - block.text.count(" ") for block in found)


def _from_data(root: Element, meta: Metadata, base: str) -> PageText:
    """A page that shows nothing: the article that its data holds, if any."""
    text = convert.fragment(meta.article_body or embedded.find(root), base)
    source = "embedded data"
    if not text and len(meta.description or "") >= _MIN_DESCRIPTION:
        text, source = f"# {meta.title}\n\n{meta.description}" if meta.title else str(meta.description), "description"
    if not text:
        return PageText("", meta, 0, 0)
    note = warning(RECOVERED, f"the page shows next to no text; this is what its {source} says")
    return PageText(text + "\n", meta, 0, 0, (note,))


def extract_body(html: str, url: str) -> PageText:
    """The whole body."""
    root = dom.parse(html)
    if root is None:
        return PageText("", Metadata(), 0, 0, (), "raw")
    meta = metadata.read(root, url)
    body = convert.prepare(root)
    visible = _visible(segment(body))
    return PageText(
        markdown.render(body, convert.base(root, url)) if visible else "", meta, visible, visible, (), "raw"
    )
