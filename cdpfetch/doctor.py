"""Checks of an installation, each with what was seen and, where something is wrong, what to do.

The one front door that may look at ``cdpfetch.cdp`` (for the discovery of Chrome) and at the daemon's reading of the
profile lock; both are imported when their check runs.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from typing import NamedTuple

from cdpfetch import config, paths
from cdpfetch.errors import EXIT_OK, EXIT_SOME_FAILED, EXIT_UNAVAILABLE, UNAVAILABLE_CODES, CdpFetchError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

OK, WARN, FAIL = "ok", "warning", "failed"
# Bytes that a fetch with all its files should always find.
_LITTLE_SPACE = 1_000_000_000
_NO_SPACE = 150_000_000
_USERNS_SWITCHES = {
    "/proc/sys/kernel/unprivileged_userns_clone": "0",
    "/proc/sys/user/max_user_namespaces": "0",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1",
}


class Check(NamedTuple):
    """One line of the report: ``status`` is ``ok``, ``warning`` or ``failed``; ``code`` an error code or None."""

    name: str
    status: str
    detail: str
    hint: str | None = None
    code: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As ``doctor --json`` prints it."""
        return self._asdict()


def run(home: paths.Home, on_check: Callable[[Check], None] = lambda check: None) -> list[Check]:
    """Make all checks in order; ``on_check`` gets each as it is done.  Starts the daemon for the last ones."""
    done: list[Check] = []
    for step in (
        check_home,
        check_config,
        check_chrome,
        check_sandbox,
        check_profile,
        check_space,
        check_surroundings,
        check_daemon,
    ):
        for check in _guarded(step, home):
            done.append(check)
            on_check(check)
    broken = next((check for check in done if check.status == FAIL and check.name in ("home", "settings")), None)
    if broken is not None:
        last = Check("fetch", FAIL, f"not tried, since the check of {broken.name} failed", broken.hint, broken.code)
    else:
        last = next(iter(_guarded(check_fetch, home)))
    on_check(last)
    done.append(last)
    if last.status == OK:
        for check in _guarded(check_guard, home):
            done.append(check)
            on_check(check)
    return done


def exit_status(checks: list[Check]) -> int:
    """0 when nothing failed, 3 when there is no browser or no daemon, else 1."""
    codes = [check.code for check in checks if check.status == FAIL]
    if not codes:
        return EXIT_OK
    return EXIT_UNAVAILABLE if UNAVAILABLE_CODES.intersection(codes) else EXIT_SOME_FAILED


def _guarded(step: Callable[[paths.Home], Iterator[Check]], home: paths.Home) -> Iterator[Check]:
    """A step's checks; what it raises becomes a failed one."""
    name = step.__name__.removeprefix("check_")
    try:
        yield from step(home)
    except CdpFetchError as error:
        yield Check("settings" if name == "config" else name, FAIL, error.reason, error.hint, error.code)
    except OSError as error:
        yield Check(name, FAIL, str(error), "see to it that this user may use it", "internal")


def check_home(home: paths.Home) -> Iterator[Check]:
    """The home's directories and files: ours, private, writable."""
    for directory in (home.root, home.run):
        paths.ensure_private_dir(directory)
    wrong: list[str] = []
    loose: list[str] = []
    for path in (home.root, home.run, home.profile, home.artifacts, home.logs, home.config, home.log):
        try:
            info = os.lstat(path)
        except FileNotFoundError:
            continue
        if info.st_uid != os.getuid():
            wrong.append(f"{path} belongs to user {info.st_uid}")
        elif stat.S_ISDIR(info.st_mode) and not os.access(path, os.W_OK | os.X_OK):
            wrong.append(f"{path} is not writable")
        elif not stat.S_ISLNK(info.st_mode) and stat.S_IMODE(info.st_mode) & 0o077:
            loose.append(f"{path} has mode {stat.S_IMODE(info.st_mode):04o}")
    if wrong:
        hint = f"chown -R {os.getuid()} {home.root}; chmod -R u+rwX,go= {home.root}"
        yield Check("home", FAIL, "; ".join(wrong), hint, "config_error")
    elif loose:
        # The home itself is closed (ensure_private_dir narrows it), so nobody gets that far.
        yield Check("home", WARN, f"{home.root} is private, but {'; '.join(loose)}", f"chmod -R go= {home.root}")
    else:
        yield Check("home", OK, f"{home.root} is private and writable")


def check_config(home: paths.Home) -> Iterator[Check]:
    """The settings can be read."""
    changed = [one for one in config.settings(home) if one.origin != "default"]
    if not changed:
        yield Check("settings", OK, "all at their defaults")
        return
    shown = ", ".join(f"{one.key} ({one.origin})" for one in changed)
    yield Check("settings", OK, f"changed: {shown}")


def check_chrome(home: paths.Home) -> Iterator[Check]:
    """There is a browser, and it tells its version."""
    from cdpfetch.cdp.discovery import find_chrome, read_version

    executable = find_chrome(config.load(home).browser.executable_path)
    version = read_version(executable)
    if version is None:
        hint = "reinstall it, or name another: cdpfetch config set browser.executable_path /path/to/chrome"
        yield Check("chrome", FAIL, f"{executable} does not tell its version", hint, "browser_failed")
    else:
        yield Check("chrome", OK, f"{executable}, version {version}")


def check_sandbox(home: paths.Home) -> Iterator[Check]:
    """Whether Chrome can run in its sandbox."""
    required = config.load(home).browser.sandbox == "require"
    if sys.platform == "linux" and os.geteuid() == 0:
        if required:
            hint = "run cdpfetch as another user, or: cdpfetch config set browser.sandbox auto"
            yield Check("sandbox", FAIL, "required, but Chrome has none as root", hint, "browser_failed")
        else:
            yield Check("sandbox", WARN, "Chrome runs without its sandbox as root", "run cdpfetch as another user")
        return
    closed = [path for path, value in _USERNS_SWITCHES.items() if _first_line(path) == value]
    if closed:
        hint = "allow user namespaces, or use a Chrome whose package brings a setuid sandbox or an AppArmor profile"
        yield Check("sandbox", WARN, f"{', '.join(closed)} may keep Chrome from making its sandbox", hint)
    else:
        yield Check("sandbox", OK, "Chrome can make its sandbox")


def check_profile(home: paths.Home) -> Iterator[Check]:
    """Whether the profile is free, or used by our own Chrome."""
    from cdpfetch import process, starting
    from cdpfetch.daemon.profile import holder, on_network

    directory = config.load(home).browser.profile_dir or home.profile
    found = holder(directory)
    if found is None:
        yield Check("profile", OK, f"{directory} is free")
        return
    daemon = starting.read_pidfile(home)
    ours = {one.pid for one in process.descendants(daemon.pid)} if daemon else set()
    if found.here and found.pid in ours:
        yield Check("profile", OK, f"{directory} is used by our browser, process {found.pid}")
    elif found.alive or (not found.here and on_network(directory)):
        hint = f"close that browser (process {found.pid})"
        yield Check(
            "profile", FAIL, f"{directory} is used by process {found.pid} on {found.host}", hint, "profile_in_use"
        )
    else:
        yield Check("profile", OK, f"{directory} has a lock of a browser that is gone; the next start removes it")


def check_space(home: paths.Home) -> Iterator[Check]:
    """Room on the disk of the home."""
    from cdpfetch.delivery import human_bytes

    disk = os.statvfs(home.root)
    free = disk.f_bavail * disk.f_frsize
    detail = f"{human_bytes(free)} free for {home.root}"
    hint = "free some space: cdpfetch artifacts prune --max-age-days 1"
    if disk.f_files and disk.f_favail < 1000:
        yield Check("space", FAIL, f"only {disk.f_favail} files can be made for {home.root}", hint, "disk_full")
    elif free < _NO_SPACE:
        yield Check("space", FAIL, detail, hint, "disk_full")
    else:
        yield Check("space", WARN if free < _LITTLE_SPACE else OK, detail, hint if free < _LITTLE_SPACE else None)


def check_surroundings(home: paths.Home) -> Iterator[Check]:
    """Displays, key rings, managed policies and the daemon's environment."""
    from cdpfetch import starting, surroundings

    settings = config.load(home).browser
    daemon = starting.read_pidfile(home)
    its = surroundings.environment_of(daemon.pid) if daemon else None
    found = {
        "display": surroundings.display(os.environ) + surroundings.daemons_environment(os.environ, its),
        "key ring": surroundings.key_ring(settings.extra_args, settings.profile_dir or home.profile),
        "policies": surroundings.policies(user=os.environ.get("USER")),
    }
    for name, warnings in found.items():
        for seen in warnings:
            yield Check(name, WARN, seen.detail, seen.hint)
    if not any(found.values()):
        yield Check("surroundings", OK, "a display, no policy that is in the way, no foreign key ring")


def check_daemon(home: paths.Home) -> Iterator[Check]:
    """The daemon that runs, if any, answers and is of this version."""
    from cdpfetch._version import __version__
    from cdpfetch.client import Client
    from cdpfetch.connection import NotRunning

    with Client(home, start=False) as client:
        try:
            status = client.status()
        except NotRunning:
            yield Check("daemon", OK, f"none runs; the next fetch starts one at {home.socket}")
            return
        except CdpFetchError as error:
            hint = "cdpfetch stop ends it; the next fetch starts a new one"
            yield Check("daemon", FAIL, error.reason, hint, error.code)
            return
    detail = f"process {status.get('pid')} answers at {home.socket}"
    if status.get("version") != __version__:
        hint = "cdpfetch restart"
        yield Check("daemon", WARN, f"{detail}, but is version {status.get('version')}, not {__version__}", hint)
    else:
        yield Check("daemon", OK, detail)


def check_guard(home: paths.Home) -> Iterator[Check]:
    """The guard of the running daemon, the proof that its browser gave, and how far the workers are shut off."""
    from cdpfetch.client import Client

    with Client(home, start=False) as client:
        status = client.status()
    guard, notes = status.get("guard") or {}, {note["code"]: note["message"] for note in status.get("warnings", ())}
    lanes = ", ".join(str(lane["name"]) for lane in guard.get("lanes", ()))
    if not lanes:
        yield Check("guard", FAIL, "the daemon has none", "cdpfetch restart", "browser_failed")
        return
    detail = f"lanes {lanes}; {_proof(status)}; {guard.get('opened')} connections made, {guard.get('refused')} refused"
    if guard.get("upstream"):
        detail += f"; the way out is {guard['upstream']}"
    if "unguarded" in notes:
        yield Check("guard", WARN, f"lanes {lanes}; {notes['unguarded']}", "cdpfetch config unset browser.cdp_url")
    elif not guard.get("checks_owner", True):
        hint = "use it where no other user may log in, or on Linux with /proc"
        yield Check("guard", WARN, f"{detail}; other users of this machine are not told from you", hint)
    else:
        yield Check("guard", OK, detail)
    if "workers_exposed" in notes:
        yield Check(
            "workers", WARN, notes["workers_exposed"], "allow seccomp or user namespaces (containers forbid them)"
        )
    if "workers_see_files" in notes:
        hint = "on Linux: a kernel that has Landlock among its security modules (/sys/kernel/security/lsm)"
        yield Check("workers", WARN, notes["workers_see_files"], hint)


def _proof(status: dict[str, Any]) -> str:
    """Whether Chrome has proved that it passes the guard, and when it did so last."""
    if status["browser"]["state"] != "running":
        return "no Chrome runs to prove it"
    # A browser that does not give the proof is closed before anybody gets it.
    times = [lane["proved"] for lane in status["guard"]["lanes"] if lane.get("proved")]
    return f"Chrome has proved to pass it, last at {time.strftime('%H:%M:%S', time.localtime(max(times or [0])))}"


def check_fetch(home: paths.Home) -> Iterator[Check]:
    """A page that a script writes, served here, comes back as Markdown."""
    from cdpfetch.artifacts import remove_tree
    from cdpfetch.client import Client
    from cdpfetch.document import Document

    token = os.urandom(8).hex()
    with _page_server(token) as (host, port), Client(home) as client:
        url = f"http://{host}:{port}/"
        data = client.fetch_documents([url], allow=[f"{host}:{port}"], deadline=30.0)[0]
    error = data["error"]
    try:
        if error is not None:
            yield Check("fetch", FAIL, error["reason"], error.get("hint") or "cdpfetch logs", error["code"])
        elif f"written by a script: {token}" not in Document(data).text():
            hint = f"cdpfetch logs; the setting browser.extra_args must not disable scripts ({data['dir']})"
            yield Check("fetch", FAIL, "the page came back without what its script wrote", hint, "no_content")
        else:
            total = data["timings"].get("total")
            took = f" in {total:.0f} ms" if total else ""
            yield Check("fetch", OK, f"a page served on this machine came back as Markdown{took}")
    finally:
        if data["dir"]:
            remove_tree(data["dir"])


def _page_server(token: str) -> Any:
    """A context manager that serves one page on a free port of loopback and gives ``(host, port)``."""
    import contextlib
    import http.server
    import threading

    page = (
        "<!doctype html><html lang=en><head><meta charset=utf-8><title>cdpfetch doctor</title></head><body><main>"
        "<h1>It works</h1><p>This page was served by cdpfetch doctor on this machine.</p><p id=out></p></main>"
        f"<script>document.getElementById('out').textContent = 'written by a ' + 'script: {token}'</script>"
        "</body></html>"
    ).encode()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
            pass

    @contextlib.contextmanager
    def serving() -> Iterator[tuple[str, int]]:
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
            thread.start()
            try:
                yield "127.0.0.1", server.server_address[1]
            finally:
                server.shutdown()
                thread.join()

    return serving()


def _first_line(path: str) -> str | None:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.readline().strip()
    except OSError:
        return None
