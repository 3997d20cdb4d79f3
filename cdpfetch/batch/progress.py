"""How a batch gets on: its rate over the last while, and when it will be done.  Pure; time is an argument."""

from __future__ import annotations

from collections import deque

# Seconds over which the rate is taken.
_SPAN = 30.0


class Meter:
    """Counts, with times in seconds of any one clock."""

    def __init__(self, now: float) -> None:
        self.began = now
        self.ok = 0
        self.failed = 0
        self.retried = 0
        self._marks: deque[tuple[float, int]] = deque([(now, 0)])

    @property
    def done(self) -> int:
        return self.ok + self.failed

    def rate(self, now: float) -> float:
        """URLs a second, over the last half minute."""
        if now - self._marks[-1][0] >= 0.5:
            self._marks.append((now, self.done))
        while len(self._marks) > 2 and now - self._marks[1][0] >= _SPAN:
            self._marks.popleft()
        when, count = self._marks[0]
        return (self.done - count) / (now - when) if now > when else 0.0

    def line(self, now: float, left: float, under_way: int, *, exact: bool) -> str:
        """One line; ``left`` URLs are still to be done, which is an estimate unless ``exact``."""
        rate = self.rate(now)
        about = "" if exact else "about "
        parts = [f"{self.ok:,} ok", f"{self.failed:,} failed", f"{about}{round(left):,} left", f"{under_way} under way"]
        parts.append(f"{rate:.1f}/s")
        if rate > 0:
            parts.append(f"ETA {about}{clock(left / rate)}")
        return ", ".join(parts)


def clock(seconds: float) -> str:
    """A duration for people: ``8 s``, ``3 min 10 s``, ``2 h 5 min``, ``3 d 4 h``."""
    whole = round(seconds)
    for size, unit, small, subunit in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // small
            return f"{whole // size} {unit}" + (f" {rest} {subunit}" if rest else "")
    return f"{whole} s"
