"""Owns the browser: starts it for the first fetch, closes it when idle, starts it again after a crash."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable

from cdpfetch import paths
from cdpfetch.cdp import flags
from cdpfetch.cdp.browser import Browser
from cdpfetch.cdp.discovery import VersionCache, find_chrome
from cdpfetch.cdp.errors import CdpError, LaunchError
from cdpfetch.cdp.filebound import file_limit
from cdpfetch.config import Config
from cdpfetch.daemon import profile
from cdpfetch.daemon.guard import canary, chrome
from cdpfetch.daemon.guard.guard import Guard
from cdpfetch.daemon.lanes import PROFILE
from cdpfetch.errors import CdpFetchError, ConfigError

log = logging.getLogger(__name__)

# After this many unexpected ends within so many seconds, starting pauses for so many seconds.
CRASHES_MAX = 4
CRASHES_WITHIN = 60.0
CRASHES_PAUSE = 30.0
# Seconds for which the installed browser's version is taken as known: looking for it costs a thread and a dozen of
# questions to the file system, and each fetch without a browser names it.
VERSION_KEPT = 30.0


class StillAtWork(Exception):
    """Somebody did not let go of the browser in time; the words go on from "and"."""


class Supervisor:
    """At most one browser at a time; ``use()`` keeps it open."""

    def __init__(self, home: paths.Home, config: Config, guard: Guard) -> None:
        self._guard = guard
        self._home = home
        self._config = config
        self._browser: Browser | None = None
        self._starting = asyncio.Lock()  # held while a browser is started or closed
        self._users = 0  # leases asked for or under way; at 0 the idle timer runs
        self._active = 0  # those of them that have the browser
        self._unused = asyncio.Event()  # set while no lease has the browser
        self._unused.set()
        self._left = asyncio.Event()  # set while there is no user at all
        self._left.set()
        self._barred: Callable[[], CdpFetchError] | None = None  # why nobody may use a browser, while that is so
        self._serving = asyncio.Event()  # set while the browser is not held by somebody who needs the profile
        self._serving.set()
        self._cutting = False  # whether those who still have the browser lose it for that reason
        self._condemned: tuple[Browser, CdpFetchError] | None = None  # the last one that had to go, and why
        self._images = False  # whether the running browser loads images
        self._idle: asyncio.Task[None] | None = None  # closes the browser after headless_idle seconds
        self._crashes: deque[float] = deque(maxlen=CRASHES_MAX)  # loop times of unexpected ends
        self._stopping = False  # set by close(): nothing is started any more
        self.profile_dir = config.browser.profile_dir or home.profile
        self.download_dir = os.path.join(home.artifacts, ".downloads")
        self.executable: str | None = None  # what was started last
        self.warnings: list[dict[str, str]] = []  # about the way Chrome runs, for status and results
        self.restarts = 0  # unexpected ends so far
        self._installed: tuple[float, str | None] = (0.0, None)  # until when it holds (loop time), and the version

    @property
    def browser(self) -> Browser | None:
        """The browser when it is running."""
        return self._browser if self._browser is not None and self._browser.closed is None else None

    @property
    def state(self) -> str:
        """``closed``, ``starting`` or ``running``."""
        if self.browser is not None:
            return "running"
        return "starting" if self._starting.locked() and self._users else "closed"

    @contextlib.asynccontextmanager
    async def use(self, *, images: bool = False) -> AsyncIterator[Browser]:
        """The running browser, started if need be; it is not closed for idleness while in use.

        ``images``: it must load them.  One that does not is replaced as soon as nobody uses it, since
        that is decided on its command line; new leases wait meanwhile.

        Raises CdpFetchError (``browser_not_found``, ``browser_failed``, ``profile_in_use``, ``config_error``).
        """
        await self.served()
        self._check_barred()
        self._users += 1
        self._left.clear()
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        try:
            browser = await self._ensure(images)
            try:
                yield browser
            except (CdpError, CdpFetchError):
                self._check_closed(browser)
                raise
            finally:
                self._active -= 1
                if self._active == 0:
                    self._unused.set()
        finally:
            self._users -= 1
            if self._users == 0:
                self._left.set()
            if self._users == 0 and not self._stopping:
                self._idle = asyncio.create_task(self._close_when_idle(), name="browser-idle")

    async def warm(self) -> None:
        """Start the browser for somebody who is about to need it, and will hear of it where that fails."""
        with contextlib.suppress(CdpFetchError, CdpError):
            async with self.use():
                pass

    @property
    def held(self) -> bool:
        """Whether everybody waits for somebody who needs the profile."""
        return not self._serving.is_set()

    async def served(self, on_wait: Callable[[], None] = lambda: None) -> None:
        """Wait while the browser is held; ``on_wait`` is called when it is."""
        while not self._serving.is_set():
            on_wait()
            await self._serving.wait()

    @contextlib.asynccontextmanager
    async def hold(self, seconds: float) -> AsyncIterator[None]:
        """Have the profile without a browser on it; who asks for one waits meanwhile.

        Raises StillAtWork when those who have it do not let it go within ``seconds``: nobody is cut off.
        """
        if self.held or self._barred is not None:
            raise StillAtWork("the profile is taken")
        self._serving.clear()
        try:
            try:
                async with asyncio.timeout(seconds):
                    await self._left.wait()
            except TimeoutError:
                raise StillAtWork(f"other fetches were still under way after {seconds:g} s") from None
            async with self._starting:
                await self._close_browser()
            yield
        finally:
            self._serving.set()

    async def _ensure(self, images: bool) -> Browser:
        async with self._starting:
            if self._stopping:
                raise CdpFetchError("browser_failed", "the daemon is stopping", "fetch it again")
            if self._browser is not None and self._browser.closed is not None:
                await self._bury(self._browser)
            if self._browser is not None and images and not self._images and self._browser.process is not None:
                await self._unused.wait()
                await self._close_browser()
            self._check_barred()
            if self._browser is None:
                self._check_crashes()
                self._images = images
                self._browser = await self._start()
            self._active += 1
            self._unused.clear()
            return self._browser

    async def bar(self, reason: Callable[[], CdpFetchError], seconds: float) -> None:
        """Let nobody use a browser until ``unbar``: ``reason()`` is what they get; return when none runs any more.

        Who has the browser at this moment may keep it for ``seconds``, and gets that error afterwards.
        """
        self._barred = reason
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._left.wait()
        self._cutting = True
        if self._browser is not None:
            await self._browser.close()  # before the lock, which a lease that waits for another one may hold
        async with self._starting:
            await self._close_browser()

    async def condemn(self, browser: Browser, reason: CdpFetchError) -> None:
        """Close a browser that nobody may use any more: who has it gets ``reason``, the next use starts another."""
        self._condemned = (browser, reason)
        await browser.close(grace=1.0)  # before the lock, which a lease that waits for another one may hold
        async with self._starting:
            if self._browser is browser:
                await self._close_browser()

    def unbar(self) -> None:
        """Serve again."""
        self._barred = None
        self._cutting = False

    def _check_barred(self) -> None:
        if self._barred is not None:
            raise self._barred()

    def _check_closed(self, browser: Browser) -> None:
        """Raise the reason for which a browser was closed under its user's hands, if it was."""
        if self._cutting:
            self._check_barred()
        if self._condemned is not None and self._condemned[0] is browser:
            reason = self._condemned[1]
            raise CdpFetchError(reason.code, reason.reason, reason.hint) from reason

    async def _bury(self, browser: Browser) -> None:
        """A browser that ended by itself, or was condemned: reap it, and remember the former."""
        if self._condemned is not None and self._condemned[0] is browser:
            await self._close_browser()
            return
        log.warning("Chrome ended by itself: %s", browser.closed)
        await browser.close(grace=1.0)
        self._browser = None
        self.restarts += 1
        self._crashes.append(asyncio.get_running_loop().time())

    def _check_crashes(self) -> None:
        now = asyncio.get_running_loop().time()
        if len(self._crashes) < CRASHES_MAX or self._crashes[-1] - self._crashes[0] > CRASHES_WITHIN:
            return
        left = self._crashes[-1] + CRASHES_PAUSE - now
        if left > 0:
            raise CdpFetchError(
                "browser_failed",
                f"Chrome ended by itself {CRASHES_MAX} times within {CRASHES_WITHIN:g} s; "
                f"it is started again in {left:.0f} s",
                "see why: cdpfetch logs; check with: cdpfetch doctor",
            )
        self._crashes.clear()

    async def _start(self) -> Browser:
        self._prepare_downloads()
        if self._config.browser.cdp_url:
            try:
                browser = await Browser.attach(self._config.browser.cdp_url, self.download_dir)
            except LaunchError as error:
                raise CdpFetchError("browser_failed", error.reason, "check browser.cdp_url") from error
            # Its command line is somebody else's: only the anonymous lane's context can be led through the guard.
            text = "the browser is somebody else's: what it asks for with its profile does not pass the guard"
            self.warnings = [{"code": "unguarded", "message": text}]
            return browser
        executable = find_chrome(self._config.browser.executable_path)
        paths.ensure_private_dir(self.profile_dir)
        await profile.await_leftover(self.profile_dir)
        profile.prepare(self.profile_dir)
        versions = VersionCache(self._home.chrome_version)
        version = await asyncio.to_thread(versions.version, executable)
        argv = self._command(executable, version)
        log.info("starting %s", " ".join(argv))
        self.executable = executable
        try:
            browser = await Browser.launch(argv, self.environment(), self.download_dir)
            browser.file_limit = file_limit(self._config.fetch.max_bytes)
        except LaunchError as error:
            explained = self._explain(error)
            if explained.code != "profile_in_use":  # then it did not crash, it was sent away
                self._crashes.append(asyncio.get_running_loop().time())
            raise explained from error
        versions.remember(executable, browser.product.partition("/")[2])
        await self._prove(browser)
        log.info("%s is up as process %d", browser.product, browser.process.pid if browser.process else 0)
        return browser

    async def chrome_version(self) -> str | None:
        """The version of the browser that runs, or would be started; None where there is none, or it can't be told."""
        if self.browser is not None:
            return self.browser.product.partition("/")[2] or None
        now = asyncio.get_running_loop().time()
        until, version = self._installed
        if version is None or now >= until:
            version = await asyncio.to_thread(self._find_version)
            self._installed = (now + VERSION_KEPT, version)
        return version

    def _find_version(self) -> str | None:
        try:
            executable = find_chrome(self._config.browser.executable_path)
        except CdpFetchError:
            return None
        return VersionCache(self._home.chrome_version).version(executable)

    async def _prove(self, browser: Browser) -> None:
        """See that Chrome reaches the network through the guard; a browser that does not is closed at once."""
        try:
            browser.first_tab = await browser.new_tab()
            await canary.prove(self._guard, PROFILE, browser.first_tab)
        except BaseException as error:
            await browser.close(grace=1.0)
            if isinstance(error, CdpError):
                raise CdpFetchError(
                    "browser_failed", f"Chrome could not be tried: {error}", "run: cdpfetch doctor"
                ) from error
            raise

    def extra_args(self) -> tuple[str, ...]:
        """The user's own flags.  Raises ConfigError when one is not theirs to give."""
        refused = flags.reserved(self._config.browser.extra_args)
        for flag, why in refused.items():
            raise ConfigError(f"browser.extra_args has {flag!r}: {why}", "take it out")
        return self._config.browser.extra_args

    def _command(self, executable: str, version: str | None) -> list[str]:
        settings = self._config.browser
        extra = self.extra_args()
        return flags.headless(
            executable,
            self.profile_dir,
            no_sandbox=self.without_sandbox(),
            version=version,
            locale=settings.locale,
            images=self._images,
            extra=[*chrome.switches(self._guard.port(PROFILE)), *extra],
            platform=sys.platform,
        )

    def without_sandbox(self) -> bool:
        """Chrome refuses to run as root with its sandbox on; the setting ``require`` refuses to run it without."""
        self.warnings = []
        if not sys.platform.startswith("linux") or os.geteuid() != 0:
            return False
        if self._config.browser.sandbox == "require":
            raise CdpFetchError(
                "config_error",
                'Chrome can\'t use its sandbox as root, and browser.sandbox is "require"',
                "run cdpfetch as another user, or: cdpfetch config set browser.sandbox auto",
            )
        self.warnings = [
            {"code": "no_sandbox", "message": "running as root: Chrome runs without its sandbox; use another user"}
        ]
        return True

    def environment(self) -> dict[str, str]:
        """The environment that Chrome gets."""
        environ = dict(os.environ)
        # Chrome needs some writable home, even when the account has none.
        if not os.access(environ.get("HOME") or "/nonexistent", os.W_OK | os.X_OK):
            environ["HOME"] = self._home.root
        return environ

    def _explain(self, error: LaunchError) -> CdpFetchError:
        holder = profile.holder(self.profile_dir)
        in_use = error.returncode == profile.EXIT_PROFILE_IN_USE or "ProcessSingleton" in error.reason
        if in_use and holder is not None:
            return profile.in_use(self.profile_dir, holder)
        hint = "run: cdpfetch doctor"
        if "sandbox" in error.reason.lower():
            hint = "let unprivileged user namespaces be used, or run Chrome's own setuid sandbox; see: cdpfetch doctor"
        return CdpFetchError("browser_failed", error.reason, hint)

    def _prepare_downloads(self) -> None:
        """An empty private directory: what an earlier daemon left in it belongs to nobody."""
        paths.ensure_private_dir(self._home.artifacts)
        paths.ensure_private_dir(self.download_dir)
        for name in os.listdir(self.download_dir):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self.download_dir, name))

    # endings

    async def _close_when_idle(self) -> None:
        await asyncio.sleep(self._config.browser.headless_idle)
        self._idle = None
        async with self._starting:
            if self._users == 0 and self._browser is not None:
                log.info("closing Chrome after %g s without a fetch", self._config.browser.headless_idle)
                await self._close_browser()

    async def _close_browser(self) -> None:
        browser, self._browser = self._browser, None
        if browser is not None:
            await browser.close()

    async def close(self) -> None:
        """Close the browser and start none any more; idempotent."""
        self._stopping = True
        if self._idle is not None:
            self._idle.cancel()
            await asyncio.gather(self._idle, return_exceptions=True)
            self._idle = None
        async with self._starting:
            await self._close_browser()

    def __repr__(self) -> str:
        return f"<Supervisor {self.state}, {self._users} users, {self._browser!r}>"
