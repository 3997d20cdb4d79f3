"""Signatures of an API reference: one run of code each, as its generator (Sphinx, Javadoc, Doxygen) marks it."""

from __future__ import annotations

import re

from cdpfetch.extract.dom import Node

_SIGNATURE = re.compile(r"(?:^|\s)(?:sig|sig-object|member-signature|memproto|type-signature)(?:\s|$)")
_OLD_SPHINX = re.compile(r"(?:^|\s)(?:function|method|class|attribute|data|exception|staticmethod|classmethod)(?:\s|$)")
_NOISE = re.compile(r"headerlink|viewcode-link|sourcelink|reference external")
_MAX_SIGNATURE = 2000


def repair(nodes: list[Node]) -> None:
    """Turn every signature among ``nodes`` into code."""
    for node in nodes:
        if node.attrs and node.tag in ("dt", "div") and _is_signature(node):
            _to_code(node)


def _is_signature(node: Node) -> bool:
    if node.tag == "dt":
        holder = node.parent
        if node.get("id") and holder is not None and _OLD_SPHINX.search(holder.classes):
            return any("descname" in kid.classes for kid in node.walk())
    return _SIGNATURE.search(node.classes) is not None


def _to_code(node: Node) -> None:
    for kid in node.find_all("a"):
        if _NOISE.search(kid.classes) and len(kid.line()) <= 12:
            kid.remove()
    text = node.text().replace("\xa0", " ")
    line = " ".join(text.split())
    if not line or len(line) > _MAX_SIGNATURE or node.find_all("pre", "img"):
        return
    code = Node("code", parent=node)
    code.kids.append(line)
    node.kids = [code]
