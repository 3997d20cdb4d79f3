"""A batch on a local Ray cluster of several nodes, of which some are killed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from testsite import Site

from cdpfetch.batch.input import Source
from cdpfetch.batch.options import BatchOptions
from cdpfetch.batch.runner import Runner

COUNT = 40


@pytest.mark.chrome
@pytest.mark.timeout(180)
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_every_url_has_one_result_though_a_node_is_killed(chrome: str, site: Site, tmp_path: Path) -> None:
    import ray
    from ray.cluster_utils import Cluster

    from cdpfetch.adapters.ray import FsStore, RayEngine

    urls = [site.url(f"/page?n={number}") for number in range(COUNT)]
    (tmp_path / "urls").write_text("\n".join(urls))
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    victim = cluster.add_node(num_cpus=1)
    cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    out = tmp_path / "out"
    out.mkdir()
    storage = f"file://{tmp_path}/shared"
    options = BatchOptions(str(out), 4, per_host=4, delay=0.05, retries=5, deadline=15.0)
    engine = RayEngine(
        storage, {"engine": "http", "deadline": 15.0}, actors=2, cpus=1.0,
        settings=f'[network]\nallow = ["{site.netloc}"]\n',
    )  # fmt: skip

    async def work() -> Any:
        source = Source(str(tmp_path / "urls"))
        runner = Runner(options, source, engine, FsStore(storage), None)
        running = asyncio.create_task(runner.run())
        try:
            while runner._meter.done < COUNT // 4 and not running.done():
                await asyncio.sleep(0.05)
            await asyncio.to_thread(cluster.remove_node, victim, allow_graceful=False)
            return await running
        finally:
            source.close()

    try:
        summary = asyncio.run(work())
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert (summary.ok, summary.failed, summary.left) == (COUNT, 0, 0)
    rows = [json.loads(line) for file in (tmp_path / "shared").glob("results-*") for line in file.open()]
    assert sorted(row["url"] for row in rows) == sorted(urls)
    on_disk = {str(path.relative_to(tmp_path / "shared")) for path in (tmp_path / "shared").glob("*/*/*")}
    assert on_disk == {row["dir"] for row in rows}
