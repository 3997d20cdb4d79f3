"""Tabs and code groups: each panel gets the label that stood apart from it, and the row of labels goes."""

from __future__ import annotations

import re

from cdpfetch.extract.dom import Node

# A row of labels and the box of panels beside it, in the same order: MkDocs, VitePress, and what looks like them.
_LABELS = re.compile(r"(?:^|\s)(?:tabbed-labels|tabs|tab-?list|tabs?-(?:nav|labels|header|list)|nav-tabs)(?:\s|$)")
_PANELS = re.compile(r"(?:^|\s)(?:tabbed-content|blocks|tab-?content|tabs?-(?:panels|content|body))(?:\s|$)")
_MAX_TABS = 30
_MAX_LABEL = 60


def repair(nodes: list[Node]) -> None:
    """Label the panels of every row of tabs among ``nodes`` (all of a page, in document order)."""
    rows = [node for node in nodes if node.get("role") == "tablist" or (node.attrs and _LABELS.search(node.classes))]
    if not rows:
        return
    by_id = {node.attrs["id"]: node for node in nodes if "id" in node.attrs}
    for row in rows:
        if row.parent is not None:
            _label(row, by_id)


def _label(row: Node, by_id: dict[str, Node]) -> None:
    tabs = [node for node in row.walk() if node.get("role") == "tab"]
    tabs = tabs or [node for node in row.walk() if node.tag == "label"]
    if not 2 <= len(tabs) <= _MAX_TABS:
        return
    panels = _named(tabs, by_id) or _beside(row, len(tabs))
    filled = [panel for panel in panels if panel.text().strip() or panel.find_all("img")]
    if len(panels) != len(tabs) or len(filled) != len(tabs) or any(_holds(panel, row) for panel in panels):
        return
    for tab, panel in zip(tabs, panels, strict=True):
        label = tab.line()
        if label and len(label) <= _MAX_LABEL and _first_line(panel) != label:
            line = Node("p", {"class": "tab-label"}, panel)
            strong = Node("strong", parent=line)
            strong.kids.append(label)
            line.kids.append(strong)
            panel.kids.insert(0, line)
    row.remove()


def _named(tabs: list[Node], by_id: dict[str, Node]) -> list[Node]:
    """The panels that the tabs say they control."""
    names = [tab.get("aria-controls") or tab.get("href").partition("#")[2] for tab in tabs]
    found = [by_id[name] for name in names if name in by_id]
    return found if len({id(panel) for panel in found}) == len(tabs) else []


def _beside(row: Node, count: int) -> list[Node]:
    """As many panels after the row, in the nearest element that holds them."""
    for above in list(row.ancestors())[:3]:
        panels = [node for node in above.walk() if node.get("role") == "tabpanel"]
        if panels:
            return panels
        for box in above.kids:
            if isinstance(box, Node) and _PANELS.search(box.classes):
                kids = [kid for kid in box.kids if isinstance(kid, Node)]
                return kids if len(kids) == count else []
    return []


def _first_line(panel: Node) -> str:
    """The words of the first thing in a panel that has some."""
    for kid in panel.kids:
        if text := (" ".join(kid.split()) if isinstance(kid, str) else kid.line()):
            return text
    return ""


def _holds(panel: Node, row: Node) -> bool:
    return any(above is panel for above in row.ancestors())
