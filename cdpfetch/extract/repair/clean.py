"""What no visitor sees leaves the tree; what only scripts would have shown comes in."""

from __future__ import annotations

import re

from cdpfetch.extract.dom import Node

_HIDDEN_STYLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_SCREEN_READER = re.compile(
    r"(?:^|\s)(?:sr-only|visually-?hidden|screen-reader-(?:text|only)|screenreader|a11y-hidden|u-hidden-visually|is-vishidden"
    r"|offscreen|element-invisible|show-for-sr|assistive-text|visuallyhidden)(?:\s|$)"
)
_PERMALINK = re.compile(
    r"(?:^|[\s_-])(?:headerlink|header-anchor|anchor(?:-?link|js-link)?|permalink|hash-?link|heading-anchor|mw-editsection"
    r"|section-link|direct-link|octicon-link|sl-anchor-link)(?:$|[\s_-])"
)
_PERMALINK_TEXT = re.compile(
    r"[\s#¶§◆🔗\u200b\ufe0f∞☍⚓]*(?:(?:permalink|link|anchor|edit|copy link)\b.{0,60})?\Z", re.IGNORECASE | re.DOTALL
)
# Links that change a section or lead to its place, where they stand beside the heading and not in it.
_EDIT = re.compile(r"(?:^|\s)mw-editsection(?:\s|$)")
_PANEL = re.compile(
    r"(?:accordion|collaps|tab-?pane|tab-?content|panel|faq|answer|toggle-?content|expand|read-?more|disclosure)"
)
_OVERLAY = re.compile(
    r"(?:modal|popup|pop-up|overlay|dialog|drawer|off-?canvas|menu|(?:^|[\s_-])nav|dropdown|tooltip|popover|cookie|consent|search|login|cart)"
)
_CONSENT_VENDOR = re.compile(
    r"onetrust-(?:consent-sdk|banner|pc)|cybotcookiebot|didomi-(?:host|popup)|qc-cmp2|truste_|trustarc|usercentrics"
    r"|sp_message_container|cmpbox|cookie-?law-info|osano-cm|klaro|iubenda-cs|termly|borlabs-cookie|cc-window|cky-consent"
    r"|fc-consent-root|cookie-?(?:banner|consent|notice|bar|popup|modal|policy-banner)|consent-?(?:banner|modal|popup)|gdpr-"
)
_CONSENT = re.compile(r"cookie|consent|gdpr|privacy")
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
# Set at capture on what the browser does not render.
HIDDEN_MARK = "data-cdpfetch-hidden"
_STREAMED = re.compile(r"S:[0-9a-f]+\Z")
# Characters that make a page by themselves.
_SOME_TEXT = 100
# A hidden element that holds more of the page's text than this is what the page is about: a script shows it later,
# or an open dialog hides all that is behind it.
_TOO_MUCH = 0.4
# Quotes within quotes beyond this depth are dissolved: no reader counts further.
_MAX_QUOTES = 8
_TEXT = re.compile(r"\S+")


def clean(body: Node, nodes: list[Node]) -> None:
    """Take out what is hidden, permalink signs, and the noscript texts that say less than the page.

    ``nodes`` are the nodes below ``body``.
    """
    _resolve_noscript(body, [node for node in nodes if node.tag == "noscript" and node.parent is not None])
    total = max(1, _size(body))
    controlled = {target for node in nodes if node.attrs for target in _controls(node)}
    titles = [node for node in nodes if node.tag == "h1"]
    body.filter(lambda node: not (node.attrs and _EDIT.search(node.get("class"))))
    body.filter(lambda node: not (node.attrs and _is_unwanted(node, controlled) and _may_go(node, total, titles)))
    for node in nodes:
        if node.tag in _HEADINGS:
            _without_permalinks(node)
        elif node.tag == "blockquote" and sum(above.tag == "blockquote" for above in node.ancestors()) >= _MAX_QUOTES:
            node.replace(*node.kids)


def _may_go(node: Node, total: int, titles: list[Node]) -> bool:
    """Whether the page is still a page without an unwanted node."""
    size = _size(node)
    if size < total * _TOO_MUCH:
        return True
    if HIDDEN_MARK in node.attrs or _is_consent(node):
        # The browser saw that it is not shown, or it is a banner before the page: any rest will do that has a title.
        return total - size >= _SOME_TEXT and not (titles and all(_is_below(title, node) for title in titles))
    return False


def _is_below(node: Node, holder: Node) -> bool:
    return any(above is holder for above in node.ancestors())


def _is_unwanted(node: Node, controlled: set[str]) -> bool:
    return _is_hidden(node, controlled) or _is_consent(node)


def _is_consent(node: Node) -> bool:
    """Whether a node is the banner of a consent manager, or looks like one."""
    if node.tag in ("body", "main", "article"):
        return False
    classes = node.classes
    if _CONSENT_VENDOR.search(classes):
        return True
    return node.get("role") in ("dialog", "alertdialog") and _CONSENT.search(classes) is not None


def _size(node: Node) -> int:
    return sum(len(text) - text.count(" ") for text in node.strings() if not text.isspace())


def _controls(node: Node) -> list[str]:
    """The ids of the panels that an element opens: a tab, the head of an accordion."""
    attrs = node.attrs
    if "aria-haspopup" in attrs or node.tag == "nav":
        return []
    names = attrs.get("aria-controls", "").split()
    if target := attrs.get("data-target") or attrs.get("data-bs-target"):
        names.append(target.lstrip("#"))
    if attrs.get("role") == "tab" and attrs.get("href", "").startswith("#"):
        names.append(attrs["href"][1:])
    return names


def _is_panel(node: Node, controlled: set[str]) -> bool:
    """Whether a hidden element is folded content that the visitor may open, rather than something that never shows."""
    attrs = node.attrs
    if (
        attrs.get("role") in ("dialog", "alertdialog", "menu")
        or node.tag in ("nav", "dialog")
        or _OVERLAY.search(node.classes)
    ):
        return False
    if attrs.get("role") == "tabpanel" or attrs.get("id") in controlled:
        return True
    return _PANEL.search(node.classes) is not None


def _is_hidden(node: Node, controlled: set[str]) -> bool:
    attrs = node.attrs
    if not _says_hidden(node):
        return False
    # Screen reader helps are small; panels are what remains folded until somebody clicks.
    return not (len(attrs) > 0 and _is_panel(node, controlled) and (_size(node) > 30 or _is_labelled(node)))


def _is_labelled(node: Node) -> bool:
    """Whether a panel begins with the label of its tab."""
    first = node.kids[0] if node.kids else None
    return isinstance(first, Node) and first.get("class") == "tab-label"


def _says_hidden(node: Node) -> bool:
    attrs = node.attrs
    if _STREAMED.match(attrs.get("id", "")):
        # React sends late parts in hidden boxes, and a script moves them: without it they are all there is.
        return False
    if HIDDEN_MARK in attrs:
        return True
    if "hidden" in attrs and attrs["hidden"].lower() != "until-found" and node.tag != "body":
        return True
    if (style := attrs.get("style")) and _HIDDEN_STYLE.search(style):
        return True
    if attrs.get("aria-hidden") == "true":
        return not _has_labelled_image(node)
    if (classes := attrs.get("class")) and _SCREEN_READER.search(classes.lower()):
        # Short helps for a screen reader; a whole section under such a class is content.
        return node.tag not in _HEADINGS and len(_TEXT.findall(node.text())) <= 12 and not _is_all_of_cell(node)
    return False


def _is_all_of_cell(node: Node) -> bool:
    """Whether a table cell says nothing but this: the words for an icon."""
    cell = next((above for above in node.ancestors() if above.tag in ("td", "th")), None)
    return cell is not None and len("".join(cell.text().split())) == len("".join(node.text().split()))


def _has_labelled_image(node: Node) -> bool:
    return any(kid.tag == "tex" or (kid.tag == "img" and kid.get("alt").strip()) for kid in node.walk())


def _resolve_noscript(body: Node, found: list[Node]) -> None:
    """Unwrap noscript elements when they hold the page (forums do that), drop them otherwise."""
    if not found:
        return
    inside = sum(_size(node) for node in found)
    if inside > 200 and inside > _size(body) - inside:
        for node in found:
            node.tag = "div"
        return
    for node in found:
        image = next((kid for kid in node.walk() if kid.tag == "img" and kid.get("src")), None)
        if image is not None and node.parent is not None:
            _fill_lazy(node.parent, node, image)
    body.filter(lambda node: node.tag != "noscript")


def _fill_lazy(parent: Node, noscript: Node, image: Node) -> None:
    """A lazy image has its real address in the noscript element beside it."""
    index = next(i for i, kid in enumerate(parent.kids) if kid is noscript)
    near = [kid for kid in parent.kids[max(0, index - 2) : index + 3] if isinstance(kid, Node)]
    lazy = next((kid for kid in near if kid.tag == "img"), None)
    if lazy is None:
        noscript.replace(Node("img", image.attrs))
    elif not lazy.get("src") or lazy.get("src").startswith("data:"):
        lazy.attrs = {**image.attrs, "alt": lazy.get("alt") or image.get("alt")}


def _without_permalinks(heading: Node) -> None:
    for node in heading.find_all("a", "span", "button", "div"):
        text = node.text()
        marked = node.tag == "button" or _PERMALINK.search(node.classes) or node.get("href").startswith("#")
        if marked and _PERMALINK_TEXT.match(text) and not node.find_all("img"):
            node.remove()
