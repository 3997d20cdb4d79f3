"""What is measured: a bare CDP script with reused tabs (the floor), and the daemon."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Protocol

from cdpfetch.aclient import AsyncClient
from cdpfetch.cdp import flags
from cdpfetch.cdp.connection import Connection, Session
from cdpfetch.cdp.discovery import find_chrome
from cdpfetch.cdp.launcher import spawn

HERE = os.path.dirname(os.path.abspath(__file__))
HTML = "document.documentElement.outerHTML"
# Resolves when the element that ends each page's text stands in the DOM.
DONE = """new Promise((r) => {const q = () => document.querySelector('#done'); if (q()) return r();
new MutationObserver((m, o) => {if (q()) {o.disconnect(); r()}})
.observe(document, {childList: true, subtree: true})})"""


class Runner(Protocol):
    """One way to get a page; ``lane`` tells callers at once apart."""

    async def fetch(self, url: str, lane: int = 0) -> None:
        """Return when the page's content is in hand."""

    async def close(self) -> None:
        """End everything that was started."""


def chrome_command(profile: str) -> list[str]:
    """Chrome as the daemon starts it, without the guard."""
    executable = find_chrome(os.environ.get("CDPFETCH_CHROME"))
    return flags.headless(executable, profile, no_sandbox=os.geteuid() == 0, extra=(), platform=sys.platform)


def make_profile(folder: str) -> str:
    """A profile with which Chrome saves PDFs, and does not show them."""
    profile = os.path.join(folder, "profile")
    os.makedirs(os.path.join(profile, "Default"))
    with open(os.path.join(profile, "Default", "Preferences"), "w", encoding="utf-8") as file:
        json.dump({"plugins": {"always_open_pdf_externally": True}}, file)
    return profile


class Floor:
    """The least that can be done: navigate a tab that exists, wait for an event, ask for its HTML."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._tabs: dict[int, Session] = {}

    @classmethod
    async def start(cls) -> Floor:
        """With a Chrome of its own."""
        floor = cls(tempfile.mkdtemp(prefix="cdpfetch-bench-"))
        profile = make_profile(floor._folder)
        floor._process, transport = await spawn(chrome_command(profile), os.environ)
        floor._connection = Connection(transport)
        downloads = {"behavior": "allowAndName", "downloadPath": floor._folder, "eventsEnabled": True}
        await floor._connection.root.execute("Browser.setDownloadBehavior", downloads)
        return floor

    async def _tab(self, lane: int) -> Session:
        if lane not in self._tabs:
            root = self._connection.root
            target = (await root.execute("Target.createTarget", {"url": "about:blank", "background": True}))["targetId"]
            attached = await root.execute("Target.attachToTarget", {"targetId": target, "flatten": True})
            tab = self._tabs[lane] = self._connection.attach(attached["sessionId"], target)
            await tab.execute("Page.enable")
            await tab.execute("Page.setLifecycleEventsEnabled", {"enabled": True})
        return self._tabs[lane]

    async def fetch(self, url: str, lane: int = 0) -> None:
        """Wait for the load event; where it says nothing of the text, for the text."""
        tab = await self._tab(lane)
        kind = url.split("/")[3]
        name = "DOMContentLoaded" if kind in ("script", "image") else "load"
        seen: list[str] = []
        changed = asyncio.Event()

        def lived(params: dict[str, Any]) -> None:
            if params["name"] == name:
                seen.append(params["loaderId"])
                changed.set()

        unsubscribe = tab.on("Page.lifecycleEvent", lived)
        try:
            loader = (await tab.execute("Page.navigate", {"url": url}))["loaderId"]
            async with asyncio.timeout(30):
                while loader not in seen:
                    changed.clear()
                    await changed.wait()
        finally:
            unsubscribe()
        if kind == "script":
            await tab.execute("Runtime.evaluate", {"expression": DONE, "awaitPromise": True})
        answer = await tab.execute("Runtime.evaluate", {"expression": HTML, "returnByValue": True})
        if 'id="done"' not in answer["result"]["value"]:
            raise SystemExit(f"the floor did not get all of {url}")

    async def download(self, url: str) -> None:
        """Chrome's own download."""
        done = asyncio.Event()
        root = self._connection.root
        unsubscribe = root.on("Browser.downloadProgress", lambda p: p["state"] == "completed" and done.set())
        try:
            (await self._tab(0)).send("Page.navigate", {"url": url})
            async with asyncio.timeout(60):
                await done.wait()
        finally:
            unsubscribe()

    async def close(self) -> None:
        """End Chrome and remove its folder."""
        await self._connection.close()
        await self._process.close(grace=1.0)
        shutil.rmtree(self._folder, ignore_errors=True)


class Daemon:
    """cdpfetch: a daemon that is this process's child, and one client; ``bare``: without the extraction."""

    def __init__(self, bare: bool) -> None:
        self._format = "html" if bare else "markdown"
        self.home = tempfile.mkdtemp(prefix="cdpfetch-bench-")
        self.environ = {**os.environ, "CDPFETCH_HOME": self.home, "CDPFETCH_NETWORK_ALLOW": "127.0.0.0/8"}
        command = [os.path.join(HERE, "bare_daemon.py")] if bare else ["-m", "cdpfetch.daemon"]
        reader, writer = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, *command, "--warm", "--ready-fd", str(writer)],
            env=self.environ,
            pass_fds=[writer],
            stdin=subprocess.DEVNULL,
        )
        os.close(writer)
        with os.fdopen(reader) as ready:
            ready.readline()
        self.client = AsyncClient(self.home, start=False)

    async def fetch(self, url: str, lane: int = 0) -> None:
        """The page by the daemon's own rules."""
        await self.client.fetch(url, format=self._format, share=False)

    download = fetch

    def cpu(self) -> float:
        """Milliseconds of processor time of the daemon's own process so far."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Megabytes that the daemon's own process has in memory."""
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))

    async def close(self) -> None:
        """End the daemon and remove its home."""
        await self.client.close()
        self.process.terminate()
        await asyncio.to_thread(self.process.wait, 30)
        shutil.rmtree(self.home, ignore_errors=True)
