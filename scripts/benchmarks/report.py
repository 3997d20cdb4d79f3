"""The table and the chart."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple


class Row(NamedTuple):
    """One phase of one runner: milliseconds, or whatever ``unit`` says, and the rounds' ratios to the floor."""

    phase: str
    runner: str
    values: list[float]
    ratios: Sequence[float] = ()
    unit: str = "ms"

    @property
    def median(self) -> float:
        """Of the values."""
        return statistics.median(self.values)

    @property
    def ratio(self) -> float | None:
        """The median of the rounds' ratios."""
        return statistics.median(self.ratios) if self.ratios else None


def table(rows: list[Row]) -> str:
    """The rows as Markdown."""
    lines = ["| what | who | n | median | to the floor |", "|---|---|---:|---:|---:|"]
    for row in rows:
        ratio = f"{row.ratio:.2f}" if row.ratio is not None else ""
        lines.append(f"| {row.phase} | {row.runner} | {len(row.values)} | {row.median:.1f} {row.unit} | {ratio} |")
    return "\n".join(lines)


def chart(rows: list[Row], path: str) -> None:
    """Bars of the medians of all phases that have a floor beside them, as a PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    compared = [row for row in rows if row.ratio is not None]
    phases = list(dict.fromkeys(row.phase for row in compared))
    runners = list(dict.fromkeys(row.runner for row in compared))
    figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
    width = 0.8 / max(1, len(runners))
    for place, runner in enumerate(runners):
        own = {row.phase: row.median for row in compared if row.runner == runner}
        spots = [index + place * width for index, phase in enumerate(phases) if phase in own]
        bars = axes.bar(spots, list(own.values()), width, label=runner)
        axes.bar_label(bars, fmt="%.0f", fontsize=6)
    axes.set_xticks([index + 0.4 - width / 2 for index in range(len(phases))], phases, fontsize=8)
    axes.set_yscale("log")
    axes.set_ylabel("milliseconds a page (median)")
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=120)
