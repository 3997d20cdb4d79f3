"""Which blocks are content: the cut on the model's chances, and the rules that keep things whole."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cdpfetch.extract import copies, threads
from cdpfetch.extract.blocks import HEADINGS
from cdpfetch.extract.dom import Node
from cdpfetch.extract.segment import Block

# Above 1 the cut favours recall over precision: what is on disk can be searched, what is not is lost.
BETA = 1.0
# Content of fewer words than this is suspected to be a failure, when the page shows more.
_FEW_WORDS = 25
# The cut stays between these, however sure or unsure the model is of the whole page.
_MIN_CUT = 0.4
_MAX_CUT = 0.6
_LIST_SHARE = 0.6
# The extent is the smallest element with this share of the kept words; this share of the cut is enough inside it for
# a short block with a link, and how many words are short.
_EXTENT_SHARE = 0.9
_INSIDE = 0.3
_SHORT = 12
# The share of the cut at which a heading stays though the next block does not; what is small does not part them.
_SURE = 0.3
_SMALL = 12
# How much of the first heading the page's title has to share, and the chance that is enough for it then.
_TITLE_SHARE = 0.6
_TITLE_CHANCE = 0.06
_WORD = re.compile(r"\w+")
# The share of the cut that is enough for a listing, a formula or a quotation beside kept text, and for one of these,
# or a table, that stands alone.
_ALONE = 0.4
_FAINT = {"pre": 0.1, "tex": 0.05, "blockquote": 0.12}


def best_cut(chances: list[float], sizes: list[int], beta: float = BETA) -> float:
    """The chance at and above which blocks should be kept, so that the expected F-beta of the page is highest.

    ``sizes`` are the blocks' words; a chance is taken as the share of a block's words that are content.
    """
    order = sorted(range(len(chances)), key=lambda index: -chances[index])
    wanted = sum(chance * size for chance, size in zip(chances, sizes, strict=True))
    weight = beta * beta
    hit = kept = 0.0
    best, cut = 0.0, 0.5
    for index in order:
        hit += chances[index] * sizes[index]
        kept += sizes[index]
        value = hit / (weight * wanted + kept) if kept else 0.0
        if value > best:
            best, cut = value, chances[index]
    return min(max(cut, _MIN_CUT), _MAX_CUT)


def choose(found: list[Block], chances: list[float], title: str = "") -> list[bool]:
    """For each block whether it is content, with the page's title.  At least one is, when any has words."""
    chances = copies.drop(found, chances)
    sizes = [block.words for block in found]
    cut = best_cut(chances, sizes)
    kept = [chance >= cut and size > 0 for chance, size in zip(chances, sizes, strict=True)]
    kept = _enough(found, chances, kept, cut)
    _links_within(found, chances, kept, cut)
    _whole_lists(found, kept)
    _tables(found, chances, kept, cut)
    _fill_gaps(found, chances, kept, cut)
    _headings(found, chances, kept, cut)
    _title(found, chances, kept, title)
    threads.keep_bylines(found, kept)
    _notes(found, kept)
    _images(found, kept)
    return kept


def _enough(found: list[Block], chances: list[float], kept: list[bool], cut: float) -> list[bool]:
    """Lower the cut when next to nothing was kept though the page has more."""
    total = sum(block.words for block in found)
    for _ in range(3):
        words = sum(block.words for block, keep in zip(found, kept, strict=True) if keep)
        if words >= min(_FEW_WORDS, total):
            return kept
        cut /= 3
        kept = [chance >= cut and block.words > 0 for block, chance in zip(found, chances, strict=True)]
    return [block.words > 0 for block in found]


def _links_within(found: list[Block], chances: list[float], kept: list[bool], cut: float) -> None:
    """Links on lines of their own stay inside the extent of the content, and between its first and last block."""
    indexes = [index for index, keep in enumerate(kept) if keep]
    if not indexes:
        return
    words: dict[Node, int] = {}
    for index in indexes:
        for node in _upwards(found[index].node):
            words[node] = words.get(node, 0) + found[index].words
    wanted = _EXTENT_SHARE * sum(found[index].words for index in indexes)
    heaviest = found[max(indexes, key=lambda index: found[index].words)].node
    # Counts only grow towards the root: the first that is large enough, upwards from a kept block, is the extent.
    extent = next(node for node in _upwards(heaviest) if words.get(node, 0) >= wanted)
    for index in range(indexes[0], indexes[-1]):
        block = found[index]
        if kept[index] or not block.links or not 0 < block.words <= _SHORT or chances[index] < cut * _INSIDE:
            continue
        kept[index] = any(node is extent for node in _upwards(block.node))


def _upwards(node: Node) -> Iterator[Node]:
    yield node
    yield from node.ancestors()


def _list_of(node: Node) -> Node | None:
    """The outermost list whose item a block is in, if it is near; lists within its items belong to it."""
    found, steps = None, 0
    above: Node | None = node
    while above is not None and steps < 4:
        steps += 1
        if above.tag == "li" and above.parent is not None and above.parent.tag in ("ul", "ol"):
            found, above, steps = above.parent, above.parent, 0
        above = above.parent
    return found


def _whole_lists(found: list[Block], kept: list[bool]) -> None:
    """A list of which most is kept is kept whole."""
    members: dict[Node, list[int]] = {}
    for index, block in enumerate(found):
        holder = _list_of(block.node)
        if holder is not None:
            members.setdefault(holder, []).append(index)
    for indexes in members.values():
        words = sum(found[index].words for index in indexes)
        if words > 0 and sum(found[index].words for index in indexes if kept[index]) >= words * _LIST_SHARE:
            for index in indexes:
                kept[index] = kept[index] or found[index].words > 0


def _fill_gaps(found: list[Block], chances: list[float], kept: list[bool], cut: float) -> None:
    """One block between two kept ones of the same element stays, unless the model is sure that it should not."""
    for index in range(1, len(found) - 1):
        if kept[index] or not kept[index - 1] or not kept[index + 1] or not found[index].words:
            continue
        block, before, after = found[index], found[index - 1], found[index + 1]
        whole = block.first < 0 and chances[index] >= cut * 0.3
        if whole or (_same_place(block, before) and _same_place(block, after) and chances[index] >= cut * 0.5):
            kept[index] = True


def _same_place(block: Block, other: Block) -> bool:
    return block.node is other.node or block.node.parent is other.node.parent


def _headings(found: list[Block], chances: list[float], kept: list[bool], cut: float) -> None:
    """A heading stays with the text that follows it, at once or after something small."""
    following = soon = False
    for index in range(len(found) - 1, -1, -1):
        block = found[index]
        if not block.words:
            continue
        if not kept[index] and _level(block) and (following or (soon and chances[index] >= cut * _SURE)):
            kept[index] = True
        soon = following or (soon and block.words < _SMALL)
        following = kept[index]
        soon = soon or following


def _title(found: list[Block], chances: list[float], kept: list[bool], title: str) -> None:
    """The page's own heading stays, though a menu or a byline parts it from the text."""
    wanted = set(_WORD.findall(title.lower()))
    for index, block in enumerate(found):
        if _level(block) != 1 or not block.words:
            continue
        words = _WORD.findall(block.text[:300].lower())
        if sum(word in wanted for word in words) >= _TITLE_SHARE * max(1, len(words)):
            kept[index] = kept[index] or chances[index] >= _TITLE_CHANCE
            return


def _level(block: Block) -> int:
    """The level of the heading that a block is (in), or 0."""
    node = block.node
    if node.tag in HEADINGS:
        return HEADINGS[node.tag]
    return HEADINGS.get(node.parent.tag, 0) if node.parent is not None else 0


def _tables(found: list[Block], chances: list[float], kept: list[bool], cut: float) -> None:
    """Tables, listings and quotations are rarely furniture: beside kept text a faint chance is enough."""
    for index, block in enumerate(found):
        tag = block.node.tag if block.first < 0 else "blockquote" if _is_quote(block) else ""
        if not tag or kept[index] or not block.words:
            continue
        beside = any(kept[at] for at in range(max(0, index - 3), min(len(found), index + 4)))
        least = _FAINT.get(tag, 0.25) if beside else _ALONE
        if chances[index] >= cut * least:
            kept[index] = True


def _is_quote(block: Block) -> bool:
    """Whether a block is quoted text, rather than a list of links in a quote's clothes."""
    node, parent = block.node, block.node.parent
    quoted = node.tag == "blockquote" or (parent is not None and parent.tag == "blockquote")
    return quoted and block.link_chars * 2 < len(block.text)


def _notes(found: list[Block], kept: list[bool]) -> None:
    """A footnote stays with the text that refers to it."""
    holders = [_note_of(block.node) for block in found]
    if not any(holders):
        return
    wanted = {name for block, keep in zip(found, kept, strict=True) if keep for name in _marks(block)}
    for index, name in enumerate(holders):
        if name:
            kept[index] = name in wanted


def _note_of(node: Node) -> str:
    """The name of the footnote that a block is (in), or an empty string."""
    steps = 0
    above: Node | None = node
    while above is not None and steps < 6:
        if above.tag == "fn":
            return above.get("name")
        above, steps = above.parent, steps + 1
    return ""


def _marks(block: Block) -> Iterator[str]:
    """The names of the footnotes that a block refers to."""
    items = [block.node] if block.first < 0 else block.node.kids[block.first : block.last]
    for item in items:
        if isinstance(item, Node):
            yield from (node.get("name") for node in item.walk() if node.tag == "fnref")


def _images(found: list[Block], kept: list[bool]) -> None:
    """Images without words go with the text beside them."""
    for index, block in enumerate(found):
        if block.words:
            continue
        before = next((at for at in range(index - 1, max(-1, index - 6), -1) if found[at].words), None)
        after = next((at for at in range(index + 1, min(len(found), index + 6)) if found[at].words), None)
        sides = [at for at in (before, after) if at is not None and kept[at]]
        kept[index] = len(sides) == 2 or any(_near(block, found[at]) for at in sides)


def _near(block: Block, other: Block) -> bool:
    """Whether two blocks share an ancestor within four levels."""
    own = [block.node]
    while len(own) < 5 and own[-1].parent is not None:
        own.append(own[-1].parent)
    node: Node | None = other.node
    for _ in range(5):
        if node is None:
            return False
        if any(node is mine for mine in own):
            return True
        node = node.parent
    return False
