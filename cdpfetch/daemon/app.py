"""The composition root: makes every part of the daemon, runs it until it is told or idle, and takes it apart."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import time
from collections.abc import Callable

from cdpfetch import certificates, paths, retention
from cdpfetch import config as settings
from cdpfetch._version import __version__
from cdpfetch.daemon import activation
from cdpfetch.daemon.assembly import Assembler
from cdpfetch.daemon.fetch import FetchService
from cdpfetch.daemon.guard.guard import Guard
from cdpfetch.daemon.guard.pac.ways import Pac
from cdpfetch.daemon.guard.upstream import Upstream
from cdpfetch.daemon.handlers import Handlers
from cdpfetch.daemon.interactive import Interactive
from cdpfetch.daemon.lanes import Lanes
from cdpfetch.daemon.lock import InstanceLock
from cdpfetch.daemon.opening import Opener
from cdpfetch.daemon.plain.visit import PlainEngine
from cdpfetch.daemon.server import Server
from cdpfetch.daemon.sessions import Sessions
from cdpfetch.daemon.supervisor import Supervisor
from cdpfetch.daemon.tabpool import TabPool
from cdpfetch.daemon.walls import Walls
from cdpfetch.daemon.watch import Watch
from cdpfetch.errors import ConfigError
from cdpfetch.extract.pool import ExtractPool
from cdpfetch.resolver import Resolver

log = logging.getLogger(__name__)

# Seconds that requests under way may still take when the daemon is told to stop.
DRAIN = 10.0
# Seconds for which a document stays, however little room there is: whoever asked for it is about to read it.
_SPARE = 600.0
_PRUNE_EVERY = 3600.0
# Bytes that a lane may carry while nothing is fetched in it: proofs, and what pages that are closed still sent for.
_IDLE_BYTES = 16 << 20
_WORKERS = max(1, min(4, os.cpu_count() or 1))


class App:
    """One daemon.  ``run`` returns when it has ended.

    ``guard`` is the one to use instead of its own, for tests that need a network of their own.
    """

    def __init__(self, home: paths.Home, config: settings.Config, guard: Guard | None = None) -> None:
        self._home = home
        self._config = config
        self._stop = asyncio.Event()  # set when the daemon is to end
        self._drain = True  # whether requests under way may finish, set with _stop
        self.guard = guard or _guard(config)
        self.sessions = Sessions(home.sessions)
        self.lanes = Lanes(
            config.network.allow,
            config.network.deny,
            config.fetch.profile_sites,
            self.guard.resolver,
            self.sessions.knows,
            # All tabs may share one connection to a site.
            (config.fetch.tabs + 1) * config.fetch.max_bytes,
            _IDLE_BYTES,
        )
        self.supervisor = Supervisor(home, config, self.guard)
        self.tabs = TabPool(self.supervisor, self.guard, config.fetch.tabs, self.sessions.clearances)
        self.watch = Watch(self.supervisor, self.tabs)
        self.pool = ExtractPool(_WORKERS, place=home.run)
        floor = int(config.artifacts.min_free_mb * 1_000_000)
        assembler = Assembler(self.pool, home.artifacts, keep_pages=config.artifacts.keep_page, min_free=floor)
        self.plain = PlainEngine(
            self.guard,
            self.pool,
            os.path.join(home.artifacts, ".plain"),
            self.supervisor.chrome_version,
            config.browser.locale,
            config.network.ca_bundle,
        )
        opener = Opener(home, self.supervisor.profile_dir)
        self.interactive = Interactive(opener, config, self.supervisor, self.sessions, self._window_changed)
        self.walls = Walls(config, self.supervisor, self.guard, opener, self.interactive, self.sessions)
        self.fetches = FetchService(
            config, self.supervisor, self.guard, self.lanes, self.tabs, assembler, self.plain, self.walls, self.sessions
        )
        handlers = Handlers(
            home,
            config,
            self.supervisor,
            self.tabs,
            self.pool,
            self.fetches,
            assembler,
            self.guard,
            self.interactive,
            self.sessions,
            self.stop,
        )
        self.server = Server(handlers.handle, __version__)

    def stop(self, drain: bool = True) -> None:
        """Ask the daemon to end, after the requests under way unless ``drain`` is False."""
        self._drain = drain
        self._stop.set()

    async def run(self, listener: socket.socket, ready: Callable[[], None], *, warm: bool = False) -> None:
        """Serve on ``listener`` until told to stop, or idle for ``fetch.daemon_idle`` seconds.

        ``warm``: Chrome starts at once, and not for the first fetch.
        """
        loop = asyncio.get_running_loop()
        for sig in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(sig, self.stop, True)
        chores = [
            asyncio.create_task(self._stop_when_idle(), name="daemon-idle"),
            asyncio.create_task(self._prune(), name="prune"),
            asyncio.create_task(self.watch.run(), name="watch"),
        ]
        try:
            await self.start()
            if warm:
                chores.append(asyncio.create_task(self.supervisor.warm(), name="warm-browser"))
            await self.server.start(listener)
            ready()
            await self._stop.wait()
            log.info("stopping; %d requests under way", self.server.active)
            await self.server.stop_accepting()
            self.interactive.let_go()
            if self._drain:
                await self.server.drain(DRAIN)
        finally:
            for task in chores:
                task.cancel()
            await asyncio.gather(*chores, return_exceptions=True)
            await self.server.close()
            await self.close()

    async def start(self) -> None:
        """Make everything ready but the socket: the guard listens, the workers warm up; Chrome waits for a fetch."""
        for lane in self.lanes.guarded():
            await self.guard.open(lane)
        await asyncio.to_thread(self.plain.sweep)
        await self.interactive.start()
        await self.pool.start()

    async def close(self) -> None:
        """End all that ``start`` and the fetches since have begun; idempotent."""
        await self.walls.close()
        await self.interactive.close()
        await self.tabs.close()
        await asyncio.gather(self.supervisor.close(), self.pool.close())
        await self.guard.close()

    def _window_changed(self) -> None:
        self.server.changed.set()

    async def _stop_when_idle(self) -> None:
        idle_since = time.monotonic()
        while True:
            changed = self.server.changed
            changed.clear()
            if self.server.active or self.server.clients or self.interactive.open:
                idle_since = time.monotonic()
            left = idle_since + self._config.fetch.daemon_idle - time.monotonic()
            if left <= 0:
                log.info("ending after %g s without a request", self._config.fetch.daemon_idle)
                self.stop()
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await changed.wait()
                    idle_since = time.monotonic()

    async def _prune(self) -> None:
        """Remove old documents now and then, so that the disk does not fill."""
        limits = self._config.artifacts
        while True:
            try:
                await asyncio.to_thread(
                    retention.prune,
                    self._home.artifacts,
                    limits.max_age_days,
                    limits.max_total_mb,
                    time.time(),
                    spare=_SPARE,
                )
            except OSError as error:
                log.warning("old documents could not be pruned: %s", error)
            await asyncio.sleep(_PRUNE_EVERY)


def _guard(config: settings.Config) -> Guard:
    """The guard of the settings, with the proxies that they name.  Raises ConfigError."""
    browser, ca_bundle = config.browser, config.network.ca_bundle
    if ca_bundle is not None:
        certificates.context(ca_bundle)  # a file that can't be used is told of now
    if not browser.proxy_pac:
        return Guard(upstream=Upstream.of(browser.proxy, os.environ, ca_bundle))
    if browser.proxy:
        raise ConfigError("browser.proxy and browser.proxy_pac are both set", "unset one: cdpfetch config unset KEY")
    resolver = Resolver()
    pac = Pac.of(browser.proxy_pac, os.environ, ca_bundle, resolver.resolve)
    return Guard(resolver=resolver, upstream=pac)


def run(
    home: paths.Home, config: settings.Config, lock: InstanceLock, ready: Callable[[], None], *, warm: bool = False
) -> None:
    """Run a daemon whose lock is held; ``warm`` as for ``App.run``."""

    def serving() -> None:
        ready()
        activation.notify("READY=1")

    async def main() -> None:
        await App(home, config).run(activation.listener(home.socket) or lock.bind(), serving, warm=warm)

    lock.write_pidfile(__version__)
    asyncio.run(main())
