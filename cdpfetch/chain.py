"""Whether a call needs the chain of fetchers at all: most don't, and go straight to the daemon.

Decided on the way to every fetch, so without loading anything: a call is routed when one of its options asks for it,
when a hosted service may be set up, when a URL looks like GitHub's, or when URLs look like each other.
"""

from __future__ import annotations

from cdpfetch.errors import InvalidRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from cdpfetch.calls import FetchOptions
    from cdpfetch.paths import Home

    class ChainOptions(FetchOptions, total=False):
        """The options of a fetch through the chain: those of the daemon, and what decides about the chain."""

        source: str | None
        max_age: float | None
        fresh: bool | None
        objective: str | None
        prompt: str | None


SOURCES = ("github", "parallel", "jina", "local")
"""The fetchers, in the order in which they are asked."""

# Options of the chain -> the types of their values.
_OWN: dict[str, tuple[type, ...]] = {
    "source": (str,),
    "max_age": (int, float),
    "fresh": (bool,),
    "objective": (str,),
    "prompt": (str,),
}
# Where keys of hosted services may be, and the settings that make one possible.
_VARIABLES = ("PARALLEL_API_KEY", "CDPFETCH_PARALLEL_API_KEY", "CDPFETCH_JINA_ENABLED", "CDPFETCH_GITHUB_API_URL")
_SECTIONS = (b"parallel", b"jina", b"github")
_CODE_HOST = "github"


def split(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """``(options for the daemon, options of the chain)``, each without those that are unset.

    Raises InvalidRequest for a bad value of the latter; the former are checked by ``calls.fetch_fields``.
    """
    plain = {name: value for name, value in options.items() if name not in _OWN and value is not None}
    own = {name: options[name] for name in _OWN if options.get(name) is not None}
    for name, value in own.items():
        types = _OWN[name]
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise InvalidRequest(f"option {name!r} is a {type(value).__name__}, wanted {types[-1].__name__}")
    if not own.get("max_age", 0) >= 0:
        raise InvalidRequest(
            f"option 'max_age' is {own['max_age']}", "allowed: 0 (never from the cache) or more seconds"
        )
    if own.get("source", SOURCES[0]) not in SOURCES:
        raise InvalidRequest(f"there is no source {own['source']!r}", "sources: " + ", ".join(SOURCES))
    return plain, own


def needed(urls: Sequence[str], own: Mapping[str, Any], home: Home, environ: Mapping[str, str]) -> bool:
    """Whether a call may concern anything but the daemon; ``own`` are the chain's options."""
    if own.get("max_age") or own.get("fresh") or "prompt" in own or _alike(urls):
        return True
    if "source" in own:
        return bool(own["source"] != "local")
    if any(environ.get(name) for name in _VARIABLES) or any(_CODE_HOST in url.lower() for url in urls):
        return True
    return _may_be_configured(home)


def _alike(urls: Sequence[str]) -> bool:
    """Whether two URLs of the web may be one."""
    if len(urls) < 2:
        return False
    rough = [_rough(url) for url in urls if url.lower().startswith("http") or "." in url.partition(":")[0]]
    return len(set(rough)) < len(rough)


def _rough(url: str) -> tuple[str, str]:
    """What URLs that are one have in common; others may, too."""
    text = url.strip().lower().partition("#")[0]
    host, _, rest = (text.partition("://")[2] or text).partition("/")
    return host.removesuffix(":443").removesuffix(":80"), rest


def _may_be_configured(home: Home) -> bool:
    """Whether the config file has a word of other fetchers.  One that can't be read is the daemon's to complain of."""
    try:
        with open(home.config, "rb") as file:
            text = file.read(1 << 20)
    except OSError:
        return False
    return any(word in text for word in _SECTIONS)
