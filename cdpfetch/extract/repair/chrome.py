"""What stands around a listing and is not it: buttons that copy it, the name of its language."""

from __future__ import annotations

import re

from cdpfetch.extract.dom import Node
from cdpfetch.extract.repair.code import KNOWN

_BUTTON_TEXT = re.compile(
    r"(?:copy(?: ?(?:code|snippet|text|to clipboard|page|link|as markdown|for llms?))?|copied!?|copy copied!?|"
    r"wrap(?: lines)?|toggle word ?wrap|expand(?: code)?|run(?: code)?|try it|open in (?:playground|new tab)|"
    r"copier|kopieren|copiar|copia|kopiëren|复制(?:代码)?|複製|コピー(?:する)?|복사|копировать)\Z",
    re.IGNORECASE,
)
_LABEL_CLASS = re.compile(r"(?:^|[\s_-])(?:lang(?:uage)?|code-?(?:lang\w*|header|title|name))(?:$|[\s_-])")
_BUTTON_CLASS = re.compile(r"copy|clip|btn|button|toolbar")
_MAX_TEXT = 40
# How far above a listing its frame may be.
_LEVELS = 3
# These hold more than a listing: only what is next to it is looked at.
_WIDE = frozenset(("body", "main", "article", "section", "li", "td", "dd", "blockquote"))


def repair(nodes: list[Node]) -> None:
    """Clear the frame of every listing among ``nodes``."""
    for node in nodes:
        if node.tag == "pre" and node.parent is not None:
            _clear_frame(node)


def _clear_frame(pre: Node) -> None:
    inner: Node = pre
    for _ in range(_LEVELS):
        frame = inner.parent
        if frame is None:
            return
        if frame.tag in _WIDE:
            for kid in _beside(frame, inner):
                _judge(kid, pre)
            return
        for sibling in [kid for kid in frame.kids if isinstance(kid, Node) and kid is not inner]:
            _judge(sibling, pre)
        inner = frame


def _beside(frame: Node, inner: Node) -> list[Node]:
    """The elements just before and just after one."""
    kids = [kid for kid in frame.kids if isinstance(kid, Node)]
    at = next(index for index, kid in enumerate(kids) if kid is inner)
    return kids[max(0, at - 1) : at] + kids[at + 1 : at + 2]


def _judge(node: Node, pre: Node) -> None:
    """Remove a neighbour of a listing, or what is in it, when it is a button or says the listing's language."""
    text = node.line()
    if len(text) > _MAX_TEXT or node.tag == "pre" or node.find_all("pre"):
        return
    if _BUTTON_TEXT.match(text):
        if node.tag in ("button", "a", "div", "span", "svg") or _BUTTON_CLASS.search(node.classes):
            node.remove()
    elif text.lower() in KNOWN and (_LABEL_CLASS.search(node.classes) or node.tag in ("span", "div")):
        if not pre.get("lang"):
            pre.set("lang", text.lower())
        node.remove()
    elif node.tag in ("div", "header", "figcaption"):
        for kid in list(node.kids):
            if isinstance(kid, Node):
                _judge(kid, pre)
