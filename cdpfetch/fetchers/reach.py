"""Which URLs are the browser's alone by the settings, whatever source knows them.  Pure."""

from __future__ import annotations

import fnmatch

from cdpfetch.config import Config
from cdpfetch.policy import Policy
from cdpfetch.urls import Url


def stays_local(url: Url, config: Config) -> str | None:
    """Why no other source is asked for a URL, or None: ``network.deny`` (the browser will refuse it) or
    ``fetch.force_local`` covers it.
    """
    if Policy((), config.network.deny).judge_host(url).rule.startswith("deny"):
        return "network.deny covers it"
    if any(covers(entry, url) for entry in config.fetch.force_local):
        return "fetch.force_local covers it"
    return None


def covers(entry: str, url: Url) -> bool:
    """Whether an entry of ``fetch.force_local`` covers a URL: a host with all below it, host:port, or a URL pattern."""
    entry = entry.strip().lower()
    if "/" in entry:
        href = url.href.lower()
        href = href if "://" in entry else href.partition("://")[2]
        return fnmatch.fnmatchcase(href, entry) or href.startswith(entry)
    host, _, port = entry.rpartition(":") if entry.rpartition(":")[2].isdigit() else (entry, "", "")
    if port and port != str(url.port):
        return False
    return within(url.host, host) or fnmatch.fnmatchcase(url.host, host)


def within(host: str, site: str) -> bool:
    """Whether a host is a site or below it."""
    site = site.strip().lower().removeprefix("*").strip(".[]")
    return bool(site) and (host == site or host.endswith(f".{site}"))
