"""Formulas: one ``tex`` node each, from annotations where the page has them, else from MathML."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import unquote, urlsplit

from cdpfetch.extract.dom import Node

_SCRIPT = re.compile(r"^math/(tex|asciimath|mml)(.*)", re.IGNORECASE)
_TEX_ENCODING = re.compile(r"tex|latex", re.IGNORECASE)
# Renderings beside which the source stands somewhere else.
_RENDERED = re.compile(r"(?:^|\s)(?:katex-html|mathjax_preview|mathjax_svg|mathjax_chtml|mjx-chtml|mathjax)(?:\s|$)")
_IMAGE_HOSTS = re.compile(
    r"(?:latex\.codecogs\.com|/cgi-bin/mimetex|/mathtex|chart\.(?:apis\.google|googleapis)\.com/chart.*cht=tx|/mimetex\.cgi)"
)
_IMAGE_CLASS = re.compile(
    r"(?:^|\s)(?:mwe-math-fallback-image-\w+|tex|latex|math-?tex|ql-img-(?:inline|displayed)-\w+)(?:\s|$)"
)
_TEX_COMMAND = re.compile(
    r"\\(?:[a-zA-Z]{2,}\s*[{(_^\\]|(?:frac|sqrt|sum|int|prod|lim|alpha|beta|gamma|delta|theta|lambda|mu|pi|sigma|omega)\b)"
)
_MATH_CLASS = re.compile(r"katex|mathjax|mwe-math", re.IGNORECASE)
_DISPLAY_STYLE = re.compile(r"^\{\\displaystyle\s*(.*)\}$", re.DOTALL)


def repair(nodes: list[Node]) -> None:
    """Bring every formula among ``nodes`` (in document order) into the plain form."""
    for node in nodes:
        if handler := _HANDLERS.get(node.tag):
            if node.parent is not None:
                handler(node)
        elif node.tag in ("span", "div") and node.parent is not None and _MATH_CLASS.search(node.get("class")):
            _classed(node)


def make(tex: str, *, display: bool) -> Node:
    """A formula."""
    found = _DISPLAY_STYLE.match(tex.strip())
    node = Node("tex", {"display": "block"} if display else {})
    node.kids.append(" ".join((found.group(1) if found else tex).split()))
    return node


def _script(node: Node) -> None:
    found = _SCRIPT.match(node.get("type"))
    source = node.text().strip()
    if found is None or not source or found.group(1).lower() == "mml":
        node.remove()
        return
    _drop_rendering(node)
    node.replace(make(source, display="display" in found.group(2)))


def _drop_rendering(script: Node) -> None:
    """MathJax 2 puts the picture of a formula into the elements before its script."""
    parent = script.parent
    if parent is None:
        return
    index = next(i for i, kid in enumerate(parent.kids) if kid is script)
    while index > 0:
        before = parent.kids[index - 1]
        if isinstance(before, Node) and (
            before.tag == "nobr" or "mathjax" in before.classes or "mjx" in before.classes
        ):
            before.remove()
            index -= 1
        elif isinstance(before, str) and not before.strip() and index > 1:
            index -= 1
        else:
            return


def _classed(node: Node) -> None:
    classes = node.classes
    if "katex" in classes and not classes.startswith("katex-html"):
        # The source is in the annotation of the MathML half; with that gone there is only the picture.
        if source := _annotation(node):
            display = "katex-display" in classes or any("katex-display" in above.classes for above in node.ancestors())
            node.replace(make(source, display=display))
    elif "mathjax" in classes and node.get("data-mathml"):
        _from_mathml_text(node, node.get("data-mathml"))
    elif "mathjax" in classes and (found := node.find_all("math")):
        node.replace(_formula(found[0]))
    elif "mwe-math-element" in classes and (found := node.find_all("math")):
        node.replace(_formula(found[0], display="block" in classes))


def _from_mathml_text(node: Node, markup: str) -> None:
    from cdpfetch.extract.dom import fragment

    if any(kid.tag == "script" for kid in (node.parent.kids if node.parent else []) if isinstance(kid, Node)):
        node.remove()
        return
    found = fragment(markup).find_all("math")
    if found:
        node.replace(_formula(found[0]))


def _container(node: Node) -> None:
    """MathJax 3."""
    found = node.find_all("math")
    label = node.get("data-latex") or node.get("alttext")
    display = node.get("display") == "true"
    if label:
        node.replace(make(label, display=display))
    elif found:
        node.replace(_formula(found[0], display=display))


def _math(node: Node) -> None:
    if any(above.tag in ("mjx-container", "tex") for above in node.ancestors()):
        return
    node.replace(_formula(node))


def _formula(node: Node, *, display: bool = False) -> Node:
    source = _annotation(node) or node.get("alttext") or to_tex(node)
    return make(source, display=display or node.get("display") == "block" or node.get("mode") == "display")


def _annotation(node: Node) -> str:
    for found in node.find_all("annotation"):
        if _TEX_ENCODING.search(found.get("encoding", "tex")):
            return found.text().strip()
    return ""


def _image(node: Node) -> None:
    """A formula that is an image: its source is the alternative text or stands in the address."""
    address, alt = node.get("src"), node.get("alt").strip()
    if _IMAGE_HOSTS.search(address):
        query = unquote(urlsplit(address).query.replace("+", " "))
        source = re.sub(r"^(?:.*?\bchl=|.*?\beq=)", "", query)
        source = re.sub(r"\\(?:dpi|bg|fg)\s*\{[^}]*\}|\\(?:inline|large|Large|small|huge)\b", "", source).strip()
        if source or alt:
            node.replace(make(source or alt, display=False))
    elif (path := unquote(urlsplit(address).path)).count("\\") and not alt:
        node.replace(make(path[path.index("\\") :], display=False))
    elif _TEX_COMMAND.search(alt) and not re.search(r"\w{4,} \w{4,}", alt):
        node.replace(make(alt.strip("$ "), display="\\begin" in alt or "display" in node.classes))
    elif alt and _IMAGE_CLASS.search(node.classes) and re.search(r"[\\^_{=]", alt):
        display = "display" in node.classes or "ql-img-displayed" in node.classes
        node.replace(make(alt.strip("$ "), display=display))


_HANDLERS: dict[str, Callable[[Node], None]] = {
    "script": _script,
    "mjx-container": _container,
    "math": _math,
    "img": _image,
}


# ------------------------------------------------------------------ MathML to TeX
_OPERATORS = {
    "×": r"\times",
    "⋅": r"\cdot",
    "·": r"\cdot",
    "÷": r"\div",
    "±": r"\pm",
    "∓": r"\mp",
    "−": "-",
    "≤": r"\leq",
    "≥": r"\geq",
    "≠": r"\neq",
    "≈": r"\approx",
    "≡": r"\equiv",
    "∼": r"\sim",
    "∞": r"\infty",
    "∑": r"\sum",
    "∏": r"\prod",
    "∫": r"\int",
    "∮": r"\oint",
    "∂": r"\partial",
    "∇": r"\nabla",
    "√": r"\sqrt{}",
    "∈": r"\in",
    "∉": r"\notin",
    "⊂": r"\subset",
    "⊆": r"\subseteq",
    "∪": r"\cup",
    "∩": r"\cap",
    "∅": r"\emptyset",
    "∀": r"\forall",
    "∃": r"\exists",
    "¬": r"\neg",
    "∧": r"\land",
    "∨": r"\lor",
    "→": r"\to",
    "←": r"\leftarrow",
    "↔": r"\leftrightarrow",
    "⇒": r"\Rightarrow",
    "⇔": r"\Leftrightarrow",
    "↦": r"\mapsto",
    "…": r"\dots",
    "⋯": r"\cdots",
    "⟨": r"\langle",
    "⟩": r"\rangle",
    "‖": r"\|",
    "{": r"\{",
    "}": r"\}",
    "%": r"\%",
    "⁢": "",
    "⁡": "",
    "⁣": "",
    "⁤": "",
    "ℝ": r"\mathbb{R}",
    "ℕ": r"\mathbb{N}",
    "ℤ": r"\mathbb{Z}",
    "ℚ": r"\mathbb{Q}",
    "ℂ": r"\mathbb{C}",
    "ℓ": r"\ell",
    "ℏ": r"\hbar",
}
_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξπρστυφχψωϵϑϕϱς",
        "alpha beta gamma delta varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon "
        "varphi chi psi omega epsilon vartheta phi varrho varsigma".split(),
        strict=True,
    )
) | dict(zip("ΓΔΘΛΞΠΣΥΦΨΩ", "Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega".split(), strict=True))
_FUNCTIONS = frozenset(
    "sin cos tan cot sec csc log ln exp lim max min sup inf det dim ker arg gcd sinh cosh tanh".split()
)
_BRACKETS = {"()": "pmatrix", "[]": "bmatrix", "||": "vmatrix", "{": "cases", "{}": "Bmatrix"}
_UNDERS = {"_": "underline", "\u0332": "underline", "\u23df": "underbrace", "\u00af": "underline"}
_ACCENTS = {
    "\u23de": "overbrace",
    "\u203e": "overline",
    "^": "hat",
    "ˆ": "hat",
    "¯": "bar",
    "→": "vec",
    "~": "tilde",
    "˜": "tilde",
    "˙": "dot",
    "¨": "ddot",
}


def to_tex(node: Node) -> str:
    """TeX for presentation MathML; an approximation that reads well, never an error."""
    return " ".join(_row(node).split())


def _row(node: Node) -> str:
    parts = _parts(node)
    if len(parts) in (2, 3) and (kind := _bracketed(parts)):
        return _matrix(parts[1], kind)
    return " ".join(part for part in map(_tex, parts) if part)


def _bracketed(parts: list[Node]) -> str:
    """The TeX environment of a matrix between brackets, or an empty string."""
    if parts[0].tag != "mo" or parts[1].tag != "mtable":
        return ""
    return _BRACKETS.get(parts[0].line() + (parts[2].line() if len(parts) == 3 else ""), "")


def _parts(node: Node) -> list[Node]:
    return [kid for kid in node.kids if isinstance(kid, Node) and kid.tag not in ("annotation", "annotation-xml")]


def _symbol(text: str) -> str:
    text = " ".join(text.split())
    if text in _OPERATORS:
        return _OPERATORS[text]
    if text in _GREEK:
        return "\\" + _GREEK[text]
    if text in _FUNCTIONS:
        return "\\" + text
    if len(text) > 1 and text.isalpha():
        return rf"\mathrm{{{text}}}"
    return " ".join(_symbol(char) for char in text) if len(text) > 1 and not text.isascii() else text


def _group(text: str) -> str:
    return text if len(text) == 1 else "{" + text + "}"


def _scripts(node: Node, sub: bool, sup: bool) -> str:
    parts = [_tex(part) for part in _parts(node)]
    parts += [""] * 3
    base = (
        parts[0] if len(parts[0]) <= 1 or (parts[0].startswith("\\") and " " not in parts[0]) else "{" + parts[0] + "}"
    )
    lower = f"_{_group(parts[1])}" if sub and parts[1] else ""
    upper = f"^{_group(parts[2] if sub else parts[1])}" if sup and parts[2 if sub else 1] else ""
    return base + lower + upper


def _over(node: Node) -> str:
    parts = _parts(node)
    if len(parts) > 1 and (accent := _ACCENTS.get(parts[1].line())):
        return rf"\{accent}{{{_tex(parts[0])}}}"
    return _scripts(node, sub=False, sup=True)


def _fraction(node: Node) -> str:
    parts = [*map(_tex, _parts(node)), "", ""]
    return rf"\frac{{{parts[0]}}}{{{parts[1]}}}"


def _root(node: Node) -> str:
    parts = [*map(_tex, _parts(node)), "", ""]
    return rf"\sqrt[{parts[1]}]{{{parts[0]}}}"


def _matrix(node: Node, kind: str = "matrix") -> str:
    rows = [" & ".join(_row(cell) for cell in _parts(row)) for row in _parts(node) if row.tag in ("mtr", "mlabeledtr")]
    return rf"\begin{{{kind}}} " + r" \\ ".join(rows) + rf" \end{{{kind}}}"


def _enclosed(node: Node) -> str:
    notation = node.get("notation")
    name = {"top": "overline", "bottom": "underline", "box": "boxed"}.get(notation, "")
    return rf"\{name}{{{_row(node)}}}" if name else _row(node)


def _under(node: Node) -> str:
    parts = _parts(node)
    if len(parts) > 1 and (accent := _UNDERS.get(parts[1].line())):
        return rf"\{accent}{{{_tex(parts[0])}}}"
    return _scripts(node, sub=True, sup=False)


def _fenced(node: Node) -> str:
    opening, closing = node.get("open", "("), node.get("close", ")")
    return f"{_symbol(opening)} {' , '.join(map(_tex, _parts(node)))} {_symbol(closing)}"


_ELEMENTS: dict[str, Callable[[Node], str]] = {
    "mi": lambda node: _symbol(node.text()),
    "mo": lambda node: _symbol(node.text()),
    "mn": lambda node: node.line(),
    "mtext": lambda node: rf"\text{{{node.line()}}}" if node.line() else "",
    "ms": lambda node: rf"\text{{{node.line()}}}",
    "mspace": lambda node: "",
    "mfrac": _fraction,
    "msqrt": lambda node: rf"\sqrt{{{_row(node)}}}",
    "mroot": _root,
    "msub": lambda node: _scripts(node, sub=True, sup=False),
    "msup": lambda node: _scripts(node, sub=False, sup=True),
    "msubsup": lambda node: _scripts(node, sub=True, sup=True),
    "munder": _under,
    "menclose": _enclosed,
    "mover": _over,
    "munderover": lambda node: _scripts(node, sub=True, sup=True),
    "mtable": _matrix,
    "mfenced": _fenced,
}


def _tex(node: Node) -> str:
    return _ELEMENTS.get(node.tag, _row)(node)
