"""What is installed for systemd and launchd, read by those who know the formats; and how the managers are asked."""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
from pathlib import Path

import pytest

from cdpfetch import cli, paths
from cdpfetch.daemon import activation
from cdpfetch.errors import CdpFetchError
from cdpfetch.service import launchd, manager, systemd

AWKWARD = '/home/me & "you"/50% of $it/\\cdpfetch'


def test_units_quote_what_is_awkward() -> None:
    units = systemd.units(f"{AWKWARD}/run/daemon.sock", ["/opt/my python/bin/python3", "-P", "-m", "x"], AWKWARD)
    lines = units["cdpfetch.service"].splitlines()
    assert 'ExecStart="/opt/my python/bin/python3" -P -m x' in lines
    assert r'Environment="CDPFETCH_HOME=/home/me & \"you\"/50%% of $it/\\cdpfetch"' in lines
    assert (
        'ListenStream=/home/me & "you"/50%% of $it/\\cdpfetch/run/daemon.sock' in units["cdpfetch.socket"].splitlines()
    )
    assert "Environment" not in systemd.units("/s", ["/p"])["cdpfetch.service"]
    assert 'ExecStart="/a$$b c"' in systemd.units("/s", ["/a$b c"])["cdpfetch.service"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd on this machine")
def test_systemd_finds_nothing_wrong(tmp_path: Path) -> None:
    for name, text in systemd.units(str(tmp_path / "run 1" / "daemon.sock"), ["/bin/true", "-P"], AWKWARD).items():
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", *map(str, sorted(tmp_path.glob("cdpfetch.*")))],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
    )
    said = [line for line in (done.stdout + done.stderr).splitlines() if "cdpfetch" in line]
    assert (done.returncode, said) == (0, [])


def test_the_agent_is_a_property_list_of_documented_keys() -> None:
    agent = plistlib.loads(launchd.agent(f"{AWKWARD}/s", ["/usr/bin/python3", "-P"], "/l/launchd.log", AWKWARD))
    assert agent == {
        "Label": "cdpfetch.daemon",
        "ProgramArguments": ["/usr/bin/python3", "-P"],
        "Sockets": {"Listeners": {"SockPathName": f"{AWKWARD}/s", "SockPathMode": 384}},
        "KeepAlive": {"Crashed": True},
        "LimitLoadToSessionType": "Aqua",
        "StandardErrorPath": "/l/launchd.log",
        "Umask": 63,
        "EnvironmentVariables": {"CDPFETCH_HOME": AWKWARD},
    }
    assert launchd.SOCKET_NAME == activation.LAUNCHD_NAME
    assert "EnvironmentVariables" not in plistlib.loads(launchd.agent("/s", ["/p"], "/l"))


class Manager:
    """A systemctl and a launchctl that note what they are asked, and refuse what they are told to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        for name in ("systemctl", "launchctl"):
            script = folder / "bin" / name
            script.write_text(
                f'#!/bin/sh\necho "{name} $*" >>"{folder}/asked"\n'
                f'if [ -e "{folder}/refuse" ]; then echo "first"; echo "no bus" >&2; exit 1; fi\n'
            )
            script.chmod(0o755)
        self.environ = {"PATH": f"{folder}/bin:{os.defpath}", "XDG_CONFIG_HOME": str(folder / "config")}

    def asked(self) -> list[str]:
        path = self.folder / "asked"
        found = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return found


def test_install_look_and_uninstall(tmp_path: Path) -> None:
    fake = Manager(tmp_path)
    home = paths.Home(str(tmp_path / "home"))
    service = manager.of(home, fake.environ, "linux")
    assert service.status() == ("systemd", "no", True, ())
    assert service.uninstall() is False
    fake.asked()
    service.check()
    service.install()
    assert fake.asked() == [
        "systemctl --user show-environment",
        "systemctl --user daemon-reload",
        "systemctl --user enable cdpfetch.socket",
        "systemctl --user restart cdpfetch.socket",
    ]
    folder = tmp_path / "config" / "systemd" / "user"
    assert sorted(os.listdir(folder)) == ["cdpfetch.service", "cdpfetch.socket"]
    assert f"CDPFETCH_HOME={home.root}" in (folder / "cdpfetch.service").read_text()
    assert service.status().installed == "yes"
    (folder / "cdpfetch.socket").write_text("older")
    assert service.status().installed == "changed"
    fake.asked()
    assert service.uninstall() is True
    assert os.listdir(folder) == []
    assert fake.asked() == [
        "systemctl --user disable --now cdpfetch.socket",
        "systemctl --user stop cdpfetch.service",
        "systemctl --user daemon-reload",
    ]


def test_a_manager_that_refuses_is_quoted(tmp_path: Path) -> None:
    fake = Manager(tmp_path)
    (tmp_path / "refuse").touch()
    service = manager.of(paths.Home(str(tmp_path / "home")), fake.environ, "linux")
    with pytest.raises(CdpFetchError, match="show-environment: no bus"):
        service.check()
    assert service.status().active is False
    without = manager.of(paths.Home(str(tmp_path / "home")), {"PATH": str(tmp_path)}, "linux")
    with pytest.raises(CdpFetchError, match="no systemd"):
        without.check()
    assert without.status().active is False


def test_launchd_is_asked_for_the_users_domain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Manager(tmp_path)
    monkeypatch.setattr(paths, "account_home", lambda: str(tmp_path))
    service = manager.of(paths.Home(str(tmp_path / ".cdpfetch")), fake.environ, "darwin")
    service.install()
    path = tmp_path / "Library" / "LaunchAgents" / "cdpfetch.daemon.plist"
    assert "EnvironmentVariables" not in plistlib.loads(path.read_bytes())
    domain = f"gui/{os.getuid()}"
    assert fake.asked() == [f"launchctl bootout {domain}/cdpfetch.daemon", f"launchctl bootstrap {domain} {path}"]
    assert service.status() == ("launchd", "yes", True, (str(path),))
    assert service.uninstall() is True
    assert not path.exists()


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    fake = Manager(tmp_path)
    for name, value in fake.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CDPFETCH_HOME", str(tmp_path / "h"))
    monkeypatch.setattr(manager.sys, "platform", "linux")
    assert cli.main(["service", "install", "--print"]) == 0
    assert "ListenStream=" in capsys.readouterr().out
    assert not (tmp_path / "config").exists()
    assert cli.main(["service", "install"]) == 0
    assert "cdpfetch.socket" in capsys.readouterr().out
    assert cli.main(["service", "status"]) == 0
    assert capsys.readouterr().out.startswith("systemd  installed, listening\n")
    (tmp_path / "refuse").touch()
    assert cli.main(["service", "status", "--json"]) == 3
    assert '"installed"' in capsys.readouterr().out
    (tmp_path / "refuse").unlink()
    assert cli.main(["service", "uninstall"]) == 0
    assert cli.main(["service", "uninstall"]) == 0
    assert capsys.readouterr().out == "the service is removed\nno service was installed\n"
