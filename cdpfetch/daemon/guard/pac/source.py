"""Reads a proxy auto-config script from where the settings say."""

from __future__ import annotations

import os
import urllib.request

from cdpfetch import certificates

# Bytes that a script may have, and seconds without an answer.
MAX_SCRIPT = 1 << 20
TIMEOUT = 10.0


def read(place: str, ca_bundle: str | None) -> str:
    """The script at a URL (http, https; asked for directly) or a path.  Blocks; raises OSError, ValueError."""
    if os.path.isabs(place):
        with open(place, "rb") as file:
            return _text(file.read(MAX_SCRIPT + 1))
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}),
        urllib.request.HTTPSHandler(context=certificates.context(ca_bundle)),
    )
    with opener.open(place, timeout=TIMEOUT) as response:
        return _text(response.read(MAX_SCRIPT + 1))


def _text(data: bytes) -> str:
    if len(data) > MAX_SCRIPT:
        raise ValueError(f"it has more than {MAX_SCRIPT} bytes")
    if not data.strip():
        raise ValueError("it is empty")
    return data.decode("utf-8", "replace").removeprefix("\ufeff")
