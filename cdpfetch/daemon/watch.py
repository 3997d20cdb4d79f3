"""Repeats the proof that Chrome's traffic passes the guard while a browser runs: a policy may change under it."""

from __future__ import annotations

import asyncio
import logging

from cdpfetch.cdp.errors import CdpError
from cdpfetch.daemon.guard import canary
from cdpfetch.daemon.supervisor import Supervisor
from cdpfetch.daemon.tabpool import TabPool
from cdpfetch.errors import CdpFetchError

log = logging.getLogger(__name__)

# Seconds between two proofs.  Chrome takes over a changed policy within seconds; a proof costs it two requests.
EVERY = 180.0


class Watch:
    """Looks after the browser of a supervisor; one that fails is closed, and the next one has to prove itself anew."""

    def __init__(self, supervisor: Supervisor, tabs: TabPool) -> None:
        self._supervisor = supervisor
        self._tabs = tabs

    async def run(self) -> None:
        """Look every now and then, until cancelled."""
        while True:
            await asyncio.sleep(EVERY)
            await self.look()

    async def look(self) -> None:
        """Let the running browser, if there is one, prove itself once more."""
        browser = self._supervisor.browser
        if browser is None:
            return
        try:
            try:
                await self._tabs.prove(browser)
            except canary.Unproved as error:
                log.info("once more: %s", error)  # a page may have held every core
                await self._tabs.prove(browser)
        except (CdpError, CdpFetchError) as error:
            if browser.closed is not None:
                return  # it ended meanwhile
            if not isinstance(error, CdpFetchError):
                error = CdpFetchError("browser_failed", f"Chrome could not be tried: {error}", "run: cdpfetch doctor")
            log.error("Chrome is closed: %s", error)
            await self._supervisor.condemn(browser, error)
