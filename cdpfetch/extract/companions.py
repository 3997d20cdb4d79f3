"""Small blocks that belong to what was kept: labels of tabs, defined terms, captions, notes set apart in the text.

By themselves they look like the page's furniture; what they stand beside decides.
"""

from __future__ import annotations

from collections import defaultdict

from cdpfetch.extract.dom import Node
from cdpfetch.extract.segment import Block

# Elements up from a block that may say what it is.
_UP = 5
# A note within the text is about as long as this (characters); what is longer has been judged for itself.
_MAX_NOTE = 600


def keep(found: list[Block], kept: list[bool]) -> None:
    """Keep the companions of blocks that are kept."""
    held = _held(found, kept)
    notes: dict[Node, list[int]] = defaultdict(list)
    for index, block in enumerate(found):
        if kept[index]:
            continue
        holder = _holder(block.node)
        if holder is None:
            continue
        if holder.tag == "blockquote":
            notes[holder].append(index)
        else:
            kept[index] = _partner(holder) in held
    for indices in notes.values():
        before, after = indices[0] - 1, indices[-1] + 1
        short = sum(len(found[index].text) for index in indices) <= _MAX_NOTE
        if short and before >= 0 and kept[before] and (after >= len(found) or kept[after]):
            for index in indices:
                kept[index] = True


def _held(found: list[Block], kept: list[bool]) -> set[Node]:
    """All elements that hold a block that is kept."""
    held: set[Node] = set()
    for block, wanted in zip(found, kept, strict=True):
        node: Node | None = block.node if wanted else None
        while node is not None and node not in held:
            held.add(node)
            node = node.parent
    return held


def _holder(node: Node) -> Node | None:
    """The label, term, caption or note that an element is, or stands in."""
    above: Node | None = node
    for _ in range(_UP):
        if above is None or above.tag in ("body", "main", "article", "table"):
            return None
        if above.tag in ("dt", "figcaption", "summary") or above.get("class") == "tab-label" or "alert" in above.attrs:
            return above
        above = above.parent
    return None


def _partner(holder: Node) -> Node | None:
    """What decides about a companion: the panel, the definition, the figure."""
    if holder.tag != "dt" or holder.parent is None:
        return holder.parent
    kids = [kid for kid in holder.parent.kids if isinstance(kid, Node)]
    after = kids[next(index for index, kid in enumerate(kids) if kid is holder) + 1 :]
    # Terms in a row share the definition that follows them.
    return next((kid for kid in after if kid.tag != "dt"), None)
