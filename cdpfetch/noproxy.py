"""``NO_PROXY``: which targets an upstream proxy does not get.  Pure."""

from __future__ import annotations

import ipaddress
import re

from cdpfetch import addresses
from cdpfetch.urls import Url


def entries(text: str | None) -> tuple[str, ...]:
    """The entries of the variable: what stands between its commas."""
    return tuple(entry.strip().lower() for entry in (text or "").split(",") if entry.strip())


def matches(entry: str, target: Url) -> bool:
    """Whether an entry of NO_PROXY covers a target: ``*``, a name and all below it, an address, a CIDR; with a port."""
    if entry == "*":
        return True
    host, _, port = entry.rpartition(":") if re.fullmatch(r"[^:]+:\d+|\[.*\]:\d+", entry) else (entry, "", "")
    if port and int(port) != target.port:
        return False
    literal = addresses.parse(target.host)
    if literal is None:
        name = host.removeprefix("*").removeprefix(".")
        return target.host == name or target.host.endswith("." + name)
    try:
        return literal in ipaddress.ip_network(host.strip("[]"), strict=False)
    except ValueError:
        return False
