"""The browser: the one subscriber to ``Target.*`` and ``Browser.*`` events, and the owner of tabs and downloads."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cdpfetch.cdp.connection import Connection
from cdpfetch.cdp.discovery import debugger_url
from cdpfetch.cdp.downloads import Download
from cdpfetch.cdp.errors import CdpError, ConnectionClosed, LaunchError, SessionClosed
from cdpfetch.cdp.filebound import FileBound
from cdpfetch.cdp.launcher import ChromeProcess, spawn
from cdpfetch.cdp.tab import Tab
from cdpfetch.cdp.transport import WebSocketTransport

if TYPE_CHECKING:
    from cdp_use.cdp.browser.events import DownloadProgressEvent, DownloadWillBeginEvent
    from cdp_use.cdp.target.events import TargetCrashedEvent, TargetCreatedEvent, TargetDestroyedEvent

log = logging.getLogger(__name__)

# Seconds from the start of the process to its first answer.
START_TIMEOUT = 30.0
# Seconds in which Chrome has made the file of a download that was cancelled as it began.
_LATE = 2.0


class Browser:
    """One running browser.  ``async with`` it, or ``close()`` it; everything that it opened ends with it."""

    def __init__(self, connection: Connection, process: ChromeProcess | None) -> None:
        self.connection = connection
        self.process = process  # None when somebody else runs the browser
        self.product = ""  # such as "Chrome/156.0.8078.114", set by _prepare
        self.tabs: dict[str, Tab] = {}  # by target id; a page's main frame has the same id
        self.first_tab: Tab | None = None  # a blank tab that whoever tried the browser has left for its first user
        self.downloads: dict[str, Download] = {}  # under way, by guid
        self.download_dir: str | None = None  # absolute path where Chrome writes downloads, named by guid
        self.file_limit: int | None = None  # bytes of one file that Chrome writes while something is downloaded
        self._bounded = FileBound(process.pid) if process is not None else None
        self._chores: set[asyncio.Future[Any]] = set()  # commands of which only the failure matters, and not much

    @classmethod
    async def launch(cls, argv: Sequence[str], environ: Mapping[str, str], download_dir: str | None = None) -> Browser:
        """Start Chrome and wait until it answers.

        Raises LaunchError when it can't be run, ends by itself or does not answer in time.
        """
        process, transport = await spawn(argv, environ)
        browser = cls(Connection(transport, last_words=process.last_words), process)
        try:
            await browser._prepare(download_dir)
        except BaseException as error:
            await browser.close(grace=0.5)
            if isinstance(error, CdpError):
                raise LaunchError(
                    f"Chrome did not come up: {process.last_words() or error}", process.returncode
                ) from error
            raise
        return browser

    @classmethod
    async def attach(cls, url: str, download_dir: str | None = None) -> Browser:
        """Use a browser that somebody else runs, by its debugging address (``ws://``, or ``http://HOST:PORT``).

        Raises LaunchError when nothing answers there.
        """
        try:
            transport = await WebSocketTransport.open(await asyncio.to_thread(debugger_url, url))
        except Exception as error:
            raise LaunchError(f"cannot attach to {url}: {error}") from error
        browser = cls(Connection(transport), None)
        try:
            await browser._prepare(download_dir)
        except BaseException as error:
            await browser.close()
            if isinstance(error, CdpError):
                raise LaunchError(f"the browser at {url} does not answer: {error}") from error
            raise
        return browser

    @property
    def closed(self) -> ConnectionClosed | None:
        """The cause of the end, once the connection has ended."""
        return self.connection.closed

    async def new_context(self, params: dict[str, Any]) -> str:
        """A browser context (its own cookies and storage; CDP's parameters) with our downloads; its id.

        Raises CdpError.
        """
        root = self.connection.root
        answer = await root.execute("Target.createBrowserContext", {"disposeOnDetach": True, **params})
        context_id = str(answer["browserContextId"])
        if self.download_dir is not None:
            await root.execute("Browser.setDownloadBehavior", {**self._downloading(), "browserContextId": context_id})
        return context_id

    def _downloading(self) -> dict[str, Any]:
        return {"behavior": "allowAndName", "downloadPath": self.download_dir, "eventsEnabled": True}

    async def new_tab(self, context_id: str | None = None) -> Tab:
        """A blank tab, prepared for a navigation, in a browser context (None: the profile's).

        Raises CdpError.
        """
        root = self.connection.root
        # In the background: a fifth of Chrome's CPU less, and nothing that a page can notice.
        params: dict[str, Any] = {"url": "about:blank", "background": True}
        if context_id is not None:
            params["browserContextId"] = context_id
        target_id = (await root.execute("Target.createTarget", params))["targetId"]
        try:
            answer = await root.execute("Target.attachToTarget", {"targetId": target_id, "flatten": True})
            tab = Tab(self, self.connection.attach(answer["sessionId"], target_id), target_id)
            self.tabs[target_id] = tab
            await tab.prepare()
        except BaseException:
            self.tabs.pop(target_id, None)
            self.chore("Target.closeTarget", {"targetId": target_id})
            raise
        return tab

    async def close_tab(self, tab: Tab) -> None:
        """Close a tab without asking its page; never fails."""
        self.tabs.pop(tab.target_id, None)
        for download in [d for d in self.downloads.values() if d.tab_id == tab.target_id]:
            self.cancel_download(download)
        if tab.session.closed is None or not self.closed:
            with contextlib.suppress(CdpError):
                await self.connection.root.execute("Target.closeTarget", {"targetId": tab.target_id}, timeout=5.0)
        tab.session.close(SessionClosed("closed"))

    def cancel_download(self, download: Download) -> None:
        """Stop a download and forget it; Chrome removes its partial file."""
        self.downloads.pop(download.guid, None)
        if not download.ended:
            download.end("canceled")
            answered = self.chore("Browser.cancelDownload", {"guid": download.guid})
            answered.add_done_callback(lambda _: self._cancelled(download))

    def _cancelled(self, download: Download) -> None:
        """Until Chrome has answered it goes on writing, or is about to begin: then it leaves an empty file, soon."""
        download.remove()
        asyncio.get_running_loop().call_later(_LATE, download.remove)
        self._unbound()

    def chore(self, method: str, params: dict[str, Any]) -> asyncio.Future[Any]:
        """Send a command of the browser whose answer nobody waits for."""
        future = self.connection.root.send(method, params, timeout=10.0)
        self._chores.add(future)
        future.add_done_callback(self._chores.discard)
        return future

    def _unbound(self) -> None:
        if self._bounded is not None and not self.downloads:
            self._bounded.lift()

    async def close(self, grace: float = 5.0) -> None:
        """End the browser (its profile is written) and wait until it has; idempotent.

        A browser that somebody else runs goes on; only our tabs are closed.
        """
        if self.process is None:
            await asyncio.gather(*(self.close_tab(tab) for tab in list(self.tabs.values())))
            await self.connection.close()
            return
        if self.closed is None:
            with contextlib.suppress(CdpError):
                await self.connection.root.execute("Browser.close", timeout=grace or 0.1)
                # Chrome writes its cookies and preferences before it goes.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(grace):
                        await self.process.wait()
        await self.connection.close()
        await self.process.close(grace=min(grace, 1.0))

    async def _prepare(self, download_dir: str | None) -> None:
        root = self.connection.root
        root.on("Target.targetCreated", self._target_created)
        root.on("Target.targetDestroyed", self._target_destroyed)
        root.on("Target.targetCrashed", self._target_crashed)
        root.on("Browser.downloadWillBegin", self._download_began)
        root.on("Browser.downloadProgress", self._download_progressed)
        version = root.send("Browser.getVersion", timeout=START_TIMEOUT)
        commands = [
            version,
            root.send(
                "Target.setDiscoverTargets",
                {"discover": True, "filter": [{"type": "page"}, {"exclude": True}]},
                timeout=START_TIMEOUT,
            ),
        ]
        if download_dir is not None:
            self.download_dir = download_dir
            commands.append(root.send("Browser.setDownloadBehavior", self._downloading(), timeout=START_TIMEOUT))
        await asyncio.gather(*commands)
        self.product = str(version.result().get("product", ""))

    # events

    def _target_created(self, params: TargetCreatedEvent) -> None:
        info = params["targetInfo"]
        if info.get("type") == "page" and info.get("openerId") in self.tabs:
            log.debug("closing a popup: %s", info.get("url"))
            self.tabs[info["openerId"]].spoil("its page has opened a window")
            self.chore("Target.closeTarget", {"targetId": info["targetId"]})

    def _target_destroyed(self, params: TargetDestroyedEvent) -> None:
        tab = self.tabs.pop(params["targetId"], None)
        if tab is not None:
            tab.session.close(SessionClosed("closed"))

    def _target_crashed(self, params: TargetCrashedEvent) -> None:
        tab = self.tabs.get(params["targetId"])
        if tab is not None:
            tab.session.close(SessionClosed("crashed", str(params.get("status", ""))))

    def _download_began(self, params: DownloadWillBeginEvent) -> None:
        guid, frame_id = params["guid"], params.get("frameId", "")
        tab = self.tabs.get(frame_id) or next((t for t in self.tabs.values() if frame_id in t.frames), None)
        path = os.path.join(self.download_dir, guid) if self.download_dir is not None else None
        download = Download(guid, str(params.get("url", "")), str(params.get("suggestedFilename", "")), path)
        self.downloads[guid] = download
        if self._bounded is not None and self.file_limit is not None:
            self._bounded.set(self.file_limit)
        if tab is None or path is None:
            log.info("a download that nobody asked for is cancelled: %s", download.url)
            self.cancel_download(download)
            return
        download.tab_id = tab.target_id
        tab.download_began(download, frame_id)

    def _download_progressed(self, params: DownloadProgressEvent) -> None:
        download = self.downloads.get(params["guid"])
        if download is None:
            return
        download.progress(int(params.get("receivedBytes", 0)), int(params.get("totalBytes", 0)))
        state = params.get("state")
        if state in ("completed", "canceled"):
            self.downloads.pop(download.guid, None)
            download.end(state)
            self._unbound()

    def __repr__(self) -> str:
        pid = self.process.pid if self.process else "attached"
        return f"<Browser {self.product} {pid}, {len(self.tabs)} tabs, {len(self.downloads)} downloads>"
