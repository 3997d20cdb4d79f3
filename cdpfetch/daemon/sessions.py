"""The sites that the user has signed in to: known by the cookies in the profile, remembered by name only.

A cookie's value never leaves Chrome: what is written and told is which site has cookies, their names and when they end.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import os
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from cdpfetch import addresses
from cdpfetch.cdp.browser import Browser
from cdpfetch.cdp.tab import Tab
from cdpfetch.errors import CdpFetchError, InvalidRequest
from cdpfetch.urls import parse_url

log = logging.getLogger(__name__)


@functools.cache
def _suffixes() -> Any:
    """The public suffix list that the package ships; loading it takes a moment, so it is done when first needed."""
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()


def site_of(host: str) -> str:
    """The registrable domain of a host (``"login.example.co.uk"`` -> ``"example.co.uk"``).

    A literal address, a single label and a public suffix are sites of their own.
    """
    host = host.lower().strip("[]").rstrip(".")
    if addresses.parse(host) is not None or "." not in host:
        return host
    return str(_suffixes().privatesuffix(host) or host)


class Sessions:
    """The recorded sites, in the file ``path`` (0600)."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._sites: frozenset[str] = frozenset()
        self._visited: dict[str, list[str]] = {}  # of those, the ones that were shown in a window: their origins
        self._cleared: dict[str, list[str]] = {}  # sites behind a bot wall that was passed: the names of their cookies
        self._read()

    @property
    def sites(self) -> frozenset[str]:
        """Sites that had cookies when the window was last closed, or were visited in one."""
        return self._sites

    async def warm(self) -> None:
        """Load the list of public suffixes before ``knows`` needs it: that takes a tenth of a second."""
        if (self._sites or self._cleared) and not _suffixes.cache_info().currsize:
            await asyncio.to_thread(_suffixes)

    def knows(self, host: str) -> bool:
        """Whether a host is to be visited with the profile, since its site had cookies there, or was visited."""
        return bool(self._sites) and site_of(host) in self._sites

    async def record(self, browser: Browser, visited: Mapping[str, Iterable[str]] | None = None) -> frozenset[str]:
        """Remember all sites that have cookies in the profile now, and those visited: then or at an earlier time.

        ``visited`` are the origins that the window has shown, by site: a login may be kept without any cookie.  A site
        of which only a bot wall was passed is none of these until it has more cookies than then, or is visited.

        Raises CdpError, OSError.
        """
        await asyncio.to_thread(_suffixes)
        names = _names(await _cookies(browser))
        for site, origins in (visited or {}).items():
            self._visited[site] = sorted({*self._visited.get(site, ()), *origins})
        self._cleared = {
            site: known
            for site, known in self._cleared.items()
            if site not in self._visited and names.get(site) and names[site].issubset(known)
        }
        self._write(frozenset(names).difference(self._cleared) | frozenset(self._visited))
        log.info("the profile has sessions of %d sites", len(self._sites))
        return self._sites

    async def clear_wall(self, browser: Browser, site: str) -> None:
        """Remember that a bot wall of a site was passed: its cookies go with anonymous visits, too.

        That does not make it a site of the profile: a page that pretends to be a wall gains nothing by it.
        Raises CdpError, OSError.
        """
        names = _names(await _cookies(browser)).get(site)
        if names and site not in self._sites:
            self._cleared[site] = sorted(names)
            self._write(self._sites)

    async def clearances(self, browser: Browser) -> list[dict[str, Any]]:
        """The cookies (CDP's CookieParam) by which bot walls let an anonymous visit pass.  Raises CdpError."""
        if not self._cleared:
            return []
        await asyncio.to_thread(_suffixes)
        return [_param(cookie) for cookie in await _cookies(browser) if site_of(_host(cookie)) in self._cleared]

    async def lend(self, tab: Tab, host: str) -> None:
        """Copy the profile's cookies of a host's site to the browser context of a tab.  Raises CdpError."""
        await asyncio.to_thread(_suffixes)
        site = site_of(host)
        lent = [_param(cookie) for cookie in await _cookies(tab.browser) if site_of(_host(cookie)) == site]
        if lent:
            await tab.session.execute("Network.setCookies", {"cookies": lent})

    async def listed(self, browser: Browser) -> list[dict[str, Any]]:
        """Each site that has cookies in the profile: ``site``, ``recorded``, ``origins`` and ``cookies``.

        A cookie is ``name``, ``domain``, ``path``, ``secure``, ``httpOnly`` and ``expires`` (ISO 8601, UTC; None for
        a session cookie).
        """
        found: dict[str, dict[str, Any]] = {}
        for cookie in await _cookies(browser):
            site = site_of(_host(cookie))
            entry = found.setdefault(
                site, {"site": site, "recorded": site in self._sites, "origins": [], "cookies": []}
            )
            if _origin(cookie) not in entry["origins"]:
                entry["origins"].append(_origin(cookie))
            entry["cookies"].append(_told(cookie))
        for site in self._sites.difference(found):
            found[site] = {"site": site, "recorded": True, "origins": self._visited.get(site, []), "cookies": []}
        return [found[site] for site in sorted(found)]

    async def clear(self, browser: Browser, wanted: str | None) -> dict[str, Any]:
        """Remove cookies and stored data from the profile: of one site (a host or a URL), or of all.

        ``{"sites": [removed], "cookies": how many}``.  Raises InvalidRequest for a site that has none, CdpError.
        """
        cookies = await _cookies(browser)
        site = None if wanted is None else site_of(_host_of_text(wanted))
        if site is not None:
            cookies = [cookie for cookie in cookies if site_of(_host(cookie)) == site]
            if not cookies and site not in self._sites:
                raise InvalidRequest(f"there are no sessions of {site}", "see: cdpfetch sessions")
        sites = frozenset(site_of(_host(cookie)) for cookie in cookies) | (self._sites if site is None else {site})
        origins = ["*"] if site is None else sorted({*map(_origin, cookies), *self._visited.get(site, ())})
        tab = await browser.new_tab()
        try:
            if site is None:
                await browser.connection.root.execute("Storage.clearCookies")
            for cookie in cookies if site is not None else ():
                await tab.session.execute("Network.deleteCookies", _key(cookie))
            for origin in origins:
                await tab.session.execute("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
        finally:
            await tab.close()
        for site in sites:
            self._visited.pop(site, None)
            self._cleared.pop(site, None)
        self._write(self._sites - sites)
        return {"sites": sorted(sites), "cookies": len(cookies)}

    def _read(self) -> None:
        try:
            with open(self._path, encoding="utf-8") as file:
                record = json.load(file)
            self._sites = frozenset(_texts(record["sites"]))
            self._visited = {str(site): _texts(found) for site, found in record.get("visited", {}).items()}
            self._cleared = {str(site): _texts(found) for site, found in record.get("cleared", {}).items()}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            log.warning("%s can't be read, and no site counts as signed in: %s", self._path, error)
            self._sites, self._visited, self._cleared = frozenset(), {}, {}

    def _write(self, sites: frozenset[str]) -> None:
        record = {
            "recorded": datetime.now(UTC).isoformat(timespec="seconds"),
            "sites": sorted(sites),
            "visited": self._visited,
            "cleared": self._cleared,
        }
        write_private(self._path, record)
        self._sites = sites


def write_private(path: str, record: dict[str, Any]) -> None:
    """Replace a file by one JSON object, atomically, readable by its owner only.  Raises OSError."""
    temporary = path + ".new"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
    os.replace(temporary, path)


async def _cookies(browser: Browser) -> list[dict[str, Any]]:
    """All cookies of the profile that have not ended."""
    now = time.time()
    answer = await browser.connection.root.execute("Storage.getCookies")
    return [one for one in answer["cookies"] if one.get("session") or float(one.get("expires", -1)) > now]


def _texts(values: Iterable[Any]) -> list[str]:
    return [value for value in values if isinstance(value, str)]


def _names(cookies: Iterable[dict[str, Any]]) -> dict[str, set[str]]:
    """The names of cookies, by site."""
    names: dict[str, set[str]] = {}
    for cookie in cookies:
        names.setdefault(site_of(_host(cookie)), set()).add(str(cookie["name"]))
    return names


def _param(cookie: dict[str, Any]) -> dict[str, Any]:
    """What makes the same cookie in another context (CDP's CookieParam)."""
    same = ("name", "value", "path", "secure", "httpOnly", "sameSite", "priority", "sourceScheme", "sourcePort")
    made = {name: cookie[name] for name in (*same, "partitionKey") if name in cookie}
    if not cookie.get("session"):
        made["expires"] = cookie["expires"]
    if str(cookie["domain"]).startswith("."):
        return {**made, "domain": cookie["domain"]}
    return {**made, "url": _origin(cookie) + str(cookie["path"])}  # a domain would make it one of sub-domains, too


def _host(cookie: dict[str, Any]) -> str:
    return str(cookie["domain"]).lstrip(".")


def _origin(cookie: dict[str, Any]) -> str:
    """The origin that set a cookie, as far as Chrome has noted it."""
    secure = cookie.get("sourceScheme") == "Secure" or bool(cookie.get("secure"))
    scheme, usual = ("https", 443) if secure else ("http", 80)
    port = int(cookie.get("sourcePort", -1))
    host = _host(cookie)
    host = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"{scheme}://{host}" + (f":{port}" if port > 0 and port != usual else "")


def _told(cookie: dict[str, Any]) -> dict[str, Any]:
    expires = None
    if not cookie.get("session"):
        expires = datetime.fromtimestamp(float(cookie["expires"]), UTC).isoformat(timespec="seconds")
    names = ("name", "domain", "path", "secure", "httpOnly")
    return {**{name: cookie.get(name) for name in names}, "expires": expires}


def _key(cookie: dict[str, Any]) -> dict[str, Any]:
    """What names a cookie to Chrome."""
    return {name: cookie[name] for name in ("name", "domain", "path", "partitionKey") if name in cookie}


def _host_of_text(text: str) -> str:
    try:
        return parse_url(text).host
    except CdpFetchError as error:
        raise InvalidRequest(f"{text!r} is not a site: {error.reason}", "as in: example.com") from error
