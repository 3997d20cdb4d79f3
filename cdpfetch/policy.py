"""Which URLs may be fetched: parsed as browsers parse them, judged by host and by every resolved address.

Pure: nothing here resolves or connects.  The caller judges the host before a name is resolved (``judge_host``), then
each address that the name resolved to (``judge_address``).  What is not public is refused unless ``network.allow``
opens it:

- an address or a CIDR (``127.0.0.1:8000``, ``[::1]``, ``10.0.0.0/8``) opens what it covers, and a metadata service
  is opened by its exact address only;
- a name (``wiki.corp.example``, ``wiki.corp.example:443``, ``*.corp.example``) opens private addresses, but neither
  loopback nor link-local ones: whoever controls the name's DNS must not reach this machine itself;
- ``localhost`` opens loopback.

``network.deny`` wins over everything.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import NamedTuple

from ada_url import URL

from cdpfetch import addresses
from cdpfetch.addresses import Address, Classified
from cdpfetch.errors import CdpFetchError, ConfigError
from cdpfetch.urls import MAX_URL, Url, checked_host, parse_url, same_host

__all__ = ["MAX_URL", "Policy", "Url", "Verdict", "is_private", "parse_url", "refusal", "same_host"]

_ENTRY_FORMS = "allowed: host, host:port, *.suffix, an IP address, address:port or CIDR"

_FAKE_IP = (
    "proxy tools (Clash, Surge and others) answer DNS with such fake addresses; if one runs here, "
    "add 198.18.0.0/15 to network.allow (cdpfetch config path), or set browser.proxy to its address"
)

# Kinds that an allowed name may resolve to.
_NAME_OPENS = frozenset(
    [
        addresses.PRIVATE,
        addresses.CARRIER,
        addresses.UNIQUE_LOCAL,
        addresses.SITE_LOCAL,
        addresses.BENCHMARKING,
        addresses.DOCUMENTATION,
    ]
)
_METADATA_NAMES = frozenset(
    [
        "metadata",
        "metadata.google.internal",
        "metadata.goog",
        "metadata.azure.internal",
        "metadata.tencentyun.com",
        "instance-data",
        "instance-data.ec2.internal",
    ]
)
# Suffixes that never name a public host (RFC 6761, 6762, 8375, ICANN's reserved ones, and what home routers use).
_PRIVATE_SUFFIXES = (".localhost", ".local", ".internal", ".home.arpa", ".lan", ".intranet", ".corp", ".home")
# The "bad ports" of the Fetch standard: browsers refuse to connect there over HTTP.
# fmt: off
_BAD_PORTS = frozenset((
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
    109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
    526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
    3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
))
# fmt: on


class Verdict(NamedTuple):
    """A judgement: ``reason`` is a sentence without a full stop; ``rule`` names what decided."""

    allowed: bool
    reason: str
    rule: str


class _Entry(NamedTuple):
    """One entry of an allow or deny list; exactly one of ``network``, ``host`` and ``suffix`` is set."""

    text: str
    network: ipaddress.IPv4Network | ipaddress.IPv6Network | None
    host: str | None
    suffix: str | None  # with its leading dot
    port: int | None  # None covers every port

    @property
    def literal(self) -> bool:
        """Whether this is one exact address."""
        return self.network is not None and self.network.num_addresses == 1

    def covers_name(self, host: str, port: int) -> bool:
        if self.port not in (None, port):
            return False
        return host == self.host or (self.suffix is not None and host.endswith(self.suffix))

    def covers_address(self, address: Address, port: int) -> bool:
        return self.port in (None, port) and self.network is not None and address in self.network


def is_private(url: Url) -> bool:
    """Whether a URL's host shows, without resolving it, that it is not of the public web."""
    address = addresses.parse(url.host)
    if address is not None:
        return not addresses.classify(address).public
    return "." not in url.host or url.host in _METADATA_NAMES or url.host.endswith(_PRIVATE_SUFFIXES)


def refusal(url: Url, verdict: Verdict) -> CdpFetchError:
    """The error to report for a verdict that does not allow; its hint names the setting where one can help."""
    hint = None
    if verdict.rule.startswith("deny "):
        hint = "it is in network.deny: cdpfetch config get network.deny"
    elif verdict.rule == addresses.BENCHMARKING and addresses.parse(url.host) is None:
        hint = _FAKE_IP
    elif verdict.rule not in (addresses.METADATA, addresses.MULTICAST, addresses.BROADCAST, "port"):
        host = "127.0.0.1" if _is_localhost(url.host) else url.host
        entry = f"[{host}]:{url.port}" if ":" in host else f"{host}:{url.port}"
        hint = f"to reach it, pass --allow {entry}, or add that to network.allow (cdpfetch config path)"
    return CdpFetchError("blocked_address", verdict.reason, hint)


class Policy:
    """The judge: public addresses, and what ``allow`` opens, less what ``deny`` closes.

    Raises ConfigError for a malformed entry.
    """

    def __init__(self, allow: Iterable[str] = (), deny: Iterable[str] = ()) -> None:
        self._allow = tuple(_parse_entry(entry, "network.allow") for entry in allow)
        self._deny = tuple(_parse_entry(entry, "network.deny") for entry in deny)

    def judge_host(self, url: Url) -> Verdict:
        """Judge before resolving: ports, denied names, literal addresses, names of this machine and of metadata.

        An allowed verdict on a name leaves the judgement to its addresses.
        """
        if url.port in _BAD_PORTS:
            return Verdict(False, f"port {url.port} is one that browsers refuse for HTTP", "port")
        denied = self._denied_name(url)
        if denied is not None:
            return denied
        if addresses.parse(url.host) is not None:
            return self.judge_address(url, url.host)
        if _is_localhost(url.host):
            return self.judge_addresses(url, ("127.0.0.1", "::1"))
        if url.host in _METADATA_NAMES and not self._opens_metadata(url.port):
            return Verdict(False, f"{url.host} is a metadata service", addresses.METADATA)
        return Verdict(True, f"{url.host} is judged by its addresses", "name")

    def judge_address(self, url: Url, address: str) -> Verdict:
        """Judge one address (with or without zone) that the URL's host is, or resolved to."""
        parsed = addresses.parse(address)
        if parsed is None:
            return Verdict(False, f"{address!r} is not an IP address", "address")
        denied = self._denied_name(url) or self._denied_address(url, parsed)
        if denied is not None:
            return denied
        found = addresses.classify(parsed)
        entry = None if found.public else self._opened_by(url, found)
        if found.public or entry is not None:
            rule = f"allow {entry.text}" if entry else addresses.PUBLIC
            return Verdict(True, _sentence(url, address, found), rule)
        return Verdict(False, _sentence(url, address, found) + self._why_not(url, found), found.kind)

    def judge_addresses(self, url: Url, resolved: Iterable[str]) -> Verdict:
        """Judge all addresses of a host together, for a caller that can't choose which one is dialled.

        One refused address refuses, except for ``localhost``, which is this machine under each of its addresses: there
        one allowed address allows.  No address at all is refused.
        """
        verdicts = [self.judge_address(url, address) for address in resolved]
        wanted = _is_localhost(url.host)
        for verdict in verdicts:
            if verdict.allowed is wanted:
                return verdict
        return verdicts[0] if verdicts else Verdict(False, f"{url.host} has no address", "address")

    def has_networks(self) -> bool:
        """Whether an entry of the allow list is a range of addresses, in which a name may turn out to be."""
        return any(entry.network is not None for entry in self._allow)

    def opens_name(self, url: Url) -> bool:
        """Whether an entry of the allow list names the URL's host, so that it may be private."""
        return any(entry.covers_name(url.host, url.port) for entry in self._allow)

    def _denied_name(self, url: Url) -> Verdict | None:
        for entry in self._deny:
            if entry.covers_name(url.host, url.port):
                return Verdict(False, f"{url.host} is denied by the entry {entry.text!r}", f"deny {entry.text}")
        return None

    def _denied_address(self, url: Url, address: Address) -> Verdict | None:
        for entry in self._deny:
            if entry.covers_address(address, url.port):
                return Verdict(False, f"{address} is denied by the entry {entry.text!r}", f"deny {entry.text}")
        return None

    def _opened_by(self, url: Url, found: Classified) -> _Entry | None:
        """The entry that opens an address that is not public, or None."""
        opens_by_name = found.kind in _NAME_OPENS or (found.kind == addresses.LOOPBACK and _is_localhost(url.host))
        for entry in self._allow:
            if entry.covers_address(found.address, url.port) and (entry.literal or found.kind != addresses.METADATA):
                return entry
            if opens_by_name and entry.covers_name(url.host, url.port):
                return entry
        return None

    def _opens_metadata(self, port: int) -> bool:
        return any(
            entry.literal
            and entry.network is not None
            and entry.port in (None, port)
            and addresses.classify(entry.network.network_address).kind == addresses.METADATA
            for entry in self._allow
        )

    def _why_not(self, url: Url, found: Classified) -> str:
        """What to say where an entry names the host and yet does not open the address."""
        if self.opens_name(url):
            return f"; the allowed name {url.host} opens private addresses only, this one needs to be allowed itself"
        return ""


def _sentence(url: Url, address: str, found: Classified) -> str:
    name = addresses.parse(url.host) is None
    return f"{url.host} is at {address}, which is {found.what}" if name else f"{found.address} is {found.what}"


def _is_localhost(host: str) -> bool:
    """Browsers take these names for loopback without asking DNS."""
    return host == "localhost" or host.endswith(".localhost")


def _parse_entry(text: str, setting: str) -> _Entry:
    """One entry of a list; raises ConfigError naming it."""
    entry = text.strip()
    if "/" in entry:
        try:
            return _Entry(entry, ipaddress.ip_network(entry, strict=True), None, None, None)
        except ValueError as error:
            raise ConfigError(f"{setting}: {text!r} is not a CIDR: {error}", _ENTRY_FORMS) from None
    address = addresses.parse(entry)
    if address is not None:
        return _Entry(entry, ipaddress.ip_network(address), None, None, None)
    match = re.fullmatch(r"(\*\.)?(\[[^\]]*\]|[^:\s*@?#\\]+)(?::(\d{1,5}))?", entry)
    if match is None or (match[3] is not None and not 0 < int(match[3]) < 65536):
        raise ConfigError(f"{setting}: {text!r} is not an entry", _ENTRY_FORMS)
    return _named_entry(entry, match, setting)


def _named_entry(entry: str, match: re.Match[str], setting: str) -> _Entry:
    wildcard, written, port_text = match.groups()
    port = int(port_text) if port_text else None
    try:
        host = checked_host(URL(f"http://{written}/").hostname, repr(entry))
    except (ValueError, CdpFetchError):
        raise ConfigError(f"{setting}: {entry!r} names no possible host", _ENTRY_FORMS) from None
    address = addresses.parse(host)
    if address is None:
        return _Entry(entry, None, None if wildcard else host, f".{host}" if wildcard else None, port)
    if wildcard or addresses.parse(written) is None:
        raise ConfigError(f"{setting}: {entry!r} stands for the address {address}", f"write {address}")
    return _Entry(entry, ipaddress.ip_network(address), None, None, port)
