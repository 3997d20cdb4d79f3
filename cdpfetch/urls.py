"""URLs as browsers understand them: parsed by the WHATWG rules, http and https only.

Pure.  ``urllib.parse`` names another host than Chrome for many hostile strings; what is judged must be what is opened.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ada_url import URL

from cdpfetch.errors import CdpFetchError

MAX_URL = 2048  # characters, as given
_PORTS = {"http": 80, "https": 443}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_HOST = re.compile(r"[a-z0-9._-]+")
_USERINFO = re.compile(r"[/\\]{1,2}[^/\\@]*:[^/\\]*@")
_BARE_HOST = re.compile(r"(?:[^/?#:@\s\\]+\.[^/?#:@\s\\]*|localhost|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?(?=[/?#]|$)")


class Url(NamedTuple):
    """A URL as a browser understands it.

    ``host`` is ASCII (punycode), lower case, without brackets and without a trailing dot; ``port`` is the scheme's
    own where none is given; ``path`` is percent-encoded and has no query.
    """

    href: str
    scheme: str
    host: str
    port: int
    path: str


def parse_url(text: str, *, max_length: int = MAX_URL) -> Url:
    """Parse as browsers do (WHATWG); ``example.com/x`` without a scheme gets ``https://``.

    Raises CdpFetchError: ``unsupported_scheme`` for what is not http or https; ``invalid_url`` for what is no URL, is
    longer than ``max_length`` characters, or carries control characters or credentials.
    """
    shown = _shown(text)
    text = _with_scheme(text.strip(" \t\r\n"), shown, max_length)
    try:
        parsed = URL(text)
    except ValueError:  # UnicodeError, for lone surrogates, is one too
        raise _invalid(f"{shown} is not a valid URL", "check its host, port and brackets") from None
    if parsed.username or parsed.password:
        raise _invalid(
            f"the URL of {_site(parsed)} carries a user name or password",
            "leave it out of the URL",
        )
    host = checked_host(parsed.hostname.strip("[]"), shown)
    scheme = parsed.protocol.rstrip(":")
    return Url(parsed.href, scheme, host, int(parsed.port or _PORTS[scheme]), parsed.pathname)


def same_host(one: Url, other: Url) -> bool:
    """Whether two URLs are of one host: a leading ``www.`` and http against https (default ports) don't count."""
    same_port = one.port == other.port or (one.port == _PORTS[one.scheme] and other.port == _PORTS[other.scheme])
    return same_port and one.host.removeprefix("www.") == other.host.removeprefix("www.")


def upgraded(url: Url) -> Url | None:
    """The same address by https; None where it is https already or names a port of its own."""
    if url.scheme != "http" or url.port != _PORTS["http"]:
        return None
    return parse_url("https" + url.href.removeprefix("http"), max_length=MAX_URL + 1)


def _shown(text: str) -> str:
    """A URL as an error shows it: quoted, escaped, cut, and without credentials."""
    text = _USERINFO.sub("//…@", text)
    text = text if len(text) <= 100 else text[:99] + "…"
    return ascii(text) if _CONTROL.search(text) else repr(text)


def _site(parsed: URL) -> str:
    return f"{parsed.protocol}//{parsed.host}"


def _invalid(reason: str, hint: str | None = None) -> CdpFetchError:
    return CdpFetchError("invalid_url", reason, hint)


def _with_scheme(text: str, shown: str, max_length: int) -> str:
    """The text with ``https://`` where it has no scheme; raises CdpFetchError for what can't be an http(s) URL."""
    if not text:
        raise _invalid("the URL is empty")
    if len(text) > max_length:
        raise _invalid(f"the URL has {len(text)} characters, more than {max_length}")
    if _CONTROL.search(text):
        raise _invalid(f"{shown} has control characters")
    match = _SCHEME.match(text)
    if match and match[1].lower() in _PORTS:
        return text
    if _BARE_HOST.match(text):
        return "https://" + text
    if match:
        raise CdpFetchError(
            "unsupported_scheme", f"{shown} has the scheme {match[1].lower()!r}", "only http and https are fetched"
        )
    raise _invalid(f"{shown} has no scheme and no host name", "give the whole URL, like https://example.com/page")


def checked_host(host: str, shown: str) -> str:
    """The host without its root dot; raises CdpFetchError where DNS could not carry the name."""
    if ":" in host:
        return host
    host = host.removesuffix(".")
    if not host or len(host) > 253:
        raise _invalid(f"{shown} has a host name of {len(host)} characters", "1 to 253 are possible")
    for label in host.split("."):
        if not label or len(label) > 63 or label == "xn--":
            raise _invalid(f"{shown} has the label {label[:70]!r} in its host name", "a label has 1 to 63 characters")
    # Chrome spells some of the others in its own way (* as %2A), and DNS has no use for any.
    if not _HOST.fullmatch(host):
        raise _invalid(f"{shown} has characters in its host name that no host has", "letters, digits, - and _")
    return host
