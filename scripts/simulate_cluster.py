"""Plays a batch on a cluster of any size through the scheduler of batches, in virtual time.

    scripts/simulate_cluster [--urls N] [--hosts N] [--actors N] [--tabs N] [--seconds S] [--delay S] [--per-host N]
                             [--lost-every S] [--seed N]

Hosts have sizes by Zipf's law, and a fetch takes ``--seconds`` on average (lognormal, as web pages do).  Every
``--lost-every`` seconds an actor is lost, and what it had under way is fetched again.  Prints how long it takes, the
rate, how busy the tabs were, and what bounds it: the tabs, or politeness towards the largest host.
"""

from __future__ import annotations

import argparse
import heapq
import math
import random
import sys
from collections import deque

from cdpfetch.batch.politeness import Scheduler

_SPREAD = 0.6  # sigma of the lognormal


def sizes(urls: int, hosts: int) -> list[int]:
    """URLs of each host, the largest first; together ``urls``."""
    weights = [1 / rank for rank in range(1, hosts + 1)]
    total = sum(weights)
    found = [max(1, int(urls * weight / total)) for weight in weights]
    found[0] += max(0, urls - sum(found))
    return found[: max(1, len(found) - max(0, sum(found) - urls))]  # the smallest have one each


class Cluster:
    """Time, the scheduler, and what is under way."""

    def __init__(self, given: argparse.Namespace) -> None:
        self._given = given
        self._places = given.actors * given.tabs
        self._scheduler: Scheduler[int] = Scheduler(self._places, given.per_host, given.delay)
        for host, size in enumerate(sizes(given.urls, given.hosts)):
            for number in range(size):
                self._scheduler.offer(str(host), number)
        self._under_way: list[tuple[float, int, str, int]] = []
        self._turn = 0
        self.now = 0.0
        self.work = 0.0  # seconds of tabs
        self.done = 0
        self.repeated = 0
        self._next_loss = given.lost_every or math.inf

    def run(self) -> None:
        """Until all is done."""
        while self._scheduler.waiting or self._under_way:
            while (found := self._scheduler.take(self.now)) is not None:
                self._begin(*found)
            wait = self._scheduler.wait(self.now)
            ends = self._under_way[0][0] if self._under_way else math.inf
            self.now = min(ends, math.inf if wait is None else self.now + wait)
            if self.now >= self._next_loss:
                self._lose()
            while self._under_way and self._under_way[0][0] <= self.now:
                self._scheduler.done(heapq.heappop(self._under_way)[2])
                self.done += 1

    def _begin(self, host: str, item: int) -> None:
        mean = self._given.seconds
        lasts = random.lognormvariate(math.log(mean) - _SPREAD**2 / 2, _SPREAD)
        self._turn += 1
        self.work += lasts
        heapq.heappush(self._under_way, (self.now + lasts, self._turn, host, item))

    def _lose(self) -> None:
        """One actor's part of what is under way begins again."""
        self._next_loss += self._given.lost_every
        random.shuffle(self._under_way)
        kept = deque(self._under_way)
        for _ in range(min(self._given.tabs, len(kept))):
            _, _, host, item = kept.popleft()
            self._scheduler.done(host)
            self._scheduler.offer(host, item)
            self.repeated += 1
        self._under_way = list(kept)
        heapq.heapify(self._under_way)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, kind, value in (
        ("urls", int, 100_000), ("hosts", int, 2_000), ("actors", int, 10), ("tabs", int, 6), ("per-host", int, 2),
        ("seconds", float, 1.0), ("delay", float, 1.0), ("lost-every", float, 0.0), ("seed", int, 1),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=kind, default=value)
    given = parser.parse_args()
    random.seed(given.seed)
    cluster = Cluster(given)
    cluster.run()
    places = given.actors * given.tabs
    by_tabs = cluster.work / places
    largest = sizes(given.urls, given.hosts)[0] * max(given.delay, given.seconds / given.per_host)
    print(f"{cluster.done:,} URLs of {given.hosts:,} hosts on {given.actors} actors of {given.tabs} tabs")
    print(f"{cluster.now:,.0f} s, {cluster.done / cluster.now:.1f}/s, tabs busy {by_tabs / cluster.now:.0%}")
    print(f"{cluster.repeated:,} fetched again after a loss")
    bound = "tabs" if by_tabs > largest else "politeness towards the largest host"
    print(f"bound by {bound}: {by_tabs:,.0f} s of tabs, {largest:,.0f} s for the largest host")
    return 0


if __name__ == "__main__":
    sys.exit(main())
