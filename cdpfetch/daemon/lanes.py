"""Which lane an address is visited in: with the profile's logins and what the user has opened, or without both.

The *profile* lane is the browser's default context: for hosts that ``network.allow`` opens, for
``fetch.profile_sites``, and for sites that the user has signed in to (sessions.py).  The *anonymous* lane is a context
of its own, without the profile's cookies, whose guard lets it reach public addresses only.  So no arbitrary page runs
where a login or an internal host is in reach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from cdpfetch import addresses
from cdpfetch.daemon.guard.lane import Lane
from cdpfetch.errors import CdpFetchError, ConfigError
from cdpfetch.policy import Policy, refusal
from cdpfetch.resolver import Resolver
from cdpfetch.urls import MAX_URL, Url, parse_url

PROFILE = "profile"
ANONYMOUS = "anonymous"


class Lanes:
    """Judges addresses by parsing and by name, and chooses their lanes; what names resolve to is the guard's business.

    ``allow`` and ``deny`` are those of ``[network]``; ``sites`` are hosts (with their sub-domains) that are
    visited with the profile, and so is each host that ``signed_in`` says yes to.  ``connection_bytes`` is what one
    connection of the anonymous lane may carry, both ways, ``idle_bytes`` what a lane may beside its visits (None: any).
    """

    def __init__(
        self,
        allow: Sequence[str],
        deny: Sequence[str],
        sites: Iterable[str] = (),
        resolver: Resolver | None = None,
        signed_in: Callable[[str], bool] = lambda host: False,
        connection_bytes: int | None = None,
        idle_bytes: int | None = None,
    ) -> None:
        self._allow = tuple(allow)
        self._deny = tuple(deny)
        self._sites = tuple(_site(entry) for entry in sites)
        self._signed_in = signed_in
        self._connection_bytes = connection_bytes
        self._idle_bytes = idle_bytes
        self._opened = Policy(allow, deny)
        self._public = Policy((), deny)
        self._resolver = resolver or Resolver()

    def guarded(self) -> list[Lane]:
        """The guard's lanes, with what each may reach."""
        return [
            Lane(PROFILE, self._opened, None, self._idle_bytes),
            Lane(ANONYMOUS, self._public, self._connection_bytes, self._idle_bytes),
        ]

    def extended(self, name: str, allow: Sequence[str]) -> tuple[Lane, Lanes]:
        """A lane of its own for one call that opens more, and the judge for it."""
        lanes = _OneLane(name, [*self._allow, *allow], self._deny)
        return Lane(name, lanes._opened, None, self._idle_bytes), lanes

    def apart(self, name: str, like: str) -> Lane | None:
        """A lane ``name`` that may reach what the lane ``like`` may; None where that is a single call's already."""
        return next((lane._replace(name=name) for lane in self.guarded() if lane.name == like), None)

    def parse(self, text: str, *, max_length: int = MAX_URL) -> Url:
        """The parsed URL when nothing that can be seen without resolving its name forbids it in every lane.

        Raises CdpFetchError: ``invalid_url``, ``unsupported_scheme``, ``blocked_address``.
        """
        url = parse_url(text, max_length=max_length)
        verdict = self._opened.judge_host(url)
        if not verdict.allowed:
            raise refusal(url, verdict)
        return url

    async def choose(self, url: Url, *, cookies: bool = True) -> str:
        """The lane of an address that the user has named; without ``cookies`` a sign-in does not count.

        A name is resolved only where the allow list has address ranges that it might be in.
        """
        lane = self.lane_of(url) if cookies else self.opened_lane(url)
        if lane == ANONYMOUS and addresses.parse(url.host) is None and self._opened.has_networks():
            try:
                found = await self._resolver.resolve(url.host)
            except CdpFetchError:
                return lane
            verdict = self._opened.judge_addresses(url, found)
            if verdict.allowed and verdict.rule.startswith("allow"):
                return PROFILE
        return lane

    def opened_lane(self, url: Url) -> str:
        """The lane of an address for what carries no cookies: only what the allow list opens is not anonymous."""
        opened = self._opened.opens_name(url) or self._opened.judge_host(url).rule.startswith("allow")
        return PROFILE if opened else ANONYMOUS

    def lane_of(self, url: Url) -> str:
        """The lane of an address, by its host alone."""
        if self.opened_lane(url) == PROFILE:
            return PROFILE
        if any(url.host == site or url.host.endswith("." + site) for site in self._sites):
            return PROFILE
        return PROFILE if self._signed_in(url.host) else ANONYMOUS

    def follow(self, url: Url, lane: str) -> str:
        """The lane in which a page of ``lane`` may lead to ``url``: its own, or another one that takes over.

        Raises CdpFetchError (``blocked_address``): a public page leads to what only the user may name.
        """
        wanted = self.lane_of(url)
        if lane == ANONYMOUS and wanted == PROFILE and not self._public.judge_host(url).allowed:
            verdict = self._public.judge_host(url)
            raise CdpFetchError(
                "blocked_address",
                f"a page of another site leads to {url.host}, where only you may go: {verdict.reason}",
                f"if you want it, fetch it by its own address: cdpfetch fetch '{url.href}'",
            )
        return wanted


class _OneLane(Lanes):
    """The judge of a call with a lane of its own: everything stays in it."""

    def __init__(self, name: str, allow: Sequence[str], deny: Sequence[str]) -> None:
        super().__init__(allow, deny)
        self._name = name

    async def choose(self, url: Url, *, cookies: bool = True) -> str:
        return self._name

    def opened_lane(self, url: Url) -> str:
        return self._name

    def lane_of(self, url: Url) -> str:
        return self._name

    def follow(self, url: Url, lane: str) -> str:
        return lane


def _site(entry: str) -> str:
    site = entry.strip().lower().removeprefix("*.").removeprefix(".").rstrip(".")
    if not site or any(char in site for char in "/:@ *"):
        raise ConfigError(f"fetch.profile_sites has {entry!r}, which is no host name", "as in: example.com")
    return site
