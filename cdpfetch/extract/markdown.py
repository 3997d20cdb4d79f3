"""A repaired tree to Markdown (CommonMark with GitHub's tables), faithfully: whatever is in the tree comes out."""

from __future__ import annotations

import re
from itertools import pairwise

from cdpfetch.extract import blocks
from cdpfetch.extract.dom import Node
from cdpfetch.extract.inline import FORMATS, Inline

_MAX_QUOTES = 12
_STRONG_MARK = re.compile(r"(?<!\\)\*\*")
_IMAGE_ONLY = re.compile(r"\[?!\[[^\]]*\]\([^()\s]*\)(?:\]\([^()\s]*\))?\Z")


def render(root: Node, url: str = "") -> str:
    """The Markdown of ``root`` with one line break at its end, or an empty string.

    ``url`` is the address against which links are resolved.
    """
    text = "\n\n".join(_Writer(root, url).blocks(root))
    return text + "\n" if text.strip() else ""


class _Writer:
    """Turns block elements into lists of block texts; each text is free of outer blank lines."""

    def __init__(self, root: Node, url: str) -> None:
        self.blocky = blocks.mark(root)
        notes = {node.get("name") for node in root.walk() if node.tag == "fn" and node.text().strip()}
        self.inline = Inline(url, frozenset(notes))
        self._quotes = 0

    def blocks(self, node: Node) -> list[str]:
        """The blocks of the children of ``node``."""
        out: list[str] = []
        run: list[Node | str] = []
        for kid in node.kids:
            if isinstance(kid, Node) and kid in self.blocky:
                self._flush(run, out)
                if kid.tag in FORMATS and not any(below in self.blocky for below in kid.kids):
                    # Emphasis or code on a line of its own.
                    out += self.inline.paragraphs([kid])
                else:
                    out += self._block(kid)
            else:
                run.append(kid)
        self._flush(run, out)
        return out

    def _flush(self, run: list[Node | str], out: list[str]) -> None:
        if not run:
            return
        out += self.inline.paragraphs(run)
        run.clear()

    def _block(self, node: Node) -> list[str]:
        tag = node.tag
        if tag in blocks.HEADINGS:
            return self._heading(node, blocks.HEADINGS[tag])
        method = _METHODS.get(tag)
        if method is not None:
            return method(self, node)
        return self.blocks(node)

    def _heading(self, node: Node, level: int) -> list[str]:
        text = self.inline.one_line(node)
        if text:
            return [f"{'#' * level} {text}"]
        # Only images: they are content, the heading is not.
        return self.inline.paragraphs([kid for kid in node.walk() if kid.tag == "img"])

    def _pre(self, node: Node) -> list[str]:
        text = node.text().strip("\n")
        if not text.strip():
            return []
        longest = max((len(found) for found in re.findall(r"`{3,}", text)), default=2)
        fence = "`" * (longest + 1)
        return [f"{fence}{node.get('lang')}\n{text}\n{fence}"]

    def _tex(self, node: Node) -> list[str]:
        return [f"$$\n{node.text().strip()}\n$$"]

    def _note(self, node: Node) -> list[str]:
        """A footnote; its further paragraphs are indented by four."""
        inner = self.blocks(node)
        if not inner:
            return []
        first, *rest = "\n\n".join(inner).split("\n")
        lines = [f"[^{node.get('name')}]: {first}", *("    " + line if line else "" for line in rest)]
        return ["\n".join(lines)]

    def _quote(self, node: Node) -> list[str]:
        self._quotes += 1
        inner = self.blocks(node)
        if "alert" in node.attrs and inner:
            # GitHub's form: the kind on the first line, the text from the next one on.
            inner[0] = f"[!{node.get('alert')}]\n{inner[0]}"
        self._quotes -= 1
        # The depth is bounded: each level prefixes every line again.
        if not inner or self._quotes >= _MAX_QUOTES:
            return inner
        lines = "\n\n".join(inner).split("\n")
        return ["\n".join("> " + line if line else ">" for line in lines)]

    def _list(self, node: Node) -> list[str]:
        number = _integer(node.get("start"), 1) if node.tag == "ol" else None
        items: list[str] = []
        loose = False
        for item in self._items(node):
            if number is not None and isinstance(item, Node):
                number = _integer(item.get("value"), number)
            marker = "- " if number is None else f"{number}. "
            inner = self.blocks(item) if item in self.blocky else self.inline.paragraphs([item])
            if not inner:
                continue
            text, spread = _join_item(inner)
            loose = loose or spread
            items.append(_indent(marker + self._task(item), text))
            if number is not None:
                number += 1
        if not items:
            return []
        return [("\n\n" if loose else "\n").join(items)]

    def _items(self, node: Node) -> list[Node]:
        """The items of a list; anything that stands between them becomes an item, too."""
        items: list[Node] = []
        for kid in node.kids:
            if isinstance(kid, Node):
                if kid.tag in ("ul", "ol") and items and items[-1].tag == "li":
                    # A list directly in a list belongs to the item before it.
                    items[-1].add(kid)
                    self.blocky.add(items[-1])
                elif kid.tag == "li" or kid in self.blocky or kid.text().strip() or kid.tag in ("a", "img"):
                    items.append(kid)
            elif kid.strip():
                wrapped = Node("li", parent=node)
                wrapped.kids.append(kid)
                self.blocky.add(wrapped)
                items.append(wrapped)
        return items

    @staticmethod
    def _task(item: Node) -> str:
        for kid in item.walk():
            if kid.tag == "input" and kid.get("type").lower() == "checkbox":
                return "[x] " if "checked" in kid.attrs else "[ ] "
        return ""

    def _definitions(self, node: Node) -> list[str]:
        out: list[str] = []
        after = ""
        for kid in _definition_parts(node):
            inner = self.blocks(kid)
            if not inner:
                continue
            if kid.tag == "dt":
                term = " ".join(inner) if all("\n" not in text for text in inner) else "\n\n".join(inner)
                plain = term.startswith(("#", "`", "*", "!", "|", ">")) or "\n" in term
                text = term if plain else f"**{term}**"
                # Terms that share a definition stand together.
                joins = bool(out) and after == "dt" and "\n" not in text and not (text + out[-1]).startswith("#")
            else:
                text = _indent(": ", "\n\n".join(inner))
                joins = bool(out) and not out[-1].startswith("#") and "\n\n" not in out[-1]
            after = kid.tag
            if joins:
                out[-1] += "\n" + text
            else:
                out.append(text)
        return out

    def _rule(self, node: Node) -> list[str]:
        return ["---"]

    def _summary(self, node: Node) -> list[str]:
        inner = self.blocks(node)
        if len(inner) == 1 and "\n" not in inner[0] and not inner[0].startswith(("#", "!", "`", "-", "|", "[", ">")):
            # Emphasis does not nest in itself.
            return [f"**{_STRONG_MARK.sub('', inner[0])}**"]
        return inner

    def _link(self, node: Node) -> list[str]:
        """A link around blocks: its first text, or its heading, carries the address."""
        inner = self.blocks(node)
        target = self.inline.target(node)
        if not target:
            return inner
        best = next((i for i, text in enumerate(inner) if text.startswith("#")), None)
        if best is None:
            best = next((i for i, text in enumerate(inner) if _linkable(text)), None)
        if best is None:
            return inner
        marks, text = re.match(r"(#{1,6} )?(.*)\Z", inner[best], re.DOTALL).groups()  # type: ignore[union-attr]
        if _linkable(text):
            inner[best] = f"{marks or ''}[{text}]({target})"
        return inner

    def _table(self, node: Node) -> list[str]:
        from cdpfetch.extract.grid import Grid

        grid = Grid(node, self.cell)
        out = [f"**{caption}**" for caption in grid.captions]
        if text := grid.markdown():
            out.append(text)
        return out

    def cell(self, node: Node) -> str:
        """A table cell's content on one line."""
        parts = [_on_one_line(text) for text in self.blocks(node)]
        return re.sub(r"(?<!\\)\|", r"\\|", " ".join(part for part in parts if part))


_METHODS = {
    "pre": _Writer._pre,
    "tex": _Writer._tex,
    "blockquote": _Writer._quote,
    "fn": _Writer._note,
    "ul": _Writer._list,
    "ol": _Writer._list,
    "menu": _Writer._list,
    "dir": _Writer._list,
    "dl": _Writer._definitions,
    "hr": _Writer._rule,
    "summary": _Writer._summary,
    "a": _Writer._link,
    "table": _Writer._table,
}


def _on_one_line(text: str) -> str:
    """A block's text as part of a table cell."""
    lines = [line.strip() for line in text.split("\n")]
    if text.startswith("```"):
        return "<br>".join(f"`{line}`" for line in lines[1:-1] if line)
    lines = [re.sub(r"^(?:#{1,6} |: )", "", line).removesuffix("\\") for line in lines if line]
    return " ".join(re.sub(r"^[-*] ", "• ", line) for line in lines)


def _linkable(text: str) -> bool:
    """Whether a block can be the text of a link: one line of plain words or one image, without a link."""
    if not text or "\n" in text or text.startswith(("|", "```", "> ", "- ", "$$")):
        return False
    return "](" not in (text[2:] if text.startswith("![") and text.count("](") == 1 else text).replace(
        "](", "", text.startswith("![")
    )


def _definition_parts(node: Node) -> list[Node]:
    """The terms and definitions of a list; wrapper elements between are looked through."""
    parts: list[Node] = []
    for kid in node.kids:
        if isinstance(kid, Node):
            if kid.tag in ("dt", "dd"):
                parts.append(kid)
            elif kid.tag == "div":
                parts += _definition_parts(kid)
            else:
                holder = Node("dd", parent=node)
                holder.kids.append(kid)
                parts.append(holder)
    return parts


def _join_item(inner: list[str]) -> tuple[str, bool]:
    """The text of a list item, and whether it has more than one paragraph."""
    if len(inner) > 1 and _IMAGE_ONLY.match(inner[0]) and _linkable(inner[1]) and not inner[1].startswith("#"):
        # A picture before the words of an item would leave its first line without any.
        inner = [f"{inner[0]} {inner[1]}", *inner[2:]]
    text = inner[0]
    if text.startswith("```"):
        # A fence on the marker's own line is lost on many readers.
        text = "\n" + text
    spread = False
    for before, block in pairwise(inner):
        nested = re.match(r"(?:[-*+]|\d+\.) ", block) is not None and not before.startswith("```")
        text += ("\n" if nested else "\n\n") + block
        spread = spread or not nested
    return text, spread


def _indent(marker: str, text: str) -> str:
    width = marker[: marker.index(" ") + 1]
    blank = " " * len(width)
    first, *rest = text.split("\n")
    return "\n".join([(marker + first).rstrip(), *(blank + line if line else "" for line in rest)])


def _integer(text: str, default: int) -> int:
    try:
        value = int(text)
    except ValueError:
        return default
    return value if 0 <= value < 10**9 else default
