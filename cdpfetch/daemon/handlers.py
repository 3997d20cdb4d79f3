"""What each op of the protocol does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from cdpfetch import cache, delivery, paths, wire
from cdpfetch._version import __version__
from cdpfetch.config import Config
from cdpfetch.daemon.assembly import Assembler
from cdpfetch.daemon.fetch import FetchFailed, FetchService
from cdpfetch.daemon.guard.guard import Guard
from cdpfetch.daemon.interactive import Interactive
from cdpfetch.daemon.options import FetchOptions, canonical
from cdpfetch.daemon.server import Client
from cdpfetch.daemon.sessions import Sessions
from cdpfetch.daemon.sharing import Sharing
from cdpfetch.daemon.supervisor import Supervisor
from cdpfetch.daemon.tabpool import TabPool
from cdpfetch.daemon.threads import in_thread
from cdpfetch.errors import InvalidRequest
from cdpfetch.extract.pool import ExtractPool
from cdpfetch.known import KnownStore, blurred
from cdpfetch.urls import parse_url

# Progress lines of one download: no more often than this (seconds).
_PROGRESS_EVERY = 0.2

_EXPOSED = {
    "code": "workers_exposed",
    "message": "the kernel does not shut extraction workers off from the network; only Python does",
}

_SEEING = {
    "code": "workers_see_files",
    "message": "the kernel does not keep extraction workers from the account's files (Landlock: Linux 5.13 or newer)",
}


class Handlers:
    """Dispatches requests; each method returns the terminal message."""

    def __init__(
        self,
        home: paths.Home,
        config: Config,
        supervisor: Supervisor,
        tabs: TabPool,
        pool: ExtractPool,
        fetches: FetchService,
        assembler: Assembler,
        guard: Guard,
        interactive: Interactive,
        sessions: Sessions,
        stop: Callable[[bool], None],
    ) -> None:
        self._home = home
        self._config = config
        self._supervisor = supervisor
        self._tabs = tabs
        self._pool = pool
        self._fetches = fetches
        self._assembler = assembler
        self._guard = guard
        self._interactive = interactive
        self._sessions = sessions
        self._sharing = Sharing()
        self._known = KnownStore(home.known_urls, config.network.known_urls)
        self._stop = stop  # called with whether to drain
        self._started = time.monotonic()
        self._handlers = {
            "fetch": self._fetch,
            "extract": self._extract,
            "open-browser": self._open_browser,
            "close-browser": self._close_browser,
            "sessions": self._list_or_clear,
            "status": self._status,
            "cancel": self._cancel,
            "shutdown": self._shutdown,
        }

    async def handle(self, client: Client, message: wire.Message) -> wire.Message:
        """The terminal message of one request.

        Raises CdpFetchError, FetchFailed.
        """
        op: str = message["op"]
        handler = self._handlers.get(op)
        if handler is None:
            raise InvalidRequest(f"this daemon does not serve {op}", "update cdpfetch, then: cdpfetch restart")
        return await handler(client, message)

    async def _status(self, client: Client, message: wire.Message) -> wire.Message:
        return wire.result_event(message["id"], "status", **self.status())

    async def _shutdown(self, client: Client, message: wire.Message) -> wire.Message:
        self._stop(bool(message.get("drain", True)))
        return wire.result_event(message["id"], "shutdown")

    async def _open_browser(self, client: Client, message: wire.Message) -> wire.Message:
        opened = await self._interactive.open_window(message.get("url"), message.get("environment"))
        if message.get("wait"):
            client.send(wire.status_event(message["id"], "interactive", **opened))
            await self._interactive.closed()
        return wire.result_event(message["id"], "open-browser", **opened, sites=len(self._sessions.sites))

    async def _close_browser(self, client: Client, message: wire.Message) -> wire.Message:
        closed = await self._interactive.close_window()
        return wire.result_event(message["id"], "close-browser", closed=closed)

    async def _list_or_clear(self, client: Client, message: wire.Message) -> wire.Message:
        await self._interactive.admit()
        async with self._supervisor.use() as browser:
            if message.get("action") == "clear":
                found = await self._sessions.clear(browser, message.get("site"))
            else:
                found = {"sites": await self._sessions.listed(browser)}
        return wire.result_event(message["id"], "sessions", **found)

    async def _fetch(self, client: Client, message: wire.Message) -> wire.Message:
        request_id = message["id"]
        last_progress = 0.0

        def emit(stage: str, **fields: Any) -> None:
            nonlocal last_progress
            if stage == "downloading":
                now = time.monotonic()
                if now - last_progress < _PROGRESS_EVERY:
                    return
                last_progress = now
            client.send(wire.status_event(request_id, stage, **fields))

        options = FetchOptions.parse(message, self._config)
        strict = await self._admit(message)
        if not os.path.isabs(options.directory):
            raise InvalidRequest(f"downloadDir is {options.directory!r}", "give an absolute path")
        if options.engine == "http":
            await self._sessions.warm()  # the window does not matter to what has no cookies
        else:
            await self._interactive.admit()
        try:
            document = await self._document(options, client, emit, share=bool(message.get("share")))
        except FetchFailed as failed:
            raise (_blurred(failed) if strict else failed) from failed.__cause__
        if self._config.network.require_known_url or message.get("requireKnown"):
            await in_thread(self._known.learn_document, document)
        self._remember(message, document)
        return wire.result_event(request_id, "fetch", **self._result(document, bool(message.get("digest"))))

    async def _admit(self, message: wire.Message) -> bool:
        """Whether this fetch is for known addresses only; raises CdpFetchError when its own is not one."""
        wanted = self._config.network.require_known_url or message.get("requireKnown")
        if not wanted or message.get("vouched"):
            return False
        await in_thread(self._known.refresh)
        self._known.require(message["url"], plain=not (message.get("headers") or message.get("acceptLanguage")))
        return True

    async def _document(
        self, options: FetchOptions, client: Client, emit: Callable[..., None], *, share: bool
    ) -> dict[str, Any]:
        """The document of a fetch, or of the same one that is under way already.  Raises FetchFailed."""
        if not share:
            return await self._fetches.fetch(options, client, emit)
        key = options._replace(url=canonical(options.url))
        try:
            document = await self._sharing.share(key, emit, lambda tell: self._fetches.fetch(options, client, tell))
        except FetchFailed as failed:
            raise FetchFailed(failed.error, {**failed.document, "url": options.url}) from failed
        return {**document, "url": options.url}

    def _remember(self, message: wire.Message, document: dict[str, Any]) -> None:
        """Make a document one that later calls of any client may take from disk."""
        profile = self._config.browser.profile_dir or self._home.profile
        entry = cache.key(parse_url(message["url"]).href, message, profile)
        cache.record(self._home.artifacts, entry, document, time.time())

    def _result(self, document: dict[str, Any], with_digest: bool) -> dict[str, Any]:
        roles = {body["role"]: body["path"] for body in reversed(document["bodies"])}
        fields: dict[str, Any] = {
            "finalUrl": document["link"],
            "file": next((roles[role] for role in ("content", "text", "original", "page") if role in roles), None),
            "contentType": document["content_type"],
            "bytes": document["bytes"],
            "document": document,
        }
        if document["title"]:
            fields["title"] = document["title"]
        if with_digest:
            fields["digest"] = delivery.digest([document])
        return fields

    async def _extract(self, client: Client, message: wire.Message) -> wire.Message:
        source, directory = message["file"], message["downloadDir"]
        if not (os.path.isabs(source) and os.path.isabs(directory)):
            raise InvalidRequest("file and downloadDir must be absolute paths")
        document = await self._assembler.extract(
            source,
            directory,
            url=message.get("url"),
            content_type=message.get("contentType"),
            extractor=message.get("extractor"),
            seconds=float(message.get("deadline", self._config.fetch.deadline)),
        )
        return wire.result_event(message["id"], "extract", document=document)

    async def _cancel(self, client: Client, message: wire.Message) -> wire.Message:
        target = message["target"]
        task = client.requests.get(target)
        if task is None or target == message["id"]:
            raise InvalidRequest(f"no request with the id {target!r} is under way on this connection")
        task.cancel()
        return wire.result_event(message["id"], "cancel", target=target)

    def _browser_state(self) -> str:
        if self._interactive.open:
            return "interactive"
        return "challenge" if self._supervisor.held else self._supervisor.state

    def status(self) -> dict[str, Any]:
        """What ``status`` answers."""
        browser = self._supervisor.browser
        process = browser.process if browser is not None else None
        return {
            "version": __version__,
            "protocol": wire.PROTOCOL,
            "pid": os.getpid(),
            "uptimeSecs": round(time.monotonic() - self._started, 1),
            "home": self._home.root,
            "socket": self._home.socket,
            "log": self._home.log,
            "profile": self._supervisor.profile_dir,
            "browser": {
                "state": self._browser_state(),
                "version": browser.product if browser is not None else None,
                "pid": process.pid if process is not None else self._interactive.pid,
                "executable": self._supervisor.executable,
                "sandboxed": not any(w["code"] == "no_sandbox" for w in self._supervisor.warnings),
                "tabs": len(browser.tabs) if browser is not None else 0,
                "restarts": self._supervisor.restarts,
            },
            "requests": {"active": self._tabs.working, "queued": self._tabs.waiting, "served": self._fetches.served},
            "guard": self._guard.status(),
            "workers": {"alive": self._pool.alive, "restarts": self._pool.restarts},
            "warnings": self._supervisor.warnings + [_EXPOSED] * self._pool.exposed + [_SEEING] * self._pool.sees_files,
        }


def _blurred(failed: FetchFailed) -> FetchFailed:
    error = blurred(failed.error)
    if error is failed.error:
        return failed
    attempts = [{"source": "local", "code": error.code, "reason": error.reason}]
    return FetchFailed(error, {**failed.document, "error": error.to_json(), "attempts": attempts})
