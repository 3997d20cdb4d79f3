"""The C heap stays small after large blocks and many threads."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from cdpfetch.daemon import heap

# Large messages, each with something small behind it that stays; then threads that allocate at the same time.
SCRIPT = """
import ctypes, json, sys, threading
from cdpfetch.daemon import heap

bounded = heap.bound() if sys.argv[1] == "bound" else None
libc = ctypes.CDLL(None)
names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()


class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in names]


libc.mallinfo2.restype = Info
stay = []
for _ in range(40):
    large = bytes(8_000_000)
    stay.append(bytes(3000))
    del large
gate = threading.Barrier(6)


def work():
    gate.wait()
    stay.append([bytes(3000) for _ in range(20)])
    gate.wait()


threads = [threading.Thread(target=work) for _ in range(6)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
libc.fopen.restype = ctypes.c_void_p
file = libc.fopen(sys.argv[2].encode(), b"w")
libc.malloc_info(0, ctypes.c_void_p(file))
libc.fclose(ctypes.c_void_p(file))
arenas = open(sys.argv[2]).read().count("<heap nr=")
print(json.dumps({"bounded": bounded, "free": libc.mallinfo2().fordblks, "arenas": arenas}))
"""


def figures(mode: str, path: str) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, mode, path], capture_output=True, text=True, check=True, timeout=60
    )
    found: dict[str, int] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator than glibc's")
def test_what_is_freed_goes_back(tmp_path: Path) -> None:
    path = f"{tmp_path}/malloc.xml"
    bounded, free = figures("bound", path), figures("free", path)
    assert bounded["bounded"] is True
    assert bounded["arenas"] == 1
    assert bounded["free"] < 2_000_000
    # What it is there for: the same work without it.
    assert free["arenas"] > 1
    assert free["free"] > 7_000_000


def test_another_allocator_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert heap.bound() is False
