"""What a batch came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from cdpfetch.batch.manifest import DONE
from cdpfetch.batch.progress import clock


class Summary(NamedTuple):
    """Counts of the whole batch, not of one run; ``seconds`` and ``fetched`` are the run's."""

    urls: int
    ok: int
    failed: int
    left: int
    duplicates: int
    verdicts: dict[str, int]  # of those that are ok
    errors: dict[str, int]
    fetched: int
    retried: int
    seconds: float
    stopped: str | None  # why the run ended before the batch did

    @classmethod
    def of(
        cls,
        totals: Iterable[tuple[int, str | None, str | None, int]],
        duplicates: int,
        *,
        fetched: int,
        retried: int,
        seconds: float,
        stopped: str | None,
    ) -> Summary:
        """From the manifest's totals."""
        verdicts: Counter[str] = Counter()
        errors: Counter[str] = Counter()
        left = 0
        for state, code, verdict, count in totals:
            if state != DONE:
                left += count
            elif code is not None:
                errors[code] += count
            else:
                verdicts[verdict or "ok"] += count
        ok, failed = verdicts.total(), errors.total()
        return cls(
            ok + failed + left, ok, failed, left, duplicates, dict(verdicts.most_common()), dict(errors.most_common()),
            fetched, retried, round(seconds, 3), stopped,
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        return self._asdict()

    def text(self, place: str) -> str:
        """For people."""
        lines = [f"{self.urls:,} URLs: {self.ok:,} ok, {self.failed:,} failed, {self.left:,} left"]
        if self.duplicates:
            lines.append(f"{self.duplicates:,} lines named a URL again (duplicates.jsonl)")
        lines += [f"  {count:>9,}  {word}" for word, count in self.verdicts.items()]
        lines += [f"  {count:>9,}  failed: {code}" for code, count in self.errors.items()]
        rate = self.fetched / self.seconds if self.seconds else 0.0
        lines.append(
            f"{self.fetched:,} in this run, {self.retried:,} tries repeated, in {clock(self.seconds)} ({rate:.1f}/s)"
        )
        if self.stopped:
            lines.append(f"stopped: {self.stopped}; the same command goes on")
        return "\n".join([*lines, f"results: {place}/results-*", ""])
