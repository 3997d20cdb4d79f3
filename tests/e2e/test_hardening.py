"""Hostile pages, names and places against the whole command: what the parts promise holds where they meet."""

from __future__ import annotations

import os
import pty
import select
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from commands import LIMIT, Command
from testsite import Site

from cdpfetch import process
from cdpfetch.client import Client
from cdpfetch.errors import FetchError

NAMES = [
    'attachment; filename="../../../evil.txt"',
    'attachment; filename="..\\\\..\\\\evil.txt"',
    'attachment; filename="/etc/passwd"',
    "attachment; filename*=UTF-8''%2e%2e%2f%2e%2e%2fevil.txt",
    "attachment; filename*=UTF-8''..%2F..%2F..%2Fevil.txt",
    'attachment; filename="-rf"',
    'attachment; filename="$(id).txt"',
    'attachment; filename="x.desktop"',
    'attachment; filename="CON"',
    'attachment; filename=".bashrc"',
    'attachment; filename="metadata.json"',
    'attachment; filename="content.md"',
    "attachment; filename*=UTF-8''gpj%E2%80%AE.exe",
    "attachment; filename*=UTF-8''a%1B%5B31mb%00c.txt",
    f'attachment; filename="{"n" * 300}.txt"',
]


def fetch(command: Command, url: str, *more: str) -> dict[str, Any]:
    (document,) = command("fetch", "--json", *more, url).documents
    return document


def test_what_nobody_sees_is_removed_and_counted(command: Command, site: Site) -> None:
    document = fetch(command, site.url("/smuggled"))
    (content,) = (one["path"] for one in document["bodies"] if one["role"] == "content")
    text = Path(content).read_text(encoding="utf-8")
    assert "# Smuggled\n" in text
    assert "می\u200cخواهم 👩\u200d🚀" in text
    assert not any("\U000e0000" <= char <= "\U000e007f" or char in "\u202e\u202c" for char in text)
    assert document["title"] == "Smuggled"
    assert [fact for fact in document["facts"] if fact.endswith("invisible characters removed")]


def test_hostile_names_stay_in_their_directories(command: Command, site: Site) -> None:
    urls = [site.url(f"/named?disposition={quote(name)}") for name in NAMES]
    documents = command("fetch", "--json", *urls).documents
    assert len(documents) == len(NAMES) >= 15
    for document in documents:
        assert document["ok"], document["error"]
        assert os.path.dirname(document["dir"]) == command.home.artifacts
        (body,) = (one for one in document["bodies"] if one["role"] == "original")
        assert os.path.dirname(body["path"]) == document["dir"]
        assert os.path.realpath(body["path"]) == body["path"]
        info = os.lstat(body["path"])
        assert (stat.S_ISREG(info.st_mode), stat.S_IMODE(info.st_mode)) == (True, 0o600)
        assert body["name"].isprintable()
        assert body["name"][0] not in ".-"
        assert Path(body["path"]).read_bytes() == b"\x00\x01binary\xff" * 40


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a link of another user")
def test_an_output_behind_another_users_link_is_refused(command: Command, site: Site, tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    (tmp_path / "out").symlink_to("victim")
    os.chown(tmp_path / "out", 54321, 54321, follow_symlinks=False)
    document = fetch(command, site.url("/page"), "-o", str(tmp_path / "out"))
    assert document["error"]["code"] == "invalid_request"
    assert "is a symbolic link of user 54321" in document["error"]["reason"]
    assert os.listdir(tmp_path / "victim") == []


def test_limits_are_the_settings(own: Command, site: Site) -> None:
    own.configure(
        f"[network]\nallow = ['{site.netloc}']\n[artifacts]\nmin_free_mb = 1e9\n[fetch]\nmax_bytes = 2000000\n"
    )
    document = fetch(own, site.url("/page"))
    assert document["error"]["code"] == "disk_full"
    assert "artifacts.min_free_mb asks for 1,000,000,000" in document["error"]["reason"]
    assert not [name for name in os.listdir(own.home.artifacts) if not name.startswith(".")]
    assert site.requests == []
    own("stop")
    own.configure(f"[network]\nallow = ['{site.netloc}']\n[fetch]\nmax_bytes = 2000000\n")
    document = fetch(own, site.url("/bomb?mb=300"))
    assert document["error"]["code"] == "too_large"
    assert "unpacks to more than the limit of 2,000,000 bytes" in document["error"]["reason"]
    document = fetch(own, site.url("/greedy"))
    assert document["ok"]
    assert "it loads more than 4,000,000 bytes; loading was stopped" in [one["message"] for one in document["warnings"]]


def test_a_title_does_not_steer_the_terminal(command: Command, site: Site) -> None:
    leader, follower = pty.openpty()
    arguments = [sys.executable, "-m", "cdpfetch", "fetch", site.url("/escapes")]
    with subprocess.Popen(arguments, stdout=follower, stderr=follower, env=command.environment) as running:
        os.close(follower)
        shown = b""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end and select.select([leader], [], [], LIMIT)[0]:
            try:
                piece = os.read(leader, 65536)
            except OSError:  # how Linux tells that nobody holds the other end
                break
            if not piece:
                break
            shown += piece
        os.close(leader)
    assert running.returncode == 0
    assert b"ESCAPES" in shown
    for sequence in (b"\x1b]52", b"\x1b[2J", "\x9b".encode(), b"\x07"):
        assert sequence not in shown


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells whose a port is")
def test_chrome_listens_nowhere_and_every_address_is_in_the_log(command: Command, site: Site) -> None:
    fetch(command, site.url("/page?word=ledger"))
    listening = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                listening.add(fields[9])
    daemon = command.daemon.pid
    for one in process.descendants(daemon):
        try:
            held = {os.readlink(f"/proc/{one.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{one.pid}/fd")}
        except OSError:
            continue  # it has ended
        assert not held & {f"socket:[{inode}]" for inode in listening}, process.command_line(one.pid)
    assert site.url("/page?word=ledger") in Path(command.home.log).read_text()


def test_in_strict_mode_only_known_addresses_are_fetched(own: Command, site: Site) -> None:
    inside, nowhere = (site.url(f"/redirect-out?to=http://{host}/") for host in ("10.9.8.7", "nowhere.invalid"))
    start = site.url("/known?to=/page%3Fword=linked")
    own.configure(
        f"[network]\nallow = ['{site.netloc}']\nrequire_known_url = true\n"
        f"known_urls = ['{start}', '{inside}', '{nowhere}']\n"
    )
    secret = site.url("/page?word=very-secret")
    refused = fetch(own, secret)
    assert refused["error"]["code"] == "blocked_address"
    assert "network.require_known_url" in refused["error"]["reason"]
    assert site.requests == []
    assert fetch(own, site.url("/page?word=linked"))["error"]["code"] == "blocked_address"
    assert fetch(own, start)["ok"]
    assert fetch(own, site.url("/page?word=linked"))["ok"]
    assert fetch(own, start, "--header", "X-Note: very-secret")["error"]["code"] == "blocked_address"
    errors = [fetch(own, url)["error"] for url in (inside, nowhere)]
    assert errors[0] == errors[1]
    assert errors[0]["code"] == "blocked_address"
    assert "very-secret" not in str(site.requests)
    with Client(own.home.root) as client:
        assert client.fetch(secret, vouched=True).ok
    own("stop")
    assert fetch(own, secret)["ok"], "what was fetched is known to the next daemon, too"


def test_elsewhere_every_address_is_in_the_log_and_a_call_may_be_strict(command: Command, site: Site) -> None:
    url = site.url("/page?word=canary-secret")
    with Client(command.home.root) as client:
        with pytest.raises(FetchError, match=r"network\.require_known_url"):
            client.fetch(url, require_known=True)
        assert site.requests == []
        assert client.fetch(url).ok
    assert url in Path(command.home.log).read_text()
