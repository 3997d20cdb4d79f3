"""The extraction worker: ``python -m cdpfetch.extract.worker [--memory-mb N] [--parent PID] [--folder DIR]``.

One JSON object a line on standard input (jobs) and standard output (answers), correlated by ``id``.  The first line out
is ``{"ready": true, "pid": N, "sandbox": "closed", "files": true}``, written when everything is imported and has run
once; ``sandbox`` says how far the process is shut off from the network, ``files`` whether it is from the account's
files, too.  Content never rides the pipe: jobs name files, answers name files written into the job's ``out_dir``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, Any, BinaryIO

from cdpfetch.extract import limits, sandbox

if TYPE_CHECKING:
    from collections.abc import Callable

# Seconds beyond a job's deadline after which the process ends by itself: the parent comes first if it lives.
_ALARM_GRACE = 3.0
_DEFAULT_DEADLINE = 60.0

Job = dict[str, Any]
Answer = dict[str, Any]


def private_stdout() -> BinaryIO:
    """The answers' stream; descriptor 1 becomes standard error, so that no library can write between the lines."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def run_one(line: bytes, run_job: Callable[[Job], Answer]) -> Answer:
    """The answer to one line.  Any failure is an answer, too."""
    job_id: Any = None
    try:
        job = json.loads(line)
        job_id = job.get("id")
        seconds = float(job.get("deadline") or _DEFAULT_DEADLINE)
        limits.arm_alarm(seconds + _ALARM_GRACE)
        sandbox.allow_cpu(seconds)
        return {"id": job_id, "answer": run_job(job)}
    except MemoryError:
        # What is left of the heap can't be trusted to be enough for the next job.
        return {"id": job_id, "error": {"kind": "memory", "reason": "the memory limit was reached"}, "retire": True}
    except RecursionError:
        return {"id": job_id, "error": {"kind": "nesting", "reason": "the document is nested too deeply"}}
    except Exception as error:  # noqa: BLE001 - the boundary: whatever a page provokes ends as an answer
        return {"id": job_id, "error": {"kind": "failed", "reason": describe(error)}}
    finally:
        limits.arm_alarm(0)


def describe(error: BaseException) -> str:
    """One bounded line on an exception."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:500] if text else type(error).__name__


def serve(jobs: BinaryIO, answers: BinaryIO, confined: sandbox.Confined, temporary: str | None) -> None:
    """Answer line after line until the input ends; the folder ``temporary`` is emptied after each."""
    from cdpfetch.extract.jobs import run_job, warm

    warm()
    send(answers, {"ready": True, "pid": os.getpid(), "sandbox": confined.network, "files": confined.files})
    for line in jobs:
        answer = run_one(line, run_job)
        if temporary is not None:
            sandbox.empty(temporary)
        answer["rss_mb"] = round(limits.resident_mb(), 1)
        send(answers, answer)
        if answer.get("retire"):
            break


def send(answers: BinaryIO, message: Answer) -> None:
    # ASCII only: a lone surrogate in a title must not break the line.
    answers.write(json.dumps(message).encode("ascii") + b"\n")
    answers.flush()


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="cdpfetch.extract.worker", description=__doc__)
    parser.add_argument("--memory-mb", type=int, default=2048, help="cap of the address space; 0 = none")
    parser.add_argument("--parent", type=int, default=0, help="end at once unless this is the parent process")
    parser.add_argument("--folder", help="the one place for files, made by the parent")
    options = parser.parse_args(argv)
    confined = sandbox.enter(options.folder)
    limits.die_with_parent(options.parent)
    temporary = os.path.join(options.folder, sandbox.TEMPORARY) if options.folder else None
    if temporary is not None:
        os.environ["TMPDIR"] = temporary
    limits.no_core_files()
    limits.cap_memory(options.memory_mb)
    answers = private_stdout()
    try:
        serve(sys.stdin.buffer, answers, confined, temporary)
    except (BrokenPipeError, KeyboardInterrupt):
        # The parent is gone, or is being interrupted together with us.
        os._exit(0)


if __name__ == "__main__":
    main()
