"""A batch on a local Ray cluster of several nodes, of which one is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import ROOT
from testsite import Site

from cdpfetch.client import Client

COUNT = 40


@pytest.mark.chrome
@pytest.mark.timeout(180)
def test_every_url_has_one_result_though_a_node_is_killed(chrome: str, site: Site, tmp_path: Path) -> None:
    urls = [site.url(f"/page?n={number}") for number in range(COUNT)]
    (tmp_path / "urls").write_text("\n".join(urls))
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "PYTHONPATH": ROOT, "TMPDIR": str(tmp_path / "tmp"), "RAY_TMPDIR": "/tmp"}
    script = [sys.executable, f"{ROOT}/tests/ray_batch.py", str(tmp_path), site.netloc, str(COUNT)]
    try:
        done = subprocess.run(script, check=False, env=environment, capture_output=True, text=True, timeout=150)
    finally:
        for home in (tmp_path / "tmp").glob("cdpfetch-ray-*/home"):
            Client(str(home)).stop()  # that of the killed node
    assert done.returncode == 0, done.stderr[-2000:]
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert (summary["ok"], summary["failed"], summary["left"]) == (COUNT, 0, 0)
    shared = tmp_path / "shared"
    rows = [json.loads(line) for file in shared.glob("results-*") for line in file.read_text().splitlines()]
    assert sorted(row["url"] for row in rows) == sorted(urls)
    assert {str(path.relative_to(shared)) for path in shared.glob("*/*/*")} == {row["dir"] for row in rows}
