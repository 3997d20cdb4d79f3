"""Documents as the command's tests look at them."""

from __future__ import annotations

from typing import Any

from commands import Command
from testsite import Site


def fetch(command: Command, site: Site, path: str, *more: str) -> dict[str, Any]:
    """The document of one fetch."""
    (document,) = command("fetch", "--json", *more, site.url(path)).documents
    return document


def body(document: dict[str, Any], role: str = "content") -> str:
    """The text of the one body with a role."""
    (path,) = (one["path"] for one in document["bodies"] if one["role"] == role)
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def codes(document: dict[str, Any]) -> list[str]:
    """The warnings' codes, without what is said of the machine."""
    return [warning["code"] for warning in document["warnings"] if warning["code"] != "no_sandbox"]
