"""Starting, finding and ending the daemon's process, as its clients do it.  Blocking; standard library only.

Lock order: the client takes ``run/start.lock``, looks again whether somebody answers, spawns, and waits for the
ready line.  The daemon itself takes ``run/daemon.lock``, which decides.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from contextlib import contextmanager, suppress

from cdpfetch import process
from cdpfetch.connection import NotRunning, dial
from cdpfetch.errors import CODES, CdpFetchError, DaemonUnavailable
from cdpfetch.paths import HOME_VARIABLE, ensure_private_dir, open_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from cdpfetch.paths import Home

# Seconds: for a daemon to become ready; for one that shuts down (it drains for at most 10 s); for its Chrome to
# follow a killed daemon (0.5 s measured); between two looks.
START_SECONDS = 30.0
END_SECONDS = 15.0
FOLLOW_SECONDS = 3.0
_LOOK = 0.02
_UNNAMED_SECONDS = 0.3
_PIPE_SWITCH = "--remote-debugging-pipe"
_WORKER = "cdpfetch.extract"


def start(home: Home, environment: Mapping[str, str] | None = None, *, warm: bool = False) -> None:
    """See that a daemon accepts connections, spawning one (with ``environment``, default ours) when none does.

    ``warm``: it will be asked for something that needs the browser, and may start that at once.

    Raises CdpFetchError: what the daemon reported (``browser_not_found`` ...), ``config_error`` for a home that can't
    be used, ``daemon_unavailable`` with the log's last lines when it died.
    """
    for directory in (home.root, home.run, home.logs):
        ensure_private_dir(directory)
    deadline = time.monotonic() + START_SECONDS
    with _start_lock(home, deadline):
        while not answers(home):
            report = _spawn(home, deadline, environment, warm)
            if report.get("ready") is True:
                return
            code = report.get("code")
            if code != "daemon_unavailable" or time.monotonic() > deadline:
                raise CdpFetchError(
                    code if isinstance(code, str) and code in CODES else "daemon_unavailable",
                    str(report.get("reason") or "the daemon did not start"),
                    report.get("hint"),
                )
            _await_holder(home)


def answers(home: Home) -> bool:
    """Whether something accepts connections on the socket."""
    try:
        dial(home).close()
    except NotRunning:
        return False
    return True


def read_pidfile(home: Home) -> process.Process | None:
    """The daemon's process when the pidfile names one that lives: same start time, and a command line of ours."""
    try:
        with open(home.pidfile, "rb") as file:
            entry = json.loads(file.read(4096))
        pid, started = entry["pid"], str(entry["started"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
    if not isinstance(pid, int) or not process.is_ours(pid, started):
        return None
    return process.Process(pid, started, process.command_line(pid))


def end(home: Home, *, grace: float = 0.0) -> bool:
    """End the daemon that the pidfile names, and see that its Chrome and workers end too.

    It is asked by SIGTERM when ``grace`` (seconds) is given, then killed.  An interactive browser window is left
    alone.  Returns whether there was a daemon.
    """
    daemon = read_pidfile(home)
    if daemon is None:
        return False
    followers = _followers(daemon.pid)
    if grace:
        _signal(daemon, signal.SIGTERM)
        _wait(lambda: not process.is_alive(daemon), grace)
        followers += [one for one in _followers(daemon.pid) if one not in followers]
    _signal(daemon, signal.SIGKILL)
    _wait(lambda: not process.is_alive(daemon), END_SECONDS)
    end_all(followers)
    return True


def await_end(home: Home, daemon: process.Process | None, followers: list[process.Process]) -> None:
    """Wait for a daemon that was told to shut down, and end it after ``END_SECONDS``."""
    if daemon is not None and not _wait(lambda: not process.is_alive(daemon), END_SECONDS):
        end(home)
    end_all(followers)


def end_all(followers: list[process.Process]) -> None:
    """Wait for processes that should end by themselves, and kill those that don't."""
    if not _wait(lambda: not any(process.is_alive(one) for one in followers), FOLLOW_SECONDS):
        for one in followers:
            _signal(one, signal.SIGKILL)
        _wait(lambda: not any(process.is_alive(one) for one in followers), FOLLOW_SECONDS)


def followers_of(daemon: process.Process | None) -> list[process.Process]:
    """What has to end with a daemon: the Chrome on its pipe with all its processes, and the workers."""
    return _followers(daemon.pid) if daemon is not None else []


def _followers(pid: int) -> list[process.Process]:
    found: list[process.Process] = []
    for child in process.descendants(pid):
        if _PIPE_SWITCH in child.command:
            found += [child, *process.descendants(child.pid)]
        elif _WORKER in child.command:
            found.append(child)
    return list(dict.fromkeys(found))


def _signal(one: process.Process, number: signal.Signals) -> None:
    """Signal a process if it still is the one that was seen."""
    if process.is_alive(one):
        with suppress(OSError):
            os.kill(one.pid, number)


def _wait(done: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOK)
    return True


@contextmanager
def _start_lock(home: Home, deadline: float) -> Iterator[None]:
    """Only one client at a time starts a daemon."""
    import fcntl

    fd = open_private(home.start_lock, os.O_RDWR)
    try:
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise DaemonUnavailable(
                        f"another client has been starting the daemon for {START_SECONDS:g} s",
                        "try again; `cdpfetch doctor` checks what is wrong",
                    ) from None
                time.sleep(_LOOK)
        yield
    finally:
        os.close(fd)


def _await_holder(home: Home) -> None:
    """Another daemon holds the lock and does not answer: it is starting, or shutting down, or wedged and is ended."""
    deadline = time.monotonic() + END_SECONDS
    # A holder without a pidfile is about to write it, or about to be gone.
    unnamed = time.monotonic() + _UNNAMED_SECONDS
    while time.monotonic() < deadline:
        if answers(home) or (time.monotonic() > unnamed and read_pidfile(home) is None):
            return
        time.sleep(_LOOK)
    end(home)


def _spawn(home: Home, deadline: float, environment: Mapping[str, str] | None, warm: bool) -> dict[str, Any]:
    """Start a daemon that outlives us, and return its ready line."""
    import select

    log_start = _size(home.log)
    reader, writer = os.pipe()
    writer = _above_standard(writer)
    try:
        try:
            _spawn_detached(home, writer, _environment(home, environment), ["--warm"] if warm else [])
        finally:
            os.close(writer)
        line = b""
        poll = select.poll()
        poll.register(reader, select.POLLIN | select.POLLHUP)
        while b"\n" not in line:
            if not poll.poll(max(0, deadline - time.monotonic()) * 1000):
                raise DaemonUnavailable(f"the daemon was not ready within {START_SECONDS:g} s", _log_hint(home))
            data = os.read(reader, 4096)
            if not data:
                reason = "the daemon ended while it started" + _log_tail(home, log_start)
                raise DaemonUnavailable(reason, _log_hint(home))
            line += data
        report = json.loads(line.partition(b"\n")[0])
    except ValueError:
        raise DaemonUnavailable("the daemon's ready line could not be read", _log_hint(home)) from None
    finally:
        os.close(reader)
    return report if isinstance(report, dict) else {}


def daemon_command() -> list[str]:
    """The command that runs the daemon.  ``-P``: never import from the directory of whoever started it."""
    return [sys.executable or "python3", "-P", "-m", "cdpfetch.daemon"]


def _spawn_detached(home: Home, writer: int, environment: dict[str, str], switches: list[str]) -> None:
    """Run the daemon as a grandchild in a session of its own, with nothing of ours open but the ready pipe.

    The shell ends at once, so that the daemon is never our child and leaves no zombie behind in a long-lived client.
    """
    ready_fd = 3 if writer != 3 else 4
    log = _above_standard(open_private(home.log, os.O_WRONLY | os.O_APPEND))
    try:
        actions: list[tuple[Any, ...]] = [
            (os.POSIX_SPAWN_CLOSE, fd) for fd in _inherited() if fd > 2 and fd not in (writer, log)
        ]
        actions += [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, log, 1),
            (os.POSIX_SPAWN_DUP2, log, 2),
            (os.POSIX_SPAWN_DUP2, writer, ready_fd),
        ]
        command = [*daemon_command(), "--ready-fd", str(ready_fd), *switches]
        arguments = ["sh", "-c", 'cd /; "$0" "$@" &', *command]
        options: dict[str, Any] = {"file_actions": actions, "setsigmask": [], "setsigdef": [signal.SIGPIPE]}
        try:
            shell = os.posix_spawn("/bin/sh", arguments, environment, setsid=True, **options)
        except NotImplementedError:
            shell = os.posix_spawn("/bin/sh", arguments, environment, setpgroup=0, **options)
        os.waitpid(shell, 0)
    except OSError as error:
        raise DaemonUnavailable(f"cannot run /bin/sh to start the daemon: {error.strerror}") from error
    finally:
        os.close(log)


def _above_standard(fd: int) -> int:
    """The same file under a number above 2, which it has not where a caller runs us without standard streams."""
    if fd > 2:
        return fd
    import fcntl

    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    finally:
        os.close(fd)


def _inherited() -> list[int]:
    """The open descriptors that a child would get from us; few, since Python opens its own close-on-exec."""
    directory = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"
    found: list[int] = []
    for name in os.listdir(directory):
        try:
            if os.get_inheritable(int(name)):
                found.append(int(name))
        except OSError:
            continue
    return found


def _environment(home: Home, base: Mapping[str, str] | None) -> dict[str, str]:
    environment = {**(os.environ if base is None else base), HOME_VARIABLE: home.root}
    package_root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    # A checkout that is on the path of this process by other means than an installation.
    if "site-packages" not in package_root and "dist-packages" not in package_root:
        known = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = package_root + (os.pathsep + known if known else "")
    return environment


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _log_tail(home: Home, start: int) -> str:
    """What the daemon wrote before it died: its last line."""
    try:
        with open(home.log, "rb") as file:
            file.seek(max(start, _size(home.log) - 4096))
            lines = file.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return ""
    last = [line.strip() for line in lines if line.strip()]
    return f": {last[-1][:300]}" if last else ""


def _log_hint(home: Home) -> str:
    return f"see {home.log}, or run `cdpfetch daemon` to watch it start"
