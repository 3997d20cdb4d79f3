"""Finding the system's Chrome: a setting first, then the platform's usual places; never a download."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading

from cdpfetch.errors import CdpFetchError

# In the order of preference: Chrome, Chrome for Testing, Chromium, Edge.
_LINUX_NAMES = (
    "google-chrome-stable",
    "google-chrome",
    "chrome",
    "google-chrome-beta",
    "google-chrome-unstable",
    "chrome-for-testing",
    "chromium",
    "chromium-browser",
    "microsoft-edge-stable",
    "microsoft-edge",
)
_LINUX_PLACES = (
    "/opt/google/chrome/chrome",
    "/opt/chrome/chrome",
    "/usr/bin/chromium",
    "/usr/lib/chromium/chromium",
    "/snap/bin/chromium",
    "/opt/microsoft/msedge/msedge",
)
_MAC_APPS = (
    ("Google Chrome.app", "Google Chrome"),
    ("Google Chrome for Testing.app", "Google Chrome for Testing"),
    ("Google Chrome Beta.app", "Google Chrome Beta"),
    ("Chromium.app", "Chromium"),
    ("Microsoft Edge.app", "Microsoft Edge"),
)

_ASKING = threading.Lock()  # held while a version is asked for
SETTING_HINT = (
    "install Chrome or Chromium (on Debian: apt-get install chromium), "
    "or name it: cdpfetch config set browser.executable_path /path/to/chrome"
)


def find_chrome(executable_path: str | None = None) -> str:
    """The absolute path of the browser to run.

    Raises CdpFetchError(browser_not_found), naming the setting.
    """
    if executable_path:
        found = shutil.which(os.path.expanduser(executable_path))
        if found is None:
            raise CdpFetchError(
                "browser_not_found",
                f"browser.executable_path is {executable_path!r}, which is not an executable file",
                SETTING_HINT,
            )
        return os.path.abspath(found)
    for candidate in candidates(sys.platform, os.path.expanduser("~")):
        found = shutil.which(candidate)
        if found is not None:
            return os.path.abspath(found)
    raise CdpFetchError("browser_not_found", "no Chrome, Chromium or Edge was found on this machine", SETTING_HINT)


def candidates(platform: str, home: str) -> list[str]:
    """Commands and paths to try on a platform (``sys.platform``'s values), best first."""
    if platform == "darwin":
        return [
            os.path.join(root, "Applications", app, "Contents", "MacOS", binary)
            for app, binary in _MAC_APPS
            for root in ("/", home)
        ]
    return [*_LINUX_NAMES, *_LINUX_PLACES]


def read_version(executable: str, timeout: float = 10.0) -> str | None:
    """The version that ``--version`` prints (``"156.0.8078.114"``), or None; blocks for up to ``timeout`` seconds."""
    try:
        printed = subprocess.run(
            [executable, "--version"],
            capture_output=True,
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            check=False,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return next((word for word in printed.split() if word[0].isdigit() and "." in word), None)


def debugger_url(address: str, timeout: float = 10.0) -> str:
    """The WebSocket address of a browser's debugger: ``address`` itself, or what ``http://HOST:PORT`` tells; blocks.

    Raises OSError when nothing answers there, ValueError when what answers is no debugger.
    """
    if address.startswith(("ws:", "wss:")):
        return address
    import urllib.request  # lazily: only attaching needs it

    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a local address needs no proxy
    with opener.open(address.rstrip("/") + "/json/version", timeout=timeout) as answer:
        found = json.loads(answer.read(1 << 16))
    if not isinstance(found, dict) or not isinstance(found.get("webSocketDebuggerUrl"), str):
        raise ValueError("what answers there is no debugger")
    return str(found["webSocketDebuggerUrl"])


class VersionCache:
    """Remembers Chrome's version: the user agent needs it before Chrome runs, and asking for it costs a start."""

    def __init__(self, path: str) -> None:
        self._path = path

    def version(self, executable: str) -> str | None:
        """The version of an executable, asked of it when it is not the one that is remembered; blocks.

        Who asks while somebody else does waits for the same answer.
        """
        with _ASKING:
            return self._version(executable)

    def _version(self, executable: str) -> str | None:
        try:
            with open(self._path, encoding="utf-8") as file:
                known = json.load(file)
            if known["stamp"] == _stamp(executable):
                return str(known["version"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
        version = read_version(executable)
        if version is not None:
            self.remember(executable, version)
        return version

    def remember(self, executable: str, version: str) -> None:
        """Note what a running browser says of itself."""
        with contextlib.suppress(OSError):
            temporary = self._path + ".new"
            with open(temporary, "w", encoding="utf-8") as file:
                json.dump({"stamp": _stamp(executable), "version": version}, file)
            os.replace(temporary, self._path)


def _stamp(executable: str) -> list[object]:
    """What changes when the browser is replaced by another version."""
    real = os.path.realpath(executable)
    # Debian's command is a script; the program that it starts has the same name under /usr/lib.
    name = os.path.basename(real)
    infos = [os.stat(path) for path in (real, f"/usr/lib/{name}/{name}") if os.path.exists(path)]
    return [real, *(value for info in infos for value in (info.st_mtime_ns, info.st_size))]
