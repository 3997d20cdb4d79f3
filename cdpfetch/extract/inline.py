"""Running text: emphasis, links, images, code and formulas inside a paragraph."""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit

from cdpfetch.extract.dom import Node
from cdpfetch.extract.repair import media

_BLANKS = re.compile(r"[ \t\n\r\f\xa0\u2028\u2029]+")
_DROPPED = str.maketrans("", "", "\u00ad\ufeff")
# Characters that would change the meaning of the text around them.
_SPECIAL = re.compile(r"[\\`*_\[\]<&~]")
_ESCAPES = re.compile(
    r"(?P<always>[`*])"
    r"|(?P<slash>\\(?=[!-/:-@\[-`{-~]))"
    r"|(?P<under>(?<![^\W_])_|_(?![^\W_]))"
    r"|(?P<bracket>\[(?=[^\[\]]{0,1000}\][(\[:])|\](?=[(\[:]))"
    r"|(?P<angle><(?=[a-zA-Z/!?]))"
    r"|(?P<entity>&(?=#?\w+;))"
    r"|(?P<tilde>~(?=~))"
)
# TeX that a script would have rendered; it must reach the reader as it is.
_RAW_TEX = re.compile(
    r"\\\(.{1,2000}?\\\)|\\\[.{1,2000}?\\\]|\$\$.{1,2000}?\$\$|\\begin\{(\w+\*?)\}.{1,4000}?\\end\{\1\}"
    r"|(?<![\w$\\])\$(?=[^\s$])[^$\n]{0,400}?[\\^_{][^$\n]{0,400}?(?<=[^\s\\])\$(?![\w$])",
    re.DOTALL,
)
# A longer text is not searched for formulas.
_MAX_TEX_TEXT = 50_000
_LINE_START = re.compile(r"(#{1,6}(?= |$)|>|[-+](?= |$)|={3,}\s*$|-{3,}\s*$|\d{1,9}[.)](?= |$)|\|)")
_STRONG = frozenset(("b", "strong"))
_EMPHASIS = frozenset(("i", "em", "cite", "dfn", "var"))
_CODE = frozenset(("code", "kbd", "samp", "tt"))
_DELETED = frozenset(("del", "s", "strike"))
FORMATS = _STRONG | _EMPHASIS | _CODE | _DELETED
_LAZY = (
    "data-src",
    "data-original",
    "data-lazy-src",
    "data-lazy",
    "data-url",
    "data-image",
    "data-hi-res-src",
    "data-full-src",
    "data-delayed-url",
)
_NO_IMAGE = re.compile(
    r"(?:spacer|blank|pixel|transparent|1x1|placeholder|loading)[\w.-]*\.(?:gif|png|svg)|^data:|^about:", re.IGNORECASE
)
_SMALL = re.compile(r"\s*[0-3](?:px)?\s*\Z")
BREAK = "\x00"


class Inline:
    """Renders runs of inline content.

    Args:
        url: the address against which links are resolved.
        notes: the names of the footnotes that will be written.
    """

    def __init__(self, url: str, notes: frozenset[str] = frozenset()) -> None:
        self._url = url
        self._notes = notes
        self._page = url.partition("#")[0]
        self._resolved: dict[str, str] = {}

    # ------------------------------------------------------------------ runs
    def paragraphs(self, run: list[Node | str]) -> list[str]:
        """The paragraphs of a run: two line breaks in a row part them, one is a hard break."""
        text = self._tidy("".join(self._render(item, frozenset()) for item in run))
        out = []
        for part in re.split(BREAK + r"(?:[ ]*" + BREAK + r")+", text):
            lines = [line.strip() for line in part.split(BREAK)]
            lines = [guard(line) for line in lines if line]
            if lines:
                out.append("\\\n".join(lines))
        return out

    def one_line(self, node: Node) -> str:
        """All content of a node on one line, without emphasis: a heading."""
        text = self._tidy(self._render_all(node, frozenset(("plain",))))
        return " ".join(text.replace(BREAK, " ").split()).rstrip("#").strip() if text else ""

    @staticmethod
    def _tidy(text: str) -> str:
        text = re.sub(r" *\n *", " ", text)
        return re.sub(r" {2,}", " ", text).strip()

    # ------------------------------------------------------------------ nodes
    def _render(self, item: Node | str, state: frozenset[str]) -> str:
        if isinstance(item, str):
            return self._text(item, state)
        tag = item.tag
        if tag == "br":
            return BREAK
        if tag == "img":
            return self._image(item, state)
        if tag == "a":
            return self._anchor(item, state)
        if tag in _CODE:
            return self._code(item)
        if tag in ("tex", "fnref"):
            return self._note_mark(item) if tag == "fnref" else self._formula(item)
        if tag in _STRONG:
            return self._wrapped(item, "**", state)
        if tag in _EMPHASIS:
            return self._wrapped(item, "*", state)
        if tag in _DELETED:
            return self._wrapped(item, "~~", state)
        return self._other(item, state)

    def _other(self, node: Node, state: frozenset[str]) -> str:
        tag = node.tag
        if tag in ("rp", "wbr", "input", "iframe"):
            return ""
        text = self._render_all(node, state)
        if tag == "rt" and text.strip():
            return f"({text.strip()})"
        if tag == "q" and text.strip():
            return f"“{text.strip()}”"
        if tag in ("sup", "sub") and text.strip() and "[" not in text and "plain" not in state:
            return f"<{tag}>{text.strip()}</{tag}>"
        if tag in _SEPARATE:
            return f" {text} "
        return text

    def _render_all(self, node: Node, state: frozenset[str]) -> str:
        parts: list[str] = []
        for kid in node.kids:
            text = self._render(kid, state)
            # Neighbouring elements of an application (buttons, cells, custom elements) are not one word.
            if (
                isinstance(kid, Node)
                and kid.tag not in _GLUED
                and parts
                and parts[-1][-1:].isalnum()
                and text[:1].isalnum()
            ):
                parts.append(" ")
            parts.append(text)
        return "".join(parts)

    def _text(self, text: str, state: frozenset[str]) -> str:
        text = _BLANKS.sub(" ", text.translate(_DROPPED))
        if not _SPECIAL.search(text):
            return text
        if ("\\" in text or "$" in text) and len(text) <= _MAX_TEX_TEXT:
            out, position = [], 0
            for found in _RAW_TEX.finditer(text):
                out += [escape(text[position : found.start()]), found.group()]
                position = found.end()
            if out:
                return "".join(out) + escape(text[position:])
        return escape(text)

    def _wrapped(self, node: Node, mark: str, state: frozenset[str]) -> str:
        if "plain" in state or mark in state:
            return self._render_all(node, state)
        text = self._render_all(node, state | {mark})
        inner = text.strip(" " + BREAK)
        # Emphasis can't span paragraphs, and around nothing but signs it would be noise.
        if not inner or BREAK in inner or inner.startswith(("![", "$")) or not re.search(r"\w", inner):
            return text
        start = text.index(inner)
        return f"{text[:start]}{mark}{inner}{mark}{text[start + len(inner) :]}"

    def _code(self, node: Node) -> str:
        text = _BLANKS.sub(" ", node.text().translate(_DROPPED))
        text = text.replace("\u200b", "")
        inner = text.strip()
        if not inner:
            return text
        longest = max((len(found) for found in re.findall(r"`+", inner)), default=0)
        fence = "`" * (longest + 1)
        pad = " " if longest and (inner.startswith("`") or inner.endswith("`")) else ""
        before = " " if text[:1] == " " else ""
        after = " " if text[-1:] == " " else ""
        return f"{before}{fence}{pad}{inner}{pad}{fence}{after}"

    @staticmethod
    def _formula(node: Node) -> str:
        text = node.text().strip()
        return f"${text}$" if text else ""

    def _note_mark(self, node: Node) -> str:
        if node.get("name") in self._notes:
            return f"[^{node.get('name')}]"
        label = escape(node.get("text").strip("[]"))
        target = self.resolve(node.get("href"))
        return f"[{label}]({target})" if target else label

    # ------------------------------------------------------------------ links and images
    def target(self, node: Node) -> str:
        """The absolute address of a link, ready to stand in parentheses; empty when it leads nowhere."""
        return self.resolve(node.get("href"))

    def resolve(self, address: str) -> str:
        """``address`` against the page's, or an empty string for scripts and the like."""
        address = address.strip()
        if not address or len(address) > 4096:
            return ""
        known = self._resolved.get(address)
        if known is None:
            known = self._resolved[address] = self._resolve(address)
        return known

    def _resolve(self, address: str) -> str:
        address = re.sub(r"[\t\n\r]+", "", address)
        head = address[:12].lower()
        if head.startswith(("javascript:", "data:", "vbscript:", "about:", "blob:")):
            return ""
        try:
            full = (
                address if head.startswith(("http://", "https://", "mailto:", "tel:")) else urljoin(self._url, address)
            )
        except ValueError:
            return ""
        full = full.replace(" ", "%20").replace("<", "%3C").replace(">", "%3E").replace("\\", "%5C")
        if full.count("(") != full.count(")"):
            full = full.replace("(", "%28").replace(")", "%29")
        return full

    def _anchor(self, node: Node, state: frozenset[str]) -> str:
        if "link" in state:
            return self._render_all(node, state)
        text = self._render_all(node, state | {"link"})
        inner = text.strip(" " + BREAK)
        if not inner:
            return " " if text else ""
        address = node.get("href")
        if not address:
            return text
        target = self.resolve(address)
        if not target:
            return text
        start = text.index(inner)
        label = inner.replace(BREAK, " ")
        return f"{text[:start]}[{label}]({target}){text[start + len(inner) :]}"

    def _image(self, node: Node, state: frozenset[str]) -> str:
        alt = " ".join(node.get("alt").split())
        address = self._source(node)
        if not alt and (not address or _SMALL.match(node.get("width", "x")) or _SMALL.match(node.get("height", "x"))):
            return ""
        alt = re.sub(r"([\\\[\]])", r"\\\1", alt)
        if media.MARK in node.attrs:
            # Its words are what it links to, so that it can't be a link's text.
            target = self.resolve(node.get("src"))
            return f" [{alt}]({target}) " if target and "link" not in state else ""
        return f"![{alt}]({self.resolve(address)})"

    @staticmethod
    def _source(node: Node) -> str:
        """The real address of an image, also of a lazy one."""
        candidates = [node.get("src"), *(node.get(name) for name in _LAZY)]
        sets = [node.get("srcset"), node.get("data-srcset"), node.get("data-lazy-srcset")]
        if node.parent is not None and node.parent.tag == "picture":
            sets += [kid.get("srcset") for kid in node.parent.kids if isinstance(kid, Node) and kid.tag == "source"]
        for candidate in candidates:
            if candidate.strip() and not _NO_IMAGE.search(candidate):
                return candidate
        for candidates_text in sets:
            if best := largest(candidates_text):
                return best
        return ""


_SEPARATE = frozenset(("td", "th", "li", "option", "button", "label", "div", "p"))
_GLUED = frozenset(
    (
        "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd mark nobr q rp rt ruby s samp "
        "small span strike strong sub sup tt u var wbr tex fnref br img time"
    ).split()
)


def largest(srcset: str) -> str:
    """The address of the largest candidate of a srcset, or an empty string."""
    best, width = "", -1.0
    for found in re.finditer(r"(\S*[^\s,])(?:\s+([\d.]+)[wx])?\s*(?:,|$)", srcset):
        size = float(found.group(2)) if found.group(2) and found.group(2).count(".") < 2 else 0.0
        if size > width and not found.group(1).startswith("data:"):
            best, width = found.group(1), size
    return best


def escape(text: str) -> str:
    """Plain text with a backslash wherever Markdown would see more in it than text."""
    return _ESCAPES.sub(lambda found: "\\" + found.group(), text)


def guard(line: str) -> str:
    """A line that must not become a heading, a list or a quote by its first characters."""
    found = _LINE_START.match(line)
    if found is None:
        return line
    if line[0].isdigit():
        end = found.end() - 1
        return line[:end] + "\\" + line[end:]
    return "\\" + line


def host(url: str) -> str:
    """The host of an address, in lower case."""
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""
