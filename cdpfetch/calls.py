"""What the blocking and the asyncio client share: requests out of options, documents out of events.  Pure."""

from __future__ import annotations

import os

from cdpfetch import wire
from cdpfetch._version import __version__
from cdpfetch.errors import CdpFetchError, DaemonUnavailable, InvalidRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Literal, TypedDict

    from cdpfetch.paths import Home
    from cdpfetch.wire import Message

    class FetchOptions(TypedDict, total=False):
        """The options of a fetch, as ``cdpfetch fetch -h`` explains them; None means unset."""

        output_dir: str | os.PathLike[str] | None
        format: Literal["markdown", "text", "html", "source"] | None
        extractor: str | None
        screenshot: bool | None
        wait_for: str | None
        redirects: Literal["follow", "same-host"] | None
        deadline: float | None
        insecure: bool | None
        keep_page: bool | None
        headers: Mapping[str, str] | None
        accept_language: str | None
        allow: Sequence[str] | None
        engine: Literal["browser", "http", "auto"] | None
        share: bool | None
        digest: bool | None
        vouched: bool | None
        require_known: bool | None


# Requests of one call that are under way at once; the rest is sent as these end, so that no buffer fills up.
WINDOW = 64
# Options of a fetch -> fields of the wire.
FETCH_OPTIONS = {
    "format": "format",
    "extractor": "extractor",
    "screenshot": "screenshot",
    "wait_for": "waitFor",
    "redirects": "redirects",
    "deadline": "deadline",
    "insecure": "insecure",
    "keep_page": "keepPage",
    "headers": "headers",
    "accept_language": "acceptLanguage",
    "allow": "allow",
    "engine": "engine",
    "share": "share",
    "digest": "digest",
    "vouched": "vouched",
    "require_known": "requireKnown",
}


def fetch_fields(home: Home, options: Mapping[str, Any]) -> Message:
    """The fields that all requests of one call share.

    ``options`` are those of FETCH_OPTIONS and ``output_dir`` (default: the home's artifacts); None means unset.
    Raises InvalidRequest for others, and for values of a wrong type.
    """
    fields: Message = {"op": "fetch", "downloadDir": home.artifacts}
    for name, value in options.items():
        if value is None:
            continue
        if name == "output_dir":
            fields["downloadDir"] = os.path.abspath(os.path.expanduser(os.fspath(value)))
        elif name in FETCH_OPTIONS:
            fields[FETCH_OPTIONS[name]] = _plain(value)
        else:
            known = ", ".join(sorted([*FETCH_OPTIONS, "output_dir"]))
            raise InvalidRequest(f"unknown option {name!r} of fetch", f"known options: {known}")
    wire.check_request({"id": 0, "url": "", **fields})
    return fields


def window_fields(url: str | None, wait: bool, environment: Mapping[str, str] | None) -> Message:
    """The fields of ``open-browser``, with the display of ``environment`` (default: ours), which a daemon may lack."""
    environ = os.environ if environment is None else environment
    display = {name: environ[name] for name in wire.DISPLAY_VARIABLES if environ.get(name)}
    fields: Message = {"environment": display} if display else {}
    if url is not None:
        fields["url"] = url
    if wait:
        fields["wait"] = True
    return fields


def _plain(value: Any) -> Any:
    """The JSON form of an option's value."""
    if isinstance(value, tuple | set | frozenset):
        return list(value)
    return dict(value) if hasattr(value, "keys") else value


def request_of(op: str, fields: Mapping[str, Any], request_id: int) -> Message:
    """A checked request.  Raises InvalidRequest."""
    message: Message = {"id": request_id, "op": op, **fields}
    wire.check_request(message)
    if len(wire.encode(message)) > wire.MAX_LINE // 2:
        raise InvalidRequest(f"a request of op {op} is longer than {wire.MAX_LINE // 2} bytes", "shorten its fields")
    return message


def document_of(url: str, event: Message) -> dict[str, Any]:
    """The document that a terminal event stands for; ``digest`` is kept as an entry when the daemon sent one."""
    document = event.get("document")
    if event.get("event") == "error":
        return failed(url, wire.error_from(event), document if isinstance(document, dict) else None)
    if not isinstance(document, dict):
        return failed(url, CdpFetchError("internal", "the daemon's result holds no document"))
    return document


def needs_browser(fields: Message) -> bool:
    """Whether a fetch with these fields of the wire needs a browser for certain."""
    return bool(fields.get("engine", "browser") == "browser")


def failed(url: str, error: CdpFetchError, document: dict[str, Any] | None = None) -> dict[str, Any]:
    """The document of a URL that failed, with its error and an attempt filled in where they are missing."""
    from cdpfetch.artifacts import new_document

    document = {**new_document(url), **(document or {}), "ok": False}
    document["error"] = document["error"] or error.to_json()
    document["attempts"] = document["attempts"] or [
        {"source": document["source"], "code": error.code, "reason": error.reason}
    ]
    return document


def lost(error: CdpFetchError, pending: int) -> DaemonUnavailable:
    """The error of requests whose daemon went away."""
    noun = "request was" if pending == 1 else "requests were"
    return DaemonUnavailable(f"{error.reason} while {pending} {noun} under way", error.hint)


def judge_peer(peer: tuple[int, str]) -> str:
    """``use`` or ``replace`` for a daemon's ``(protocol, version)``; DaemonUnavailable for one from the future."""
    mine = (wire.PROTOCOL, __version__)
    if wire.is_newer(mine, peer):
        return "replace"
    if peer[0] != wire.PROTOCOL:
        raise DaemonUnavailable(
            f"the daemon is cdpfetch {peer[1]} (protocol {peer[0]}), newer than this one, {__version__} "
            f"(protocol {wire.PROTOCOL})",
            "use that newer cdpfetch, or stop its daemon with it (`cdpfetch stop`)",
        )
    return "use"
