"""What has a number: an issue, which may turn out to be a pull request."""

from __future__ import annotations

from cdpfetch.fetchers.github.load import pulls, threads
from cdpfetch.fetchers.github.markdown import Rendered
from cdpfetch.fetchers.github.work import Work


async def issue(work: Work) -> Rendered:
    """``/issues/N``; GitHub's page goes on to ``/pull/N`` where that is what it is."""
    data = await work.api.record(f"{work.repo}/issues/{work.shape.number}")
    if isinstance(data.get("pull_request"), dict):
        return await pulls.pull(work, data)
    return await threads.issue(work, data)
