"""Notes, tips and warnings set apart by their class names become quotations, with GitHub's sign where it has one."""

from __future__ import annotations

import re

from cdpfetch.extract.dom import Node

# Sphinx, MkDocs, Docusaurus, VitePress, Starlight, GitHub, AsciiDoctor, Obsidian, Nextra, mdBook.
_BOX = re.compile(
    r"(?:^|\s)(?:admonition(?:block)?|theme-admonition|markdown-alert|custom-block|starlight-aside|callout|alert-block"
    r"|notecard|sl-aside|message-box|hint-container|doc-?note|rst-note)(?:[\s_-]|$)"
)
_TITLE = re.compile(
    r"(?:admonition|alert|custom-block|callout|aside|message|notecard|hint(?:-container)?)[\w-]*?[-_]*(?:title|heading)"
    r"|(?:^|\s)title(?:\s|$)"
)
_SIGNS = {
    "note": "NOTE",
    "info": "NOTE",
    "tip": "TIP",
    "hint": "TIP",
    "important": "IMPORTANT",
    "warning": "WARNING",
    "attention": "WARNING",
    "caution": "CAUTION",
    "danger": "CAUTION",
}
_MAX_TITLE = 200


def repair(nodes: list[Node]) -> None:
    """Turn every box among ``nodes`` (in document order) into a ``blockquote``."""
    for node in nodes:
        if node.tag in ("div", "aside", "section", "details") and node.attrs and _BOX.search(node.classes):
            if "admonitionblock" in node.classes:
                _from_table(node)
            if (title := _title(node)) is not None:
                _quote(node, title)


def _title(box: Node) -> Node | None:
    """The title of a box: the first thing in it that has words, when its class calls it so."""
    stack = [box]
    while stack:
        node = stack.pop()
        for kid in node.kids:
            if isinstance(kid, str):
                if kid.strip():
                    return None
                continue
            text = kid.line()
            if not text:
                continue
            if len(text) <= _MAX_TITLE and (_TITLE.search(kid.classes) or (kid.tag == "summary" and node is box)):
                return kid
            stack.append(kid)
            break
    return None


def _quote(box: Node, title: Node) -> None:
    text = title.line().rstrip(":")
    sign = _SIGNS.get(text.lower(), "")
    box.tag = "blockquote"
    box.attrs = {key: value for key, value in box.attrs.items() if key in ("id", "class")}
    if sign:
        box.set("alert", sign)
        title.remove()
        return
    made = Node("p", {"class": "title"})
    strong = Node("strong", parent=made)
    strong.kids.append(text)
    made.kids.append(strong)
    title.replace(made)


def _from_table(box: Node) -> None:
    """AsciiDoctor lays a box out as a table of one row: what it is, and what it says."""
    cells = box.find_all("td")
    if len(cells) < 2 or "icon" not in cells[0].classes:
        return
    icon, content = cells[0], cells[1]
    label = icon.line() or next((node.get("title") for node in icon.walk() if node.get("title")), "")
    title = Node("div", {"class": "title"}, box)
    title.kids.append(label)
    kids = content.kids
    box.kids = []
    box.add(title)
    for kid in kids:
        box.add(kid)
