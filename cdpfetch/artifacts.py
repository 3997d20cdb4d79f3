"""Documents on disk: one directory each, written beside its place and renamed when it is whole.

A directory that holds ``metadata.json`` under its final name is complete; anything else is
a leftover of a crash and is never listed or read.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat

from cdpfetch import disk
from cdpfetch.errors import CdpFetchError, InvalidRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Self

METADATA = "metadata.json"
INCOMING = ".incoming-"
TRASH = ".trash-"
REFERENCE = ".ref"
# File names that belong to one role: a download of that name is stored under another.
OWNERS = {
    METADATA: "",
    "content.md": "content",
    "text.txt": "text",
    "source.txt": "source",
    "page.html": "page",
    "screenshot.png": "screenshot",
    "links.json": "links",
}
TEXT_ROLES = frozenset({"content", "text", "source", "page", "links"})
_SLUG_LIMIT = 60
_RANDOM_LENGTH = 8
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_ID_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789.-")


def new_document(url: str) -> dict[str, Any]:
    """A document dict with every key and its neutral value (``ok`` false, verdict ``ok``)."""
    return {
        "url": url,
        "ok": False,
        "kind": "local.page",
        "source": "local",
        "link": url,
        "title": None,
        "facts": [],
        "excerpt": None,
        "outline": [],
        "status": None,
        "content_type": None,
        "bytes": 0,
        "sha256": None,
        "verdict": "ok",
        "coverage": None,
        "warnings": [],
        "fetch_id": None,
        "dir": None,
        "bodies": [],
        "attempts": [],
        "error": None,
        "timings": {},
    }


def new_fetch_id(url: str) -> str:
    """A fresh id: host and last path segment in ``[a-z0-9.-]`` (at most 60 characters), then 8 random ones."""
    rest = url.partition("://")[2] or url
    for mark in "?#":
        rest = rest.partition(mark)[0]
    host, _, path = rest.partition("/")
    segments = [segment for segment in path.split("/") if segment]
    slug = _slug(host.rpartition("@")[2])
    if segments:
        slug = f"{slug}-{_slug(segments[-1])}"
    slug = slug[:_SLUG_LIMIT].strip("-.") or "document"
    return f"{slug}-" + "".join(_ALPHABET[byte & 31] for byte in os.urandom(_RANDOM_LENGTH))


def _slug(text: str) -> str:
    kept = "".join(char if char in _ID_CHARACTERS else "-" for char in text[:400].lower())
    while ".." in kept:
        kept = kept.replace("..", ".")
    return "-".join(part for part in kept.split("-") if part).strip("-.")


def is_fetch_id(text: str) -> bool:
    """Whether a text can be a fetch id, and so is safe as one path part."""
    head, _, tail = text.rpartition("-")
    return (
        bool(head)
        and len(text) <= 120
        and head[0].isalnum()
        and len(tail) >= _RANDOM_LENGTH
        and tail.isalnum()
        and _ID_CHARACTERS.issuperset(text)
    )


class Draft:
    """One document being written; as a context manager it discards what was not committed.

    ``path`` is the incoming directory (0700), a sibling of the final one.  It is verified to be the one that was made
    before anything is put into it, so that a link planted in its place leads nowhere.  With fewer than ``min_free``
    bytes free on its disk nothing is begun and nothing committed.
    Every method raises CdpFetchError: ``disk_full``, or ``invalid_request`` when the place can't be written.
    """

    def __init__(self, root: str, fetch_id: str, min_free: int = 0) -> None:
        if not is_fetch_id(fetch_id):
            raise InvalidRequest(f"{fetch_id!r} is not a fetch id")
        self.root = os.path.abspath(root)
        self.fetch_id = fetch_id
        self.path = os.path.join(self.root, INCOMING + fetch_id)
        self._bodies: list[dict[str, Any]] = []
        self._taken: set[str] = set()
        self._min_free = min_free
        # Set by commit and discard: nothing is written or removed after that.
        self._closed = False
        disk.require_space(self.root, min_free)
        try:
            disk.make_output_dir(self.root)
            os.mkdir(self.path, 0o700)
            made = os.lstat(self.path)
        except OSError as error:
            raise write_error(self.root, error) from error
        self._identity = (made.st_dev, made.st_ino)  # of the incoming directory, as it was made

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()

    def reserve(self, name: str, role: str = "original") -> str:
        """A free path in the incoming directory for a sanitised ``name``; the file is yours to write.

        ``metadata.json`` is never given, and ``content.md`` and its like only to the role that owns them.
        """
        # Imported here: the client side uses this module too, and never names a file.
        from cdpfetch.names import safe_name

        safe = safe_name(name)
        stem, suffix = os.path.splitext(safe)
        number = 1
        while not self._is_free(safe, role):
            number += 1
            safe = f"{stem}-{number}{suffix}"
        self._taken.add(safe.lower())
        return os.path.join(self.path, safe)

    def _is_free(self, name: str, role: str) -> bool:
        # Compared in lower case: two names may be one file where the file system ignores case.
        key = name.lower()
        if key in self._taken or OWNERS.get(key, role) != role:
            return False
        return not os.path.lexists(os.path.join(self.path, name))

    def write(self, name: str, role: str, data: bytes | str, content_type: str | None) -> str:
        """Write one body (text as UTF-8) under a free name and return its path."""
        self.check()
        path = self.reserve(name, role)
        try:
            disk.write_new(path, data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)
        except OSError as error:
            raise write_error(path, error) from error
        self._bodies.append({"path": path, "role": role, "content_type": content_type})
        return path

    def check(self) -> None:
        """Raises InvalidRequest when the incoming directory is no longer the one that was made."""
        try:
            now = os.lstat(self.path)
        except OSError as error:
            raise write_error(self.path, error) from error
        if (now.st_dev, now.st_ino) != self._identity:
            raise InvalidRequest(f"cannot write to {self.root}: {self.path} was replaced", "give another -o DIR")

    def add(self, path: str, role: str, content_type: str | None) -> None:
        """Make a file that is already in the incoming directory a body."""
        self.check()
        path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        if os.path.dirname(path) != os.path.realpath(self.path):
            raise InvalidRequest(f"{path} is not in {self.path}")
        try:
            if not stat.S_ISREG(os.lstat(path).st_mode):
                raise InvalidRequest(f"{path} is not a regular file")
            fd = disk.open_regular(path)
            try:
                os.fchmod(fd, 0o600)
            finally:
                os.close(fd)
        except OSError as error:
            raise write_error(path, error) from error
        path = os.path.join(self.path, os.path.basename(path))
        self._taken.add(os.path.basename(path).lower())
        self._bodies = [body for body in self._bodies if body["path"] != path]
        self._bodies.append({"path": path, "role": role, "content_type": content_type})

    def remove(self, role: str) -> None:
        """Delete the bodies of a role and their files."""
        for body in [body for body in self._bodies if body["role"] == role]:
            self._bodies.remove(body)
            try:
                os.unlink(body["path"])
            except FileNotFoundError:
                pass
            except OSError as error:
                raise write_error(body["path"], error) from error
            self._taken.discard(os.path.basename(body["path"]).lower())

    def commit(self, document: dict[str, Any], *, index_root: str | None = None) -> dict[str, Any]:
        """Put the document in its place and return it with ``fetch_id``, ``dir`` and ``bodies`` filled.

        ``metadata.json`` is written last and the directory renamed after it, so that a crash leaves nothing that
        looks whole.  When ``index_root`` is another directory, a pointer there lets ``locate`` find the document.
        """
        self.check()
        disk.require_space(self.root, self._min_free)
        final = os.path.join(self.root, self.fetch_id)
        document = {**document, "fetch_id": self.fetch_id, "dir": final}
        try:
            document["bodies"] = [_describe(body, final) for body in self._bodies]
            text = json.dumps(document, ensure_ascii=False, indent=1)
            disk.write_new(os.path.join(self.path, METADATA), text.encode("utf-8", "surrogatepass") + b"\n")
            if index_root is not None and os.path.realpath(index_root) != os.path.realpath(self.root):
                _write_reference(index_root, self.fetch_id, final)
            disk.rename_new(self.path, final)
        except OSError as error:
            raise write_error(self.root, error) from error
        self._closed = True
        return document

    def discard(self) -> None:
        """Remove the incoming directory, unless the document was committed; safe to call again."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(CdpFetchError):
            self.check()  # what somebody put in its place is not ours to remove
            remove_tree(self.path)


def _describe(body: dict[str, Any], final: str) -> dict[str, Any]:
    """The public entry of a body, measured on disk."""
    name = os.path.basename(body["path"])
    size = os.stat(body["path"]).st_size
    textual = body["role"] in TEXT_ROLES or is_textual(body["content_type"])
    return {
        "name": name,
        "path": os.path.join(final, name),
        "role": body["role"],
        "content_type": body["content_type"],
        "lines": count_lines(body["path"]) if textual else None,
        "bytes": size,
    }


def is_textual(content_type: str | None) -> bool:
    """Whether bytes of this type are text that a person can read line by line."""
    essence = (content_type or "").partition(";")[0].strip().lower()
    kind, _, subtype = essence.partition("/")
    if kind == "text":
        return True
    words = subtype.replace("+", "-").split("-")
    return kind == "application" and bool({"json", "xml", "javascript", "ecmascript", "yaml", "ndjson"} & set(words))


def count_lines(path: str) -> int:
    """The number of lines of a file; an unfinished last line counts."""
    lines = 0
    last = b"\n"
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            lines += chunk.count(b"\n")
            last = chunk[-1:]
    return lines + (last != b"\n")


def _write_reference(index_root: str, fetch_id: str, target: str) -> None:
    os.makedirs(index_root, mode=0o700, exist_ok=True)
    waiting = os.path.join(index_root, f"{INCOMING}{fetch_id}{REFERENCE}")
    disk.write_new(waiting, os.fsencode(target) + b"\n")
    os.rename(waiting, os.path.join(index_root, fetch_id + REFERENCE))


def locate(index_root: str, fetch_id: str) -> str:
    """The directory of a complete document.

    Raises InvalidRequest for an id that is malformed or unknown; the hint names the newest documents.
    """
    if is_fetch_id(fetch_id):
        direct = os.path.join(index_root, fetch_id)
        for directory in (direct, read_reference(direct + REFERENCE)):
            if directory and os.path.isfile(os.path.join(directory, METADATA)):
                return directory
        reason = f"there is no document {fetch_id}"
    else:
        reason = f"{fetch_id!r} is not a fetch id"
    newest = [name for _, name in sorted(_entries(index_root), reverse=True)[:3]]
    hint = "the newest are " + ", ".join(newest) if newest else f"{index_root} holds no documents yet"
    raise InvalidRequest(reason, hint + "; `cdpfetch artifacts list` shows all")


def read_reference(path: str) -> str | None:
    """Where a pointer file points to."""
    try:
        with open(path, "rb") as file:
            target = os.fsdecode(file.read(8192).rstrip(b"\n"))
    except OSError:
        return None
    return target if os.path.isabs(target) and os.path.basename(target) == os.path.basename(path)[:-4] else None


def _entries(index_root: str) -> list[tuple[float, str]]:
    """``(time, fetch id)`` of what the index names, complete or not."""
    found: dict[str, float] = {}
    try:
        with os.scandir(index_root) as entries:
            for entry in entries:
                name = entry.name.removesuffix(REFERENCE)
                if is_fetch_id(name) and not entry.is_symlink():
                    found[name] = entry.stat(follow_symlinks=False).st_mtime
    except OSError:
        return []
    return [(when, name) for name, when in found.items()]


def load(index_root: str, fetch_id: str) -> dict[str, Any]:
    """The document of an id, with paths as they are now.  Raises InvalidRequest."""
    directory = locate(index_root, fetch_id)
    try:
        with open(os.path.join(directory, METADATA), "rb") as file:
            document = json.load(file)
        document["dir"] = directory
        for body in document["bodies"]:
            body["path"] = os.path.join(directory, os.path.basename(body["name"]))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InvalidRequest(f"the metadata of {fetch_id} cannot be read: {error}", "fetch the URL again") from error
    return document  # type: ignore[no-any-return]


def amend(document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The document with other values, also in its ``metadata.json``, which is replaced in one step.

    What can't be written is changed in the result only.
    """
    document = {**document, **changes}
    directory = document["dir"]
    if directory is None:
        return document
    waiting = os.path.join(directory, f"{METADATA}.{os.getpid()}.new")
    text = json.dumps(document, ensure_ascii=False, indent=1)
    with contextlib.suppress(OSError):
        try:
            disk.write_new(waiting, text.encode("utf-8", "surrogatepass") + b"\n")
            os.replace(waiting, os.path.join(directory, METADATA))
        except BaseException:
            os.unlink(waiting)
            raise
    return document


def touch(document: dict[str, Any]) -> None:
    """Make a document one of now for retention, since somebody was given it."""
    with contextlib.suppress(OSError):
        os.utime(os.path.join(document["dir"], METADATA))


def write_error(path: str, error: OSError) -> CdpFetchError:
    """The error to report for something that can't be written at ``path``."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return CdpFetchError("disk_full", f"no space left to write {path}", "free some space, or give another -o DIR")
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        blocker = path
        while blocker != os.path.dirname(blocker) and not os.path.lexists(blocker):
            blocker = os.path.dirname(blocker)
        if not os.path.isdir(blocker):
            return InvalidRequest(f"cannot write to {path}: {blocker} is not a directory", "give a directory with -o")
    return InvalidRequest(
        f"cannot write to {path}: {error.strerror or error}", "give a directory with -o that you can write"
    )


def remove_tree(path: str) -> None:
    """Remove a directory as far as possible; what is left is a leftover that ``prune`` tries again."""
    import shutil

    shutil.rmtree(path, ignore_errors=True)
