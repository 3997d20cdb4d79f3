"""Where a connection may go: the policy, applied to a target as a client names it and to what its name resolves to."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import NamedTuple

from cdpfetch import addresses
from cdpfetch.errors import CdpFetchError
from cdpfetch.policy import Policy, Verdict, is_private, refusal
from cdpfetch.resolver import Resolver
from cdpfetch.urls import Url, parse_url

_NAME = re.compile(r"[A-Za-z0-9._-]+")
# Never resolved (RFC 6761): no question leaves, and the start-up proof is answered at once.
_INVALID = ".invalid"
_OWN_KINDS = (addresses.LOOPBACK, addresses.UNSPECIFIED)


class Route(NamedTuple):
    """A permitted connection: to one of these addresses, in this order; none means through the upstream proxy."""

    target: Url
    addresses: tuple[str, ...]


def target_of(host: str, port: int) -> Url:
    """A SOCKS target as the policy knows it: canonical, with the scheme that its port suggests.

    Raises CdpFetchError (``invalid_url``) for what no browser would name.
    """
    literal = addresses.parse(host)
    if literal is None and not _NAME.fullmatch(host):
        raise CdpFetchError("invalid_url", f"{host[:100]!r} is no host name")
    written = f"[{literal}]" if literal is not None and literal.version == 6 else str(literal or host)
    return parse_url(f"{'https' if port == 443 else 'http'}://{written}:{port}/")


class Judge:
    """Decides about targets.  ``own_ports``: ports of this machine that are never reached, whatever is allowed."""

    def __init__(self, resolver: Resolver, own_ports: Container[int]) -> None:
        self._resolver = resolver
        self._own_ports = own_ports

    async def judge(self, policy: Policy, target: Url, *, by_name: bool = False) -> Route:
        """The permitted route to a target (one that ``target_of`` made).

        ``by_name``: an upstream proxy resolves it.  Names that only the proxy knows are then permitted when they look
        public, or when the policy opens them; what resolves here is judged as ever.

        Raises CdpFetchError: ``blocked_address``, ``dns_failed``.
        """
        verdict = policy.judge_host(target)
        if not verdict.allowed:
            raise refusal(target, verdict)
        if target.host.endswith(_INVALID):
            raise CdpFetchError("dns_failed", f"{target.host} does not resolve: .invalid never does (RFC 6761)")
        literal = addresses.parse(target.host)
        if literal is not None:
            return self._permit(policy, target, [str(literal)], by_name)
        try:
            found = await self._resolver.resolve(target.host)
        except CdpFetchError:
            if not by_name:
                raise
            return _unresolved(policy, target)
        return self._permit(policy, target, found, by_name)

    def still_allowed(self, policy: Policy, target: Url, address: str | None) -> bool:
        """Whether a live connection would be permitted by another policy (None: it goes through a proxy)."""
        if address is None:
            return policy.judge_host(target).allowed and (not is_private(target) or policy.opens_name(target))
        return policy.judge_host(target).allowed and policy.judge_address(target, address).allowed

    def _permit(self, policy: Policy, target: Url, found: list[str], by_name: bool) -> Route:
        verdict = policy.judge_addresses(target, found)
        if not verdict.allowed:
            raise refusal(target, verdict)
        good = [address for address in found if policy.judge_address(target, address).allowed]
        if target.port in self._own_ports:
            good = [address for address in good if not is_own(address)]
        if not good:
            raise _own_port(target)
        # What this machine calls itself is another machine to a proxy.
        return Route(target, () if by_name and not all(map(is_own, good)) else tuple(good))


def is_own(address: str) -> bool:
    """Whether an address leads to this machine, or can't be told."""
    parsed = addresses.parse(address)
    return parsed is None or addresses.classify(parsed).kind in _OWN_KINDS


def _own_port(target: Url) -> CdpFetchError:
    return CdpFetchError("blocked_address", f"port {target.port} of this machine is the guard's own")


def _unresolved(policy: Policy, target: Url) -> Route:
    """What does not resolve here: for the proxy, unless its name says that it is not of the public web."""
    if is_private(target) and not policy.opens_name(target):
        reason = f"{target.host} does not resolve here, and its name is not one of the public web"
        raise refusal(target, Verdict(False, reason, "name"))
    return Route(target, ())
