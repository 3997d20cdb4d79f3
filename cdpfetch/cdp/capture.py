"""A rendered page as one HTML text: shadow roots and frames in place, what is not visible marked.

Marks (attributes that the serializer sets): ``data-cdpfetch-hidden`` on what is not
rendered, ``data-cdpfetch-block`` on inline elements that are laid out as blocks,
``data-cdpfetch-frame="URL"`` on the element that stands for a frame.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from typing import Any, NamedTuple

from cdpfetch.cdp.connection import Session
from cdpfetch.cdp.errors import CdpError
from cdpfetch.cdp.tab import Tab

log = logging.getLogger(__name__)

_FRAME_MARK = re.compile("\0(\\d+)\0")
# Rounds of looking for closed shadow roots inside closed shadow roots.
_CLOSED_ROUNDS = 3


class CaptureLimits(NamedTuple):
    """Bounds of one capture."""

    chars: int = 60_000_000  # of HTML
    seconds: float = 10.0  # for the serializer, and again for all frames
    frames: int = 30
    frame_depth: int = 4


class Signals(NamedTuple):
    """What a page seems to be, as observations of the agent (agent/signals.js); counts and squeezed texts."""

    passwords: int = 0  # visible password fields
    names: int = 0  # visible fields for a user name or an e-mail address
    form_text: int = 0  # characters of the form around the first of them
    text: int = 0  # visible characters of the page
    head: str = ""  # the first 600 of them
    heading: str = ""  # the first visible heading
    walls: tuple[str, ...] = ()  # vendors whose bot wall left its marks
    scripted: bool = False  # whether scripts can run


class Capture(NamedTuple):
    """What was taken from a page."""

    html: str
    visible: int  # characters of visible text, white space not counted
    url: str
    title: str
    content_type: str  # document.contentType
    charset: str  # document.characterSet
    charset_declared: bool  # whether a meta element names one
    lang: str
    truncated: str | None  # why the serializer stopped early
    unread_frames: int  # frames that could not be read
    signals: Signals = Signals()


def options(limits: CaptureLimits, depth: int) -> str:
    """The serializer's options, as a JavaScript literal."""
    return json.dumps(
        {
            "chars": limits.chars,
            "ms": int(limits.seconds * 1000),
            "frames": limits.frames,
            "frameDepth": depth,
        }
    )


async def capture(tab: Tab, limits: CaptureLimits, taken: dict[str, Any] | None = None) -> Capture:
    """Serialize what the tab shows; ``taken`` is what the serializer has given already (agent's ``look``).

    Raises CdpError: the document was replaced meanwhile, or the page holds its thread.
    """
    top = taken or await _serialize(tab, limits, limits.frame_depth, None, None)
    if top["suspects"] and await _open_closed_roots(tab):
        top = await _serialize(tab, limits, limits.frame_depth, None, None)
    budget = _Budget(limits)
    html, visible = await _fill_frames(tab, top, limits, budget, limits.frame_depth, None, None)
    return Capture(
        html=html,
        visible=visible,
        url=top["url"],
        title=top["title"],
        content_type=top["contentType"],
        charset=top["charset"],
        charset_declared=top["declared"],
        lang=top["lang"],
        truncated=top["truncated"],
        unread_frames=budget.unread,
        signals=_signals(top["signals"] or {}),
    )


def _signals(seen: dict[str, Any]) -> Signals:
    return Signals(
        passwords=seen.get("passwords", 0),
        names=seen.get("names", 0),
        form_text=seen.get("formText", 0),
        text=seen.get("text", 0),
        head=seen.get("head", ""),
        heading=seen.get("heading", ""),
        walls=tuple(seen.get("walls", ())),
        scripted=seen.get("scripted", False),
    )


class _Budget:
    """What is left for the frames of one page."""

    def __init__(self, limits: CaptureLimits) -> None:
        self.frames = limits.frames
        self.until = time.monotonic() + limits.seconds
        self.unread = 0


async def _serialize(
    tab: Tab, limits: CaptureLimits, depth: int, frame_id: str | None, session: Session | None
) -> dict[str, Any]:
    expression = f"cdpfetchAgent.serialize({options(limits, depth)}, {'true' if frame_id else 'false'})"
    # The serializer watches its own time; the margin is for the transfer.
    answer = await tab.evaluate(expression, timeout=limits.seconds + 5.0, frame_id=frame_id, session=session)
    if not isinstance(answer, dict):
        raise CdpError("the document could not be serialized")
    return answer


async def _fill_frames(
    tab: Tab,
    taken: dict[str, Any],
    limits: CaptureLimits,
    budget: _Budget,
    depth: int,
    frame_id: str | None,
    session: Session | None,
) -> tuple[str, int]:
    """Put the content of frames that scripts can't reach (other origins) in their places."""
    html, visible = str(taken["html"]), int(taken["visible"])
    if not taken["frames"]:
        return html, visible
    contents: dict[int, str] = {}
    for index in range(taken["frames"]):
        if depth <= 0 or budget.frames <= 0 or time.monotonic() > budget.until:
            budget.unread += 1
            continue
        budget.frames -= 1
        try:
            inner, inner_visible = await _read_frame(tab, index, limits, budget, depth, frame_id, session)
        except CdpError as error:
            log.debug("a frame could not be read: %s", error)
            budget.unread += 1
            continue
        contents[index] = inner
        visible += inner_visible
    return _FRAME_MARK.sub(lambda match: contents.get(int(match[1]), ""), html), visible


async def _read_frame(
    tab: Tab,
    index: int,
    limits: CaptureLimits,
    budget: _Budget,
    depth: int,
    frame_id: str | None,
    session: Session | None,
) -> tuple[str, int]:
    owner = await tab.evaluate(
        f"cdpfetchAgent.frame({index})", timeout=2.0, frame_id=frame_id, session=session, by_value=False
    )
    holder = session or tab.session
    node = (await holder.execute("DOM.describeNode", {"objectId": owner.get("objectId", "")}, timeout=2.0))["node"]
    inner_id = node.get("frameId")
    if inner_id is None:
        raise CdpError("the frame has no document")
    inner_session = tab.frame_sessions.get(inner_id, holder)
    taken = await asyncio.wait_for(
        _serialize(tab, limits, depth - 1, inner_id, inner_session), max(0.1, min(3.0, budget.until - time.monotonic()))
    )
    if str(taken["url"]).startswith("chrome-error:"):
        raise CdpError("the frame's document did not come")
    return await _fill_frames(tab, taken, limits, budget, depth - 1, inner_id, inner_session)


async def _open_closed_roots(tab: Tab) -> bool:
    """Tell the agent of the closed shadow roots that only the browser can see; True when there are any."""
    found = False
    for _ in range(_CLOSED_ROUNDS):
        try:
            hosts = await _suspects(tab)
            roots = await asyncio.gather(*(_closed_root(tab, host) for host in hosts))
        except CdpError as error:
            log.debug("closed shadow roots could not be looked for: %s", error)
            break
        if not any(roots):
            break
        found = True
    tab.session.send("Runtime.releaseObjectGroup", {"objectGroup": "cdpfetch"})
    return found


async def _suspects(tab: Tab) -> list[str]:
    answer = await tab.evaluate("cdpfetchAgent.suspects()", timeout=3.0, by_value=False)
    if "objectId" not in answer:
        return []
    params = {"objectId": answer["objectId"], "ownProperties": True}
    properties = (await tab.session.execute("Runtime.getProperties", params, timeout=3.0))["result"]
    return [p["value"]["objectId"] for p in properties if p["name"].isdigit() and "objectId" in p.get("value", {})]


async def _closed_root(tab: Tab, host: str) -> bool:
    session = tab.session
    described = await session.execute("DOM.describeNode", {"objectId": host, "depth": 0, "pierce": True}, timeout=3.0)
    for root in described["node"].get("shadowRoots", ()):
        if root.get("shadowRootType") != "closed":
            continue
        params: dict[str, Any] = {"backendNodeId": root["backendNodeId"], "objectGroup": "cdpfetch"}
        params["executionContextId"] = await tab.context()
        resolved = (await session.execute("DOM.resolveNode", params, timeout=3.0))["object"]
        call = {
            "objectId": host,
            "functionDeclaration": "function (root) { cdpfetchAgent.addClosedRoot(this, root); }",
            "arguments": [{"objectId": resolved["objectId"]}],
        }
        await session.execute("Runtime.callFunctionOn", call, timeout=3.0)
        return True
    return False
