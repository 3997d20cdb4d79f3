"""Films, sounds and embedded players: each becomes a link, which the tree holds like an image."""

from __future__ import annotations

import re

from cdpfetch.extract.dom import FRAME_MARK, Node

# The attribute of an image that is a link to something to be played.
MARK = "data-cdpfetch-media"
_YOUTUBE = re.compile(r"^(?:https?:)?//(?:www\.)?youtube(?:-nocookie)?\.com/embed/([\w-]{6,20})", re.IGNORECASE)
_VIMEO = re.compile(r"^(?:https?:)?//player\.vimeo\.com/video/(\d+)", re.IGNORECASE)
_TWEET = re.compile(r"^(?:https?:)?//platform\.twitter\.com/embed/Tweet\.html\?(?:.*&)?id=(\d+)", re.IGNORECASE)
# Players whose own address shows the same outside of the page.
_PLAYER = re.compile(
    r"^(?:https?:)?//(?:[\w-]+\.)*(?:dailymotion\.com/embed|open\.spotify\.com/embed|w\.soundcloud\.com/player"
    r"|codepen\.io/[^/]+/embed|codesandbox\.io/embed|jsfiddle\.net/.*/embedded|player\.bilibili\.com|fast\.wistia\.net/embed"
    r"|(?:x|twitter)\.com/\w+/status/\d+|players\.brightcove\.net|embed\.podcasts\.apple\.com|asciinema\.org/a/)",
    re.IGNORECASE,
)
_MAX_TITLE = 200
_LABELS = {"video": "Video", "audio": "Audio"}


def repair(nodes: list[Node]) -> None:
    """Put a link in the place of every player among ``nodes``."""
    for node in nodes:
        tag = node.tag
        if tag in _LABELS:
            _play(node, _source(node), _LABELS[tag])
        elif tag == "iframe" or (tag == "div" and FRAME_MARK in node.attrs):
            address = player(node.get("src") or node.get("data-src") or node.get(FRAME_MARK))
            if address:
                _play(node, address, "Embedded")
            elif tag == "iframe":
                node.kids = []


def _play(node: Node, address: str, label: str) -> None:
    title = " ".join((node.get("title") or node.get("aria-label")).split())[:_MAX_TITLE]
    node.kids = []
    # What plays by itself without a sound is decoration.
    if not address or ("autoplay" in node.attrs and ("muted" in node.attrs or "loop" in node.attrs)):
        node.remove()
        return
    node.tag = "img"
    node.attrs = {"src": address, "alt": f"{label}: {title}" if title else label, MARK: ""}


def _source(node: Node) -> str:
    sources = [node.get("src"), *(kid.get("src") for kid in node.find_all("source"))]
    return next((source for source in sources if source and not source.startswith(("blob:", "data:"))), "")


def player(address: str) -> str:
    """The address at which a known player shows outside of a page what it shows in it; empty for any other frame."""
    address = address.strip()
    if found := _YOUTUBE.match(address):
        return f"https://www.youtube.com/watch?v={found.group(1)}"
    if found := _VIMEO.match(address):
        return f"https://vimeo.com/{found.group(1)}"
    if found := _TWEET.match(address):
        return f"https://x.com/i/status/{found.group(1)}"
    return address if _PLAYER.match(address) else ""
