"""robots.txt (RFC 9309) for a batch: fetched once for each origin, and kept for a day."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import NamedTuple, Protocol

from protego import Protego

from cdpfetch.errors import CdpFetchError
from cdpfetch.urls import Url, parse_url

AGENT = "cdpfetch"
# Bytes of a file that count; RFC 9309 asks for at least 500 KiB.
MAX_BYTES = 512_000
_SECONDS = 20.0
_KEPT_SECONDS = 86_400.0
_KEPT = 2_000
# Seconds between two fetches at most, whatever a file asks for.
MAX_DELAY = 60.0


class Answer(NamedTuple):
    """What a server answered for ``/robots.txt``, redirects followed."""

    status: int
    text: str


class Get(Protocol):
    """Fetches a file.  Raises CdpFetchError when no answer came."""

    async def __call__(self, url: str) -> Answer: ...


class Rules(NamedTuple):
    """What an origin permits: None for ``parser`` permits all."""

    parser: Protego | None
    until: float

    def allows(self, url: str) -> bool:
        return self.parser is None or bool(self.parser.can_fetch(url, AGENT))

    @property
    def delay(self) -> float:
        """Seconds between two fetches that it asks for."""
        asked = None if self.parser is None else self.parser.crawl_delay(AGENT)
        return min(MAX_DELAY, float(asked or 0.0))


class Robots:
    """The rules of the origins that are visited."""

    def __init__(self, get: Get) -> None:
        self._get = get
        self._rules: OrderedDict[str, Rules] = OrderedDict()
        # Origins whose file is being fetched.
        self._coming: dict[str, asyncio.Task[Rules]] = {}

    async def rules(self, url: Url, now: float) -> Rules:
        """The rules for a URL's origin.

        No file, or no answer at all: all is permitted (the fetch itself will say what is wrong).  Raises
        CdpFetchError(http_error) where the server fails with 5xx: nothing is permitted until it answers.
        """
        origin = "/".join(url.href.split("/")[:3])
        found = self._rules.get(origin)
        if found is not None and found.until > now:
            self._rules.move_to_end(origin)
            return found
        task = self._coming.get(origin)
        if task is None:
            task = self._coming[origin] = asyncio.create_task(self._load(origin, now))
            task.add_done_callback(lambda done: self._coming.pop(origin, None))
        await asyncio.wait([task])
        return task.result()

    async def close(self) -> None:
        """End what is under way."""
        tasks = list(self._coming.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _load(self, origin: str, now: float) -> Rules:
        try:
            async with asyncio.timeout(_SECONDS):
                answer = await self._get(f"{origin}/robots.txt")
        except (CdpFetchError, TimeoutError):
            return Rules(None, now)
        if answer.status >= 500:
            raise CdpFetchError(
                "http_error",
                f"{origin}/robots.txt answers HTTP {answer.status}, so that nothing may be fetched there",
                "try again later, or --ignore-robots",
            )
        parser = Protego.parse(answer.text) if answer.status < 300 else None
        rules = self._rules[origin] = Rules(parser, now + _KEPT_SECONDS)
        while len(self._rules) > _KEPT:
            self._rules.popitem(last=False)
        return rules


def refusal(url: str) -> CdpFetchError:
    """The error for a URL that robots.txt disallows."""
    host = parse_url(url).host
    return CdpFetchError(
        "blocked_address",
        f"robots.txt of {host} disallows this address for {AGENT}",
        "--ignore-robots fetches it anyway",
    )
