"""Where everything lives: one private home directory, and the runtime files below it.

The home comes from the account database, not from environment variables that differ
between a shell, a service and an agent, so that all of them meet at the same socket.
"""

from __future__ import annotations

import errno
import os
import stat

from cdpfetch.errors import CdpFetchError

HOME_VARIABLE = "CDPFETCH_HOME"
# The shortest limit of the supported platforms (sun_path of macOS is 104 bytes, with its NUL).
SOCKET_PATH_MAX = 103
_SHORT_ROOT = "/tmp"  # noqa: S108 - the one short writable place; the directory made in it is private and verified


class Home:
    """The paths of one home; nothing is created by making one."""

    __slots__ = ("root",)

    def __init__(self, root: str) -> None:
        self.root = root

    def __repr__(self) -> str:
        return f"Home({self.root!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Home) and other.root == self.root

    def __hash__(self) -> int:
        return hash(self.root)

    @property
    def config(self) -> str:
        return os.path.join(self.root, "config.toml")

    @property
    def profile(self) -> str:
        return os.path.join(self.root, "profile")

    @property
    def artifacts(self) -> str:
        return os.path.join(self.root, "artifacts")

    @property
    def sessions(self) -> str:
        """The sites that have cookies in the profile."""
        return os.path.join(self.root, "sessions.json")

    @property
    def known_urls(self) -> str:
        """What strict mode for addresses has seen, as digests."""
        return os.path.join(self.root, "known_urls")

    @property
    def logs(self) -> str:
        return os.path.join(self.root, "logs")

    @property
    def log(self) -> str:
        return os.path.join(self.logs, "daemon.log")

    @property
    def run(self) -> str:
        """The runtime directory; a short private one when the socket's path would be too long for the platform."""
        usual = os.path.join(self.root, "run")
        if len(os.fsencode(os.path.join(usual, "daemon.sock"))) <= SOCKET_PATH_MAX:
            return usual
        from hashlib import sha256

        digest = sha256(os.fsencode(self.root)).hexdigest()[:16]
        return os.path.join(_SHORT_ROOT, f"cdpfetch-{os.getuid()}-{digest}")

    @property
    def socket(self) -> str:
        return os.path.join(self.run, "daemon.sock")

    @property
    def pidfile(self) -> str:
        return os.path.join(self.run, "daemon.pid")

    @property
    def chrome_version(self) -> str:
        """What is remembered of the installed Chrome."""
        return os.path.join(self.run, "chrome.json")

    @property
    def lock(self) -> str:
        """Held (flock) by the daemon for its whole life."""
        return os.path.join(self.run, "daemon.lock")

    @property
    def start_lock(self) -> str:
        """Held (flock) by the one client that is starting a daemon."""
        return os.path.join(self.run, "start.lock")


def find_home() -> Home:
    """The home of this account, or the one that ``CDPFETCH_HOME`` names.

    Raises CdpFetchError(config_error) when neither is known.
    """
    override = os.environ.get(HOME_VARIABLE)
    if override:
        return Home(os.path.abspath(os.path.expanduser(override)))
    account = account_home()
    if account is None:
        raise CdpFetchError(
            "config_error",
            f"user {os.getuid()} has no home directory in the account database",
            f"set {HOME_VARIABLE} to a private directory",
        )
    return Home(os.path.join(account, ".cdpfetch"))


def account_home() -> str | None:
    """The home directory that the account database names for this user, or None."""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir or None
    except KeyError:
        return None


def ensure_private_dir(path: str) -> None:
    """Create ``path`` with mode 0700, or verify that it is a directory of ours that nobody else may enter.

    A directory of ours with wider modes is narrowed; one that belongs to another user is refused.
    Raises CdpFetchError(config_error).
    """
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise directory_error(path, error) from error
    try:
        info = os.fstat(fd)
        if info.st_uid != os.getuid():
            raise CdpFetchError(
                "config_error",
                f"{path} belongs to user {info.st_uid}, not to {os.getuid()}",
                f"remove it, or set {HOME_VARIABLE} to a directory of yours",
            )
        if stat.S_IMODE(info.st_mode) & 0o077:
            os.fchmod(fd, 0o700)
    finally:
        os.close(fd)


def open_private(path: str, flags: int) -> int:
    """A descriptor of a plain file of ours (made with mode 0600 where there is none); judged after it was opened.

    A link, a file with a second name, another user's file and what is no regular file are refused, not repaired.
    Raises CdpFetchError(config_error).
    """
    try:
        # Not to wait for the other end of a pipe that was put there.
        fd = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise directory_error(path, error) from error
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1 or info.st_uid != os.getuid():
        os.close(fd)
        raise CdpFetchError("config_error", f"{path} is not a plain file of ours", "remove it")
    return fd


def directory_error(path: str, error: OSError) -> CdpFetchError:
    """The error to report for a directory that can't be made or written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return CdpFetchError("disk_full", f"no space left for {path}", "free some space, or choose another directory")
    if error.errno == errno.ENAMETOOLONG:
        return CdpFetchError("config_error", f"the path {path} is too long", "choose a shorter directory")
    return CdpFetchError(
        "config_error", f"cannot use the directory {path}: {error.strerror}", "choose a directory that you can write"
    )
