"""Code listings: one ``pre`` with exact lines and a ``lang`` attribute, whatever the highlighter made of them."""

from __future__ import annotations

import re

from cdpfetch.extract.dom import Node

_BLOCKS = frozenset("div p li tr ol ul table tbody thead section figure td".split())
_GUTTER = re.compile(
    r"(?:^|[\s_-])(?:gutter|lineno|linenos|linenumbers?|line-?num(?:ber)?s?(?:-rows)?|ln-num|lnt|lntd-num|blob-num"
    r"|rouge-gutter|hljs-ln-numbers|hljs-ln-n|code-line-number|react-line-number|crayon-nums?)(?:$|[\s_-])"
)
_NUMBERS = re.compile(r"[\s\d.:]*\Z")
_LINE = re.compile(
    r"(?:^|\s)(?:line|ln|code-line|token-line|cl|view-line|ec-line|codemirror-line|cm-line|code__line|code-row"
    r"|react-code-line-contents|crayon-line|highlight-line|sourceline)(?:\s|$)"
)
_CHROME = re.compile(r"(?:^|[\s_-])(?:copy|clipboard|toolbar|tooltip|copybtn|copy-button|code-header__)(?:$|[\s_-])")
# Holders of lines that are no pre: editors and old highlighters.
_HOLDER = re.compile(
    r"(?:^|\s)(?:syntaxhighlighter|codemirror-code|view-lines|cm-content|crayon-main|crayon-pre|ace_text-layer"
    r"|react-code-lines|js-file-line-container|blob-code-content|dp-highlighter)(?:\s|$)"
)
_TABLE = re.compile(r"(?:highlighttable|lntable|rouge-table|hljs-ln\b|crayon-table|js-file-line-container|code-table)")
_LANGUAGE = re.compile(
    r"(?:^|[\s_])(?:language|lang|highlight-source|highlight-text|highlight|brush|codehilite|src|sourcecode)"
    r"[-:]\s*([a-z][\w+#.-]{0,24})"
)
KNOWN = frozenset(
    (
        "bash sh shell zsh console powershell python py ruby rb perl php lua r julia javascript js jsx "
        "typescript ts tsx json json5 yaml yml toml ini xml html css scss sass less sql c cpp c++ csharp cs "
        "java kotlin kt scala swift go golang rust rs haskell hs elixir ex erlang clojure clj lisp scheme "
        "ocaml fsharp dart zig nim matlab fortran pascal groovy gradle dockerfile docker makefile make cmake "
        "nginx diff patch graphql protobuf proto vim latex tex markdown md svelte vue objective-c objc asm "
        "wasm terraform hcl nix http plaintext"
    ).split()
)
_NO_LANGUAGE = frozenset(
    (
        "none plain plaintext text txt nohighlight no-highlight auto unknown default undefined code block "
        "inline notranslate wrapper container source highlight linenumber linenumbers line-numbers numbers "
        "lines container-fluid example"
    ).split()
)
_DATA = ("data-lang", "data-language", "data-code-lang", "data-syntax", "lang-name", "data-code-language")


def repair(nodes: list[Node]) -> None:
    """Bring every listing among ``nodes`` (in document order) into the plain form."""
    for node in nodes:
        tag = node.tag
        if node.parent is None:
            continue
        if tag == "table":
            _code_table(node)
        elif tag == "pre" or (tag in ("div", "ol", "figure") and node.attrs and _HOLDER.search(node.classes)):
            if not any(above.tag == "pre" for above in node.ancestors()):
                _listing(node)
        elif tag == "code":
            _broken_code(node)


def _code_table(table: Node) -> None:
    """A table that lays numbers beside code becomes the code."""
    if any(above.tag in ("pre", "table") for above in table.ancestors()) and not _TABLE.search(table.classes):
        return
    pres = table.find_all("pre")
    if not _TABLE.search(table.classes):
        if not pres or len(pres) > 2 or len(table.find_all("tr")) != 1:
            return
        if not _NUMBERS.match("".join(_text_outside(table))):
            return
    code = [pre for pre in pres if not _NUMBERS.match(pre.text()) and not _is_gutter(pre)]
    if len(code) == 1:
        table.replace(_plain(code[0], table))
    elif table.parent is not None and _TABLE.search(table.classes):
        table.replace(_plain(table, table))


def _text_outside(table: Node) -> list[str]:
    parts: list[str] = []
    stack = [table]
    while stack:
        node = stack.pop()
        for kid in node.kids:
            if isinstance(kid, str):
                parts.append(kid)
            elif kid.tag != "pre":
                stack.append(kid)
    return parts


def _listing(node: Node) -> None:
    plain = _plain(node, node)
    if not plain.kids:
        return
    parent = node.parent
    # A pre inside a paragraph, a link or another inline element still is a block.
    node.replace(plain)
    if parent is not None and parent.tag == "code" and len(parent.kids) == 1 and parent.parent is not None:
        parent.replace(plain)


def _broken_code(node: Node) -> None:
    """A ``code`` element with line breaks that is alone in its parent is a listing."""
    if any(above.tag in ("pre", "code") for above in node.ancestors()) or not node.find_all("br", "div"):
        return
    parent = node.parent
    if parent is None or any(isinstance(kid, str) and kid.strip() for kid in parent.kids):
        return
    if len([kid for kid in parent.kids if isinstance(kid, Node) and kid.tag != "br"]) == 1:
        node.replace(_plain(node, node))


def _plain(source: Node, holder: Node) -> Node:
    made = Node("pre", {"lang": language(source) or language(holder)})
    text = lines(source)
    if text.strip():
        made.kids.append(text)
    return made


def _is_gutter(node: Node) -> bool:
    attrs = node.attrs
    if not attrs:
        return False
    if _GUTTER.search(node.classes) and _NUMBERS.match(node.text()):
        return True
    return "data-line-number" in attrs and _NUMBERS.match(node.text()) is not None


def lines(source: Node) -> str:
    """The exact text of a listing: one line break a line, no line numbers, no buttons."""
    out: list[str] = []
    _write(source, out, _needs_breaks(source))
    text = "".join(out).replace("\r\n", "\n").replace("\r", "\n").replace("\xa0", " ").replace("\u200b", "")
    kept = [line.rstrip() for line in text.split("\n")]
    while kept and not kept[0].strip():
        kept.pop(0)
    while kept and not kept[-1].strip():
        kept.pop()
    return "\n".join(kept)


def _needs_breaks(source: Node) -> bool:
    """Whether the lines are inline elements without line breaks between them."""
    marked = [node for node in source.walk() if node.tag in ("span", "code", "a") and _LINE.search(node.classes)]
    if len(marked) < 2:
        # Several code elements side by side in one pre: a line each.
        marked = [kid for kid in source.kids if isinstance(kid, Node) and kid.tag == "code"]
    return len(marked) >= 2 and source.text().strip("\n").count("\n") < len(marked) // 2


def _write(node: Node, out: list[str], line_breaks: bool) -> None:
    for kid in node.kids:
        if isinstance(kid, str):
            out.append(kid)
            continue
        if kid.tag == "br":
            out.append("\n")
            continue
        if kid.tag in ("button", "select", "img", "input") or _is_gutter(kid):
            continue
        if kid.attrs and kid.tag in ("div", "span", "a") and _CHROME.search(kid.classes):
            continue
        if kid.tag == "td" and node.tag == "tr":
            _write(kid, out, line_breaks)
        elif kid.tag in _BLOCKS:
            _write_block(kid, out, line_breaks)
        else:
            before = len(out)
            _write(kid, out, line_breaks)
            own_line = line_breaks and (_LINE.search(kid.classes) if kid.attrs else kid.tag == "code")
            if own_line and (len(out) == before or not out[-1].endswith("\n")):
                out.append("\n")


def _write_block(node: Node, out: list[str], line_breaks: bool) -> None:
    if out and not out[-1].endswith("\n"):
        out.append("\n")
    before = len(out)
    _write(node, out, line_breaks)
    if len(out) == before or not out[-1].endswith("\n"):
        out.append("\n")


def language(node: Node) -> str:
    """The language that a listing or what is around it names, or an empty string."""
    near = [node, *(kid for kid in node.walk() if kid.tag == "code")][:3]
    around: list[Node] = []
    for above in node.ancestors():
        if len(around) == 3 or above.tag in ("body", "article", "main", "section"):
            break
        around.append(above)
    for candidate in near + around:
        if candidate.attrs and (name := _own_language(candidate, weak=candidate in near)):
            return name
    return ""


def _own_language(node: Node, *, weak: bool) -> str:
    for key in _DATA:
        if name := _clean(node.get(key)):
            return name
    classes = node.get("class").lower()
    for found in _LANGUAGE.finditer(classes):
        if name := _clean(found.group(1)):
            return name
    if weak:
        for word in classes.replace(";", " ").split():
            if word in KNOWN:
                return word
    return ""


def _clean(name: str) -> str:
    name = name.strip().lower().rstrip(";,")
    name = name.removeprefix("source-").removeprefix("text-html-")
    return name if re.fullmatch(r"[a-z][\w+#.-]{0,24}", name) and name not in _NO_LANGUAGE else ""
