"""A daemon that a service manager starts at the first connection."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess

import pytest
from commands import Command, wait_for
from testsite import Site

from cdpfetch import paths, starting


@pytest.mark.skipif(shutil.which("systemd-socket-activate") is None, reason="no systemd on this machine")
def test_the_first_connection_starts_it(own: Command, site: Site) -> None:
    paths.ensure_private_dir(own.home.run)
    ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    ear.bind(os.path.join(own.home.root, "notify"))
    ear.settimeout(30)
    environment = {**own.environment, "NOTIFY_SOCKET": os.path.join(own.home.root, "notify")}
    passed = [
        f"--setenv={name}" for name in ("CDPFETCH_HOME", "PYTHONPATH", "NOTIFY_SOCKET", "CDPFETCH_CHROME", "HOME")
    ]
    command = ["systemd-socket-activate", "-l", own.home.socket, *passed, *starting.daemon_command()]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with ear, subprocess.Popen(command, env=environment, **quiet) as service:
        wait_for(lambda: os.path.exists(own.home.socket))
        assert starting.read_pidfile(own.home) is None
        assert own("fetch", "--print", site.url("/page")).out.startswith("# The harbour\n")
        assert ear.recv(100) == b"READY=1"
        assert own.daemon.pid == service.pid
        assert own("status").status == 0
        service.send_signal(signal.SIGTERM)
        assert service.wait(30) == 0
    # The file is the manager's, which goes on listening.
    assert os.path.exists(own.home.socket)
    assert not os.path.exists(own.home.pidfile)
    # Without the manager the next call takes its place.
    assert own("fetch", "--print", site.url("/page")).status == 0
