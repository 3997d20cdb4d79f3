"""The guard: listeners on loopback, one a lane; what comes in is judged, resolved, dialled and relayed, or refused."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from ada_url import URL

from cdpfetch.daemon.guard import descriptors, socks
from cdpfetch.daemon.guard.dialler import Dialler
from cdpfetch.daemon.guard.lane import MAX_CONNECTIONS, Door, Lane, Live
from cdpfetch.daemon.guard.ledger import Fault, Ledger
from cdpfetch.daemon.guard.owner import Ends, can_tell, uid_of
from cdpfetch.daemon.guard.relay import Budget, Relay
from cdpfetch.daemon.guard.upstream import Unreachable, Upstream, Ways
from cdpfetch.daemon.guard.visitor import Visitor
from cdpfetch.errors import CdpFetchError
from cdpfetch.judge import Judge, is_own, target_of
from cdpfetch.policy import Policy
from cdpfetch.resolver import Resolver
from cdpfetch.urls import Url

log = logging.getLogger(__name__)

HOST = "127.0.0.1"
_BACKLOG = 512
# Seconds after which no further way to a target is tried; Chrome itself waits 30.
_PATIENCE = 15.0
# What may be otherwise on another way.
_NEXT = frozenset({"connection_failed", "timeout", "dns_failed"})
# Seconds that connections get to end when a lane is closed; they are aborted, so it is a matter of loop turns.
_GRACE = 5.0
_REPLIES = {
    "blocked_address": socks.NOT_ALLOWED,
    "invalid_url": socks.NOT_ALLOWED,
    "dns_failed": socks.HOST_UNREACHABLE,
    "timeout": socks.HOST_UNREACHABLE,
    "connection_failed": socks.REFUSED,
}


def _too_large(host: str, what: str) -> CdpFetchError:
    hint = "raise the limit: cdpfetch config set fetch.max_bytes BYTES"
    return CdpFetchError("too_large", f"{host} sent more bytes than {what} may carry", hint)


class Guard:
    """All lanes.  ``async with Guard([...]) as guard``, or ``close()`` it.

    ``owner`` tells the user of a socket; where it can (``can_tell``), connections of other users are refused.
    """

    def __init__(
        self,
        lanes: Iterable[Lane] = (),
        *,
        resolver: Resolver | None = None,
        dialler: Dialler | None = None,
        upstream: Ways | None = None,
        owner: Callable[[Ends], int | None] = uid_of,
    ) -> None:
        self.ledger = Ledger()
        self.strangers = 0  # connections of other users, refused
        self.resolver = resolver or Resolver()
        self._first = tuple(lanes)
        self._dialler = dialler or Dialler()
        self._upstream = upstream
        self._owner = owner
        self._checks_owner = False  # set when the first lane opens
        self._doors: dict[str, Door] = {}
        self._own_ports: set[int] = set()  # of this machine, never reached through the guard
        self._judge = Judge(self.resolver, self._own_ports)
        self._closed = False

    async def __aenter__(self) -> Self:
        try:
            for lane in self._first:
                await self.open(lane)
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    # lanes

    async def open(self, lane: Lane) -> int:
        """Open a lane and return its port.  Raises CdpFetchError (``internal``) where no port is to be had."""
        if self._closed or lane.name in self._doors:
            raise CdpFetchError("internal", f"the guard is closed, or has a lane {lane.name!r} already")
        if not self._doors:
            descriptors.allow()
            self._checks_owner = can_tell(self._owner)
            if not self._checks_owner:
                log.info("this machine does not tell whose a loopback connection is")
        door = self._doors[lane.name] = Door(lane)
        loop = asyncio.get_running_loop()
        try:
            door.server = await loop.create_server(
                functools.partial(self._visitor, door), HOST, 0, backlog=_BACKLOG, start_serving=False
            )
        except OSError as error:
            del self._doors[lane.name]
            raise CdpFetchError("internal", f"the guard finds no port on {HOST}: {error}") from error
        door.port = door.server.sockets[0].getsockname()[1]
        self._own_ports.add(door.port)
        await door.server.start_serving()
        return door.port

    async def close_lane(self, name: str) -> None:
        """Close a lane and all that runs through it; one that does not exist is closed already."""
        door = self._doors.get(name)
        if door is None:
            return
        door.ended = True
        if door.server is not None:
            door.server.close()
        self._drop(door)
        # Nothing else waits here, and what was aborted ends by itself.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                await door.closed.wait()
        self._doors.pop(name, None)
        self._own_ports.discard(door.port)
        self.ledger.forget(name)

    def port(self, name: str) -> int:
        """The port of an open lane on 127.0.0.1.  Raises KeyError."""
        return self._doors[name].port

    def set_policy(self, name: str, policy: Policy) -> int:
        """From now on a lane follows another policy; its connections that this forbids are closed.

        Returns their number.  Raises KeyError.
        """
        door = self._doors[name]
        door.lane = door.lane._replace(policy=policy)
        ended = [relay for relay, live in door.relays.items() if not self._judge.still_allowed(policy, *live)]
        for relay in ended:
            relay.abort(reset=True)
        return len(ended)

    def drop(self, name: str) -> None:
        """Close everything that runs through a lane, which stays open, and begin its byte budget anew."""
        door = self._doors[name]
        self._drop(door)
        door.purse.renew()

    @contextlib.contextmanager
    def visit(self, name: str, size: int, exhausted: Callable[[], object] = lambda: None) -> Iterator[None]:
        """A visit in a lane, for which the lane may carry ``size`` bytes more, whoever of its visits spends them.

        ``exhausted`` is called when they all have spent everything; every connection that goes on is cut.
        """
        door = self._doors[name]
        visit = door.purse.enter(size, exhausted)
        try:
            yield
        finally:
            door.purse.leave(visit)

    @contextlib.contextmanager
    def forbidden(self, port: int) -> Iterator[None]:
        """A port of this machine that the guard leads nobody to meanwhile, whatever is allowed."""
        self._own_ports.add(port)
        try:
            yield
        finally:
            self._own_ports.discard(port)

    def proved(self, name: str) -> None:
        """Chrome's traffic was seen to pass a lane, now."""
        door = self._doors.get(name)
        if door is not None:
            door.proved = time.time()

    # what happened

    def explain(self, lane: str, url: str, since: float = 0.0) -> CdpFetchError | None:
        """Why ``url`` could not be reached in a lane (not before the loop time ``since``), or None if not known."""
        try:
            parsed = URL(url)
            port = int(parsed.port or {"http:": 80, "https:": 443}[parsed.protocol])
        except (ValueError, KeyError):
            return None
        fault = self.fault(lane, parsed.hostname.strip("[]"), port, since)
        return None if fault is None else fault.error()

    def fault(self, lane: str, host: str, port: int, since: float = 0.0) -> Fault | None:
        """The ledger's last fault of a target, however the host is spelled."""
        with contextlib.suppress(CdpFetchError):
            host = target_of(host, port).host
        return self.ledger.lookup(lane, host, port, since)

    def status(self) -> dict[str, Any]:
        """For ``status`` and ``doctor``: lanes with ports, live connections, bytes, and when (Unix time, or None)
        Chrome last proved to pass them; counters.
        """
        return {
            "lanes": [
                {
                    "name": name,
                    "port": door.port,
                    "connections": door.live,
                    "bytes": door.purse.used,
                    "bytes_left": door.purse.left,
                    "proved": door.proved and round(door.proved),
                }
                for name, door in self._doors.items()
            ],
            "opened": self.ledger.opened,
            "refused": self.ledger.refused,
            "strangers": self.strangers,
            "checks_owner": self._checks_owner,
            "upstream": None if self._upstream is None else self._upstream.label,
        }

    # connections

    def _visitor(self, door: Door) -> Visitor:
        visitor = Visitor(
            functools.partial(self._admits, door),
            functools.partial(self._asked, door),
            functools.partial(self._gone, door),
        )
        door.visitors[visitor] = None
        door.note()
        return visitor

    def _admits(self, door: Door, ends: Ends) -> bool:
        if door.ended:
            return False
        if door.live > MAX_CONNECTIONS:
            log.warning("lane %s has %d connections, and takes no more", door.lane.name, MAX_CONNECTIONS)
            return False
        if not self._checks_owner:
            return True
        uid = self._owner(ends)
        if uid == os.geteuid():
            return True
        self.strangers += 1
        log.warning("a connection of user %s to the guard is refused", "unknown" if uid is None else uid)
        return False

    def _gone(self, door: Door, visitor: Visitor) -> None:
        serving = door.visitors.get(visitor)
        if serving is not None:
            serving.cancel()
        else:
            door.visitors.pop(visitor, None)
        door.note()

    def _asked(self, door: Door, visitor: Visitor, request: socks.Request) -> None:
        serving = asyncio.get_running_loop().create_task(
            self._serve(door, visitor, request), name=f"guard {request.host}:{request.port}"
        )
        door.visitors[visitor] = serving
        # Not in the task itself: one that is cancelled before its first step runs nothing.
        serving.add_done_callback(functools.partial(self._served, door, visitor))

    def _served(self, door: Door, visitor: Visitor, serving: asyncio.Task[None]) -> None:
        if not serving.cancelled():
            serving.result()
        if visitor.transport is None:
            door.visitors.pop(visitor, None)
        else:
            door.visitors[visitor] = None  # it is being told the refusal
        door.note()

    async def _serve(self, door: Door, visitor: Visitor, request: socks.Request) -> None:
        """Connect a visitor, or refuse it.  Whatever goes wrong in here, nothing is let through."""
        host = request.host
        try:
            target = target_of(host, request.port)
            host = target.host
            await self._connect(door, visitor, target)
        except CdpFetchError as error:
            log.info("lane %s: %s:%d is refused: %s", door.lane.name, host, request.port, error)
            self._refuse(door, visitor, host, request.port, error)
        except Exception as error:  # fail closed
            log.exception("the guard failed on %s:%d", host, request.port)
            seen = f"the guard failed: {type(error).__name__}: {error}"
            fault = CdpFetchError("internal", seen, "see: cdpfetch logs")
            self._refuse(door, visitor, host, request.port, fault)

    def _refuse(self, door: Door, visitor: Visitor, host: str, port: int, error: CdpFetchError) -> None:
        self.ledger.fault(door.lane.name, host, port, error, asyncio.get_running_loop().time())
        visitor.refuse(_REPLIES.get(error.code, socks.GENERAL_FAILURE))

    async def _connect(self, door: Door, visitor: Visitor, target: Url) -> None:
        policy = door.lane.policy
        if door.purse.empty:
            door.purse.tell()
            raise _too_large(target.host, "the lane")
        relay = Relay(
            (Budget(door.lane.connection_bytes), door.purse),
            functools.partial(self._ended, door),
            functools.partial(self._over, door),
        )
        try:
            address, said, where = await self._reach(policy, target, relay)
            changed = door.lane.policy is not policy
            if changed and not self._judge.still_allowed(door.lane.policy, target, address):
                raise CdpFetchError("blocked_address", f"{target.host} is not allowed any more")
            heard = visitor.become(relay.client)
        except BaseException:
            relay.remote.abort()
            raise
        if heard is None:
            relay.remote.abort()
            return
        door.relays[relay] = Live(target, address)
        self.ledger.reached(door.lane.name, target.host, target.port, where, asyncio.get_running_loop().time())
        relay.start(heard, said)

    async def _reach(self, policy: Policy, target: Url, relay: Relay) -> tuple[str | None, bytes, str]:
        """Connect the far end of a relay by the first way that leads there, each of them judged.

        Its address (None through a proxy), what it has said already, and where it is, for the ledger.
        """
        ways = (None,) if self._upstream is None else await self._upstream.ways(target)
        end = asyncio.get_running_loop().time() + _PATIENCE
        for number, way in enumerate(ways, 1):
            route = await self._judge.judge(policy, target, by_name=way is not None)
            is_last = number == len(ways) or asyncio.get_running_loop().time() >= end
            try:
                if way is None or route.addresses:
                    dialled = await self._dialler.dial(target.host, route.addresses, target.port)
                    await asyncio.get_running_loop().create_connection(lambda: relay.remote, sock=dialled.sock)
                    return dialled.address, b"", dialled.address
                return await self._chain(target, way, relay)
            except CdpFetchError as error:
                if way is not None and isinstance(error, Unreachable) and self._upstream is not None:
                    self._upstream.gone(way)
                if is_last or error.code not in _NEXT or (way is not None and not isinstance(error, Unreachable)):
                    raise
                log.info("%s:%d is tried another way: %s", target.host, target.port, error)
        raise CdpFetchError("connection_failed", f"there is no way to {target.host}")

    async def _chain(self, target: Url, way: Upstream, relay: Relay) -> tuple[None, bytes, str]:
        """Connect it through a proxy."""
        if way.port in self._own_ports and is_own(way.host):
            raise CdpFetchError("blocked_address", f"the proxy {way.label} is the guard itself")
        opened = await way.open(target, self.resolver, self._dialler)
        opened.transport.set_protocol(relay.remote)
        relay.remote.connection_made(opened.transport)
        return None, opened.rest, f"the proxy {way!r}"

    def _ended(self, door: Door, relay: Relay) -> None:
        door.relays.pop(relay, None)
        door.note()

    def _over(self, door: Door, relay: Relay) -> None:
        live = door.relays.get(relay)
        if live is None:
            return
        lane, target = door.lane, live.target
        error = _too_large(target.host, "the lane" if door.purse.empty else "a connection")
        self.ledger.fault(lane.name, target.host, target.port, error, asyncio.get_running_loop().time())

    # the end

    def _drop(self, door: Door) -> None:
        for visitor, serving in list(door.visitors.items()):
            visitor.abort()
            if serving is not None:
                serving.cancel()
        for relay in list(door.relays):
            relay.abort(reset=True)

    async def close(self) -> None:
        """Close every lane and every connection; idempotent."""
        self._closed = True
        await asyncio.gather(*(self.close_lane(name) for name in list(self._doors)))
        if self._upstream is not None:
            await self._upstream.close()
        await self.resolver.close()

    def __repr__(self) -> str:
        return f"<Guard {list(self._doors.values())!r}>"
