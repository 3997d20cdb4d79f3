"""What an HTML document shows before any script has run: the observations of the browser's agent, from the text alone.

For pages that are fetched without a browser.  Nothing is laid out: hidden is what says so by its attributes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from cdpfetch.extract import charset as charsets
from cdpfetch.extract import dom

_BODY = {"name": "page.html", "role": "page", "content_type": "text/html"}
# Below, a page with scripts is taken for one that they fill (visible characters).
_SHELL_TEXT = 250
# Below, what says that scripts are needed, or an application's empty root, counts.
_NEEDY_TEXT = 1500
# So many places are looked at for one that scripts fill.
_ROOTS = 5
# A page that leads on within so many seconds is on its way to another.
_REFRESH = 10.0

_SILENT = frozenset("script style noscript template head title iframe object svg canvas video audio select".split())
_INLINE = frozenset(
    "a abbr b bdi bdo cite code data em font i kbd label mark q s samp small span strong sub sup u".split()
)
_EXECUTABLE = re.compile(r"^$|^module$|(java|ecma)script", re.IGNORECASE)
_HIDDEN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_USER_FIELD = re.compile("user|login", re.IGNORECASE)
_ROOT = re.compile(
    r"^(?:root|app|app-root|__next|__nuxt|___gatsby|main-app|mount|react-root|ember-app|svelte)$", re.IGNORECASE
)
_NEEDS_SCRIPTS = re.compile(
    r"(?:enable|activate|turn on|requires?|needs?|without|switch on)\W+(?:\w+\W+){0,3}java\s?script"
    r"|java\s?script\W+(?:\w+\W+){0,4}(?:enabled|disabled|required|needed|turned off|aktivieren|activ[ée]|habilit)",
    re.IGNORECASE,
)
# Marks of bot walls by attribute; the same as those of the agent (cdp/agent/signals.js).
_ID_MARKS = {
    **dict.fromkeys(("challenge-form", "challenge-running", "cf-challenge-running", "cf-please-wait"), "cloudflare"),
    "challenge-error-text": "cloudflare",
    "px-captcha": "perimeterx",
    "sec-if-cpt-container": "akamai",
    "sec-cpt-if": "akamai",
    "challenge-container": "awswaf",
    "anubis_challenge": "anubis",
}
_CLASS_MARKS = {
    "cf-browser-verification": "cloudflare",
    "cf-turnstile": "turnstile",
    "h-captcha": "hcaptcha",
    "g-recaptcha": "recaptcha",
}
_ADDRESS_MARKS = (
    ("script", re.compile("/cdn-cgi/challenge-platform/.*orchestrate"), "cloudflare"),
    ("script", re.compile(r"captcha-delivery\.com"), "datadome"),
    ("script", re.compile(r"px.*/captcha/captcha\.js|/captcha/captcha\.js.*px"), "perimeterx"),
    ("script", re.compile("/_sec/cp_challenge/"), "akamai"),
    ("script", re.compile("/149e9513-01fa-4fb0-aad4-566afd725d1b/"), "kasada"),
    ("script", re.compile(r"awswaf\.com.*challenge|challenge.*awswaf\.com"), "awswaf"),
    ("script", re.compile("ddos-guard"), "ddosguard"),
    ("script", re.compile(r"/\.within\.website/x/cmd/anubis/"), "anubis"),
    ("iframe", re.compile(r"challenges\.cloudflare\.com"), "turnstile"),
    ("iframe", re.compile(r"captcha-delivery\.com"), "datadome"),
    ("iframe", re.compile("_Incapsula_Resource"), "imperva"),
    ("iframe", re.compile(r"hcaptcha\.com"), "hcaptcha"),
    ("iframe", re.compile("/recaptcha/"), "recaptcha"),
)


def observe(path: str, charset: str | None, out_dir: str) -> dict[str, Any]:
    """The document in the file ``path``, written as UTF-8 to the new file page.html in ``out_dir``, and what can be
    seen of it.

    ``charset`` is the header's label.  Returns ``content`` (that file, as a body), ``charset`` (the codec), ``notes``
    (warnings about it), ``title``, ``lang``, ``visible`` (characters without white space), ``signals`` (the fields of
    cdp's Signals) and ``shell``: why a browser would show more, or None.  Raises OSError.
    """
    with open(path, "rb") as file:
        data = file.read()
    decoded = charsets.decode(data, charset, hint=charsets.html_hint(data))
    del data
    with open(os.path.join(out_dir, _BODY["name"]), "x", encoding="utf-8", errors="replace", newline="") as out:
        out.write(decoded.text)
    notes = []
    if decoded.damaged:
        message = f"{decoded.damaged} characters could not be read as {decoded.encoding}"
        notes.append({"code": "charset_damaged", "message": message})
    return {"content": _BODY, "charset": decoded.encoding, "notes": notes, **look(decoded.text)}


def look(html: str) -> dict[str, Any]:
    """``title``, ``lang``, ``visible``, ``signals`` and ``shell`` of a document (see ``observe``)."""
    root = dom.parse(html)
    if root is None:
        return {"title": "", "lang": "", "visible": 0, "signals": {}, "shell": None}
    body = next(root.iter("body"), root)
    text = "".join(_texts(body))
    words = " ".join(text.split())
    elements = [element for element in root.iter() if isinstance(element.tag, str)]
    scripted = any(e.tag == "script" and _EXECUTABLE.search(e.get("type") or "") for e in elements)
    visible = sum(map(len, text.split()))
    return {
        "title": _line(next(root.iter("title"), None))[:1000],
        "lang": str(root.get("lang") or "")[:100],
        "visible": visible,
        "signals": {**_signals(elements, words), "scripted": scripted},
        "shell": _shell(elements, words, visible, scripted),
    }


def _texts(top: dom.Element) -> Iterator[str]:
    """The visible text below an element, with a blank where a block begins or ends; without recursion."""
    stack: list[tuple[dom.Element, bool]] = [(top, False)]
    while stack:
        element, done = stack.pop()
        shown = isinstance(element.tag, str) and not _is_silent(element)
        if not done:
            stack.append((element, True))
            if shown:
                yield "" if element.tag in _INLINE else " "
                yield element.text or ""
                stack.extend((child, False) for child in reversed(element))
            continue
        if shown and element.tag not in _INLINE:
            yield " "
        if element is not top:
            yield element.tail or ""


def _is_silent(element: dom.Element) -> bool:
    return element.tag in _SILENT or _is_hidden(element)


def _is_hidden(element: dom.Element) -> bool:
    if element.get("hidden") is not None and element.get("hidden").lower() != "until-found":
        return True
    return bool(_HIDDEN.search(element.get("style") or ""))


def _line(element: dom.Element | None) -> str:
    return "" if element is None else " ".join("".join(_texts_of(element)).split())


def _texts_of(element: dom.Element) -> Iterator[str]:
    """The visible text of an element, which may be a silent one itself (a title)."""
    yield element.text or ""
    for child in element:
        yield from _texts(child)
        yield child.tail or ""


def _signals(elements: list[dom.Element], words: str) -> dict[str, Any]:
    passwords = [e for e in elements if e.tag == "input" and _kind(e) == "password" and not _is_hidden(e)]
    names = [e for e in elements if e.tag == "input" and _is_name(e) and not _is_hidden(e)]
    field = (passwords or names or [None])[0]
    heading = next((e for e in elements if e.tag in ("h1", "h2") or e.get("role") == "heading"), None)
    return {
        "passwords": len(passwords),
        "names": len(names),
        "form_text": len(_line(_box(field))),
        "text": len(words),
        "head": words[:600],
        "heading": _line(heading)[:200],
        "walls": sorted(set(_walls(elements))),
    }


def _kind(field: dom.Element) -> str:
    return str(field.get("type") or "").strip().lower()


def _is_name(field: dom.Element) -> bool:
    """A field for a user name or an e-mail address."""
    kind = _kind(field)
    if kind == "email":
        return True
    if kind not in ("", "text", "tel"):
        return False
    name = field.get("name") or ""
    return (
        name == "identifier"
        or bool(_USER_FIELD.search(name))
        or "username" in (field.get("autocomplete") or "").split()
    )


def _box(field: dom.Element | None) -> dom.Element | None:
    """The form around a field, or the nearest block of some size where pages use no form."""
    if field is None:
        return None
    form = next(field.iterancestors("form"), None)
    if form is not None:
        return form
    box = field
    for box in field.iterancestors():
        if box.tag in ("body", "html") or len(_line(box)) >= 80:
            break
    return box


def _walls(elements: list[dom.Element]) -> Iterator[str]:
    for element in elements:
        identity = element.get("id")
        if identity in _ID_MARKS:
            yield _ID_MARKS[identity]
        elif identity == "captcha-form" and element.tag == "form" and "index" in (element.get("action") or ""):
            yield "google"
        for name in (element.get("class") or "").split():
            if name in _CLASS_MARKS:
                yield _CLASS_MARKS[name]
        address = element.get("src")
        if address and element.tag in ("script", "iframe"):
            for tag, pattern, vendor in _ADDRESS_MARKS:
                if tag == element.tag and pattern.search(address[:2000]):
                    yield vendor


def _shell(elements: list[dom.Element], words: str, visible: int, scripted: bool) -> str | None:
    """Why a browser would show more than this document does by itself, or None."""
    for element in elements:
        if element.tag == "frameset":
            return "the page is made of frames"
        if element.tag == "meta" and _leads_on(element):
            return "the page leads on to another address"
    if not scripted or visible >= _NEEDY_TEXT:
        return None
    if visible < _SHELL_TEXT:
        return f"the page has scripts and shows only {visible} characters without them"
    needed = next((e for e in elements if e.tag == "noscript" and _NEEDS_SCRIPTS.search(_line(e)[:2000])), None)
    if needed is not None or _NEEDS_SCRIPTS.search(words[:600]):
        return "the page says that it needs scripts"
    roots = islice((e for e in elements if _ROOT.match(e.get("id") or "")), _ROOTS)
    return None if all(map(_line, roots)) else "the page has an empty place that its scripts fill"


def _leads_on(meta: dom.Element) -> bool:
    if (meta.get("http-equiv") or "").strip().lower() != "refresh":
        return False
    delay, _, target = (meta.get("content") or "").replace(",", ";", 1).partition(";")
    try:
        return bool(target.strip()) and float(delay.strip() or 0) <= _REFRESH
    except ValueError:
        return False
