"""The hostile URLs: what the guard does when Chrome asks it for their targets, told by what is dialled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ada_url import URL
from guards import Listener, Refused, world

from cdpfetch import addresses
from cdpfetch.errors import CdpFetchError
from cdpfetch.urls import parse_url

VECTORS = json.loads((Path(__file__).parents[3] / "fixtures" / "address_vectors.json").read_text(encoding="utf-8"))


def _target(url: str) -> tuple[str, int] | None:
    """Where Chrome would go, or None where it would go nowhere (other schemes, no URL at all)."""
    try:
        parsed = URL(url)
        port = int(parsed.port or {"http:": 80, "https:": 443}[parsed.protocol])
    except (ValueError, KeyError):
        return None
    host = parsed.hostname.strip("[]")
    return (host, port) if host and len(host) < 256 else None


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
async def test_only_what_is_allowed_is_dialled(vector: dict[str, Any]) -> None:
    target = _target(vector["url"])
    if target is None:
        assert vector["expected"] == "block"
        return
    async with Listener() as site, world(*vector.get("allow", [])) as w:
        w.names.known = dict(vector.get("resolves", {}))
        known = [address for answer in w.names.known.values() for address in answer]
        literal = addresses.parse(target[0])
        w.network.leads = dict.fromkeys([*known, *([str(literal)] if literal else [])], site.port)
        reached = False
        try:
            async with w.visit(*target):
                reached = True
        except Refused:
            pass
        assert bool(w.network.dialled) is reached
    if vector["expected"] == "allow":
        assert reached
    elif reached:
        # The guard sees no more than host and port: what is wrong with the rest is seen before Chrome is asked.
        with pytest.raises(CdpFetchError):
            parse_url(vector["url"])
