"""The socket protocol's vocabulary: one JSON object a line, camelCase, correlated by ``id``.

Both sides import this module and nothing else of each other.  It is free of I/O.
"""

from __future__ import annotations

import json

from cdpfetch.errors import CODES, CdpFetchError, InvalidRequest

# Not from typing: the command's start pays for every import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PROTOCOL = 1
# A line longer than this (bytes) ends the connection: content never rides the socket.
MAX_LINE = 1 << 20
# Seconds between heartbeats while requests are pending, and the silence that means a wedged daemon.
HEARTBEAT = 5.0
SILENCE = 20.0

Message = dict[str, "Any"]

STAGES = ("queued", "started", "navigating", "settling", "downloading", "challenge", "extracting", "interactive")

# The fields of each op: name -> (types, required).  ``id`` and ``op`` are common to all.
_STR: tuple[type, ...] = (str,)
_NUM: tuple[type, ...] = (int, float)
_BOOL: tuple[type, ...] = (bool,)
OPS: dict[str, dict[str, tuple[tuple[type, ...], bool]]] = {
    "fetch": {
        "url": (_STR, True),
        "downloadDir": (_STR, True),
        "format": (_STR, False),
        "extractor": (_STR, False),
        "screenshot": (_BOOL, False),
        "waitFor": (_STR, False),
        "redirects": (_STR, False),
        "deadline": (_NUM, False),
        "insecure": (_BOOL, False),
        "keepPage": (_BOOL, False),
        "headers": ((dict,), False),
        "acceptLanguage": (_STR, False),
        "allow": ((list,), False),
        "engine": (_STR, False),
        # Whether a run of the same fetch that is under way, whoever asked for it, may serve this request, too.
        "share": (_BOOL, False),
        "digest": (_BOOL, False),
        "vouched": (_BOOL, False),
        "requireKnown": (_BOOL, False),
    },
    "extract": {
        "file": (_STR, True),
        "downloadDir": (_STR, True),
        "url": (_STR, False),
        "contentType": (_STR, False),
        "extractor": (_STR, False),
        "deadline": (_NUM, False),
    },
    # ``environment``: the caller's display, which a daemon need not have (see DISPLAY_VARIABLES).
    "open-browser": {"url": (_STR, False), "wait": (_BOOL, False), "environment": ((dict,), False)},
    "close-browser": {},
    "sessions": {"action": (_STR, False), "site": (_STR, False)},
    "status": {},
    "cancel": {"target": ((str, int), True)},
    "shutdown": {"drain": (_BOOL, False)},
}

# The variables by which a program finds the user's display; the only ones that ``open-browser`` passes on.
DISPLAY_VARIABLES = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")

CHOICES: dict[str, tuple[str, ...]] = {
    "format": ("markdown", "text", "html", "source"),
    "redirects": ("follow", "same-host"),
    "engine": ("browser", "http", "auto"),
    "action": ("list", "clear"),
}


def encode(message: Message) -> bytes:
    """One message as one line."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"


def decode(line: bytes) -> Message:
    """One line as one message; raises InvalidRequest when it is not a JSON object."""
    try:
        message = json.loads(line)
    except ValueError as error:
        raise InvalidRequest(f"a line is not JSON: {error}") from None
    if not isinstance(message, dict):
        raise InvalidRequest(f"a line holds a JSON {type(message).__name__}, not an object")
    return message


def hello(version: str, *, pid: int | None = None) -> Message:
    """The first line of each side; ``pid`` is the daemon's."""
    message: Message = {"hello": "cdpfetch", "protocol": PROTOCOL, "version": version}
    if pid is not None:
        message["pid"] = pid
    return message


def check_hello(message: Message) -> tuple[int, str]:
    """``(protocol, version)`` of a peer's first line; raises InvalidRequest when it is none."""
    protocol, version = message.get("protocol"), message.get("version")
    if message.get("hello") != "cdpfetch" or not isinstance(protocol, int) or not isinstance(version, str):
        raise InvalidRequest("the first line is not a cdpfetch hello", "send {hello, protocol, version} first")
    return protocol, version


def version_key(version: str) -> tuple[int, ...]:
    """The numeric release of a version string, for comparison (``"0.10.1"`` -> ``(0, 10, 1)``)."""
    key: list[int] = []
    for part in version.split("."):
        digits = ""
        for char in part:
            if not char.isdigit():
                break
            digits += char
        if not digits:
            break
        key.append(int(digits))
        if digits != part:
            break
    return tuple(key)


def is_newer(mine: tuple[int, str], theirs: tuple[int, str]) -> bool:
    """Whether ``mine`` (protocol, version) is newer than ``theirs``: then the daemon is to be replaced."""
    return (mine[0], version_key(mine[1])) > (theirs[0], version_key(theirs[1]))


def check_request(message: Message) -> None:
    """Raise InvalidRequest, naming field and what is allowed, unless this is a well-formed request."""
    if not isinstance(message.get("id"), (str, int)) or isinstance(message.get("id"), bool):
        raise InvalidRequest("a request needs an id (string or integer)")
    op = message.get("op")
    fields = OPS.get(op) if isinstance(op, str) else None
    if fields is None:
        raise InvalidRequest(f"unknown op {op!r}", "known ops: " + ", ".join(sorted(OPS)))
    for name, value in message.items():
        if name in ("id", "op"):
            continue
        if name not in fields:
            raise InvalidRequest(f"unknown field {name!r} of op {op}", "known fields: " + ", ".join(sorted(fields)))
        types = fields[name][0]
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            wanted = " or ".join(kind.__name__ for kind in types)
            raise InvalidRequest(f"field {name!r} of op {op} is a {type(value).__name__}, wanted {wanted}")
        if name in CHOICES and value not in CHOICES[name]:
            raise InvalidRequest(f"field {name!r} is {value!r}", "allowed: " + ", ".join(CHOICES[name]))
    for name, (_, required) in fields.items():
        if required and name not in message:
            raise InvalidRequest(f"field {name!r} of op {op} is missing")


def status_event(request_id: Any, stage: str, **fields: Any) -> Message:
    """A progress line of a request."""
    return {"id": request_id, "event": "status", "stage": stage, **fields}


def result_event(request_id: Any, op: str, **fields: Any) -> Message:
    """The terminal line of a request that succeeded."""
    return {"id": request_id, "event": "result", "op": op, **fields}


def error_event(request_id: Any, error: CdpFetchError, **fields: Any) -> Message:
    """The terminal line of a request that failed."""
    message: Message = {"id": request_id, "event": "error", "code": error.code, "reason": error.reason, **fields}
    if error.hint:
        message["hint"] = error.hint
    return message


def error_from(message: Message) -> CdpFetchError:
    """The exception that an ``error`` event stands for."""
    code = message.get("code")
    return CdpFetchError(
        code if isinstance(code, str) and code in CODES else "internal",
        str(message.get("reason", "the daemon gave no reason")),
        message.get("hint"),
    )


def heartbeat() -> Message:
    """The line that a daemon sends every ``HEARTBEAT`` seconds while requests are pending."""
    return {"event": "heartbeat"}
