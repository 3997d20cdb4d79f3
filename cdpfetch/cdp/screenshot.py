"""A picture of the whole page."""

from __future__ import annotations

import base64
import logging

from cdpfetch.cdp.errors import CdpError
from cdpfetch.cdp.tab import Tab

log = logging.getLogger(__name__)

# The tallest picture, in CSS pixels: beyond it Chrome's own surfaces fail.
MAX_HEIGHT = 16000
# Seconds that pictures in the page may take to arrive, and that the screenshot may take.
IMAGES_TIMEOUT = 3.0
TIMEOUT = 15.0


async def take_screenshot(tab: Tab) -> bytes | None:
    """The page from top to bottom (at most ``MAX_HEIGHT``) as PNG, or None when Chrome can't make one."""
    try:
        await tab.evaluate(f"cdpfetchAgent.images({IMAGES_TIMEOUT * 1000})", timeout=IMAGES_TIMEOUT + 2.0)
        metrics = await tab.session.execute("Page.getLayoutMetrics", timeout=5.0)
        size = metrics["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], MAX_HEIGHT), "scale": 1}
        params = {"format": "png", "captureBeyondViewport": True, "clip": clip}
        answer = await tab.session.execute("Page.captureScreenshot", params, timeout=TIMEOUT)
    except CdpError as error:
        log.info("no screenshot: %s", error)
        return None
    return base64.b64decode(answer["data"])
