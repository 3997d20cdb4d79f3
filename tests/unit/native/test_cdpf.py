"""cdpf as a process, sanitised, against scripted daemons: the same words as cdpfetch, or cdpfetch in its place."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import twins

from cdpfetch import artifacts, process, starting

HINT = "run the command again: a new daemon is started; `cdpfetch logs` tells more"


class Pair:
    """``cdpf`` with a ``cdpfetch`` beside it, whose calls are counted."""

    def __init__(self, program: Path, fake: Any) -> None:
        self.program = program
        self.fake = fake

    def start(self, *arguments: str, program: str = "cdpf", **options: Any) -> subprocess.Popen[bytes]:
        streams: dict[str, Any] = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
        command = [str(self.program.with_name(program)), *arguments]
        environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0", **options.pop("environment", {})}
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment, **{**streams, **options})

    def __call__(self, *arguments: str, **options: Any) -> tuple[int, str, str]:
        with self.start(*arguments, **options) as running:
            out, err = running.communicate(timeout=40)
        return running.returncode, out.decode(), err.decode()

    @property
    def handed_over(self) -> list[str]:
        return twins.handed_over(self.program)

    def up(self) -> None:
        """See that a daemon runs."""
        starting.start(self.fake.home)

    def same(self, *arguments: str, served: bool = True) -> tuple[int, str, str]:
        """What both say to a call, which must be the same; and whether cdpf served it itself."""
        before = len(self.handed_over)
        mine = self(*arguments)
        assert len(self.handed_over) - before == (not served), (arguments, mine)
        assert mine == self(*arguments, program="cdpfetch")
        return mine


@pytest.fixture
def pair(tmp_path: Path, sanitised: Path, fake: Any) -> Pair:
    return Pair(twins.pair(tmp_path / "bin", sanitised), fake)


def fetches(pair: Pair) -> list[dict[str, Any]]:
    return [one for one in pair.fake.requests if one.get("op") == "fetch"]


# What is served


@pytest.mark.parametrize(
    "urls",
    [
        ["fake:ok:One"],
        ["fake:wait:0.2 ok:First", "fake:error:timeout", "fake:ok:Third"],
        ["fake:error:dns_failed"],
        ["fake:error:browser_not_found", "fake:ok"],
        ["fake:error:config_error", "fake:error:invalid_request"],
        ["fake:error:invalid_request", "fake:ok"],
        ["fake:error:strange"],
        ["fake:nothing"],
        ["fake:drip"],
        ["fake:status:3000 ok:End"],
        ["fake:ok:a\x1b[31mb\u202ec\x7fd é漢"],
        ["fake:ok:" + "long title " * 100],
        [f"fake:wait:0.0{number % 7} ok:N{number}" for number in range(64)],
    ],
    ids=lambda urls: urls[0][:20],
)
@pytest.mark.parametrize("form", ["digest", "--json", "--print"])
def test_fetch_says_the_same(pair: Pair, urls: list[str], form: str) -> None:
    pair.up()
    pair.same("fetch", *([] if form == "digest" else [form]), *urls)


def test_options_become_the_same_fields(pair: Pair) -> None:
    pair.up()
    given = ["--json", "-o", "out/../deep//x/", "--format", "text", "--extractor", 'a"b\\\té', "--screenshot"]
    given += ["--wait-for", "#x", "--redirects", "same-host", "--deadline", "2.50", "--accept-language", "de"]
    given += ["--engine", "auto", "fake:ok", "--allow", "x", "--allow", "y:1", "--insecure", "--keep-page"]
    pair.same("fetch", *given)
    mine, theirs = fetches(pair)
    assert mine == theirs
    assert mine["downloadDir"] == os.path.abspath("deep/x")
    assert (mine["deadline"], mine["allow"], mine["insecure"], mine["engine"]) == (2.5, ["x", "y:1"], True, "auto")


def test_the_content_is_printed(pair: Pair) -> None:
    pair.up()
    assert pair.same("fetch", "--print", "fake:file:Some\x1b[1mText", "fake:file:more")[1] == "Some\x1b[1mText\nmore\n"
    status, out, err = pair("fetch", "--print", "--format", "html", "fake:file:x")
    assert (status, out) == (1, "")
    assert "has no html\n  hint: formats of this document: markdown, text; its files: " in err


def saved(pair: Pair, text: str) -> str:
    with artifacts.Draft(pair.fake.home.artifacts, artifacts.new_fetch_id("http://x/")) as draft:
        draft.write("content.md", "content", text, "text/markdown")
        draft.write("data.json", "original", "{}\n", "application/json")
        return str(draft.commit({**artifacts.new_document("http://x/"), "ok": True})["fetch_id"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "a\nb\n",
        "\n" * 300,
        "é" * 3000 + "\n漢" * 900,
        "x" * 2048 + "\ny",
        "\U0001f600" * 700,
        "a\r\nb\x0c\x7fc\u2028",
    ],
    ids=range(8),
)
def test_read_says_the_same(pair: Pair, text: str) -> None:
    name = saved(pair, text)
    pair.same("read", name)
    offset = 1
    whole = ""
    while offset:
        _, out, _ = pair.same("read", "--json", name, "--offset", str(offset), "--limit", "70")
        whole += json.loads(out)["text"]
        offset = json.loads(out)["next_offset"]
    assert whole == text
    pair.same("read", name, "--format", "source", "--limit", "500")


def test_what_read_leaves_to_cdpfetch(pair: Pair) -> None:
    name = saved(pair, "# One\ntext\n\udcff")
    for arguments in (
        (name, "--section", "One"),
        (name, "--find", "text"),
        (name, "--offset", "9"),
        (name, "--offset", "0"),
        (name, "--format", "pdf"),
        (name, "--format=markdown"),
        (name,),  # what is no UTF-8 is shown in another way
        (name, "other"),
        ("nothing-0123abcd",),
        ("../x",),
        (),
    ):
        pair.same("read", *arguments, served=False)


def test_status_and_stop(pair: Pair) -> None:
    pair.same("status", served=False)
    pair.same("stop", served=False)
    pair.fake.script(browser=True)
    pair.up()
    pair.same("status", "--json")
    pair.same("status")
    pair.same("status", "extra", served=False)
    handed = len(pair.handed_over)
    browser = int(pair.fake.lines("browser")[0])
    assert pair("stop") == (0, "stopped\n", "")
    assert len(pair.handed_over) == handed
    assert process.start_time(pair.fake.starts[0]) is None
    assert process.start_time(browser) is None


BROWSER = {"state": "running", "version": "Chrome/156", "pid": 7, "sandboxed": True, "tabs": 3, "executable": "/x"}
LANES = [{"name": "profile", "proved": None}, {"name": "anonymous", "proved": 9999999999.5}]


@pytest.mark.parametrize(
    "facts",
    [
        {"uptimeSecs": 59.9, "home": "/h", "socket": "/s", "log": "/l", "profile": "/é", "browser": BROWSER},
        {
            "uptimeSecs": 125,
            "browser": {**BROWSER, "sandboxed": False, "state": "interactive"},
            "workers": {"alive": 2},
        },
        {"uptimeSecs": 7322.5, "requests": {"active": 1, "queued": 2, "served": 3}, "browser": {"state": "stopped"}},
        {"warnings": [{"code": "no_sandbox", "message": "Chrome has none"}], "oneTwoThree": {"deepKey": [{"aB": 1.5}]}},
        {"guard": {"lanes": LANES, "opened": 4, "refused": 1, "upstream": "socks5://x"}, "workers": {"restarts": 1}},
        {"guard": {"lanes": LANES[:1], "opened": 4}},
        {"browser": None, "guard": None, "requests": None, "warnings": None, "uptimeSecs": None, "home": True},
    ],
    ids=range(7),
)
def test_status_tells_the_same(pair: Pair, facts: dict[str, Any]) -> None:
    pair.fake.script(answers={"status": {"version": "0.1.0", **facts}})
    pair.up()
    pair.same("status")
    pair.same("status", "--json")


# What is handed over


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--version",),
        ("config", "path"),
        ("fetch",),
        ("fetch", "-h"),
        ("fetch", "--colour", "fake:ok"),
        ("fetch", "--format", "pdf", "fake:ok"),
        ("fetch", "--format=text", "fake:ok"),
        ("fetch", "--deadline", "0", "fake:ok"),
        ("fetch", "--deadline", "1e1", "fake:ok"),
        ("fetch", "--header", "A: b", "fake:ok"),
        ("fetch", "--engine", "gecko", "fake:ok"),
        ("fetch", "--fresh", "fake:ok"),
        ("fetch", "--source", "local", "fake:ok"),
        ("fetch", "-o", "~/x", "fake:ok"),
        ("fetch", "fake:ok", "-o"),
        ("fetch", "fake:ok", "fake:ok"),
        ("fetch", "fake:ok", "FAKE:ok"),
        ("fetch", "--", "fake:ok"),
        ("fetch", "--wait-for", "", "fake:ok"),
        ("fetch", *(f"fake:ok:{number}" for number in range(65))),
    ],
    ids=" ".join,
)
def test_the_rest_is_handed_over(pair: Pair, arguments: tuple[str, ...]) -> None:
    pair.up()
    pair.same(*arguments, served=False)


def test_a_missing_daemon_is_started_by_cdpfetch(pair: Pair) -> None:
    assert pair("fetch", "fake:ok:One")[1] == "1. One\n   fake:ok:One\n"
    assert len(pair.handed_over) == 1
    assert pair("fetch", "fake:ok:One")[1] == "1. One\n   fake:ok:One\n"
    assert (len(pair.handed_over), len(pair.fake.starts)) == (1, 1)


@pytest.mark.parametrize("script", [{"version": "0.0.9"}, {"version": "9.0"}, {"protocol": 2}, {"hello": "garbage"}])
def test_another_version_is_a_matter_for_cdpfetch(pair: Pair, script: dict[str, Any]) -> None:
    pair.fake.script(**script)
    pair.up()
    pair.fake.script()
    pair("fetch", "fake:ok")
    assert pair.handed_over == ["fetch fake:ok"]


@pytest.mark.parametrize(
    "settings", ["[parallel]\napi_key='x'\n", "github.token = 'x'\n", '["\\u006aina"]\nenabled=true\n']
)
def test_hosted_services_are_a_matter_for_cdpfetch(pair: Pair, settings: str) -> None:
    pair.up()
    pair("fetch", "fake:ok")
    assert pair.handed_over == []
    Path(pair.fake.home.config).write_text(settings)
    pair("fetch", "fake:ok")
    assert len(pair.handed_over) == 1


@pytest.mark.parametrize(
    "variable", ["PARALLEL_API_KEY", "CDPFETCH_JINA_ENABLED", "CDPFETCH_GITHUB_TOKEN", "PYTHONUTF8"]
)
def test_so_are_variables_that_name_them(pair: Pair, variable: str) -> None:
    pair.up()
    pair("fetch", "fake:ok", environment={variable: "0"})
    assert len(pair.handed_over) == 1


@pytest.mark.parametrize(("variables", "served"), [({"LC_ALL": "C"}, 1), ({"LC_ALL": "de_DE.ISO-8859-1"}, 0)])
def test_only_utf8_is_spoken(pair: Pair, variables: dict[str, str], served: int) -> None:
    pair.up()
    pair("fetch", "fake:ok", environment=variables)
    assert len(pair.handed_over) == 1 - served


def test_a_terminal_is_a_matter_for_cdpfetch(pair: Pair) -> None:
    pair.up()
    terminal, slave = os.openpty()
    with pair.start("fetch", "fake:ok:T", stderr=slave) as running:
        assert running.stdout.read() == b"1. T\n   fake:ok:T\n"
    os.close(slave)
    os.close(terminal)
    assert pair.handed_over == ["fetch fake:ok:T"]


def test_without_standard_streams_it_is_handed_over(pair: Pair) -> None:
    pair.up()
    with pair.start("fetch", "fake:ok", preexec_fn=lambda: os.close(2)) as running:
        assert running.stdout.read() == b"1. fake:ok\n   fake:ok\n"
    assert len(pair.handed_over) == 1


def test_a_runtime_directory_of_others_is_never_entered(pair: Pair) -> None:
    pair.up()
    os.chmod(pair.fake.home.run, 0o755)
    pair("fetch", "fake:ok")
    assert len(pair.handed_over) == 1


def test_cdpfetch_is_found_on_path_or_missed(pair: Pair, tmp_path: Path) -> None:
    lonely = tmp_path / "lonely"
    lonely.mkdir()
    alone = Pair(lonely / "cdpf", pair.fake)
    (lonely / "cdpf").write_bytes(pair.program.read_bytes())
    (lonely / "cdpf").chmod(0o755)
    assert alone("--version", environment={"PATH": str(pair.program.parent)})[:2] == (0, "cdpfetch 0.1.0\n")
    status, out, err = alone("--version", environment={"PATH": "/nowhere"})
    assert (status, out) == (3, "")
    assert "neither beside cdpf nor on PATH" in err


# Daemons that fail


def test_a_daemon_that_dies_is_told(pair: Pair) -> None:
    pair.up()
    status, out, err = pair("fetch", "--json", "fake:ok:A", "fake:wait:0.2 die", "fake:stall")
    documents = [json.loads(line) for line in out.splitlines()]
    assert (status, err, pair.handed_over) == (3, "", [])
    assert documents[0]["title"] == "A"
    for document in documents[1:]:
        reason = f"the daemon of {pair.fake.root} ended the connection while 2 requests were under way"
        assert document["error"] == {"code": "daemon_unavailable", "reason": reason, "hint": HINT}
        assert document["attempts"] == [{"source": "local", "code": "daemon_unavailable", "reason": reason}]


def test_what_nobody_heard_of_is_asked_for_by_cdpfetch(pair: Pair) -> None:
    pair.up()
    assert pair("fetch", "fake:quit")[0] == 3
    assert (pair.handed_over, len(pair.fake.starts)) == (["fetch fake:quit"], 3)


def test_nonsense_is_told(pair: Pair) -> None:
    pair.up()
    status, out, err = pair("fetch", "fake:garbage stall")
    assert (status, err) == (3, "")
    assert f"local: the daemon of {pair.fake.root} sent no message: a line is not" in out


@pytest.mark.parametrize("browser", [False, True])
def test_a_silent_daemon_is_ended(pair: Pair, browser: bool) -> None:
    pair.fake.script(browser=browser)
    pair.up()
    status, out, _ = pair("fetch", "fake:mute stall", "fake:stall")
    told = f"the daemon of {pair.fake.root} was silent for 0.6 s and was ended while 2 requests were under way"
    assert status == 3
    assert out.count(told) == 2
    assert process.start_time(pair.fake.starts[0]) is None
    assert not browser or process.start_time(int(pair.fake.lines("browser")[0])) is None


def test_a_silent_daemon_without_a_name_is_left(pair: Pair) -> None:
    pair.up()
    os.rename(pair.fake.home.pidfile, pair.fake.home.pidfile + "-away")
    status, out, _ = pair("fetch", "fake:mute stall")
    assert status == 3
    assert "was silent for 0.6 s while 1 request was under way\n" in out
    assert f"hint: {pair.fake.home.pidfile} names no process of cdpfetch" in out
    assert process.start_time(pair.fake.starts[0]) is not None


def test_heartbeats_are_signs_of_life(pair: Pair) -> None:
    pair.up()
    assert pair.same("fetch", "fake:wait:1.5 ok:Late")[1].startswith("1. Late\n")


# How it ends


def test_an_interrupt_is_130_and_hangs_up(pair: Pair) -> None:
    pair.up()
    with pair.start("fetch", "fake:stall") as running:
        while not fetches(pair):
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        assert running.communicate(timeout=10) == (b"", b"")
    assert running.returncode == 130
    end = time.monotonic() + 10
    while {"hang-up": True} not in pair.fake.requests:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_lines_come_as_soon_as_they_can(pair: Pair) -> None:
    pair.up()
    with pair.start("fetch", "--json", "fake:ok:A", "fake:stall", "fake:ok:C") as running:
        assert json.loads(running.stdout.readline())["title"] == "A"
        assert running.poll() is None
        running.terminate()
        assert running.stdout.read() == b""


def test_a_reader_that_left_is_no_trouble(pair: Pair) -> None:
    pair.up()
    with pair.start("fetch", "fake:wait:0.2 ok:A") as running:
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait(10) == 1
    assert pair.handed_over == []


@pytest.mark.skipif(sys.platform != "linux", reason="a full disk is had for nothing on Linux only")
def test_a_full_disk_is_no_success(pair: Pair) -> None:
    pair.up()
    with open("/dev/full", "wb") as full, pair.start("fetch", "fake:ok:A", stdout=full) as running:
        assert running.wait(10) == 1
