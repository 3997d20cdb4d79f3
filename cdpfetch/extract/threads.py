"""Posts of a forum, comments and chats: who said it and when stay with what was said.

No site is known by name: a thread is a run of elements that look alike, most of which name an author and a time.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import NamedTuple

from cdpfetch.extract.dom import Node
from cdpfetch.extract.segment import Block

_AUTHOR_CLASS = re.compile(
    r"author|user-?(?:name|link|info|details)?(?:$|[\s_-])|poster|byline|nick(?:name)?(?:$|[\s_-])|screen-?name"
    r"|commenter|sender|display-?name|hnuser"
)
_AUTHOR_PATH = re.compile(
    r"/(?:users?|members?|profiles?|people|u|author|@[\w.-]+)(?:[/.?-]|$)|[?&](?:user(?:id|name)?|u|uid|member(?:id)?)="
    r"|user[_-]?(?:id|profile)|memberlist|member\.php|userinfo",
    re.IGNORECASE,
)
_TIME_CLASS = re.compile(
    r"(?:^|[\s_-])(?:date|time|datetime|timestamp|age|ago|posted(?:-on)?|post-?date|published)(?:$|[\s_-])"
)
_TIME_TEXT = re.compile(
    r"\b\d{1,2}:\d\d\b|\b\d{4}[-/.年]\d{1,2}|\b\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}\b|\bago\b|\b(?:yesterday|today)\b"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+\d|\d\.?\s+(?:jan|feb|mar|apr|may|jun|jul|aug"
    r"|sep|oct|nov|dec)|\d\s*(?:分|小时|天|日|時間)前|\bil y a\b|\bvor \d|\bhace \d",
    re.IGNORECASE,
)
# When somebody joined is not when the post was written.
_JOINED = re.compile(r"join|regist|member since|last (?:seen|active|post|reply)|beigetreten|注册|加入", re.IGNORECASE)
_SMALL = 14
_SHORTEST = 2
# Running text of fewer words, or links, is no post's body.
_BODY = 6
# Elements up from a block that may name what it is.
_UP = 3
_MAX_CLIMB = 14
# How many of a run must name an author and a time.
_SHARE = 0.6


class _Thread:
    """A run of posts: the children of one element that look alike."""

    def __init__(self) -> None:
        self.posts: dict[Node, _Post] = defaultdict(_Post)


class _Post:
    """One post: its first blocks that name the author and the time, and how much of its text was kept."""

    def __init__(self) -> None:
        self.author = self.time = -1
        self.kept = 0


class _Sight(NamedTuple):
    """What a small block seems to say."""

    at: int
    author: bool
    time: bool


def keep_bylines(found: list[Block], kept: list[bool]) -> None:
    """Keep the author and the time of every post whose text is kept."""
    seen = [sight for index, block in enumerate(found) if (sight := _look(index, block))]
    if sum(sight.author for sight in seen) < 2 or sum(sight.time for sight in seen) < 2:
        return
    words = _kept_words(found, kept)
    # For each element and look, how many of its children look so and have text that was kept.
    twins: dict[tuple[Node, str], int] = defaultdict(int)
    for node in words:
        if node.parent is not None:
            twins[node.parent, _look_of(node)] += 1
    threads: dict[tuple[Node, str], _Thread] = defaultdict(_Thread)
    for sight in seen:
        post = _post_of(found[sight.at].node, twins)
        if post is None or post.parent is None:
            continue
        entry = threads[post.parent, _look_of(post)].posts[post]
        entry.kept = words[post]
        if sight.author and entry.author < 0:
            entry.author = sight.at
        if sight.time and entry.time < 0:
            entry.time = sight.at
    whole = {key: thread for key, thread in threads.items() if _is_thread(thread)}
    if whole:
        _add_short(whole, seen, found, kept)
    for thread in whole.values():
        _keep(thread, kept)


def _kept_words(found: list[Block], kept: list[bool]) -> dict[Node, int]:
    """For each element the words of the kept blocks below it; bylines do not count."""
    words: dict[Node, int] = defaultdict(int)
    for block, keep in zip(found, kept, strict=True):
        if keep and block.words >= _BODY and block.link_chars * 2 < len(block.text):
            node: Node | None = block.node
            while node is not None:
                words[node] += block.words
                node = node.parent
    return words


def _is_thread(thread: _Thread) -> bool:
    """Whether most posts of a run name an author and a time."""
    posts = [post for post in thread.posts.values() if post.kept]
    full = [post for post in posts if post.author >= 0 and post.time >= 0]
    return len(full) >= 2 and len(full) >= len(posts) * _SHARE


def _add_short(
    threads: dict[tuple[Node, str], _Thread], seen: list[_Sight], found: list[Block], kept: list[bool]
) -> None:
    """Add the posts of a few words to threads: they look like the others, and name an author and a time."""
    posts: dict[Node, _Post] = {}
    for sight in seen:
        node = _twin(found[sight.at].node, threads)
        if node is None or threads[node.parent, _look_of(node)].posts[node].kept:  # type: ignore[index]
            continue
        post = posts.setdefault(node, _Post())
        post.author = sight.at if sight.author and post.author < 0 else post.author
        post.time = sight.at if sight.time and post.time < 0 else post.time
    bodies: dict[Node, int] = {}
    bylines = {sight.at for sight in seen}
    for index, block in enumerate(found):
        node = _twin(block.node, threads) if index not in bylines and block.link_chars * 2 < len(block.text) else None
        if node in posts and (node not in bodies or len(found[bodies[node]].text) < len(block.text)):
            bodies[node] = index
    for node, body in bodies.items():
        post = posts[node]
        if post.author >= 0 and post.time >= 0 and node.parent is not None:
            kept[body] = True
            post.kept = 1
            threads[node.parent, _look_of(node)].posts[node] = post


def _twin(node: Node, threads: dict[tuple[Node, str], _Thread]) -> Node | None:
    """The post of a thread, by its look, in which an element stands."""
    above: Node | None = node
    for _ in range(_MAX_CLIMB):
        if above is None or above.parent is None:
            return None
        if (above.parent, _look_of(above)) in threads:
            return above
        above = above.parent
    return None


def _keep(thread: _Thread, kept: list[bool]) -> None:
    for post in thread.posts.values():
        for index in (post.author, post.time):
            if post.kept and index >= 0:
                kept[index] = True


def _look(index: int, block: Block) -> _Sight | None:
    if not 0 < block.words <= _SMALL or len(block.text) < _SHORTEST or block.first < 0 or _JOINED.search(block.text):
        return None
    if block.node.tag == "dd" and _JOINED.search(_term(block.node)):
        return None
    near = _named_nodes(block)
    time = _TIME_TEXT.search(block.text) is not None or any(
        node.tag == "time" or _TIME_CLASS.search(node.classes) for node in near
    )
    # A time in a box about the author names none: only a link to one does.
    author = any(_links_author(node) or (not time and _names_author(node)) for node in near)
    return _Sight(index, author, time) if author or time else None


def _term(definition: Node) -> str:
    """The term that a definition stands after."""
    kids = [kid for kid in definition.parent.kids if isinstance(kid, Node)] if definition.parent is not None else []
    at = next((index for index, kid in enumerate(kids) if kid is definition), 0)
    return kids[at - 1].line() if at else ""


def _named_nodes(block: Block) -> list[Node]:
    """The elements in a block and a few around it, as far as their attributes may say what it is."""
    items = block.node.kids[block.first : block.last]
    near = [node for item in items if isinstance(item, Node) for node in item.walk()]
    above: Node | None = block.node
    for _ in range(_UP):
        if above is None or above.tag in ("body", "article", "main"):
            break
        near.append(above)
        above = above.parent
    return [node for node in near if node.attrs or node.tag == "time"]


def _links_author(node: Node) -> bool:
    if node.tag == "a" and (node.get("rel") == "author" or _AUTHOR_PATH.search(node.get("href"))):
        return True
    return node.get("itemprop") in ("author", "creator")


def _names_author(node: Node) -> bool:
    return _AUTHOR_CLASS.search(node.get("class").lower()) is not None


def _post_of(node: Node, twins: dict[tuple[Node, str], int]) -> Node | None:
    """The smallest element around a byline that has text that was kept, as has a sibling that looks like it."""
    above: Node | None = node
    for _ in range(_MAX_CLIMB):
        if above is None or above.parent is None:
            return None
        if twins.get((above.parent, _look_of(above)), 0) > 1:
            return above
        above = above.parent
    return None


def _look_of(node: Node) -> str:
    """Tag and first class name: what posts of a thread have in common."""
    return f"{node.tag}.{node.get('class').partition(' ')[0]}"
