"""Runs of GitHub Actions, their jobs, and logs where a token may read them."""

from __future__ import annotations

from typing import Any

from cdpfetch.errors import CdpFetchError
from cdpfetch.fetchers.github import fields
from cdpfetch.fetchers.github.api import OCTETS
from cdpfetch.fetchers.github.failures import TOKEN_HINT, RateLimited
from cdpfetch.fetchers.github.markdown import Rendered
from cdpfetch.fetchers.github.render import runs as render
from cdpfetch.fetchers.github.work import Work

MAX_JOBS = 100
# Logs of failed jobs that a run shows, and bytes of each log.
_MAX_LOGS = 3
_MAX_LOG = 8 << 20
_NO_TOKEN = f"GitHub gives logs only with a token: {TOKEN_HINT}."


async def run(work: Work) -> Rendered:
    """``/actions/runs/ID``, an attempt of it, or one job."""
    attempt, number = work.shape.rest
    if number:
        return await _job(work, number)
    path = f"{work.repo}/actions/runs/{work.shape.number}" + (f"/attempts/{attempt}" if attempt else "")
    data = await work.api.record(path)
    page = await work.api.record(f"{path}/jobs", {"per_page": MAX_JOBS})
    jobs = fields.records(page, "jobs")
    total = max(fields.number(page, "total_count"), len(jobs))
    failed = [job for job in jobs if render.has_failed(job)]
    logs: dict[int, str] = {}
    note = _NO_TOKEN if failed and work.api.shared.token is None else ""
    for job in failed[:_MAX_LOGS] if not note else ():
        key = fields.number(job, "id")
        log, _ = await _log(work, key)
        if log is not None:
            logs[key] = log
    return render.run(data, jobs, logs, name=work.shape.name, total=total, note=note)


async def _job(work: Work, number: str) -> Rendered:
    data: dict[str, Any] = await work.api.record(f"{work.repo}/actions/jobs/{number}")
    log, note = await _log(work, int(number))
    return render.job(data, log, name=work.shape.name, note=note)


async def _log(work: Work, job: int) -> tuple[str | None, str]:
    """The log of a job, or None and why there is none."""
    if work.api.shared.token is None:
        return None, _NO_TOKEN
    try:
        data, whole = await work.api.head(f"{work.repo}/actions/jobs/{job}/logs", OCTETS, _MAX_LOG)
    except RateLimited:
        raise
    except CdpFetchError as error:
        return None, f"Its log could not be read: {error.reason}."
    if not whole:
        work.warnings.append(("truncated", f"only the first {_MAX_LOG >> 20} MiB of a log were read"))
    return render.plain_log(data), ""
