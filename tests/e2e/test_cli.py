"""What a user of the command gets, and of the compiled one."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import signal
import stat
from pathlib import Path
from urllib.parse import quote

import pytest
import twins
from commands import Command, wait_for
from testsite import PDF, PROSE, Site

from cdpfetch import artifacts


@pytest.fixture(scope="module", params=["cdpfetch", "cdpf"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str] | None:
    """What is run in place of the module: ``cdpf``, or nothing else."""
    if request.param == "cdpfetch":
        return None
    directory = tmp_path_factory.mktemp("native")
    return [str(twins.pair(directory / "bin", twins.build(directory / "cdpf"), scripted=False))]


@pytest.fixture
def command(shared_command: Command, program: list[str] | None) -> Command:
    made = copy.copy(shared_command)
    made.program = program or made.program
    return made


@pytest.fixture
def own(own: Command, program: list[str] | None) -> Command:
    own.program = program or own.program
    return own


def test_a_page_becomes_files_and_a_digest(command: Command, site: Site) -> None:
    ended = command("fetch", site.url("/page?word=quay"))
    assert (ended.status, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0] == "1. About quay"
    assert f"   {site.url('/page?word=quay')}" in lines
    assert any(line.startswith("   - content.md (") for line in lines)
    assert "   excerpt: The keeper counted the lamps twice" in ended.out


def test_json_says_all_of_it(command: Command, site: Site) -> None:
    url = site.url("/page")
    (document,) = command("fetch", "--json", url).documents
    assert set(artifacts.new_document("")) <= set(document)
    assert (document["url"], document["ok"], document["kind"], document["status"]) == (url, True, "local.page", 200)
    assert document["title"] == "About harbour"
    assert document["outline"] == [
        {"level": 1, "text": "The harbour", "line": 1},
        {"level": 2, "text": "Second part", "line": 5},
    ]
    assert set(document["timings"]) >= {"queue", "navigate", "settle", "capture", "extract", "total"}
    directory = Path(document["dir"])
    written = json.loads((directory / "metadata.json").read_text())
    # Of the timings, only the last phase knows how long it took.
    assert {**written, "timings": None} == {**document, "timings": None}
    assert directory.name == document["fetch_id"]
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    for body in document["bodies"]:
        assert body["path"] == str(directory / body["name"])
        assert os.path.getsize(body["path"]) == body["bytes"]
        assert stat.S_IMODE(os.stat(body["path"]).st_mode) == 0o600


def test_many_urls_come_in_request_order(command: Command, site: Site) -> None:
    urls = [site.url(f"/page?word=w{number}") for number in range(12)]
    urls[3] = site.url("/script?delay=300")
    ended = command("fetch", "--json", *urls)
    assert ended.status == 0
    assert [document["url"] for document in ended.documents] == urls
    assert ended.documents[11]["title"] == "About w11"


def test_print_gives_the_content(command: Command, site: Site) -> None:
    ended = command("fetch", "--print", site.url("/page"))
    assert ended.status == 0
    assert ended.out.startswith("# The harbour\n")
    assert PROSE.strip() in ended.out
    assert command("fetch", "--print", site.url("/notes.txt")).out == "one\n\ttwo <b> &amp;\n\n\n    four\n"


def test_files_keep_their_bytes(command: Command, site: Site) -> None:
    pdf, data = command("fetch", "--json", site.url("/file.pdf"), site.url("/data.json")).documents
    original = next(body for body in pdf["bodies"] if body["role"] == "original")
    assert Path(original["path"]).read_bytes() == PDF
    assert original["name"] == "file.pdf"
    assert (pdf["kind"], pdf["content_type"], pdf["bytes"]) == ("local.file", "application/pdf", len(PDF))
    assert pdf["sha256"] == hashlib.sha256(PDF).hexdigest()
    assert "KELP-77" in command("read", pdf["fetch_id"]).out
    original = next(body for body in data["bodies"] if body["role"] == "original")
    assert b"9007199254740993" in Path(original["path"]).read_bytes()


def test_a_download_gets_a_safe_name(command: Command, site: Site, tmp_path: Path) -> None:
    hostile = quote('attachment; filename="../../content.md"')
    (document,) = command("fetch", "--json", "-o", str(tmp_path), site.url(f"/named?disposition={hostile}")).documents
    original = next(body for body in document["bodies"] if body["role"] == "original")
    assert original["name"] == "content-2.md"
    assert Path(original["path"]).resolve().is_relative_to(tmp_path)


def test_output_goes_where_it_is_told(command: Command, site: Site, tmp_path: Path) -> None:
    ended = command("fetch", "--json", "-o", "out/deep", site.url("/page"), cwd=tmp_path)
    (document,) = ended.documents
    assert document["dir"] == str(tmp_path / "out" / "deep" / document["fetch_id"])
    assert os.listdir(tmp_path / "out" / "deep") == [document["fetch_id"]]
    assert command("read", document["fetch_id"], "--limit", "1").out == "# The harbour\n"


def test_an_output_that_cannot_be_is_wrong_usage(command: Command, site: Site, tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("mine")
    ended = command("fetch", "--json", "-o", str(blocker), site.url("/page"))
    assert ended.status == 2
    assert ended.documents[0]["error"]["code"] == "invalid_request"
    assert "not a directory" in ended.documents[0]["error"]["reason"]
    assert blocker.read_text() == "mine"


def test_an_http_error_keeps_its_bodies(command: Command, site: Site) -> None:
    ended = command("fetch", "--json", site.url("/page"), site.url("/status/404"))
    assert ended.status == 1
    good, bad = ended.documents
    assert good["ok"]
    assert (bad["ok"], bad["status"], bad["error"]["code"]) == (False, 404, "http_error")
    assert "The clerk explains why" in command("read", bad["fetch_id"]).out
    ended = command("fetch", site.url("/status/404"))
    assert ended.status == 1
    assert ended.out.startswith(f"Failed:\n- {site.url('/status/404')}: local: ")


def test_headers_reach_the_server(command: Command, site: Site) -> None:
    ended = command("fetch", "--header", "X-Quay: north", "--accept-language", "de,en;q=0.5", site.url("/headers"))
    assert ended.status == 0
    sent = next(headers for _, path, headers in site.requests if path == "/headers")
    assert sent["X-Quay"] == "north"
    assert sent["Accept-Language"].startswith("de")


def test_a_screenshot_is_a_body(command: Command, site: Site) -> None:
    (document,) = command("fetch", "--json", "--screenshot", site.url("/page")).documents
    picture = next(body for body in document["bodies"] if body["role"] == "screenshot")
    assert Path(picture["path"]).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert picture["lines"] is None


def test_private_addresses_need_leave(own: Command, site: Site) -> None:
    own.configure("")
    ended = own("fetch", "--json", site.url("/page"))
    assert ended.status == 1
    assert ended.documents[0]["error"]["code"] == "blocked_address"
    assert site.requests == []
    assert own("fetch", "--allow", site.netloc, site.url("/page")).status == 0
    assert own("fetch", site.url("/page")).status == 1


def test_reading_pages_and_sections(command: Command, site: Site) -> None:
    (document,) = command("fetch", "--json", site.url("/page")).documents
    page = json.loads(command("read", document["fetch_id"], "--section", "second part", "--json").out)
    assert page["text"].startswith("## Second part\n")
    assert page["next_offset"] is None
    found = command("read", document["fetch_id"], "--find", "HARBOUR").out
    assert found.startswith("1:# The harbour\n")
    assert command("read", document["fetch_id"], "--offset", "999").status == 2


def test_extract_needs_no_daemon(own: Command, tmp_path: Path) -> None:
    source = tmp_path / "report.pdf"
    source.write_bytes(PDF)
    ended = own("extract", str(source))
    assert ended.status == 0
    assert "KELP-77" in ended.out
    assert own("status").status == 3


def test_status_stop_restart_and_logs(own: Command, site: Site) -> None:
    assert own("status").status == 3
    assert own("fetch", site.url("/page")).status == 0
    status = json.loads(own("status", "--json").out)
    assert (status["running"], status["browser"]["state"], status["requests"]["served"]) == (True, "running", 1)
    assert status["pid"] == own.daemon.pid
    assert own("restart").status == 0
    assert own.daemon.pid != status["pid"]
    assert own("fetch", site.url("/page")).status == 0
    assert own("stop").out == "stopped\n"
    assert own("stop").out == "no daemon was running\n"
    assert "INFO" in own("logs", "-n", "5").out


def test_doctor_finds_nothing_wrong(own: Command) -> None:
    ended = own("doctor", "--json")
    report = json.loads(ended.out)
    assert ended.status == 0, report
    assert report["ok"] is True
    assert [check["name"] for check in report["checks"]] == [
        "home",
        "settings",
        "chrome",
        "sandbox",
        "profile",
        "space",
        "display",
        "daemon",
        "fetch",
        "guard",
    ]
    assert "came back as Markdown" in report["checks"][-2]["detail"]
    assert report["checks"][-1]["detail"].startswith("lanes profile, anonymous; Chrome has proved to pass it")
    assert not [name for name in os.listdir(own.home.artifacts) if artifacts.is_fetch_id(name)]


def test_doctor_says_what_to_do(own: Command, site: Site) -> None:
    own.configure(f"[network]\nallow = ['{site.netloc}']\n[browser]\nexecutable_path = '/nowhere/chrome'\n")
    ended = own("doctor")
    assert ended.status == 3
    assert "failed   chrome" in ended.out
    assert "browser.executable_path" in ended.out
    ended = own("fetch", "--json", site.url("/page"))
    assert ended.status == 3
    assert ended.documents[0]["error"]["code"] == "browser_not_found"


def test_a_bad_setting_is_named(own: Command) -> None:
    own.configure("[fetch]\ndeadline = 'soon'\n")
    ended = own("fetch", "--json", "https://example.com/")
    assert ended.status == 2
    error = ended.documents[0]["error"]
    assert error["code"] == "config_error"
    assert "fetch.deadline" in error["reason"]
    assert "'soon'" in error["reason"]
    assert "a number from" in error["hint"]
    assert own("doctor").status == 1


def test_an_interrupt_cancels_and_is_130(command: Command, site: Site) -> None:
    with command.start("fetch", site.url("/hang")) as running:
        wait_for(lambda: site.asked("/hang"))
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=10)
    assert (running.returncode, out, err) == (130, "", "")
    wait_for(lambda: json.loads(command("status", "--json").out)["requests"]["active"] == 0)
    assert command("fetch", site.url("/page")).status == 0


def test_the_foreground_daemon_ends_on_a_signal(own: Command, site: Site) -> None:
    with own.start("daemon") as running:
        wait_for(lambda: own("status").status == 0)
        assert own("fetch", site.url("/page")).status == 0
        below = own.processes()
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=20)
    assert running.returncode == 0
    assert own("status").status == 3
    assert own.processes() == []
    assert len(below) > 2
