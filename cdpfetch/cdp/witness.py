"""Asks a page's own observer how it stands, and makes the page show what it holds back."""

from __future__ import annotations

import json
from typing import Any

from cdpfetch.cdp.capture import CaptureLimits, options
from cdpfetch.cdp.landing import PAGE_TYPES, BadSelector, NotAPage
from cdpfetch.cdp.lifecycle import Pulse
from cdpfetch.cdp.tab import Tab

# Seconds that a page may take to answer a probe before its scripts are taken to hold the thread.
PROBE_TIMEOUT = 3.0
# The viewport is made as tall as the page, up to so many CSS pixels.
MAX_HEIGHT = 12000


class Witness:
    """What one tab says of its current document.

    ``wait_for`` is a CSS selector: until something matches it the page counts as waiting.
    """

    def __init__(self, tab: Tab, limits: CaptureLimits, wait_for: str | None = None) -> None:
        self._tab = tab
        self._limits = limits
        self.taken: dict[str, Any] | None = None  # a capture that came with the last pulse, of a page that is final
        self._wait_for = wait_for
        self.unmatched = False  # whether nothing matched the selector when it was last looked for
        self._expanded = False  # whether the viewport has been made as tall as the page

    def new_document(self) -> None:
        """Another document has taken the place of the one asked so far."""
        self._expanded = False
        self.taken = None

    async def pulse(self, rest: float = 0.0) -> Pulse:
        """The page's state, once its thread has come to rest or ``rest`` seconds are over.

        Raises NotAPage, BadSelector, ProtocolError (the document went away), CallTimeout (its scripts hold the thread).
        """
        selector = json.dumps(self._wait_for) if self._wait_for else "null"
        limits = options(self._limits, self._limits.frame_depth)
        grows = "false" if self._expanded else "true"
        expression = f"cdpfetchAgent.look({selector}, {limits}, {round(rest * 1000)}, {grows})"
        # A page that is final is serialized in the same turn, which has a limit of its own.
        answer = await self._tab.evaluate(expression, timeout=PROBE_TIMEOUT + rest)
        self.taken = answer.get("taken")
        if answer["matched"] is None:
            raise BadSelector(f"{self._wait_for!r} is not a CSS selector")
        self.unmatched = not answer["matched"]
        if answer["contentType"] not in PAGE_TYPES or answer["head"].startswith("%PDF-"):
            raise NotAPage(f"the document is {answer['contentType']}")
        pulse = Pulse(
            ready_state=answer["readyState"],
            scripted=answer["scripted"],
            still=answer["still"],
            length=answer["length"],
            waiting=answer["waiting"] or self.unmatched,
            refresh=answer["refresh"],
            at_rest=answer["atRest"],
        )
        if pulse.scripted and not self._expanded and answer["tall"]:
            self._expand(answer["height"])
            # What the taller viewport shows has yet to come.
            pulse = pulse._replace(still=0.0)
        return pulse

    def _expand(self, height: int) -> None:
        """Make the viewport as tall as the page, so that sections that wait to be scrolled to load."""
        self._expanded = self._tab.grown = True
        metrics = {"width": 1280, "height": min(int(height), MAX_HEIGHT), "deviceScaleFactor": 1, "mobile": False}
        self._tab.session.send("Emulation.setDeviceMetricsOverride", metrics, timeout=5.0)
