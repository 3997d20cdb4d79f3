"""A run of GitHub Actions with its jobs and steps, and one job with the end of its log."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from cdpfetch.fetchers.github import fields
from cdpfetch.fetchers.github.markdown import Attachment, Rendered, bullets, code, count, fenced, joined, line, when

Json = dict[str, Any]

# Lines of a log that its job shows.
LOG_LINES = 60
_STAMP = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z ", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_BAD = ("failure", "timed_out", "startup_failure")


def outcome(data: Json) -> str:
    """``success``, ``failure`` ..., or how far it is."""
    return (fields.text(data, "conclusion") or fields.text(data, "status") or "unknown").replace("_", " ")


def has_failed(job: Json) -> bool:
    """Whether a job's log is worth a look."""
    return fields.text(job, "conclusion") in _BAD


def plain_log(data: bytes) -> str:
    """A log as text: without times at the begin of its lines and without colours."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    return _COLOUR.sub("", _STAMP.sub("", text))


def run(
    data: Json, jobs: Sequence[Json], logs: Mapping[int, str], *, name: str, total: int, note: str = ""
) -> Rendered:
    """A run (REST shape ``workflow-run``), its jobs, and the logs that were read, by job."""
    title = line(fields.text(data, "display_title"), 200)
    workflow = line(fields.text(data, "name"), 100) or "run"
    head = f"{name}: {workflow} #{fields.number(data, 'run_number')}" + (f": {title}" if title else "")
    failed = [job for job in jobs if has_failed(job)]
    pairs = [
        ("Outcome", outcome(data)),
        ("Event", fields.text(data, "event")),
        ("Branch", code(fields.text(data, "head_branch"))),
        ("Commit", code(fields.text(data, "head_sha"))),
        ("Attempt", f"{fields.number(data, 'run_attempt')}"),
        ("Started", _stamp(data, "run_started_at")),
        ("Updated", _stamp(data, "updated_at")),
        ("By", fields.login(data, "actor")),
    ]
    parts = [f"# {head}", bullets(pairs), *(_job(job, logs) for job in jobs), f"*{note}*" if note else ""]
    if total > len(jobs):
        parts.append(f"*The first {len(jobs)} of {count(total, 'job')} are listed.*")
    return Rendered(
        "github.run",
        head,
        fields.text(data, "html_url"),
        joined(parts),
        facts=(
            outcome(data),
            count(total, "job"),
            f"{len(failed)} failed" if failed else "",
            fields.text(data, "event"),
            fields.text(data, "head_branch"),
        ),
        lead=f"{workflow}: {outcome(data)}. "
        + "; ".join(f"{line(fields.text(job, 'name'), 80)}: {outcome(job)}" for job in jobs),
        warnings=(("truncated", f"only {len(jobs)} of {total} jobs are listed"),) if total > len(jobs) else (),
        attachments=tuple(_log_body(job, logs) for job in jobs if fields.number(job, "id") in logs),
    )


def job(data: Json, log: str | None, *, name: str, note: str = "") -> Rendered:
    """One job (REST shape ``job``)."""
    number = fields.number(data, "id")
    logs = {} if log is None else {number: log}
    head = f"{name}: {line(fields.text(data, 'workflow_name'), 100)} / {line(fields.text(data, 'name'), 150)}"
    pairs = [
        ("Branch", code(fields.text(data, "head_branch"))),
        ("Commit", code(fields.text(data, "head_sha"))),
        ("Runner", fields.text(data, "runner_name")),
        ("Labels", ", ".join(fields.texts(data, "labels"))),
    ]
    parts = [f"# {head}", bullets(pairs), _job(data, logs), f"*{note}*" if note else ""]
    return Rendered(
        "github.job",
        head,
        fields.text(data, "html_url"),
        joined(parts),
        facts=(outcome(data), count(len(fields.records(data, "steps")), "step"), fields.text(data, "head_branch")),
        lead=f"{line(fields.text(data, 'name'), 150)}: {outcome(data)}",
        attachments=(_log_body(data, logs),) if logs else (),
    )


def _log_body(data: Json, logs: Mapping[int, str]) -> Attachment:
    number = fields.number(data, "id")
    return Attachment(f"{line(fields.text(data, 'name'), 80) or number}.log", "text", "text/plain", logs[number])


def _job(data: Json, logs: Mapping[int, str]) -> str:
    head = f"## {line(fields.text(data, 'name'), 200)}: {outcome(data)}"
    begun, ended = _stamp(data, "started_at"), _stamp(data, "completed_at")
    steps = [
        f"{fields.number(step, 'number')}. {line(fields.text(step, 'name'), 200)}: {outcome(step)}"
        for step in fields.records(data, "steps")
    ]
    parts = [head, f"{begun} to {ended or 'now'}" if begun else "", "\n".join(steps)]
    log = logs.get(fields.number(data, "id"))
    if log is not None:
        lines = log.rstrip("\n").split("\n")
        shown = lines[-LOG_LINES:]
        words = "The log:" if len(shown) == len(lines) else f"The last {len(shown)} of {len(lines):,} lines of the log:"
        parts += [words, fenced("\n".join(shown), "text")]
    return joined(parts)


def _stamp(data: Json, key: str) -> str:
    stamp = fields.text(data, key)
    return when(stamp) if stamp else ""
