"""Measures cdpfetch beside a bare CDP script with reused tabs, in one run, and prints medians and paired ratios.

    scripts/bench [--seconds N] [--pages N] [--only PHASE,...] [--chart FILE.png]

Phases: static script heavy image polling six pdf big cold memory extraction command.  All runners take turns in every
round, and a ratio is one round's; the machine may drift, they don't.  ``--seconds`` bounds the whole (a phase that is
out of time ends after the round it is in).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable

from report import Row, chart, table
from runners import HERE, Daemon, Floor, Runner
from workload import HOSTS

from cdpfetch import extract_html
from cdpfetch.errors import CdpFetchError

FLOOR, BARE, WHOLE = "floor", "daemon, no extraction", "cdpfetch"
PAGES = ("static", "script", "heavy", "image", "polling")
PHASES = (*PAGES, "six", "pdf", "big", "cold", "memory", "extraction", "command")
ROUNDS = {"heavy": 5, "six": 6, "pdf": 7, "big": 4, "cold": 5, "command": 10}


class Bench:
    """One run: its runners, and its rows so far."""

    def __init__(self, port: int, seconds: float, pages: int) -> None:
        self._port = port
        self._end = time.monotonic() + seconds
        self._pages = pages
        self._number = 0  # of the last page: each is asked for once
        self._runners: dict[str, Runner] = {}
        self.rows: list[Row] = []

    async def start(self) -> None:
        """Start all runners, and let each make its first pages."""
        self._floor, self._bare, self._whole = await Floor.start(), Daemon(bare=True), Daemon(bare=False)
        self._runners = {FLOOR: self._floor, BARE: self._bare, WHOLE: self._whole}
        for runner in self._runners.values():
            for _ in range(3):
                await runner.fetch(self._url("static"))

    async def close(self) -> None:
        """End them all."""
        for runner in self._runners.values():
            await runner.close()

    def _url(self, kind: str, host: int = 1) -> str:
        self._number += 1
        return f"http://127.0.0.{host}:{self._port}/{kind}/{self._number}"

    async def run(self, phase: str) -> None:
        """One phase."""
        if phase in PAGES:
            await self._rounds(phase, {name: self._one(runner, phase) for name, runner in self._runners.items()})
        else:
            await getattr(self, f"_{phase}")()

    def _one(self, runner: Runner, kind: str) -> Callable[[], Awaitable[None]]:
        return lambda: runner.fetch(self._url(kind))

    async def _rounds(self, phase: str, ways: dict[str, Callable[[], Awaitable[None]]], share: int = 1) -> None:
        """Let all ways take turns; ``share`` pages are what one way does."""
        took: dict[str, list[float]] = {name: [] for name in ways}
        cpu = self._bare.cpu()
        for turn in range(ROUNDS.get(phase, 12)):
            if turn and time.monotonic() > self._end:
                break
            for name in list(ways)[:: 1 if turn % 2 else -1]:
                started = time.perf_counter()
                await ways[name]()
                took[name].append((time.perf_counter() - started) * 1000 / share)
                await asyncio.sleep(0.1)  # what a runner does after its page is not the next one's
        for name, values in took.items():
            ratios = [one / floor for one, floor in zip(values, took[FLOOR], strict=True)] if FLOOR in took else []
            self.rows.append(Row(phase, name, values, ratios))
        if BARE in took:
            pages = len(took[BARE]) * share
            self.rows.append(Row(phase, BARE, [(self._bare.cpu() - cpu) / pages], unit="ms CPU"))

    async def _six(self) -> None:
        def all_of(runner: Runner) -> Callable[[], Awaitable[None]]:
            async def lane(number: int) -> None:
                for _ in range(2):
                    await runner.fetch(self._url("static", number + 1), number)

            async def run() -> None:
                await asyncio.gather(*(lane(number) for number in range(HOSTS)))

            return run

        for runner in self._runners.values():
            await all_of(runner)()
        await self._rounds("six", {name: all_of(runner) for name, runner in self._runners.items()}, share=2 * HOSTS)

    async def _pdf(self) -> None:
        await self._files("pdf")

    async def _big(self) -> None:
        before = self._bare.memory()
        await self._files("big")
        self.rows.append(Row("big", BARE, [self._bare.memory() - before], unit="MB grown"))

    async def _files(self, kind: str) -> None:
        ways = {
            FLOOR: lambda: self._floor.download(self._url(kind)),
            BARE: lambda: self._bare.fetch(self._url(kind)),
        }
        if kind == "pdf":
            ways[WHOLE] = lambda: self._whole.fetch(self._url(kind))
        await self._rounds(kind, ways)

    async def _cold(self) -> None:
        async def floor() -> None:
            runner = await Floor.start()
            try:
                await runner.fetch(self._url("static"))
            finally:
                ends.append(runner)

        async def whole() -> None:
            runner = Daemon(bare=False)
            try:
                await runner.fetch(self._url("static"))
            finally:
                ends.append(runner)

        ends: list[Floor | Daemon] = []
        await self._rounds("cold", {FLOOR: floor, WHOLE: whole})
        for runner in ends:
            await runner.close()

    async def _memory(self) -> None:
        warm, done = min(200, self._pages // 2), 0

        async def lane(number: int, until: int) -> None:
            nonlocal done
            while done < until and (done < warm or time.monotonic() < self._end):
                done += 1
                await self._whole.fetch(self._url("static", number + 1), number)

        async def all_lanes(until: int) -> float:
            await asyncio.gather(*(lane(number, until) for number in range(HOSTS)))
            return self._whole.memory()

        grown = -await all_lanes(warm) + await all_lanes(self._pages)
        await asyncio.sleep(2)  # closed tabs take their renderers with them
        if done > warm:
            self.rows.append(Row(f"memory, {done} pages", WHOLE, [grown], unit="MB grown"))
        self.rows.append(Row(f"memory, {done} pages", WHOLE, [renderers(self._whole.process.pid)], unit="renderers"))

    async def _extraction(self) -> None:
        from workload import content

        for kind in ("static", "heavy"):
            html, took = content(kind, 1)[1].decode(), []
            for _ in range(5 if kind == "static" else 2):
                started = time.process_time()
                extract_html(html, "http://localhost/")
                took.append((time.process_time() - started) * 1000)
            self.rows.append(Row(f"extraction, {kind}", WHOLE, took, unit="ms CPU"))

    async def _command(self) -> None:
        folder = os.path.dirname(sys.executable)
        programs = [name for name in ("cdpfetch", "cdpf") if name in os.listdir(folder)]
        took: dict[str, list[float]] = {name: [] for name in programs}
        over: dict[str, list[float]] = {name: [] for name in programs}
        for _ in range(ROUNDS["command"]):
            for name in programs:
                command = [os.path.join(folder, name), "fetch", "--json", self._url("static")]
                started = time.perf_counter()
                ended = await asyncio.to_thread(
                    subprocess.run, command, env=self._whole.environ, check=True, capture_output=True
                )
                whole = (time.perf_counter() - started) * 1000
                took[name].append(whole)
                over[name].append(whole / json.loads(ended.stdout)["timings"]["total"])
        for name in programs:
            self.rows.append(Row("command, whole process", name, took[name]))
            self.rows.append(Row("command, to the daemon's own time", name, over[name], unit="times"))


def renderers(pid: int) -> int:
    """Renderer processes below a process."""
    parents: dict[int, int] = {}
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as stat, open(f"/proc/{name}/cmdline", "rb") as line:
                parents[int(name)] = int(stat.read().rpartition(")")[2].split()[1])
                if b"--type=renderer" in line.read():
                    found.append(int(name))
        except OSError:
            continue

    def below(one: int) -> bool:
        while one in parents and one != pid:
            one = parents[one]
        return one == pid

    return sum(below(one) for one in found)


async def bench(port: int, options: argparse.Namespace) -> list[Row]:
    """All phases that are asked for."""
    run = Bench(port, options.seconds, options.pages)
    try:
        await run.start()
        for phase in options.only.split(","):
            print(f"{phase} ...", file=sys.stderr)
            try:
                await run.run(phase)
            except (CdpFetchError, TimeoutError) as error:
                print(f"{phase} failed: {error!r}", file=sys.stderr)
        return run.rows
    finally:
        await run.close()


def main() -> None:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measure cdpfetch beside a bare CDP script.")
    parser.add_argument("--seconds", type=float, default=300, help="the whole takes little more (%(default)s)")
    parser.add_argument("--pages", type=int, default=1000, help="pages of the memory phase (%(default)s)")
    parser.add_argument("--only", default=",".join(PHASES), help="phases (%(default)s)")
    parser.add_argument("--chart", help="write a chart there (PNG); needs matplotlib")
    options = parser.parse_args()
    unknown = set(options.only.split(",")) - set(PHASES)
    if unknown:
        parser.error(f"no such phase: {', '.join(sorted(unknown))}")
    site = subprocess.Popen(
        [sys.executable, os.path.join(HERE, "workload.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        rows = asyncio.run(bench(json.loads(site.stdout.readline())["port"], options))  # type: ignore[union-attr]
    finally:
        site.communicate(timeout=10)
    print(f"load {os.getloadavg()[0]:.1f}\n\n{table(rows)}")
    if options.chart:
        chart(rows, options.chart)


if __name__ == "__main__":
    main()
