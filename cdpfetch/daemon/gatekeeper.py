"""Which addresses may be asked: the policy, applied to what a name resolves to."""

from __future__ import annotations

import asyncio
import socket

from cdpfetch.errors import CdpFetchError
from cdpfetch.policy import Policy, refusal
from cdpfetch.urls import MAX_URL, Url, parse_url

# Seconds that a name may take to resolve.
RESOLVE_TIMEOUT = 5.0


class Gatekeeper:
    """Judges URLs by parsing, by name and by every address that the name has."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    async def judge(self, text: str, *, max_length: int = MAX_URL) -> Url:
        """The parsed URL when it may be asked.

        Raises CdpFetchError: ``invalid_url``, ``unsupported_scheme``, ``blocked_address``, ``dns_failed``.
        """
        url = parse_url(text, max_length=max_length)
        verdict = self._policy.judge_host(url)
        if verdict.rule == "name":  # literal addresses and localhost are known without asking
            verdict = self._policy.judge_addresses(url, await resolve(url.host, url.port))
        if not verdict.allowed:
            raise refusal(url, verdict)
        return url


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a name; raises CdpFetchError (``dns_failed``)."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(RESOLVE_TIMEOUT):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except TimeoutError:
        raise CdpFetchError("dns_failed", f"{host} did not resolve within {RESOLVE_TIMEOUT:g} s") from None
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CdpFetchError("dns_failed", f"{host} does not resolve: {reason}", "check the host name") from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
