"""XML parsing that fetches nothing and expands nothing."""

from __future__ import annotations

import re

import lxml.etree

from cdpfetch.extract.dom import Element

_DECLARATION = re.compile(r"^\s*<\?xml[^>]{0,500}\?>")


def parse(text: str) -> Element | None:
    """The root of an XML text, or None when it is none.

    No entity is resolved but the five of XML itself, no DTD is loaded, nothing is fetched; what a broken document
    holds up to its fault, and after it where possible, is kept.
    """
    parser = lxml.etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, recover=True, huge_tree=False
    )
    try:
        return lxml.etree.fromstring(
            _DECLARATION.sub("", text.lstrip("\ufeff"), count=1).encode("utf-8", "replace"), parser
        )
    except (lxml.etree.XMLSyntaxError, ValueError):
        return None


def local_name(element: Element) -> str:
    """The tag without its namespace, in lower case; empty for comments and the like."""
    tag = element.tag
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""
