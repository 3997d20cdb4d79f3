"""What a GitHub URL names, read from the URL alone.

Pure, and light: the command asks on its way to every fetch.  What is no shape of these (a wiki, a profile, a page of
settings) is None, and left to the browser.
"""

from __future__ import annotations

from cdpfetch.fetchers.github.hosts import authority_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from cdpfetch.fetchers.github.hosts import Hosts

# Shapes whose document is (or holds) a file, and so can be read as ``source``.
FILES = frozenset({"file", "patch", "asset", "gist_file", "pull", "commit", "compare", "gist"})
# First parts of a path that are pages of GitHub itself and no owners.
_RESERVED = frozenset(
    "about account apps codespaces collections contact customer-stories dashboard discussions enterprise enterprises "
    "events explore features gist github-copilot issues join login logout marketplace mobile new newsroom "
    "notifications orgs organizations pricing pulls readme resources search security sessions settings signup site "
    "solutions sponsors stars team topics trending users watching".split()
)
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
_HEX = frozenset("0123456789abcdefABCDEF")
_MAX_SEGMENTS = 64


class Shape:
    """One thing of GitHub.

    ``kind`` names it (``issue``, ``file`` ...); ``rest`` holds what is left of the path, decoded (a ref and a path,
    whose border only GitHub knows; a tag; a range); ``number`` is an issue's, a run's ...; ``suffix`` is ``diff`` or
    ``patch``; ``query`` is the URL's.
    """

    __slots__ = ("kind", "number", "owner", "query", "repo", "rest", "suffix")

    def __init__(self, kind: str, owner: str = "", repo: str = "", **more: Any) -> None:
        self.kind = kind
        self.owner = owner
        self.repo = repo
        self.rest: tuple[str, ...] = tuple(more.get("rest", ()))
        self.number: int = more.get("number", 0)
        self.suffix: str = more.get("suffix", "")
        self.query: Mapping[str, str] = more.get("query", {})

    def __repr__(self) -> str:
        return f"<Shape {self.kind} {self.name} {self.number or ''} {'/'.join(self.rest)} {self.suffix}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shape) and all(getattr(self, key) == getattr(other, key) for key in Shape.__slots__)

    __hash__ = None  # type: ignore[assignment]

    @property
    def name(self) -> str:
        """``owner/repo``."""
        return f"{self.owner}/{self.repo}"


def parse(href: str, hosts: Hosts) -> Shape | None:
    """The shape of a canonical URL on one GitHub, or None."""
    head, _, query = href.partition("#")[0].partition("?")
    authority = authority_of(head)
    scheme, _, rest = head.partition("://")
    if scheme not in ("http", "https") or "@" in rest.partition("/")[0]:
        return None
    path = rest[len(authority) :]
    if hosts.is_public and authority == "www.github.com":
        authority = "github.com"
    for part, base in hosts.bases():
        prefix = base.partition("://")[2]
        if authority + path == prefix or (authority + path).startswith(prefix + "/"):
            segments = _segments((authority + path)[len(prefix) :])
            found = _PARTS[part](segments, _query(query)) if segments else None
            if found is not None or "/" in prefix:  # what lies below a path of its own is nothing else
                return found
    return None


def _segments(path: str) -> list[str]:
    """The decoded parts of a path; empty when one of them can't be a name."""
    parts = path.strip("/").split("/")
    found = [decoded(part) for part in parts]
    if len(parts) > _MAX_SEGMENTS or not path:
        return []
    segments = [part for part in found if part is not None]
    whole = "/".join(segments)
    if len(segments) < len(found) or any(part in ("", ".", "..") for part in whole.split("/")):
        return []
    return segments


def decoded(text: str) -> str | None:
    """Percent-decoded; None when that is no UTF-8 or holds control characters."""
    pieces = text.split("%")
    data = bytearray(pieces[0].encode("utf-8", "surrogatepass"))
    for piece in pieces[1:]:
        if len(piece) >= 2 and _HEX.issuperset(piece[:2]):
            data.append(int(piece[:2], 16))
            data += piece[2:].encode("utf-8", "surrogatepass")
        else:
            data += b"%" + piece.encode("utf-8", "surrogatepass")
    try:
        plain = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if any(char < " " or "\x7f" <= char <= "\x9f" for char in plain) else plain


def _query(text: str) -> dict[str, str]:
    """The parameters, decoded; the first of a name counts."""
    found: dict[str, str] = {}
    for pair in text.split("&"):
        name, _, value = pair.replace("+", " ").partition("=")
        plain_name, plain = decoded(name), decoded(value)
        if plain_name and plain is not None:
            found.setdefault(plain_name, plain)
    return found


def _number(text: str) -> int:
    """A positive whole number of at most 18 digits, else 0."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else 0


def _is_owner(name: str) -> bool:
    return 0 < len(name) <= 40 and name[0].isalnum() and "." not in name and _NAME.issuperset(name)


def _repository(segments: Sequence[str]) -> tuple[str, str] | None:
    """Owner and repository of a path's first two parts."""
    if len(segments) < 2 or segments[0].lower() in _RESERVED or not _is_owner(segments[0]):
        return None
    repo = segments[1]
    if repo.endswith(".git") and len(segments) == 2:
        repo = repo[:-4]
    return (segments[0], repo) if 0 < len(repo) <= 100 and _NAME.issuperset(repo) else None


def _web(segments: list[str], query: dict[str, str]) -> Shape | None:
    names = _repository(segments)
    if names is None:
        return None
    if len(segments) == 2:
        return Shape("repository", *names)
    reader = _VERBS.get(segments[2])
    return reader(Shape("", *names, rest=segments[3:], query=query)) if reader else None


def _raw(segments: list[str], _query: dict[str, str]) -> Shape | None:
    names = _repository([*segments[:2], ""])
    return Shape("file", *names, rest=segments[2:], suffix="raw") if names and len(segments) > 3 else None


def _api(segments: list[str], query: dict[str, str]) -> Shape | None:
    """Of the API's own addresses only the contents of files and folders: what else is JSON is wanted as such."""
    names = _repository([*segments[1:3], ""])
    if segments[0] != "repos" or names is None or len(segments) < 4 or segments[3] != "contents":
        return None
    return Shape("contents", *names, rest=segments[4:], query={"ref": query["ref"]} if query.get("ref") else {})


def _gist(segments: list[str], _query: dict[str, str]) -> Shape | None:
    if len(segments) > 1 and _is_owner(segments[0]) and _is_gist(segments[1]):
        segments = segments[1:]
    if not _is_gist(segments[0]):
        return None
    if len(segments) > 1 and segments[1] == "raw":
        return _gist_file(segments[0], segments[2:])
    if len(segments) > 2 or (len(segments) == 2 and not _is_hash(segments[1])):
        return None
    return Shape("gist", rest=segments)


def _gist_raw(segments: list[str], _query: dict[str, str]) -> Shape | None:
    if len(segments) > 2 and segments[2] == "raw" and _is_gist(segments[1]):
        return _gist_file(segments[1], segments[3:])
    return None


def _gist_file(gist: str, rest: list[str]) -> Shape | None:
    """``(gist, revision or "", file or "")``: GitHub gives the first file where none is named."""
    revision = rest.pop(0) if rest and _is_hash(rest[0]) else ""
    return Shape("gist_file", rest=(gist, revision, "/".join(rest)))


def _is_gist(text: str) -> bool:
    return (len(text) in (20, 32) and _HEX.issuperset(text)) or (0 < len(text) <= 9 and _number(text) > 0)


def _is_hash(text: str) -> bool:
    return len(text) in (40, 64) and _HEX.issuperset(text)


def _as(shape: Shape, kind: str, **more: Any) -> Shape:
    """A shape of this kind in the same repository."""
    return Shape(kind, shape.owner, shape.repo, **more)


def _blob(shape: Shape) -> Shape | None:
    return _as(shape, "file", rest=shape.rest) if len(shape.rest) > 1 else None


def _raw_page(shape: Shape) -> Shape | None:
    return _as(shape, "file", rest=shape.rest, suffix="raw") if len(shape.rest) > 1 else None


def _tree(shape: Shape) -> Shape | None:
    return _as(shape, "tree", rest=shape.rest) if shape.rest else None


def _listed(kind: str) -> Callable[[Shape], Shape | None]:
    """Issues or pull requests: the list, or one of them where a number follows."""
    one, words = ("issue", ("q", "page")) if kind == "issues" else ("pull", ("q", "page"))

    def read(shape: Shape) -> Shape | None:
        if not shape.rest:
            return _as(shape, kind, query={key: shape.query[key] for key in words if key in shape.query})
        number = _number(shape.rest[0]) if len(shape.rest) == 1 else 0
        return _as(shape, one, number=number) if number and kind == "issues" else None

    return read


def _pull(shape: Shape) -> Shape | None:
    if not shape.rest:
        return None
    first, suffix = _suffix(shape.rest[0])
    number, tail = _number(first), shape.rest[1:]
    if not number or (suffix and tail):
        return None
    if suffix:
        return _as(shape, "patch", number=number, suffix=suffix, rest=("pull",))
    if len(tail) == 2 and tail[0] in ("commits", "changes") and len(tail[1]) >= 7 and _HEX.issuperset(tail[1]):
        return _as(shape, "commit", rest=tail[1:])
    return _as(shape, "pull", number=number) if not tail or tail in _PULL_TABS else None


_PULL_TABS = (("files",), ("commits",), ("changes",), ("conversation",))


def _commit(shape: Shape) -> Shape | None:
    ref, suffix = _suffix("/".join(shape.rest))
    if not ref:
        return None
    return _as(shape, "patch", rest=("commit", ref), suffix=suffix) if suffix else _as(shape, "commit", rest=(ref,))


def _commits(shape: Shape) -> Shape | None:
    words = ("author", "since", "until")
    return _as(shape, "commits", rest=shape.rest, query={key: shape.query[key] for key in words if key in shape.query})


def _compare(shape: Shape) -> Shape | None:
    """``rest`` is (base or "" for the default branch, dots, head)."""
    text, suffix = _suffix("/".join(shape.rest))
    dots = "..." if "..." in text else ".." if ".." in text else ""
    base, _, head = text.partition(dots) if dots else ("", "", text)
    if not head or (dots and not base):
        return None
    if suffix:
        return _as(shape, "patch", rest=("compare", base, dots or "...", head), suffix=suffix)
    return _as(shape, "compare", rest=(base, dots or "...", head))


def _suffix(text: str) -> tuple[str, str]:
    """A text without the ``.diff`` or ``.patch`` at its end, and that word."""
    for word in ("diff", "patch"):
        if text.endswith("." + word):
            return text[: -len(word) - 1], word
    return text, ""


def _releases(shape: Shape) -> Shape | None:
    rest = shape.rest
    if not rest:
        return _as(shape, "releases")
    if rest == ("latest",):
        return _as(shape, "release")
    if rest[:2] == ("latest", "download") and len(rest) == 3:
        return _as(shape, "asset", rest=("", rest[2]))
    if rest[0] == "tag" and len(rest) > 1:
        return _as(shape, "release", rest=("/".join(rest[1:]),))
    if rest[0] == "download" and len(rest) > 2:
        return _as(shape, "asset", rest=("/".join(rest[1:-1]), rest[-1]))
    return None


def _plain(kind: str, *tabs: str) -> Callable[[Shape], Shape | None]:
    """A page of its own without more path than one of ``tabs``."""

    def read(shape: Shape) -> Shape | None:
        return _as(shape, kind) if not shape.rest or (len(shape.rest) == 1 and shape.rest[0] in tabs) else None

    return read


def _discussions(shape: Shape) -> Shape | None:
    number = _number(shape.rest[0]) if len(shape.rest) == 1 else 0
    return _as(shape, "discussion", number=number) if number else None


def _actions(shape: Shape) -> Shape | None:
    """``/actions/runs/ID``, also with ``/attempts/N`` and ``/job/ID``; ``rest`` is (attempt or "", job or "")."""
    rest = shape.rest
    number = _number(rest[1]) if len(rest) > 1 and rest[0] == "runs" else 0
    if not number or len(rest) not in (2, 4):
        return None
    if len(rest) == 2:
        return _as(shape, "run", number=number, rest=("", ""))
    other = _number(rest[3])
    if not other or rest[2] not in ("attempts", "job"):
        return None
    return _as(shape, "run", number=number, rest=(rest[3], "") if rest[2] == "attempts" else ("", rest[3]))


_VERBS: dict[str, Callable[[Shape], Shape | None]] = {
    "actions": _actions,
    "blob": _blob,
    "branches": _plain("branches", "all"),
    "commit": _commit,
    "commits": _commits,
    "compare": _compare,
    "discussions": _discussions,
    "issues": _listed("issues"),
    "pull": _pull,
    "pulls": _listed("pulls"),
    "raw": _raw_page,
    "releases": _releases,
    "tags": _plain("tags"),
    "tree": _tree,
}
_PARTS: dict[str, Callable[[list[str], dict[str, str]], Shape | None]] = {
    "api": _api,
    "gist": _gist,
    "gist_raw": _gist_raw,
    "raw": _raw,
    "web": _web,
}
