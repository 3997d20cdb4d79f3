"""What the guard has refused and dialled: Chrome shows every refusal alike, and here is what it was.

Pure: times are given.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import NamedTuple

from cdpfetch.errors import CdpFetchError

# Targets and connections that are remembered; the oldest go first.
MAX_ENTRIES = 4096
MAX_DIALLED = 1024


class Fault(NamedTuple):
    """Why a target was not reached: a public error code, a reason, a hint or None, and the loop time."""

    code: str
    reason: str
    hint: str | None
    time: float

    def error(self) -> CdpFetchError:
        """The error that a fetch reports."""
        return CdpFetchError(self.code, self.reason, self.hint)


class Dialled(NamedTuple):
    """A connection that was opened: for whom, to where, and by which address."""

    lane: str
    host: str
    port: int
    address: str
    time: float


class Ledger:
    """The last fault by (lane, host, port), and the last connections.  Both are bounded."""

    def __init__(self, max_entries: int = MAX_ENTRIES, max_dialled: int = MAX_DIALLED) -> None:
        self._faults: OrderedDict[tuple[str, str, int], Fault] = OrderedDict()
        self._max = max_entries
        self.dialled: deque[Dialled] = deque(maxlen=max_dialled)
        self.refused = 0  # faults so far, of all targets
        self.opened = 0  # connections so far

    def fault(self, lane: str, host: str, port: int, error: CdpFetchError, now: float) -> None:
        """A target was refused or could not be reached."""
        key = (lane, host, port)
        self._faults[key] = Fault(error.code, error.reason, error.hint, now)
        self._faults.move_to_end(key)
        while len(self._faults) > self._max:
            self._faults.popitem(last=False)
        self.refused += 1

    def reached(self, lane: str, host: str, port: int, address: str, now: float) -> None:
        """A target was reached: what was wrong with it before does not count any more."""
        self._faults.pop((lane, host, port), None)
        self.dialled.append(Dialled(lane, host, port, address, now))
        self.opened += 1

    def lookup(self, lane: str, host: str, port: int, since: float = 0.0) -> Fault | None:
        """The last fault of a target, unless it is older than the loop time ``since``."""
        fault = self._faults.get((lane, host, port))
        return fault if fault is not None and fault.time >= since else None

    def forget(self, lane: str) -> None:
        """A lane has ended."""
        for key in [key for key in self._faults if key[0] == lane]:
            del self._faults[key]

    def __len__(self) -> int:
        return len(self._faults)
