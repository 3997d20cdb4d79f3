"""One asyncio connection to the daemon, shared by the calls of a client."""

from __future__ import annotations

import asyncio
import contextlib

from cdpfetch import calls, wire
from cdpfetch._version import __version__
from cdpfetch.connection import TICKS, Gone, NotRunning, Silent, check_owner
from cdpfetch.errors import CdpFetchError, DaemonUnavailable, InvalidRequest
from cdpfetch.wire import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from cdpfetch.paths import Home


class Call:
    """One request under way."""

    def __init__(self, on_status: Callable[[Message], None]) -> None:
        self.on_status = on_status
        # Whether the daemon has said anything about it: then it is never sent again.
        self.heard = False
        # The terminal event, or what ended the line.
        self.answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()


class Line:
    """A connection with its reading task.  Calls are resolved by the reader, which never waits for anybody."""

    def __init__(self, home: Home, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.home = home
        self.peer = (0, "")
        # Why the line ended; None while it is good.
        self.ended: CdpFetchError | None = None
        self._reader = reader
        self._writer = writer
        self._calls: dict[int, Call] = {}
        # Reads until the line ends; made by ``open``.
        self._reading: asyncio.Task[None] | None = None
        # Ticks of silence while calls were pending.
        self._quiet = 0

    @classmethod
    async def open(cls, home: Home) -> Self:
        """Connect and exchange hellos.  Raises NotRunning, Gone, Silent, DaemonUnavailable."""
        check_owner(home)
        try:
            async with asyncio.timeout(wire.SILENCE):
                while True:
                    try:
                        reader, writer = await asyncio.open_unix_connection(home.socket, limit=wire.MAX_LINE * 2)
                        break
                    except BlockingIOError:
                        # A full backlog: the daemon is busy, or no longer accepts.
                        await asyncio.sleep(0.02)
        except TimeoutError:
            raise Silent(f"the daemon of {home.root} accepts no connection") from None
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
            raise NotRunning(f"no daemon listens on {home.socket}", "`cdpfetch fetch` starts one") from None
        except OSError as error:
            raise DaemonUnavailable(
                f"cannot connect to {home.socket}: {error.strerror}", "`cdpfetch doctor` checks what is wrong"
            ) from error
        line = cls(home, reader, writer)
        try:
            await line._greet()
        except BaseException:
            writer.close()
            raise
        line._reading = asyncio.create_task(line._read(), name="cdpfetch-client-reader")
        return line

    async def _greet(self) -> None:
        self._writer.write(wire.encode(wire.hello(__version__)))
        try:
            async with asyncio.timeout(wire.SILENCE):
                data = await self._reader.readuntil(b"\n")
            self.peer = wire.check_hello(wire.decode(data))
        except TimeoutError:
            raise self._silent() from None
        except (OSError, asyncio.IncompleteReadError):
            raise self._gone() from None
        except (InvalidRequest, asyncio.LimitOverrunError) as error:
            reason = f"what listens on {self.home.socket} is not a cdpfetch daemon: {error}"
            raise DaemonUnavailable(reason, "end that process, or set CDPFETCH_HOME to another directory") from None

    async def exchange(self, request: Message, call: Call) -> Message:
        """Send a request and wait for its terminal event.  Cancelling cancels it in the daemon, too."""
        if self.ended is not None:
            raise self.ended
        request_id = request["id"]
        if not self._calls:
            self._quiet = 0
        self._calls[request_id] = call
        try:
            self._writer.write(wire.encode(request))
            return await call.answer
        except asyncio.CancelledError:
            # Cancelling the waiting task cancelled the future; otherwise the answer came in the same moment.
            if call.answer.cancelled():
                self._writer.write(wire.encode({"id": -request_id, "op": "cancel", "target": request_id}))
            raise
        finally:
            self._calls.pop(request_id, None)

    async def _read(self) -> None:
        """Pass events on until the line ends; then fail every call."""
        ended: CdpFetchError = self._gone()
        try:
            while data := await self._next_line():
                event = wire.decode(data)
                request_id = event.get("id")
                call = self._calls.get(request_id) if isinstance(request_id, int) else None
                if call is not None:
                    _deliver(call, event)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, InvalidRequest):
            pass
        except Silent as silent:
            known = await asyncio.to_thread(end_daemon, self.home)
            hint = silent.hint if known else f"{self.home.pidfile} names no process of cdpfetch: end the daemon by hand"
            ended = Silent(silent.reason + (" and was ended" if known else ""), hint)
        self._fail(ended)
        self._writer.close()

    async def _next_line(self) -> bytes:
        """The next line, empty at the end.  Silence counts only while calls are pending, and in ticks."""
        while True:
            try:
                # The reader keeps what it has when the wait is given up.
                async with asyncio.timeout(wire.SILENCE / TICKS):
                    data = await self._reader.readuntil(b"\n")
            except TimeoutError:
                self._quiet = self._quiet + 1 if self._calls else 0
                if self._quiet > TICKS:
                    raise self._silent() from None
                continue
            except asyncio.IncompleteReadError:
                return b""
            self._quiet = 0
            return data

    def _fail(self, error: CdpFetchError) -> None:
        if self.ended is None:
            self.ended = error
        waiting = [call for call in self._calls.values() if not call.answer.done()]
        for call in waiting:
            lost = calls.lost(error, len(waiting)) if call.heard or isinstance(error, Silent) else error
            call.answer.set_exception(lost)

    async def close(self, cause: CdpFetchError) -> None:
        """Hang up and fail what is under way with ``cause``."""
        self._fail(cause)
        if self._reading is not None:
            self._reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reading
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    def _gone(self) -> Gone:
        return Gone(f"the daemon of {self.home.root} ended the connection", "run it again: a new daemon is started")

    def _silent(self) -> Silent:
        return Silent(
            f"the daemon of {self.home.root} was silent for {wire.SILENCE:g} s", "run it again: a new daemon is started"
        )


def _deliver(call: Call, event: Message) -> None:
    call.heard = True
    if event.get("event") == "status":
        try:
            call.on_status(event)
        except Exception as error:  # noqa: BLE001 - the callback's failure belongs to its caller, not to the reader
            if not call.answer.done():
                call.answer.set_exception(error)
    elif event.get("event") in ("result", "error") and not call.answer.done():
        call.answer.set_result(event)


def end_daemon(home: Home) -> bool:
    """End the daemon of a home; see ``cdpfetch.starting.end``.  Blocks."""
    from cdpfetch import starting

    return starting.end(home)
