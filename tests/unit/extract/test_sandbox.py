"""What a worker cannot do, tried in real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from cdpfetch.extract import landlock, sandbox
from cdpfetch.extract.pool import ExtractPool
from cdpfetch.extract.process import WorkerProcess, environment

linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's help is Linux's")


landlocked = pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")


def confined(code: str, before: str = "sandbox.enter()") -> subprocess.CompletedProcess[str]:
    """Run code in a process that has shut itself off."""
    script = f"import ctypes, os, socket, subprocess, sys\nfrom cdpfetch.extract import sandbox\n{before}\n{code}"
    return subprocess.run(
        [sys.executable, "-c", script], env=environment(), capture_output=True, text=True, timeout=60, check=False
    )


@linux
@pytest.mark.parametrize(
    "code",
    [
        "libc.socket(2, 1, 0)",
        "libc.socket(1, 1, 0)",
        "libc.execv(b'/bin/true', (ctypes.c_char_p * 2)(b'true', None))",
        "libc.kill(os.getppid(), 0)",
        "libc.ptrace(16, os.getppid(), 0, 0)",
        "libc.unshare(0x10000000)",
        "libc.syscall(425, 8, 0)",
    ],
)
def test_native_code_is_refused_by_the_kernel(code: str) -> None:
    done = confined(f"libc = ctypes.CDLL(None, use_errno=True)\nprint({code}, ctypes.get_errno())")
    assert (done.stdout, done.stderr) == ("-1 1\n", "")


@linux
def test_the_network_is_another_one_even_without_the_filter() -> None:
    done = confined("print(os.readlink('/proc/self/ns/net'), os.getuid())", "assert sandbox._leave_network()")
    name, uid = done.stdout.split()
    assert name != os.readlink("/proc/self/ns/net")
    assert int(uid) == os.getuid()


@pytest.mark.parametrize("code", ["socket.socket()", "socket.create_connection(('127.0.0.1', 9))"])
def test_python_refuses_sockets_by_itself(code: str) -> None:
    done = confined(code, "sys.addaudithook(sandbox._refuse_sockets)")
    assert "PermissionError: [Errno 1] extraction has no network" in done.stderr


# What a document that has taken its parser over would try first; {outside} and {inside} are folders.
ATTEMPTS = [
    "open('{outside}/secret').read()",
    "os.listdir('{outside}')",
    "open('{outside}/secret', 'w')",
    "open('{outside}/new', 'w')",
    "os.truncate('{outside}/secret', 0)",
    "os.unlink('{outside}/secret')",
    "os.mkdir('{outside}/new')",
    "os.rename('{outside}/secret', '{outside}/other')",
    "os.rename('{outside}/secret', '{inside}/tmp/secret')",
    "os.link('{outside}/secret', '{inside}/tmp/secret')",
    "os.symlink('{outside}/secret', '{inside}/tmp/secret')",
    "os.mkfifo('{inside}/tmp/pipe')",
    "open('{inside}/in/input', 'w')",
    "os.unlink('{inside}/in/input')",
    "open('/etc/shadow').read()",
    "os.listdir('/')",
    "open('/proc/%d/environ' % os.getppid()).read()",
    "open('/dev/shm/cdpfetch-new', 'w')",
    "open(os.path.join(sys.prefix, 'new'), 'w')",
]


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    """A worker's folder with an input, and one that is none of its business."""
    for name in ("in", "out", "tmp"):
        (tmp_path / "inside" / name).mkdir(parents=True)
    (tmp_path / "inside" / "in" / "input").write_text("input")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("very-secret")
    return {name: tmp_path / name for name in ("inside", "outside")}


@landlocked
@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_a_worker_reaches_no_file_but_its_own(folders: dict[str, Path], attempt: str) -> None:
    code = f"try:\n  {attempt.format(**folders)}\nexcept (PermissionError, OSError) as error: print(error.errno)"
    done = confined(code, f"assert sandbox.enter({str(folders['inside'])!r}).files")
    # EACCES; EXDEV is how a move between folders is refused.
    assert (done.stdout.strip() in ("13", "18"), done.stderr) == (True, ""), done.stdout
    assert (folders["outside"] / "secret").read_text() == "very-secret"
    assert (folders["inside"] / "in" / "input").read_text() == "input"
    assert os.listdir(folders["outside"]) == ["secret"]


@landlocked
def test_a_worker_has_what_it_needs(folders: dict[str, Path]) -> None:
    code = """
import tempfile, time, locale, mimetypes
os.environ['TMPDIR'] = '{inside}/tmp'
from cdpfetch.extract import jobs
jobs.warm()
tempfile.NamedTemporaryFile().write(b'x')
open('{inside}/out/new', 'w').write('x')
os.replace('{inside}/out/new', '{inside}/out/newer')
open('/dev/null', 'w').write('x')
print(open('{inside}/in/input').read(), os.listdir('{inside}/out'), mimetypes.guess_type('a.pdf')[0])
""".format(**folders)
    done = confined(code, f"assert sandbox.enter({str(folders['inside'])!r}).files")
    assert (done.stdout, done.stderr) == ("input ['newer'] application/pdf\n", "")


def test_places_that_hold_the_home_are_not_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "usr" / "home"))
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), str(tmp_path / "usr" / "home"), str(tmp_path / "site")])
    monkeypatch.setattr(sys, "prefix", "/")
    opened = sandbox.readable()
    assert str(tmp_path / "site") in opened
    assert not {"/", "", str(tmp_path), str(tmp_path / "usr" / "home")} & set(opened)


def test_a_file_cannot_grow_without_end(tmp_path: Path) -> None:
    before = "sandbox.MAX_FILE = 1 << 20; sandbox.enter()"
    done = confined(f"open({str(tmp_path / 'f')!r}, 'wb').write(bytes(2 << 20))", before)
    assert "File too large" in done.stderr
    assert os.path.getsize(tmp_path / "f") <= 1 << 20


def test_processor_time_ends() -> None:
    done = confined("sandbox.allow_cpu(0.1)\nwhile True: pass")
    assert done.returncode == -signal.SIGXCPU


def test_only_what_is_needed_is_inherited() -> None:
    given = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "AWS_SECRET_ACCESS_KEY": "x",
        "CDPFETCH_LLM_API_KEY": "x",
        "SSH_AUTH_SOCK": "x",
    }
    assert sandbox.environment(given) == {"PATH": "/bin", "LC_ALL": "C"}


@linux
async def test_a_worker_is_shut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDPFETCH_PARALLEL_API_KEY", "very-secret")
    worker = await WorkerProcess.start(2048, 60)
    try:
        place = Path(f"/proc/{worker.pid}")
        status = dict(line.split(":", 1) for line in (place / "status").read_text().splitlines())
        assert worker.sandbox == sandbox.CLOSED
        assert worker.files_closed is bool(landlock.version())
        assert (status["Seccomp"].strip(), status["NoNewPrivs"].strip()) == ("2", "1")
        assert os.readlink(place / "ns" / "net") != os.readlink("/proc/self/ns/net")
        assert b"very-secret" not in (place / "environ").read_bytes()
        limits = (place / "limits").read_text()
        assert str(sandbox.MAX_FILE) in limits
    finally:
        await worker.close()


def page_job(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "page.html").write_text("<title>Tides</title><main><p>The tide rises twice a day.</p></main>")
    return {"op": "page", "path": str(tmp_path / "page.html"), "url": "http://a.test/", "out_dir": str(tmp_path)}


async def test_a_jobs_leftovers_are_gone_before_the_next_and_the_folder_with_the_worker(tmp_path: Path) -> None:
    async with ExtractPool(1) as pool:
        assert not pool.exposed
        assert not pool.sees_files or not landlock.version()
        await pool.run(page_job(tmp_path), 60)
        folder = Path(pool._slots[0].boot().result()._staging.root)
        assert folder.stat().st_mode & 0o777 == 0o700
        for name in ("out", "tmp"):
            (folder / name / "sub").mkdir()
            (folder / name / "sub" / "left").write_text("x")
            (folder / name / "link").symlink_to(tmp_path)
        await pool.run(page_job(tmp_path), 60)
        assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*")) == ["in", "out", "tmp"]
        assert (tmp_path / "page.html").exists()
    assert not folder.exists()


def test_folders_of_the_dead_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    for name in ("cdpfetch-extract-12-abc", "cdpfetch-extract-13-abc", "cdpfetch-extract-x", "other-12-abc"):
        (tmp_path / name).mkdir()
    (tmp_path / "cdpfetch-extract-12-link").symlink_to(tmp_path / "other-12-abc")
    sandbox.sweep(lambda pid: pid == 13)
    left = {"cdpfetch-extract-13-abc", "cdpfetch-extract-x", "other-12-abc", "cdpfetch-extract-12-link"}
    assert set(os.listdir(tmp_path)) == left


@linux
async def test_a_worker_that_the_kernel_does_not_shut_off_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    done = confined("", "sandbox._leave_network = sandbox._filter_calls = lambda: False\nprint(*sandbox.enter())")
    assert done.stdout == "python False\n"
