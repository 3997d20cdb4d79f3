"""``python -m cdpfetch.daemon``: take the lock, set up the log, serve, and say on ``--ready-fd`` how that went."""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import logging.handlers
import os
import sys
import threading
from io import TextIOWrapper
from typing import Any

from cdpfetch import config, paths
from cdpfetch._version import __version__
from cdpfetch.daemon import heap
from cdpfetch.daemon.lock import InstanceLock
from cdpfetch.errors import EXIT_UNAVAILABLE, EXIT_USAGE, CdpFetchError, ConfigError

log = logging.getLogger("cdpfetch.daemon")

LOG_BYTES = 2_000_000
LOG_FILES = 3


def main(argv: list[str] | None = None) -> int:
    """Run the daemon in the foreground until it ends; returns the exit status."""
    options = _parser().parse_args(argv)
    report = _Report(options.ready_fd)
    lock: InstanceLock | None = None
    try:
        home = paths.find_home()
        settings = config.load(home, _environment(options.cdp_url))
        lock = InstanceLock(home)
        lock.acquire()
        set_up_log(home, options.verbose)
        heap.bound()  # while there is but one thread
        if options.warm and not settings.browser.cdp_url:
            threading.Thread(target=_learn_version, args=(home, settings), name="chrome-version", daemon=True).start()
        from cdpfetch.daemon import app  # after the lock: a daemon that loses the race need not load it all

        log.info("cdpfetch %s serves %s as process %d", __version__, home.root, os.getpid())
        app.run(home, settings, lock, report.ready, warm=options.warm)
    except CdpFetchError as error:
        log.error("%s", error)
        report.failed(error)
        print(f"cdpfetch daemon: {error}", file=sys.stderr)
        return EXIT_USAGE if isinstance(error, ConfigError) else EXIT_UNAVAILABLE
    except Exception as error:
        log.exception("the daemon failed")
        report.failed(CdpFetchError("internal", f"{type(error).__name__}: {error}", "see: cdpfetch logs"))
        raise
    finally:
        if lock is not None:
            lock.release()
        log.info("ended")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cdpfetch daemon", description="Run the cdpfetch daemon in the foreground.")
    parser.add_argument("--ready-fd", type=int, metavar="FD", help="write one JSON line there when serving, or why not")
    parser.add_argument("--warm", action="store_true", help="start Chrome at once: something is about to be fetched")
    parser.add_argument("--verbose", action="store_true", help="log to standard error as well, in detail")
    parser.add_argument(
        "--cdp-url",
        metavar="URL",
        help="attach to a browser that runs already (ws://..., http://HOST:PORT) and start none",
    )
    return parser


def _learn_version(home: paths.Home, settings: config.Config) -> None:
    """Ask Chrome for its version, which its command line needs, while the daemon is being loaded."""
    from cdpfetch.cdp.discovery import VersionCache, find_chrome

    with contextlib.suppress(CdpFetchError):  # who needs a browser will hear of it
        VersionCache(home.chrome_version).version(find_chrome(settings.browser.executable_path))


def _environment(cdp_url: str | None) -> dict[str, str]:
    """The environment, with what the command line says on top: it is checked as any setting is."""
    return {**os.environ, **({config.variable_of("browser.cdp_url"): cdp_url} if cdp_url is not None else {})}


def set_up_log(home: paths.Home, verbose: bool) -> None:
    """Log to the home's rotated file (0600), and to standard error when asked."""
    paths.ensure_private_dir(home.logs)
    handler = _PrivateLog(home.log, maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8")
    root = logging.getLogger()
    root.setLevel(logging.DEBUG if verbose else logging.INFO)
    handlers: list[logging.Handler] = [handler, logging.StreamHandler()] if verbose else [handler]
    for each in handlers:
        each.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        root.addHandler(each)
    logging.getLogger("asyncio").setLevel(logging.WARNING)


class _PrivateLog(logging.handlers.RotatingFileHandler):
    """A rotated log that is opened as a plain file of ours (0600), or not at all."""

    def _open(self) -> TextIOWrapper:
        return os.fdopen(paths.open_private(self.baseFilename, os.O_WRONLY | os.O_APPEND), "a", encoding=self.encoding)


class _Report:
    """Tells whoever started the daemon, once."""

    def __init__(self, fd: int | None) -> None:
        self._fd = fd

    def ready(self) -> None:
        self._write({"ready": True, "pid": os.getpid()})

    def failed(self, error: CdpFetchError) -> None:
        self._write({"ready": False, **error.to_json()})

    def _write(self, message: dict[str, Any]) -> None:
        if self._fd is None:
            return
        fd, self._fd = self._fd, None
        with contextlib.suppress(OSError):  # it may have gone
            os.write(fd, json.dumps(message).encode() + b"\n")
            os.close(fd)


if __name__ == "__main__":
    sys.exit(main())
