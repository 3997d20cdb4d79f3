"""One blocking connection to the daemon: lines in, lines out, and the ways in which it can end.

Used by the blocking client and while starting a daemon; knows nothing of what the messages mean.
"""

from __future__ import annotations

import errno
import os
import time

# The C part of ``socket`` is all that is used; the module around it costs the command 4 ms, a fifth of its start.
from _socket import AF_UNIX, SOCK_STREAM, socket

from cdpfetch import wire
from cdpfetch._version import __version__
from cdpfetch.errors import DaemonUnavailable, InvalidRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cdpfetch.paths import Home
    from cdpfetch.wire import Message

# Silence is counted in ticks, so that a pause of the whole machine counts as one tick and not as a wedged daemon.
TICKS = 4
_CHUNK = 1 << 16
_RESTART_HINT = "run the command again: a new daemon is started; `cdpfetch logs` tells more"


class NotRunning(DaemonUnavailable):
    """Nothing listens on the socket."""


class Gone(DaemonUnavailable):
    """The daemon closed the connection, or died."""


class Nonsense(Gone):
    """What came was no message."""


class Silent(DaemonUnavailable):
    """The daemon accepted the connection and then said nothing for ``wire.SILENCE`` seconds."""


class Connection:
    """A connected socket after the exchange of hellos.

    Attributes:
        peer: ``(protocol, version)`` of the daemon.
        pid: the daemon's process id as it said, or None.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self.peer = (0, "")
        self.pid: int | None = None
        # Received and not yet returned: whole lines, then the beginning of the next one.
        self._lines: list[bytes] = []
        self._rest = b""
        self._socket = dial(home)
        try:
            self.send([wire.hello(__version__)])
            try:
                message = self.receive()
                self.peer = wire.check_hello(message)
            except (InvalidRequest, Nonsense) as error:
                reason = f"what listens on {home.socket} is not a cdpfetch daemon: {error.reason}"
                raise DaemonUnavailable(reason, "end that process, or set CDPFETCH_HOME to another directory") from None
            pid = message.get("pid")
            self.pid = pid if isinstance(pid, int) else None
        except BaseException:
            self.close()
            raise

    def send(self, messages: list[Message]) -> None:
        """Send messages at once.  Raises Gone, or Silent when the daemon reads nothing for a long time."""
        data = b"".join(wire.encode(message) for message in messages)
        self._socket.settimeout(wire.SILENCE)
        try:
            self._socket.sendall(data)
        except TimeoutError:
            raise self._silent() from None
        except OSError as error:
            raise self._gone() from error

    def receive(self, deadline: float | None = None) -> Message:
        """The next message that is not a heartbeat.

        ``deadline`` is a time of ``time.monotonic``; when it passes, TimeoutError is raised.
        Raises Gone at the end of the stream, and Silent after ``wire.SILENCE`` seconds without a byte.
        """
        while True:
            while self._lines:
                try:
                    message = wire.decode(self._lines.pop(0))
                except InvalidRequest as error:
                    raise Nonsense(
                        f"the daemon of {self.home.root} sent no message: {error.reason}", _RESTART_HINT
                    ) from None
                if message.get("event") != "heartbeat":
                    return message
            self._fill(deadline)

    def _fill(self, deadline: float | None) -> None:
        """Wait for bytes and split them into lines."""
        quiet = 0
        while True:
            wait = wire.SILENCE / TICKS
            if deadline is not None:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                wait = min(wait, left)
            self._socket.settimeout(wait)
            try:
                data = self._socket.recv(_CHUNK)
            except TimeoutError:
                quiet += 1
                if quiet >= TICKS and (deadline is None or time.monotonic() < deadline):
                    raise self._silent() from None
                continue
            except OSError as error:
                raise self._gone() from error
            if not data:
                raise self._gone()
            break
        *lines, self._rest = (self._rest + data).split(b"\n") if b"\n" in data else (self._rest + data,)
        self._lines += lines
        if len(self._rest) > wire.MAX_LINE:
            raise self._gone()

    def close(self) -> None:
        """Hang up: the daemon cancels what this connection asked for."""
        self._socket.close()

    def _gone(self) -> Gone:
        return Gone(f"the daemon of {self.home.root} ended the connection", _RESTART_HINT)

    def _silent(self) -> Silent:
        return Silent(f"the daemon of {self.home.root} was silent for {wire.SILENCE:g} s", _RESTART_HINT)


def dial(home: Home) -> socket:
    """A connected socket.  Raises NotRunning, Silent when the daemon accepts nobody, or DaemonUnavailable."""
    check_owner(home)
    path = home.socket
    deadline = time.monotonic() + wire.SILENCE
    while True:
        connected = socket(AF_UNIX, SOCK_STREAM)
        connected.settimeout(wire.SILENCE)
        try:
            connected.connect(path)
        except OSError as error:
            connected.close()
            # A full backlog: the daemon is busy, or no longer accepts.
            if error.errno in (errno.EAGAIN, errno.EINTR) or isinstance(error, TimeoutError):
                if time.monotonic() < deadline:
                    time.sleep(0.02)
                    continue
                raise Silent(f"the daemon of {home.root} accepts no connection", _RESTART_HINT) from None
            if error.errno in (errno.ENOENT, errno.ECONNREFUSED, errno.ENOTSOCK, errno.ENOTDIR):
                raise NotRunning(f"no daemon listens on {path}", "`cdpfetch fetch` starts one") from None
            raise DaemonUnavailable(
                f"cannot connect to {path}: {error.strerror}",
                "see that the directory is yours; `cdpfetch doctor` checks",
            ) from error
        return connected


def check_owner(home: Home) -> None:
    """See that the runtime directory, if there is one, is ours; another user's socket is never spoken to."""
    try:
        info = os.lstat(home.run)
    except OSError:
        return
    if info.st_uid != os.getuid() or info.st_mode & 0o170077 != 0o040000:
        from cdpfetch.paths import ensure_private_dir

        ensure_private_dir(home.run)
