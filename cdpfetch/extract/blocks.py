"""Which elements are blocks, and the words that decide it, shared by segmentation and conversion."""

from __future__ import annotations

import re

from cdpfetch.extract.dom import Node

BLOCK = frozenset(
    (
        "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset "
        "figcaption figure fn footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu "
        "nav noscript ol p pre search section summary table tbody td tfoot th thead tr ul"
    ).split()
)
HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
# Set at capture on inline elements that are laid out as blocks.
BLOCK_MARK = "data-cdpfetch-block"
_NEVER = frozenset(("img", "br", "wbr", "input"))
_BLOCK_STYLE = re.compile(r"display\s*:\s*(?:block|flex|grid|table|list-item)\b", re.IGNORECASE)


def _laid_out(node: Node) -> bool:
    """Whether an element is shown as a block though its tag is none: seen at capture, or said by its own style."""
    return BLOCK_MARK in node.attrs or _BLOCK_STYLE.search(node.attrs.get("style", "")) is not None


def mark(root: Node) -> set[Node]:
    """The nodes below ``root`` (and itself) that are, or hold, blocks."""
    order = list(root.walk())
    found = {root}
    for node in reversed(order):
        tag = node.tag
        if (
            node in found
            or tag in BLOCK
            or (tag == "tex" and "display" in node.attrs)
            or (node.attrs and tag not in _NEVER and _laid_out(node))
        ):
            found.add(node)
        else:
            continue
        # What holds a block is a block, whatever its tag.
        if node.parent is not None:
            found.add(node.parent)
    return found
