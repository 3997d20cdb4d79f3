"""PowerPoint presentations as Markdown: slides in the order of the show, with links, tables, charts and notes."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import NamedTuple

from cdpfetch.extract import convert
from cdpfetch.extract.dom import Element
from cdpfetch.extract.package import Package, Relation, attribute, child, children, related
from cdpfetch.extract.xmltext import local_name

_MAIN = "ppt/presentation.xml"
_MAX_SLIDES = 2000
_MAX_DEPTH = 8
_MAX_POINTS = 500
_TITLES = frozenset(("title", "ctrTitle"))
# Placeholders that say the same on every slide.
_FURNITURE = frozenset(("dt", "ftr", "sldNum", "hdr", "sldImg"))
# Placeholders whose paragraphs are items of a list unless they say otherwise.
_BULLETED = frozenset(("", "body", "obj"))
_FAR = 1 << 40

_Place = tuple[int, int]


class _Slide(NamedTuple):
    """A slide: its package, what its part is related to, and where its layout puts placeholders."""

    package: Package
    relations: dict[str, Relation]
    places: dict[tuple[str, str], _Place]


def markdown(package: Package) -> tuple[str, int] | None:
    """``(Markdown, slides)`` of a presentation, or None when the package holds none."""
    root = package.part(_MAIN)
    relations = package.relations(_MAIN)
    ids = [related(node) for node in children(child(root, "sldidlst"), "sldid")]
    names = [relations[key].target for key in ids if key in relations]
    if not names:
        return None
    blocks = [_slide(package, name, number) for number, name in enumerate(names[:_MAX_SLIDES], 1)]
    if len(names) > _MAX_SLIDES:
        blocks.append(f"… and {len(names) - _MAX_SLIDES} more slides")
    return "\n\n".join(blocks) + "\n", len(names)


def _slide(package: Package, name: str, number: int) -> str:
    root = package.part(name)
    hidden = " (hidden)" if root is not None and root.get("show") in ("0", "false") else ""
    mark = f"<!-- slide {number}{hidden} -->"
    if root is None:
        return f"{mark}\n\n*This slide can't be read.*"
    relations = package.relations(name)
    slide = _Slide(package, relations, _places(package, relations))
    shapes = _sorted(child(root, "csld", "sptree"), slide)
    title = next((shape for shape in shapes if _placeholder(shape)[0] in _TITLES and _words(shape)), None)
    parts = [f"<h2>{escape(_words(title))}</h2>"] if title is not None else []
    for shape in shapes:
        if shape is not title:
            parts += _shape(shape, slide, 0)
    text = convert.fragment("".join(parts))
    notes = _notes(package, relations)
    return "\n\n".join(part for part in (mark, text, f"Notes: {notes}" if notes else "") if part)


def _places(package: Package, relations: dict[str, Relation]) -> dict[tuple[str, str], _Place]:
    layout = next((one.target for one in relations.values() if one.kind == "slideLayout"), None)
    root = package.part(layout) if layout else None
    shapes = children(child(root, "csld", "sptree"), "sp", "pic", "graphicframe")
    return {_placeholder(shape): place for shape in shapes if (place := _own_place(shape)) is not None}


def _placeholder(shape: Element) -> tuple[str, str]:
    """The type and the number of the placeholder that a shape fills; empty for other shapes."""
    for kid in shape:
        found = child(kid, "nvpr", "ph")
        if found is not None:
            return found.get("type") or "body", found.get("idx") or "0"
    return "", ""


def _own_place(shape: Element) -> _Place | None:
    holder = child(shape, "xfrm") if local_name(shape) == "graphicframe" else None
    for kid in shape:
        if holder is None and local_name(kid) in ("sppr", "grpsppr"):
            holder = child(kid, "xfrm")
    offset = child(holder, "off")
    if offset is None:
        return None
    try:
        return int(offset.get("y") or 0), int(offset.get("x") or 0)
    except ValueError:
        return None


def _sorted(tree: Element | None, slide: _Slide) -> list[Element]:
    """The shapes from the top to the bottom, and from the left to the right, as they are read."""
    shapes = children(tree, "sp", "pic", "graphicframe", "grpsp", "cxnsp", "alternatecontent")

    def place(shape: Element) -> _Place:
        key = _placeholder(shape)
        return _own_place(shape) or (slide.places.get(key) if key[1] else None) or (_FAR, _FAR)

    return sorted(shapes, key=place)


def _shape(shape: Element, slide: _Slide, depth: int) -> Iterator[str]:
    name = local_name(shape)
    if name == "alternatecontent":
        # The newer form first; what can't be read of it stands in the older one.
        forms = (
            [text for kid in choice for text in _shape(kid, slide, depth)]
            for choice in children(shape, "choice", "fallback")
        )
        yield from next(filter(None, forms), [])
    elif name == "grpsp" and depth < _MAX_DEPTH:
        for kid in _sorted(shape, slide):
            yield from _shape(kid, slide, depth + 1)
    elif name == "graphicframe":
        yield from _graphic(child(shape, "graphic", "graphicdata"), slide)
    elif name in ("sp", "cxnsp"):
        kind = _placeholder(shape)
        if kind[0] not in _FURNITURE:
            body = next(iter(children(shape, "txbody")), None)
            yield _text(body, slide, bulleted=bool(kind[1]) and kind[0] in _BULLETED)
    elif name == "pic":
        about = child(shape, "nvpicpr", "cnvpr")
        yield _picture(about.get("descr") if about is not None else None)


def _picture(words: str | None) -> str:
    return f'<p><img alt="{escape(words.strip())}"></p>' if words and words.strip() else ""


def _text(body: Element | None, slide: _Slide, *, bulleted: bool) -> str:
    """Paragraphs and lists; an inner level is a list in the item before it."""
    out: list[str] = []
    depth = 0
    for paragraph in children(body, "p"):
        text = _runs(paragraph, slide)
        if not text.strip():
            continue
        level = _level(paragraph, bulleted)
        while depth > max(level, 0):
            out.append("</ul>")
            depth -= 1
        if not level:
            out.append(f"<p>{text}</p>")
            continue
        while depth < level:
            out.append("<ul>")
            depth += 1
        out.append(f"<li>{text}</li>")
    return "".join(out) + "</ul>" * depth


def _level(paragraph: Element, bulleted: bool) -> int:
    """0 for a paragraph, else how deep its item stands in lists."""
    about = child(paragraph, "ppr")
    marks = {local_name(kid) for kid in about} if about is not None else set()
    level = about.get("lvl") or "0" if about is not None else "0"
    number = min(int(level), _MAX_DEPTH) if level.isdecimal() else 0
    if "bunone" in marks or not (bulleted or number or marks & {"buchar", "buautonum", "bublip"}):
        return 0
    return number + 1


def _runs(paragraph: Element, slide: _Slide) -> str:
    out = []
    for run in paragraph:
        name = local_name(run)
        if name == "br":
            out.append("<br>")
        elif name in ("r", "fld"):
            out.append(_run(run, slide))
        elif name == "alternatecontent" or name == "m":
            out.append(escape(" ".join("".join(run.itertext()).split())))
    return "".join(out)


def _run(run: Element, slide: _Slide) -> str:
    text = escape("".join(kid.text or "" for kid in children(run, "t")))
    about = child(run, "rpr")
    if about is None or not text.strip():
        return text
    link = child(about, "hlinkclick")
    target = slide.relations.get(related(link)) if link is not None else None
    if target is not None and target.outside:
        return f'<a href="{escape(target.target)}">{text}</a>'
    for flag, tag in (("b", "strong"), ("i", "em")):
        if about.get(flag) in ("1", "true"):
            text = f"<{tag}>{text}</{tag}>"
    return text


def _graphic(data: Element | None, slide: _Slide) -> Iterator[str]:
    """A table, a chart, or the words of a drawn diagram."""
    for kid in data if data is not None else ():
        name = local_name(kid)
        if name == "tbl":
            yield _table(kid, slide)
        elif name == "chart":
            part = slide.relations.get(related(kid))
            yield _chart(slide.package.part(part.target)) if part is not None else ""
        elif name == "relids":
            part = slide.relations.get(related(kid, "dm"))
            root = slide.package.part(part.target) if part is not None else None
            points = [_words(point) for point in children(child(root, "ptlst"), "pt")]
            yield "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in points if text) + "</ul>"


def _table(table: Element, slide: _Slide) -> str:
    rows = []
    for row in children(table, "tr"):
        cells = []
        for cell in children(row, "tc"):
            if cell.get("hMerge") in ("1", "true") or cell.get("vMerge") in ("1", "true"):
                continue
            spans = f' colspan="{escape(cell.get("gridSpan") or "1")}" rowspan="{escape(cell.get("rowSpan") or "1")}"'
            paragraphs = [_runs(paragraph, slide) for paragraph in children(child(cell, "txbody"), "p")]
            cells.append(f"<th{spans}>{'<br>'.join(paragraphs)}</th>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(rows)}</table>"


def _chart(root: Element | None) -> str:
    """The values of a chart as a table: a row a category, a column a series."""
    if root is None:
        return ""
    series = [node for node in root.iter() if local_name(node) == "ser"]
    title = next((node for node in root.iter() if local_name(node) == "title"), None)
    names = [_words(child(one, "tx")) for one in series]
    columns = [_points(child(one, "val")) or _points(child(one, "yval")) for one in series]
    labels = next((found for one in series if (found := _points(child(one, "cat")) or _points(child(one, "xval")))), {})
    keys = sorted(set(labels).union(*columns))[:_MAX_POINTS]
    head = "".join(f"<th>{escape(name)}</th>" for name in ["", *names])
    rows = ""
    for key in keys:
        values = "".join(f"<td>{escape(column.get(key, ''))}</td>" for column in columns)
        rows += f"<tr><td>{escape(labels.get(key, ''))}</td>{values}</tr>"
    caption = f"<caption>{escape(_words(title))}</caption>" if title is not None and _words(title) else ""
    return f"<table>{caption}<tr>{head}</tr>{rows}</table>" if keys else ""


def _points(holder: Element | None) -> dict[int, str]:
    found = {}
    for point in holder.iter() if holder is not None else ():
        if local_name(point) == "pt" and (index := attribute(point, "idx")).isdecimal():
            found[int(index)] = "".join(point.itertext()).strip()
    return found


def _notes(package: Package, relations: dict[str, Relation]) -> str:
    name = next((one.target for one in relations.values() if one.kind == "notesSlide"), None)
    root = package.part(name) if name else None
    shapes = children(child(root, "csld", "sptree"), "sp")
    texts = [_words(shape) for shape in shapes if _placeholder(shape)[0] not in _FURNITURE]
    return " ".join(text for text in texts if text)


def _words(node: Element | None) -> str:
    """The text of all runs below, on one line; paragraphs and breaks part words."""
    if node is None:
        return ""
    parts = []
    for one in node.iter():
        name = local_name(one)
        if name in ("t", "v"):
            parts.append(one.text or "")
        elif name in ("p", "br"):
            parts.append(" ")
    return " ".join("".join(parts).split())
