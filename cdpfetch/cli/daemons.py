"""``status``, ``stop``, ``restart``, ``logs``, ``daemon`` and the browser window."""

from __future__ import annotations

import os
import time

from cdpfetch.cli.output import print_json, tell, write
from cdpfetch.cli.parser import Parser, whole
from cdpfetch.client import Client
from cdpfetch.connection import NotRunning
from cdpfetch.errors import EXIT_OK, EXIT_SOME_FAILED, EXIT_UNAVAILABLE, InvalidRequest
from cdpfetch.paths import find_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LOG_BLOCK = 1 << 16
_FOLLOW_SECONDS = 0.2


def run_status(arguments: list[str]) -> int:
    """Show the daemon; exit status 3 when none runs."""
    parser = Parser("status", "Show the daemon and its browser.  Starts neither.")
    parser.add_json()
    given = parser.parse_args(arguments)
    with Client() as client:
        try:
            status = client.status()
        except NotRunning:
            if given.json:
                print_json({"running": False, "home": client.home.root, "socket": client.home.socket})
            else:
                write(f"no daemon runs for {client.home.root}\n")
            return EXIT_UNAVAILABLE
    shown = {"running": True, **snake_keys({key: status[key] for key in status if key not in ("id", "event", "op")})}
    if given.json:
        print_json(shown)
    else:
        write("\n".join(_status_lines(shown)) + "\n")
    return EXIT_OK


def _status_lines(status: dict[str, Any]) -> list[str]:
    browser, requests = status.get("browser") or {}, status.get("requests") or {}
    workers = status.get("workers") or {}
    lines = [
        (
            f"daemon    cdpfetch {status.get('version')}, process {status.get('pid')}, "
            f"up {_duration(status.get('uptime_secs') or 0)}"
        ),
        f"home      {status.get('home')}",
        f"socket    {status.get('socket')}",
        f"log       {status.get('log')}",
        f"profile   {status.get('profile')}",
        f"browser   {_browser_line(browser)}",
        (
            f"requests  {requests.get('active', 0)} under way, {requests.get('queued', 0)} waiting, "
            f"{requests.get('served', 0)} served"
        ),
        *_guard_lines(status.get("guard") or {}),
        f"workers   {workers.get('alive', 0)} alive, {workers.get('restarts', 0)} restarted",
    ]
    return lines + [f"warning   {one['message']}" for one in status.get("warnings") or []]


def _guard_lines(guard: dict[str, Any]) -> list[str]:
    lanes = guard.get("lanes") or []
    if not lanes:
        return []
    proved = max((lane.get("proved") or 0 for lane in lanes), default=0)
    parts = [
        "lanes " + ", ".join(str(lane["name"]) for lane in lanes),
        f"proved {_duration(max(0.0, time.time() - proved))} ago" if proved else "not proved yet",
        f"{guard.get('opened', 0)} connections made, {guard.get('refused', 0)} refused",
        *([f"by {guard['upstream']}"] if guard.get("upstream") else []),
    ]
    return ["guard     " + ", ".join(parts)]


def _browser_line(browser: dict[str, Any]) -> str:
    parts = [str(browser.get("state"))]
    if browser.get("version"):
        parts.append(str(browser["version"]))
    if browser.get("pid"):
        parts.append(f"process {browser['pid']}")
        parts.append("sandboxed" if browser.get("sandboxed") else "without sandbox")
        if browser.get("state") != "interactive":
            parts.append(f"{browser.get('tabs', 0)} tabs")
    if browser.get("executable"):
        parts.append(str(browser["executable"]))
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


def snake_keys(value: Any) -> Any:
    """The wire's camelCase keys as everything that users see has them."""
    if isinstance(value, dict):
        return {_snake(key): snake_keys(inner) for key, inner in value.items()}
    return [snake_keys(inner) for inner in value] if isinstance(value, list) else value


def _snake(key: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in key)


def run_stop(arguments: list[str]) -> int:
    """Stop the daemon and wait until all its processes are gone."""
    Parser("stop", "Stop the daemon and its browser.  Fetches under way get 10 s to end.").parse_args(arguments)
    with Client() as client:
        write("stopped\n" if client.stop() else "no daemon was running\n")
    return EXIT_OK


def run_restart(arguments: list[str]) -> int:
    """Stop the daemon and start a new one."""
    Parser("restart", "Stop the daemon and start a new one.").parse_args(arguments)
    with Client() as client:
        status = client.restart()
    write(f"started, process {status.get('pid')}\n")
    return EXIT_OK


def run_open_browser(arguments: list[str]) -> int:
    """Open the visible window."""
    parser = Parser(
        "open-browser",
        "Open a browser window on the shared profile, to sign in where fetches need it.  While it is open nothing is "
        "fetched; quit the browser to go on.",
        "  cdpfetch open-browser https://example.com/login\n  cdpfetch open-browser --wait https://example.com/login\n",
    )
    parser.add_argument("url", nargs="?", metavar="URL")
    parser.add_argument("--wait", action="store_true", help="return when the browser has been closed")
    given = parser.parse_args(arguments)

    def opened(_event: dict[str, Any]) -> None:
        write("the browser is open; quit it to resume fetching\n")

    with Client() as client:
        result = client.open_browser(given.url, wait=given.wait, on_status=opened)
    if given.wait:
        write(f"the browser is closed; the profile is signed in to {count(result.get('sites', 0), 'site')}\n")
    else:
        opened(result)
    return EXIT_OK


def run_close_browser(arguments: list[str]) -> int:
    """Close the visible window."""
    Parser("close-browser", "Close the browser window that open-browser opened.").parse_args(arguments)
    with Client(start=False) as client:
        closed = client.close_browser().get("closed")
    write("no browser window was open\n" if closed is False else "the browser is closed\n")
    return EXIT_OK


def run_sessions(arguments: list[str]) -> int:
    """List or clear what the profile is signed in to."""
    parser = Parser(
        "sessions",
        "List the sites that have cookies in the profile, and when these end, and those visited in the window; no "
        "value is ever shown.  `clear` removes cookies and stored data, of one site or of all.",
        "  cdpfetch sessions\n  cdpfetch sessions clear example.com\n  cdpfetch sessions clear\n",
    )
    parser.add_argument("action", nargs="?", choices=("list", "clear"), default="list", metavar="list|clear")
    parser.add_argument("site", nargs="?", metavar="SITE")
    parser.add_json()
    given = parser.parse_args(arguments)
    if given.action == "list" and given.site is not None:
        parser.error("SITE is for clear")
    with Client() as client:
        if given.action == "clear":
            done = client.clear_sessions(given.site)
            removed = {"sites": done["sites"], "cookies": done["cookies"]}
            if given.json:
                print_json(removed)
            else:
                write(f"removed {count(done['cookies'], 'cookie')} of {count(len(done['sites']), 'site')}\n")
            return EXIT_OK
        sites = client.sessions()
    for site in sites:
        if given.json:
            print_json(snake_keys(site))
        else:
            write("\n".join(_session_lines(site)) + "\n")
    if not sites and not given.json:
        write("no site has cookies in the profile; sign in with: cdpfetch open-browser URL\n")
    return EXIT_OK


def _session_lines(site: dict[str, Any]) -> list[str]:
    from cdpfetch.delivery import one_line

    note = "" if site["recorded"] else "  (visited without it: not signed in to in the window)"
    lines = [f"{site['site']}{note}"]
    lines += [
        one_line(f"{cookie['name']} ({cookie['domain']}{cookie['path']}): {cookie['expires'] or 'session'}")
        for cookie in site["cookies"]
    ]
    if not site["cookies"]:
        lines.append("no cookies; it was visited in the window, and may keep its session elsewhere")
    return [lines[0], *(f"   {line}" for line in lines[1:])]


def count(number: int, noun: str) -> str:
    """``1 site``, ``2 sites``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def run_daemon(arguments: list[str]) -> int:
    """Run the daemon in the foreground."""
    from cdpfetch.daemon.__main__ import main

    return int(main(arguments))


def run_logs(arguments: list[str]) -> int:
    """Print the end of the log, and follow it when asked."""
    parser = Parser("logs", "Show the end of the daemon's log.", "  cdpfetch logs -n 200\n  cdpfetch logs -f\n")
    parser.add_argument("-n", type=whole(0), default=50, metavar="N", help="lines to show (default: 50)")
    parser.add_argument("-f", "--follow", action="store_true", help="go on as the log grows, until interrupted")
    given = parser.parse_args(arguments)
    path = find_home().log
    try:
        with open(path, "rb") as file:
            _write_log(b"".join(last_lines(file, given.n)))
            position = (os.fstat(file.fileno()).st_ino, file.seek(0, os.SEEK_END))
    except FileNotFoundError:
        if not given.follow:
            tell(f"cdpfetch: there is no log yet at {path}")
            return EXIT_SOME_FAILED
        position = (0, 0)
    except OSError as error:
        raise InvalidRequest(f"cannot read {path}: {error.strerror}") from error
    while given.follow:
        time.sleep(_FOLLOW_SECONDS)
        position = _write_growth(path, position)
    return EXIT_OK


def last_lines(file: Any, count: int) -> list[bytes]:
    """The last ``count`` lines of a binary file, read from its end."""
    end = file.seek(0, os.SEEK_END)
    data = b""
    while end and data.count(b"\n") <= count:
        start = max(0, end - _LOG_BLOCK)
        file.seek(start)
        data = file.read(end - start) + data
        end = start
    return data.splitlines(keepends=True)[-count:] if count else []


def _write_growth(path: str, position: tuple[int, int]) -> tuple[int, int]:
    """Print what was added since ``(inode, offset)``; a rotated log is read from its beginning."""
    try:
        with open(path, "rb") as file:
            info = os.fstat(file.fileno())
            start = position[1] if info.st_ino == position[0] and info.st_size >= position[1] else 0
            file.seek(start)
            data = file.read()
            _write_log(data)
            return info.st_ino, start + len(data)
    except OSError:
        return position


def _write_log(data: bytes) -> None:
    from cdpfetch.delivery import terminal_safe

    if data:
        write(terminal_safe(data.decode("utf-8", "replace")))
