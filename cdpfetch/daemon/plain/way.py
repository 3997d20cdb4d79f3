"""The way without a browser of one fetch, from lane to lane; for the engine ``auto``, whether it served."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from cdpfetch.cdp.errors import CdpError
from cdpfetch.cdp.landing import Landing
from cdpfetch.cdp.lifecycle import Limits
from cdpfetch.daemon import faults
from cdpfetch.daemon.lanes import PROFILE, Lanes
from cdpfetch.daemon.plain import choice
from cdpfetch.daemon.plain.visit import PlainEngine, PlainVisit
from cdpfetch.daemon.routing import FetchRouter, LaneLeft
from cdpfetch.errors import CdpFetchError
from cdpfetch.urls import Url

# Of the time that is left, and of that for one page, the engine ``auto`` gives so much to the try without a browser.
_TRY_SHARE = 0.5


class Way(NamedTuple):
    """What a way needs: ``router`` makes the judge of a part of it, in a lane and from an address on."""

    engine: PlainEngine
    lanes: Lanes
    router: Callable[[str, Url], FetchRouter]
    limits: Limits
    hops: int  # how often redirects may lead from one lane to another

    async def go(self, visit: PlainVisit, url: Url) -> Landing:
        """Where the address leads, without cookies.  Raises what ``PlainVisit.run`` raises, but no LaneLeft."""
        lane = await self.lanes.choose(url, cookies=False)
        for _ in range(self.hops + 1):
            try:
                return await visit.run(url, lane, self.router(lane, url))
            except LaneLeft as left:
                url = left.url
                lane = self.lanes.opened_lane(url)
        raise CdpFetchError("too_many_redirects", f"the redirects went to and fro between lanes {self.hops} times")

    async def attempt(self, visit: PlainVisit, url: Url, lane: str, wanted: str) -> Landing | dict[str, Any]:
        """The landing where it will do, else the attempt for the document's trail, and a browser is to go.

        A site with a session, and one whose cookies can't be told (``lane`` is the profile's), is left to the browser
        without a try.  Raises what a browser would be told just the same.
        """
        if lane == PROFILE:
            return {}
        try:
            landing = await visit.run(url, lane, self.router(lane, url))
        except LaneLeft as left:
            return _attempt(CdpFetchError("login_required", f"{left.url.host} is visited with the profile"))
        except (CdpFetchError, CdpError, OSError) as error:
            public = faults.public_error(error)
            if choice.is_final(public):
                raise
            return _attempt(public)
        unfit = choice.unfit(landing, wanted)
        if unfit is None:
            return landing
        visit.discard(landing)
        return _attempt(unfit)


def shared(limits: Limits) -> Limits:
    """The limits of a try that leaves time for a browser."""
    now = asyncio.get_running_loop().time()
    end = now + (limits.end - now) * _TRY_SHARE
    return limits._replace(navigation=limits.navigation * _TRY_SHARE, end=end)


def _attempt(error: CdpFetchError) -> dict[str, Any]:
    return {"source": "http", "code": error.code, "reason": error.reason}
