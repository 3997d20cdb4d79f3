"""Installs, removes and looks at the service, through the manager that the platform has."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import NamedTuple

from cdpfetch import paths
from cdpfetch.errors import CdpFetchError
from cdpfetch.service import launchd, systemd
from cdpfetch.starting import daemon_command

# Seconds that one command of the manager may take.
TIMEOUT = 60.0


class Status(NamedTuple):
    """``installed`` is ``yes``, ``no`` or ``changed`` (not what this version would write)."""

    manager: str
    installed: str
    active: bool
    files: tuple[str, ...]


class Service:
    """The service of one home.  Subclasses know a manager."""

    manager = ""

    def __init__(self, home: paths.Home, environ: Mapping[str, str]) -> None:
        self.home = home
        self.environ = environ
        # Only a home of another place needs to be named.
        account = paths.account_home()
        usual = os.path.join(account, ".cdpfetch") if account else None
        self._named_home = None if home.root == usual else home.root

    def files(self) -> dict[str, bytes]:
        """What is to be installed, by absolute path."""
        raise NotImplementedError

    def install(self) -> None:
        """Write the files and let the manager listen.  The daemon must not run.  Raises CdpFetchError."""
        for directory in (self.home.root, self.home.run, self.home.logs):
            paths.ensure_private_dir(directory)
        for path, data in self.files().items():
            try:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path + ".new", "wb") as file:
                    file.write(data)
                os.replace(path + ".new", path)
            except OSError as error:
                raise paths.directory_error(os.path.dirname(path), error) from error
        self._enable()

    def uninstall(self) -> bool:
        """Let the manager stop listening and remove the files; False when there were none.  Raises CdpFetchError."""
        present = [path for path in self.files() if os.path.exists(path)]
        if not present:
            return False
        self._disable()
        for path in present:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        self._forget()
        return True

    def status(self) -> Status:
        """What is there.  Never fails."""
        wanted = self.files()
        found = {path: _read(path) for path in wanted}
        present = tuple(path for path, data in found.items() if data is not None)
        state = "no" if not present else "yes" if found == wanted else "changed"
        return Status(self.manager, state, self._active(), present)

    def check(self) -> None:
        """Raises CdpFetchError where this manager can't be used."""

    def _enable(self) -> None: ...

    def _disable(self) -> None: ...

    def _forget(self) -> None: ...

    def _active(self) -> bool:
        return False

    def _run(self, *command: str) -> str:
        """One command of the manager; raises CdpFetchError with what it said."""
        done = self._try(*command)
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise CdpFetchError(
                "config_error",
                f"{' '.join(command)}: {said[-1] if said else f'exit status {done.returncode}'}",
                "`cdpfetch service install --print` shows what would be installed",
            )
        return done.stdout

    def _try(self, *command: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                command,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=TIMEOUT,
                check=False,
                stdin=subprocess.DEVNULL,
                env=dict(self.environ),
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return subprocess.CompletedProcess(command, 127, "", str(error))


class SystemdService(Service):
    """A socket and a service of the user's systemd."""

    manager = "systemd"

    def files(self) -> dict[str, bytes]:
        base = self.environ.get("XDG_CONFIG_HOME") or os.path.join(paths.account_home() or "/", ".config")
        texts = systemd.units(self.home.socket, daemon_command(), self._named_home)
        return {os.path.join(base, "systemd", "user", name): text.encode() for name, text in texts.items()}

    def check(self) -> None:
        if shutil.which("systemctl", path=self.environ.get("PATH")) is None:
            raise CdpFetchError("config_error", "there is no systemd here", "the daemon starts without it when needed")
        self._run("systemctl", "--user", "show-environment")

    def _enable(self) -> None:
        self._run("systemctl", "--user", "daemon-reload")
        self._run("systemctl", "--user", "enable", systemd.SOCKET)
        self._run("systemctl", "--user", "restart", systemd.SOCKET)

    def _disable(self) -> None:
        self._run("systemctl", "--user", "disable", "--now", systemd.SOCKET)
        self._run("systemctl", "--user", "stop", systemd.SERVICE)

    def _forget(self) -> None:
        self._run("systemctl", "--user", "daemon-reload")

    def _active(self) -> bool:
        return self._try("systemctl", "--user", "is-active", "--quiet", systemd.SOCKET).returncode == 0


class LaunchdService(Service):
    """An agent of the user's launchd."""

    manager = "launchd"

    def files(self) -> dict[str, bytes]:
        folder = os.path.join(paths.account_home() or "/", "Library", "LaunchAgents")
        log = os.path.join(self.home.logs, "launchd.log")
        return {
            os.path.join(folder, launchd.FILE): launchd.agent(self.home.socket, daemon_command(), log, self._named_home)
        }

    def _enable(self) -> None:
        self._try("launchctl", "bootout", f"{self._domain()}/{launchd.LABEL}")  # one of an earlier version
        (path,) = self.files()
        self._run("launchctl", "bootstrap", self._domain(), path)

    def _disable(self) -> None:
        self._try("launchctl", "bootout", f"{self._domain()}/{launchd.LABEL}")

    def _active(self) -> bool:
        return self._try("launchctl", "print", f"{self._domain()}/{launchd.LABEL}").returncode == 0

    def _domain(self) -> str:
        return f"gui/{os.getuid()}"


def of(home: paths.Home, environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Service:
    """The service of a home on this platform."""
    return (LaunchdService if platform == "darwin" else SystemdService)(home, environ)


def shown(files: Mapping[str, bytes]) -> str:
    """The files as one text, each below its path."""
    return "\n".join(f"# {path}\n{data.decode()}" for path, data in files.items())


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None
