"""The bytes that a lane may carry: what its visits bring, shared among them, and a little beside; pure."""

from __future__ import annotations

from collections.abc import Callable

from cdpfetch.daemon.guard.relay import Budget

Exhausted = Callable[[], object]
"""Told to a visit when nothing is left for anybody in its lane."""


class Purse(Budget):
    """A budget that grows with each visit, and in which no visit leaves anything behind.

    ``beside`` is what may be carried without a visit (None: everything may, always).
    """

    def __init__(self, beside: int | None) -> None:
        super().__init__(beside)
        self._beside = beside
        self._visits: list[tuple[int, Exhausted]] = []  # what each has brought, and whom to tell

    @property
    def empty(self) -> bool:
        """Whether nothing more may be carried."""
        return self.limit is not None and self.used >= self.limit

    @property
    def left(self) -> int | None:
        """Bytes that may still be carried; None is any number."""
        return None if self.limit is None else max(0, self.limit - self.used)

    def spend(self, size: int) -> bool:
        """Count ``size`` bytes; False when they are over the limit, which every visit is told."""
        if super().spend(size):
            return True
        self.tell()
        return False

    def tell(self) -> None:
        """Tell all visits that nothing is left."""
        for _, exhausted in self._visits:
            exhausted()

    def enter(self, size: int, exhausted: Exhausted) -> tuple[int, Exhausted]:
        """A visit comes with ``size`` bytes for the lane; what it gets is to be given to ``leave``."""
        visit = (size, exhausted)
        self._visits.append(visit)
        if self.limit is not None:
            # What was spent too much is not paid by who comes later.
            self.limit = max(self.limit, self.used) + size
        return visit

    def leave(self, visit: tuple[int, Exhausted]) -> None:
        """A visit has ended: those that are left have no more than they brought, and what is carried beside."""
        self._visits.remove(visit)
        if self.limit is not None:
            self.limit = min(self.limit, self._most())

    def renew(self) -> None:
        """Begin anew: what was spent does not count."""
        if self.limit is not None:
            self.limit = self._most()

    def _most(self) -> int:
        return self.used + (self._beside or 0) + sum(size for size, _ in self._visits)
