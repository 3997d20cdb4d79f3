"""Names to addresses: the system's resolver, with a limit, one question at a time for a name, and a short memory."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from cdpfetch.errors import CdpFetchError

# Seconds that a name may take to resolve; Chrome itself waits 30 for a proxy.
RESOLVE_TIMEOUT = 5.0
# Seconds that an answer is used again: the judge in front of Chrome and the guard behind it ask for the same names.
KEEP = 5.0
_MAX_KEPT = 1024
# Lookups block a thread each; a page that names hosts which never answer must not hold up the others' for long.
_THREADS = 32

Resolve = Callable[[str], Awaitable[list[str]]]
"""Addresses (with zone where they have one) of a name; raises OSError or UnicodeError when there are none."""


class Resolver:
    """Resolves names.  ``lookup`` stands for the system in tests; ``close`` it when done.

    What it answers is judged by its caller for every connection, whether it was remembered or not.
    """

    def __init__(self, lookup: Resolve | None = None, *, keep: float = KEEP, limit: float = RESOLVE_TIMEOUT) -> None:
        self._lookup = lookup or self._system
        self._keep = keep
        self._limit = limit
        self._threads = asyncio.Semaphore(_THREADS)  # free places for questions to the system
        self._kept: OrderedDict[str, tuple[float, list[str]]] = OrderedDict()  # name -> (loop time of the end, answer)
        self._asking: dict[str, asyncio.Future[list[str]]] = {}  # questions under way

    async def resolve(self, host: str) -> list[str]:
        """The addresses of a name, each once.

        Raises CdpFetchError (``dns_failed``) when it has none, or none within the limit.
        """
        now = asyncio.get_running_loop().time()
        kept = self._kept.get(host)
        if kept is not None and kept[0] > now:
            return kept[1]
        asked = self._asking.get(host)
        if asked is None:
            asked = asyncio.ensure_future(self._ask(host))
            self._asking[host] = asked
            asked.add_done_callback(functools.partial(self._answered, host))
        # Whoever gives up leaves the others their answer.
        return await asyncio.shield(asked)

    async def _ask(self, host: str) -> list[str]:
        try:
            async with asyncio.timeout(self._limit):
                found = await self._lookup(host)
        except TimeoutError:
            raise CdpFetchError("dns_failed", f"{host} did not resolve within {self._limit:g} s") from None
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise CdpFetchError("dns_failed", f"{host} does not resolve: {reason}", "check the host name") from None
        if not found:
            raise CdpFetchError("dns_failed", f"{host} does not resolve: it has no address", "check the host name")
        answer = list(dict.fromkeys(found))
        if self._keep > 0:
            self._kept[host] = (asyncio.get_running_loop().time() + self._keep, answer)
            self._kept.move_to_end(host)
            while len(self._kept) > _MAX_KEPT:
                self._kept.popitem(last=False)
        return answer

    def _answered(self, host: str, asked: asyncio.Future[list[str]]) -> None:
        self._asking.pop(host, None)
        if not asked.cancelled():
            asked.exception()  # nobody may be left to hear it

    async def _system(self, host: str) -> list[str]:
        await self._threads.acquire()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[str]] = loop.create_future()

        def ended(found: list[str] | Exception) -> None:
            self._threads.release()
            if answer.done():
                return
            if isinstance(found, Exception):
                answer.set_exception(found)
            else:
                answer.set_result(found)

        def work() -> None:
            found = _getaddrinfo(host)
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(ended, found)

        # A daemon thread: a name server that never answers must not hold up this process's end.
        threading.Thread(target=work, name=f"resolve {host}", daemon=True).start()
        return await answer

    async def close(self) -> None:
        """End the questions under way; a thread that still waits for the system ends with its answer."""
        asking = list(self._asking.values())
        for asked in asking:
            asked.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        self._kept.clear()


def _getaddrinfo(host: str) -> list[str] | Exception:
    """What the system says: addresses, or the exception that it raises."""
    try:
        return [str(entry[4][0]) for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError) as error:
        return error
