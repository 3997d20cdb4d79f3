"""What around cdpfetch breaks windows, cookies or debugging: displays, key rings, managed policies, environments.

For ``doctor``.  Each function looks, changes nothing, and returns warnings as (what was seen, what to do).
"""

from __future__ import annotations

import json
import os
import plistlib
import sqlite3
import sys
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Any, NamedTuple
from urllib.parse import quote

# Where browsers read managed policies on Linux: one directory of JSON files each.
POLICY_DIRECTORIES = (
    "/etc/opt/chrome/policies/managed",
    "/etc/opt/chrome_for_testing/policies/managed",
    "/etc/chromium/policies/managed",
    "/etc/chromium-browser/policies/managed",
    "/etc/opt/edge/policies/managed",
)
# And on macOS: property lists, of the machine and of the user (``/Library/Managed Preferences/USER/NAME``).
POLICY_PLISTS = ("com.google.Chrome.plist", "org.chromium.Chromium.plist", "com.microsoft.Edge.plist")
_MAC_POLICIES = "/Library/Managed Preferences"
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
# Where X servers of this machine listen.
X_SOCKETS = "/tmp/.X11-unix"  # noqa: S108 - X has decided so
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")
_SESSION_ONLY, _BLOCK = 4, 2


class Seen(NamedTuple):
    """Something that may break: what was seen, and what to do."""

    detail: str
    hint: str


def display(environ: Mapping[str, str], platform: str = sys.platform, sockets: str = X_SOCKETS) -> list[Seen]:
    """Whether a window can be opened from here."""
    if not platform.startswith("linux") or environ.get("WAYLAND_DISPLAY"):
        return []
    hint = "run cdpfetch in a desktop session, over `ssh -X`, or on a virtual display (Xvfb with a VNC server)"
    name = environ.get("DISPLAY")
    if not name:
        return [Seen("no display: open-browser and walls that need a window fail", hint)]
    number = name.removeprefix(":").partition(".")[0]
    if name.startswith(":") and number.isdigit() and not os.path.exists(os.path.join(sockets, f"X{number}")):
        return [Seen(f"DISPLAY is {name}, where no X server listens", hint)]
    return []


def daemons_environment(environ: Mapping[str, str], daemons: Mapping[str, str] | None) -> list[Seen]:
    """What this process has in its environment and the running daemon has not (``daemons``; None: can't be told)."""
    if daemons is None:
        return []
    found: list[Seen] = []
    managed = "INVOCATION_ID" in daemons or "LISTEN_PID" in daemons
    if any(environ.get(name) for name in _DISPLAYS) and not any(daemons.get(name) for name in _DISPLAYS):
        told = "the daemon runs without a display, so walls that need a window fail"
        hint = "cdpfetch restart"
        if managed:
            hint = "systemctl --user import-environment DISPLAY WAYLAND_DISPLAY XAUTHORITY; cdpfetch restart"
        found.append(Seen(f"{told}{' (a service manager started it)' if managed else ''}", hint))
    mine, its = _proxies(environ), _proxies(daemons)
    names = sorted(name for name in {*mine, *its} if mine.get(name) != its.get(name))
    if names:
        hint = "cdpfetch restart, or set it for every start: cdpfetch config set browser.proxy URL"
        found.append(Seen(f"the daemon was started with another {', '.join(names)} than is set here", hint))
    return found


def key_ring(extra_args: Iterable[str], profile: str) -> list[Seen]:
    """Whether cookies are kept with a key that the other mode of Chrome, or a session without a desktop, lacks."""
    found: list[Seen] = []
    named = [flag for flag in extra_args if flag.startswith("--password-store") and flag != "--password-store=basic"]
    if named:
        told = f"browser.extra_args has {named[0]}: cookies are unreadable wherever that key ring is locked"
        found.append(Seen(told, "take it out: cdpfetch config set browser.extra_args ..."))
    number = _ringed_cookies(profile)
    if number:
        told = f"{number} cookies of the profile {profile} are encrypted with a desktop's key ring, which is not asked"
        found.append(Seen(told, "sign in again with: cdpfetch open-browser URL"))
    return found


def policies(platform: str = sys.platform, root: str = "/", user: str | None = None) -> list[Seen]:
    """Managed policies under which Chrome can't be driven, or forgets its cookies."""
    found: list[Seen] = []
    for path, policy in _policies(platform, root, user):
        if policy.get("RemoteDebuggingAllowed") is False:
            found.append(_policy(path, "RemoteDebuggingAllowed is false: Chrome does not let itself be driven"))
        if policy.get("HeadlessMode") == _BLOCK:
            found.append(_policy(path, "HeadlessMode is 2: Chrome does not run without a window"))
        if policy.get("DefaultCookiesSetting") in (_BLOCK, _SESSION_ONLY):
            found.append(_policy(path, "DefaultCookiesSetting: Chrome keeps no cookies, so no login lasts"))
        if "cookies_and_other_site_data" in (policy.get("ClearBrowsingDataOnExitList") or ()):
            found.append(_policy(path, "ClearBrowsingDataOnExitList: Chrome forgets its cookies when it ends"))
        if policy.get("UserDataDir"):
            found.append(_policy(path, "UserDataDir: Chrome uses another profile than the one that it is given"))
    return found


def environment_of(pid: int) -> dict[str, str] | None:
    """The environment that a process was started with, where the system tells it."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = file.read().split(b"\0")
    except OSError:
        return None
    return dict(pair.decode("utf-8", "replace").partition("=")[::2] for pair in pairs if pair)


def _policy(path: str, told: str) -> Seen:
    return Seen(f"{path}: {told}", "ask who manages this machine, or name another browser: browser.executable_path")


def _policies(platform: str, root: str, user: str | None) -> Iterable[tuple[str, dict[str, Any]]]:
    """The managed policies that can be read, each with its file."""
    if platform == "darwin":
        base = os.path.join(root, _MAC_POLICIES.lstrip("/"))
        folders = [base, *([os.path.join(base, user)] if user else [])]
        paths = [os.path.join(folder, name) for folder in folders for name in POLICY_PLISTS]
    else:
        paths = []
        for directory in (os.path.join(root, one.lstrip("/")) for one in POLICY_DIRECTORIES):
            if os.path.isdir(directory):
                names = sorted(name for name in os.listdir(directory) if name.endswith(".json"))
                paths += [os.path.join(directory, name) for name in names]
    for path in paths:
        try:
            with open(path, "rb") as file:
                policy = plistlib.load(file) if platform == "darwin" else json.load(file)
        except (OSError, ValueError, plistlib.InvalidFileException):
            continue
        if isinstance(policy, dict):
            yield path, policy


def _proxies(environ: Mapping[str, str]) -> dict[str, str]:
    return {
        name: environ.get(name) or environ[name.upper()]
        for name in _PROXIES
        if environ.get(name) or environ.get(name.upper())
    }


def _ringed_cookies(profile: str) -> int:
    """How many cookies begin with ``v11``, Chrome's mark of a key from the key ring; 0 while a browser has them."""
    for path in (os.path.join(profile, "Default", *more, "Cookies") for more in ((), ("Network",))):
        if not os.path.exists(path):
            continue
        try:
            with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=0.2)) as database:
                query = "SELECT count(*) FROM cookies WHERE substr(encrypted_value, 1, 3) = x'763131'"
                return int(database.execute(query).fetchone()[0])
        except sqlite3.Error:
            continue
    return 0
