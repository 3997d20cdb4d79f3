"""Signatures of an API reference: one run of code each, as its generator (Sphinx, Javadoc, Doxygen) marks it."""

from __future__ import annotations

import re

from cdpfetch.extract.dom import Node

_SIGNATURE = re.compile(r"(?:^|\s)(?:sig|sig-object|member-signature|memproto|type-signature|code-header)(?:\s|$)")
_OLD_SPHINX = re.compile(r"(?:^|\s)(?:function|method|class|attribute|data|exception|staticmethod|classmethod)(?:\s|$)")
_NOISE = re.compile(r"headerlink|viewcode-link|sourcelink|reference external")
_SOURCE = re.compile(r"\[?(?:source|src|view source)\]?\Z|[§¶#]\Z", re.IGNORECASE)
_MAX_SIGNATURE = 2000


def repair(nodes: list[Node]) -> None:
    """Turn every signature among ``nodes`` into code."""
    for node in nodes:
        if node.attrs and node.tag in ("dt", "div", "h3", "h4") and _is_signature(node):
            _without_sources(node)
            _to_code(node)


def _is_signature(node: Node) -> bool:
    if node.tag == "dt":
        holder = node.parent
        if node.get("id") and holder is not None and _OLD_SPHINX.search(holder.classes):
            return any("descname" in kid.classes for kid in node.walk())
    return _SIGNATURE.search(node.classes) is not None


def _without_sources(node: Node) -> None:
    """Take out the links to a source and to the place itself that stand beside a signature (rustdoc)."""
    for kid in list(node.parent.kids) if node.parent is not None and node.tag in ("h3", "h4") else ():
        if isinstance(kid, Node) and kid.tag == "a" and _SOURCE.match(kid.line()):
            kid.remove()


def _to_code(node: Node) -> None:
    for kid in node.find_all("a"):
        if (_NOISE.search(kid.classes) or _SOURCE.match(kid.line())) and len(kid.line()) <= 12:
            kid.remove()
    text = node.text().replace("\xa0", " ")
    line = " ".join(text.split())
    if not line or len(line) > _MAX_SIGNATURE or node.find_all("pre", "img"):
        return
    code = Node("code", parent=node)
    code.kids.append(line)
    node.kids = [code]
