"""Makes a used tab fit for another page of the same origin: its renderer is warm, nothing of the last page is left.

What a page can leave in a tab: itself (replaced by about:blank, on which no script runs), the history (reset), a
viewport of another size (reset), ``window.name`` and the session storage (cleared by a script of ours in the next
document, before any of its own runs and after the last one's "pagehide").  Session storage is cleared for one origin,
so a tab that has shown documents of several is not fit, and neither is one with a dialog, a window, a download or an
override in its past.  Cookies and other storage belong to the browser context, which tabs of a lane share in any case.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from cdpfetch.cdp.errors import CdpError, SessionClosed
from cdpfetch.cdp.tab import WORLD, Tab, TabEvent

log = logging.getLogger(__name__)

# Visits that one tab, and so one renderer, serves at most.
USES_MAX = 40
# Bytes of script memory beyond which a renderer is given up.
HEAP_MAX = 100_000_000
# Seconds for all of it.
TIMEOUT = 2.0
# A document that the page itself leads to has a referrer, unless the page hides it: what it has stored is its own.
_CLEAR = """if (window === window.top && !document.referrer) {
  window.name = '';
  try { sessionStorage.clear(); } catch { /* an opaque origin has none */ }
}"""


def is_fit(tab: Tab) -> bool:
    """Whether a tab whose visit has ended can be made to serve another one."""
    return (
        tab.settled
        and tab.origin is not None
        and tab.spoilt is None
        and tab.uses + 1 < USES_MAX
        and tab.session.closed is None
    )


async def renew(tab: Tab) -> bool:
    """Clear a tab that is fit for another visit; False when that did not work, and it has to be closed."""
    try:
        async with asyncio.timeout(TIMEOUT):
            heap = await _clear(tab)
    except (CdpError, TimeoutError) as error:
        log.info("a tab could not be renewed: %r", error)
        return False
    return heap <= HEAP_MAX and tab.spoilt is None and tab.session.closed is None


def _is_blank(event: TabEvent) -> bool:
    return event.kind == "committed" and event.data.get("url") == "about:blank"


async def _until(tab: Tab, what: Callable[[TabEvent], bool]) -> None:
    """Drop the tab's events up to one."""
    while not what(event := await tab.events.get()):
        if event.kind == "gone":
            raise event.data if isinstance(event.data, CdpError) else SessionClosed("closed")


async def _clear(tab: Tab) -> float:
    """Do it; bytes of script memory that the renderer holds."""
    session = tab.session
    await session.execute("Page.navigate", {"url": "about:blank"})
    await _until(tab, _is_blank)
    # The last event of the blank page: none may come into the next visit, and the history can't be reset before.
    await _until(tab, lambda event: event.kind == "stopped")
    commands = [
        session.send("Page.addScriptToEvaluateOnNewDocument", {"source": _CLEAR, "worldName": WORLD}),
        session.send("Runtime.getHeapUsage"),
        session.send("Page.resetNavigationHistory"),
    ]
    if tab.grown:
        commands.append(session.send("Emulation.clearDeviceMetricsOverride"))
    once, heap, *_ = await asyncio.gather(*commands)
    tab.renew(str(once["identifier"]))
    return float(heap["usedSize"]) + float(heap.get("embedderHeapUsedSize", 0))
