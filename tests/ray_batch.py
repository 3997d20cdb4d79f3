"""A batch on a local Ray cluster of three nodes, one of which is killed: ``ray_batch.py FOLDER HOST COUNT``.

A process of its own, since Ray leaves threads and descriptors in the one that used it.  Writes ``summary.json``.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import ray
from ray.cluster_utils import Cluster

from cdpfetch.adapters.ray import FsStore, RayEngine
from cdpfetch.batch.input import Source
from cdpfetch.batch.options import BatchOptions
from cdpfetch.batch.runner import Runner
from cdpfetch.batch.summary import Summary


async def work(folder: Path, host: str, count: int, cluster: Cluster, victim: object) -> Summary:
    options = BatchOptions(str(folder), 4, per_host=4, delay=0.05, retries=5, deadline=15.0)
    storage = f"file://{folder}/shared"
    settings = f'[network]\nallow = ["{host}"]\n'
    engine = RayEngine(storage, {"engine": "http", "deadline": 15.0}, actors=2, cpus=1.0, settings=settings)
    source = Source(str(folder / "urls"))

    def removed() -> bool:
        return bool(cluster.remove_node(victim, allow_graceful=False))

    async def kill(runner: Runner) -> None:
        while runner._meter.done < count // 4:
            await asyncio.sleep(0.05)
        await asyncio.to_thread(removed)

    try:
        runner = Runner(options, source, engine, FsStore(storage), None)
        killing = asyncio.create_task(kill(runner))
        summary = await runner.run()
        await killing
        return summary
    finally:
        source.close()


def main() -> None:
    folder, host, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        victim = cluster.add_node(num_cpus=1)
        cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)
        summary = asyncio.run(work(folder, host, count, cluster, victim))
        (folder / "summary.json").write_text(json.dumps(summary.to_json()))
        ray.shutdown()
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()
