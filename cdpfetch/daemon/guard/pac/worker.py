"""The process in which a proxy auto-config script runs: no network, no files to write, little memory, an alarm.

One JSON object a line on its pipes: ``{"script"}`` once, then ``{"url", "host", "seconds"}`` each time, answered by
``{"route"}`` or ``{"error"}``; in between it may ask ``{"resolve": name}`` or ``{"own": true}``, answered by
``{"address"}``.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import resource
from typing import Any, BinaryIO

from dukpy import JSRuntimeError
from dukpy.evaljs import JSInterpreter

from cdpfetch.daemon.guard.pac.functions import Functions
from cdpfetch.extract import landlock, limits, sandbox

# Megabytes of address space, interpreter included.
_MEMORY = 512
_PRELUDE = "for (const name of %s) globalThis[name] = (...args) => call_python(name, ...args) ?? null; 0"
_CALL = "String(FindProxyForURL(dukpy.url, dukpy.host) ?? '')"


class _Script(JSInterpreter):  # type: ignore[misc]
    """A script with the functions that it may call, and without what else the library offers to scripts."""

    def __init__(self, functions: Functions) -> None:
        super().__init__()
        for name, function in functions.table.items():
            self.export_function(name, function)
        self.evaljs(_PRELUDE % json.dumps(list(functions.table)))

    def _init_process(self) -> None:
        """No environment."""

    def _init_console(self) -> None:
        """No console."""

    def _init_require(self) -> None:
        """No modules."""


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer until the end of input."""

    def send(message: dict[str, Any]) -> None:
        sink.write(json.dumps(message).encode("ascii") + b"\n")
        sink.flush()

    def ask(question: dict[str, Any]) -> str | None:
        send(question)
        line = source.readline()
        if not line:
            raise SystemExit(0)
        address: str | None = json.loads(line)["address"]
        return address

    functions = Functions(
        lambda name: ask({"resolve": name}),
        lambda: ask({"own": True}) or "127.0.0.1",
        lambda: dt.datetime.now().astimezone(),
    )
    script: _Script | None = None
    while line := source.readline():
        message = json.loads(line)
        limits.arm_alarm(float(message["seconds"]))
        try:
            if script is None:
                script = _Script(functions)
                script.evaljs(message["script"] + "\n;0")  # what it leaves as its value may be anything
                route = str(script.evaljs("typeof FindProxyForURL"))
            else:
                route = str(script.evaljs(_CALL, url=message["url"], host=message["host"]))
        except (JSRuntimeError, ValueError, MemoryError, RecursionError) as error:
            send({"error": str(error).strip().partition("\n")[0][:300]})
        else:
            send({"route": route[:8192]})
        limits.arm_alarm(0)


def main() -> None:
    """The process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--parent", type=int, required=True)
    limits.die_with_parent(parser.parse_args().parent)
    limits.no_core_files()
    limits.cap_memory(_MEMORY)
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    sandbox.enter()
    landlock.restrict(sandbox.readable(), ["/dev/null"])
    sandbox.limit(resource.RLIMIT_FSIZE, 0)
    serve(source, sink)


if __name__ == "__main__":
    main()
