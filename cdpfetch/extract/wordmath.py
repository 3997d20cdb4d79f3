"""Formulas of Office files (Office Math Markup, ECMA-376 part 1, 22.1) as MathML."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from cdpfetch.extract.dom import Element
from cdpfetch.extract.package import attribute, child, children
from cdpfetch.extract.xmltext import local_name

_MAX_DEPTH = 60


def mathml(formula: Element, *, display: bool = False) -> str:
    """The ``math`` element for an ``oMath`` element."""
    mode = ' display="block"' if display else ""
    return f"<math{mode}>{_row(formula, 0)}</math>"


def _row(node: Element | None, depth: int) -> str:
    """All that is in an element, as one row."""
    if node is None or depth > _MAX_DEPTH:
        return "<mrow></mrow>"
    return "<mrow>" + "".join(_one(kid, depth + 1) for kid in node) + "</mrow>"


def _one(node: Element, depth: int) -> str:
    name = local_name(node)
    if name.endswith("pr"):
        return ""
    if name == "r":
        return _run(node)
    return _FORMS[name](node, depth) if name in _FORMS else _row(node, depth)


def _run(run: Element) -> str:
    text = "".join(kid.text or "" for kid in children(run, "t"))
    style = child(run, "rpr", "sty")
    out, word = [], ""
    for char in text + " ":
        if word and (word[-1].isdigit() or word[-1] == ".") != (char.isdigit() or char == "."):
            out.append(_token(word, upright=style is not None and attribute(style, "val") == "p"))
            word = ""
        if char.isalnum() or (char == "." and word[-1:].isdigit()):
            word += char
            continue
        if word:
            out.append(_token(word, upright=style is not None and attribute(style, "val") == "p"))
            word = ""
        if not char.isspace():
            out.append(f"<mo>{escape(char)}</mo>")
    return "".join(out)


def _token(word: str, *, upright: bool) -> str:
    if word[0].isdigit():
        return f"<mn>{word}</mn>"
    return f"<mi>{word}</mi>" if upright else "".join(f"<mi>{char}</mi>" for char in word)


def _part(node: Element, name: str, depth: int) -> str:
    return _row(child(node, name), depth)


def _sign(node: Element, properties: str, name: str, default: str) -> str:
    found = child(node, properties, name)
    return f"<mo>{escape(attribute(found, 'val') if found is not None else default)}</mo>"


def _of(tag: str, *parts: str) -> Callable[[Element, int], str]:
    """A form whose parts are those of MathML's element in this order."""
    return lambda node, depth: f"<{tag}>" + "".join(_part(node, part, depth) for part in parts) + f"</{tag}>"


def _root(node: Element, depth: int) -> str:
    degree = child(node, "deg")
    if degree is None or not "".join(degree.itertext()).strip():
        return f"<msqrt>{_part(node, 'e', depth)}</msqrt>"
    return f"<mroot>{_part(node, 'e', depth)}{_row(degree, depth)}</mroot>"


def _nary(node: Element, depth: int) -> str:
    bounds = f"{_part(node, 'sub', depth)}{_part(node, 'sup', depth)}"
    return f"<munderover>{_sign(node, 'narypr', 'chr', '∫')}{bounds}</munderover>{_part(node, 'e', depth)}"


def _delimited(node: Element, depth: int) -> str:
    between = _sign(node, "dpr", "sepchr", "|")
    inner = between.join(_row(part, depth) for part in children(node, "e"))
    return f"{_sign(node, 'dpr', 'begchr', '(')}{inner}{_sign(node, 'dpr', 'endchr', ')')}"


def _matrix(node: Element, depth: int) -> str:
    rows = [children(row, "e") for row in children(node, "mr")] or [[line] for line in children(node, "e")]
    cells = ("".join(f"<mtd>{_row(cell, depth)}</mtd>" for cell in row) for row in rows)
    return "<mtable>" + "".join(f"<mtr>{row}</mtr>" for row in cells) + "</mtable>"


def _accent(node: Element, depth: int) -> str:
    return f"<mover>{_part(node, 'e', depth)}{_sign(node, 'accpr', 'chr', '^')}</mover>"


_FORMS: dict[str, Callable[[Element, int], str]] = {
    "f": _of("mfrac", "num", "den"),
    "ssup": _of("msup", "e", "sup"),
    "ssub": _of("msub", "e", "sub"),
    "ssubsup": _of("msubsup", "e", "sub", "sup"),
    "limlow": _of("munder", "e", "lim"),
    "limupp": _of("mover", "e", "lim"),
    "rad": _root,
    "nary": _nary,
    "d": _delimited,
    "m": _matrix,
    "eqarr": _matrix,
    "acc": _accent,
    "bar": lambda node, depth: f"<mover>{_part(node, 'e', depth)}<mo>¯</mo></mover>",
}
