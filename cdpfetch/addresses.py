"""What an IP address is: an explicit table, since the standard library's own words differ between versions.

Pure, standard library only.  The table follows the special-purpose registries of IANA, with what clouds use besides.
"""

from __future__ import annotations

import ipaddress
from typing import NamedTuple

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

PUBLIC = "public"
LOOPBACK = "loopback"
PRIVATE = "private"
METADATA = "metadata"
CARRIER = "carrier-grade NAT"
UNIQUE_LOCAL = "unique local"
SITE_LOCAL = "site-local"
BENCHMARKING = "benchmarking"
DOCUMENTATION = "documentation"
LINK_LOCAL = "link-local"
UNSPECIFIED = "unspecified"
MULTICAST = "multicast"
BROADCAST = "broadcast"
RESERVED = "reserved"
TUNNEL = "tunnel"

# Where clouds answer with credentials or configuration of the machine; matched before everything else.
_METADATA = {
    "169.254.169.254": "the metadata service of AWS, Azure, Google and others",
    "169.254.169.253": "the DNS server of AWS",
    "169.254.170.2": "the credentials service of AWS ECS",
    "169.254.170.23": "the credentials service of AWS EKS",
    "169.254.0.23": "the metadata service of Tencent Cloud",
    "169.254.42.42": "the metadata service of Scaleway",
    "100.100.100.200": "the metadata service of Alibaba Cloud",
    "168.63.129.16": "the WireServer of Azure",
    "192.0.0.192": "the metadata service of Oracle Cloud",
    "fd00:ec2::254": "the metadata service of AWS",
    "fd00:ec2::253": "the DNS server of AWS",
    "fd00:ec2::23": "the credentials service of AWS EKS",
    "fd20:ce::254": "the metadata service of Google Cloud",
    "fd00:42::42": "the metadata service of Scaleway",
    "fe80::a9fe:a9fe": "the metadata service of OpenStack",
}

# (network, kind, what it is); the first match counts, so a narrower network stands before a wider one.
_TABLE = [
    ("0.0.0.0/32", UNSPECIFIED, "unspecified (this host)"),
    ("0.0.0.0/8", UNSPECIFIED, "of this network (RFC 791)"),
    ("10.0.0.0/8", PRIVATE, "private (RFC 1918)"),
    ("100.64.0.0/10", CARRIER, "shared address space of carrier-grade NAT (RFC 6598)"),
    ("127.0.0.0/8", LOOPBACK, "loopback"),
    ("169.254.0.0/16", LINK_LOCAL, "link-local"),
    ("172.16.0.0/12", PRIVATE, "private (RFC 1918)"),
    ("192.0.0.0/24", RESERVED, "reserved for IETF protocols (RFC 6890)"),
    ("192.0.2.0/24", DOCUMENTATION, "reserved for documentation (RFC 5737)"),
    ("192.88.99.0/24", TUNNEL, "a 6to4 relay (RFC 7526)"),
    ("192.168.0.0/16", PRIVATE, "private (RFC 1918)"),
    ("198.18.0.0/15", BENCHMARKING, "reserved for benchmarking (RFC 2544)"),
    ("198.51.100.0/24", DOCUMENTATION, "reserved for documentation (RFC 5737)"),
    ("203.0.113.0/24", DOCUMENTATION, "reserved for documentation (RFC 5737)"),
    ("224.0.0.0/4", MULTICAST, "multicast"),
    ("255.255.255.255/32", BROADCAST, "broadcast"),
    ("240.0.0.0/4", RESERVED, "reserved (RFC 1112)"),
    ("::/128", UNSPECIFIED, "unspecified (this host)"),
    ("::1/128", LOOPBACK, "loopback"),
    ("::ffff:0:0:0/96", TUNNEL, "IPv4-translated (RFC 2765)"),
    ("::/96", TUNNEL, "IPv4-compatible (RFC 4291)"),
    ("64:ff9b:1::/48", TUNNEL, "local-use NAT64 (RFC 8215)"),
    ("100::/64", RESERVED, "discard-only (RFC 6666)"),
    ("2001::/32", TUNNEL, "Teredo (RFC 4380)"),
    ("2001:2::/48", BENCHMARKING, "reserved for benchmarking (RFC 5180)"),
    ("2001:10::/28", RESERVED, "an ORCHID, not a host (RFC 4843)"),
    ("2001:20::/28", RESERVED, "an ORCHID, not a host (RFC 7343)"),
    ("2001::/23", RESERVED, "reserved for IETF protocols (RFC 2928)"),
    ("2001:db8::/32", DOCUMENTATION, "reserved for documentation (RFC 3849)"),
    ("2002::/16", TUNNEL, "6to4 (RFC 3056)"),
    ("3fff::/20", DOCUMENTATION, "reserved for documentation (RFC 9637)"),
    ("5f00::/16", RESERVED, "a segment identifier, not a host (RFC 9602)"),
    ("fc00::/7", UNIQUE_LOCAL, "unique local, thus private (RFC 4193)"),
    ("fe80::/10", LINK_LOCAL, "link-local"),
    ("fec0::/10", SITE_LOCAL, "site-local, thus private (RFC 3879)"),
    ("ff00::/8", MULTICAST, "multicast"),
]

_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class Classified(NamedTuple):
    """An address and what it is: ``kind`` is one of this module's constants, ``what`` completes "ADDRESS is ..."."""

    address: Address
    kind: str
    what: str

    @property
    def public(self) -> bool:
        return self.kind == PUBLIC


def parse(text: str) -> Address | None:
    """The address that ``text`` spells (brackets and zone are dropped), or None; an IPv4-mapped one as IPv4."""
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def classify(address: Address) -> Classified:
    """What ``address`` is; an IPv6 form that stands for an IPv4 address is at most as public as that one."""
    service = _SERVICES.get(address)
    if service:
        return Classified(address, METADATA, service)
    networks = _V4 if isinstance(address, ipaddress.IPv4Address) else _V6
    for network, kind, what in networks:
        if address in network:
            return Classified(address, kind, what + _carried(address, kind))
    if isinstance(address, ipaddress.IPv6Address):
        return _classify_global(address)
    return Classified(address, PUBLIC, "public")


def _classify_global(address: ipaddress.IPv6Address) -> Classified:
    inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _NAT64:
        form = "NAT64"
    elif (int(address) >> 32) & 0xFDFFFFFF == 0x00005EFE:
        form = "ISATAP"
    elif address in _GLOBAL_UNICAST:
        return Classified(address, PUBLIC, "public")
    else:
        return Classified(address, RESERVED, "outside global unicast (RFC 4291)")
    carried = classify(inner)
    if carried.public:
        return Classified(address, PUBLIC, "public")
    kind = METADATA if carried.kind == METADATA else TUNNEL
    return Classified(address, kind, f"{form} of {inner}, which is {carried.what}")


def _carried(address: Address, kind: str) -> str:
    """For a tunnel's address: which IPv4 address it leads to."""
    if kind != TUNNEL or not isinstance(address, ipaddress.IPv6Address):
        return ""
    if address.sixtofour is not None:
        return f", leading to {address.sixtofour}"
    if address.teredo is not None:
        return f", leading to {address.teredo[1]}"
    return f", leading to {ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)}"


_SERVICES = {ipaddress.ip_address(text): what for text, what in _METADATA.items()}
_V4 = [(ipaddress.IPv4Network(text), kind, what) for text, kind, what in _TABLE if ":" not in text]
_V6 = [(ipaddress.IPv6Network(text), kind, what) for text, kind, what in _TABLE if ":" in text]
