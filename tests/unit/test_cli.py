"""The command in this process, against scripted daemons: what it prints where, and its exit status."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import twins

from cdpfetch import artifacts, cli, errors, wire
from cdpfetch.cli import output
from cdpfetch.cli.daemons import last_lines


@pytest.fixture
def run_here(capfdbinary):
    """Run the command in this process; returns (status, standard output, standard error)."""

    def call(*arguments):
        try:
            status = cli.main(list(arguments))
        except SystemExit as ended:
            status = ended.code
        out, err = capfdbinary.readouterr()
        return status, out.decode(), err.decode()

    return call


@pytest.fixture(scope="session")
def native(tmp_path_factory):
    """A ``cdpf`` beside a ``cdpfetch`` whose daemons are scripted ones."""
    directory = tmp_path_factory.mktemp("native")
    return twins.pair(directory / "bin", twins.build(directory / "cdpf"))


@pytest.fixture(params=["cdpfetch", "cdpf"])
def run(request):
    """Run the command, and the compiled one, with which every test passes too."""
    if request.param == "cdpfetch":
        return request.getfixturevalue("run_here")
    program = request.getfixturevalue("native")

    def call(*arguments):
        done = subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return call


def saved(fake, fetch_id="example.com-doc-0123abcd", text="# One\ntext\n# Two\nmore\n"):
    with artifacts.Draft(fake.home.artifacts, fetch_id) as draft:
        draft.write("content.md", "content", text, "text/markdown")
        return draft.commit({**artifacts.new_document("https://example.com/doc"), "ok": True, "title": "Doc"})


# The frame


def test_version_and_help(run):
    assert run("--version") == (0, "cdpfetch 0.1.0\n", "")
    status, out, _ = run("-h")
    assert status == 0
    for verb in cli.VERBS:
        assert verb in out
    assert "Exit status" in out
    assert run() == (2, out, "")


@pytest.mark.parametrize("verb", sorted(set(cli.VERBS)))
def test_every_verb_explains_itself(run, verb):
    status, out, err = run(verb, "-h")
    assert (status, err) == (0, "")
    assert out.startswith(f"usage: cdpfetch {verb}")


@pytest.mark.parametrize("verb", ["fetch", "read", "extract", "artifacts", "logs", "config", "doctor", "open-browser"])
def test_help_has_examples(run, verb):
    assert "Examples:\n  " in run(verb, "-h")[1]


def test_an_unknown_verb_is_wrong_usage(run):
    status, out, err = run("https://example.com/")
    assert (status, out) == (2, "")
    assert "cdpfetch fetch https://example.com/" in err
    assert run("fetsh")[0] == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("fetch",),
        ("fetch", "--colour", "http://x/"),
        ("fetch", "--format", "pdf", "http://x/"),
        ("fetch", "--deadline", "0", "http://x/"),
        ("fetch", "--header", "no colon", "http://x/"),
        ("fetch", "--header", "Bad Name: x", "http://x/"),
        ("fetch", "--redirects", "never", "http://x/"),
        ("read",),
        ("read", "x", "--offset", "0"),
        ("read", "x", "--limit", "many"),
        ("config",),
        ("artifacts",),
        ("status", "extra"),
    ],
)
def test_wrong_usage_is_two(run, arguments):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert "usage: cdpfetch" in err


@pytest.mark.parametrize(
    ("codes", "status"),
    [
        ([None, None], 0),
        ([None, "timeout"], 1),
        (["timeout", "daemon_unavailable"], 3),
        (["browser_not_found"], 3),
        (["config_error", "config_error"], 2),
        (["invalid_request", None], 1),
        (["invalid_request", "timeout"], 1),
        ([], 0),
    ],
)
def test_exit_status(codes, status):
    assert errors.exit_status(codes) == status


# fetch


def test_the_digest_is_the_default(fake, run):
    status, out, err = run("fetch", "fake:wait:0.1 ok:First", "fake:error:timeout", "fake:ok:Third")
    assert status == 1
    assert out == (
        "1. First\n   fake:wait:0.1 ok:First\n"
        "2. Third\n   fake:ok:Third\n"
        "Failed:\n- fake:error:timeout: local: seen timeout\n   hint: try\n"
    )
    assert err == ""


def test_json_is_one_object_a_line_in_request_order(fake, run):
    urls = ["fake:wait:0.2 ok:A", "fake:ok:B", "fake:error:dns_failed"]
    status, out, err = run("fetch", *urls, "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert (status, err) == (1, "")
    assert [line["url"] for line in lines] == urls
    assert [line["ok"] for line in lines] == [True, True, False]
    assert lines[2]["error"] == {"code": "dns_failed", "reason": "seen dns_failed", "hint": "try"}
    assert set(lines[0]) == set(artifacts.new_document(""))


def test_options_may_stand_anywhere(fake, run):
    run(
        "fetch",
        "--header",
        "A: b",
        "fake:ok",
        "--header",
        "A:c",
        "--allow",
        "x",
        "--allow",
        "y:1",
        "-o",
        "out",
        "fake:ok",
    )
    request = next(one for one in fake.requests if one.get("op") == "fetch")
    assert request["headers"] == {"A": "b, c"}
    assert request["allow"] == ["x", "y:1"]
    assert request["downloadDir"] == os.path.abspath("out")


def test_only_what_was_asked_for_is_sent(fake, run):
    run("fetch", "fake:ok")
    request = next(one for one in fake.requests if one.get("op") == "fetch")
    assert set(request) == {"id", "op", "downloadDir", "url", "share"}
    run(
        "fetch", "--screenshot", "--insecure", "--keep-page", "--wait-for", "a", "--redirects", "same-host", "fake:ok:x"
    )
    request = [one for one in fake.requests if one.get("op") == "fetch"][-1]
    assert (request["screenshot"], request["insecure"], request["keepPage"]) == (True, True, True)
    assert (request["waitFor"], request["redirects"]) == ("a", "same-host")


def test_no_daemon_is_three(fake, run):
    fake.script(start="refuse")
    status, out, err = run("fetch", "fake:ok")
    assert status == 3
    assert "browser_not_found" not in out
    assert "no Chrome" in out
    assert err == ""


def test_a_bad_setting_is_two_and_named(fake, run):
    with open(fake.home.config, "w", encoding="utf-8") as file:
        file.write("[fetch]\ntabs = 'many'\n")
    status, _, err = run("config", "show")
    assert status == 2
    assert "fetch.tabs" in err
    assert "'many'" in err
    assert "a whole number from 1 to 32" in err


def test_print_gives_the_content_itself(fake, run):
    status, out, err = run(
        "fetch", "--print", "fake:file:Some\x1b[1mText", "fake:ok", "fake:error:timeout", "fake:file:More"
    )
    assert (status, out) == (1, "Some\x1b[1mText\nMore\n")
    assert "has no markdown" in err
    assert "cdpfetch: fake:error:timeout: seen timeout\n  hint: try" in err


def test_what_cannot_be_printed_has_failed(fake, run):
    assert run("fetch", "--print", "fake:file:text")[0] == 0
    status, out, err = run("fetch", "--print", "fake:ok")
    assert (status, out) == (1, "")
    assert err.startswith("cdpfetch: fake:ok: the document has no markdown")


def test_json_lines_come_as_soon_as_they_can(fake):
    cli.main(["fetch", "fake:ok"])
    with subprocess.Popen(
        [sys.executable, "-m", "cdpfetch", "fetch", "--json", "fake:ok:A", "fake:stall", "fake:ok:C"],
        stdout=subprocess.PIPE,
    ) as running:
        assert json.loads(running.stdout.readline())["title"] == "A"
        assert running.poll() is None
        running.terminate()
        assert running.stdout.read() == b""


def test_terminals_are_not_steered_but_json_is_exact(fake, run):
    title = "a\x1b[31mb\x9bc\x7f\u2028d"
    _, out, _ = run("fetch", f"fake:ok:{title}")
    assert out.startswith("1. ab")
    assert "\x1b" not in out
    assert "\x9b" not in out
    _, out, _ = run("fetch", "--json", f"fake:ok:{title}")
    assert json.loads(out)["title"] == title
    assert not set(out) & {"\x1b", "\x9b", "\x7f"}


def test_json_text_escapes_controls_and_nothing_else():
    assert output.json_text("é漢\x00\x1f\x7f\x9f\U0001f600") == '"é漢\\u0000\\u001f\\u007f\\u009f\U0001f600"'


def test_lone_surrogates_can_be_printed(capfdbinary):
    output.print_json("\ud800")
    assert capfdbinary.readouterr().out == b'"\\ud800"\n'


def test_an_interrupt_is_130(fake, run_here, monkeypatch):
    def interrupted(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("cdpfetch.client.Client.fetch_documents", interrupted)
    assert run_here("fetch", "fake:ok") == (130, "", "")


def test_a_reader_that_left_is_no_trouble(fake):
    with subprocess.Popen(
        [sys.executable, "-m", "cdpfetch", "config", "show"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait() == 1


def test_progress_needs_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    progress = output.Progress(3)
    progress.done = 1
    progress.update("http://x/\x1b[2J", {"stage": "downloading", "receivedBytes": 2_000_000, "totalBytes": 9_000_000})
    progress.clear()
    progress.clear()
    assert sys.stderr.getvalue() == "\r\x1b[K[1/3] downloading 2.0 MB of 9.0 MB http://x/\r\x1b[K"
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    output.Progress(1).update("http://x/", {"stage": "navigating"})
    assert sys.stderr.getvalue() == ""


# read, extract, artifacts


def test_read_prints_a_page(fake, run):
    saved(fake)
    assert run("read", "example.com-doc-0123abcd", "--limit", "2") == (0, "# One\ntext\n", "")
    assert run("read", "example.com-doc-0123abcd", "--section", "two") == (0, "# Two\nmore\n", "")
    status, out, _ = run("read", "--json", "example.com-doc-0123abcd", "--offset", "3", "--limit", "1")
    page = json.loads(out)
    assert status == 0
    assert (page["offset"], page["limit"], page["next_offset"], page["total_lines"]) == (3, 1, 4, 4)
    assert page["text"] == "# Two\n"


def test_read_explains_what_is_wrong(fake, run):
    saved(fake)
    for arguments in (("nothing-0123abcd",), ("example.com-doc-0123abcd", "--offset", "9"), ("../x",)):
        status, out, err = run("read", *arguments)
        assert (status, out) == (2, "")
        assert err.startswith("cdpfetch: ")
        assert "hint: " in err


def test_artifacts_are_listed_and_pruned(fake, run):
    saved(fake)
    status, out, _ = run("artifacts", "list")
    assert status == 0
    assert out.startswith("example.com-doc-0123abcd\n")
    assert json.loads(run("artifacts", "list", "--json")[1])["title"] == "Doc"
    assert run("artifacts", "prune", "--max-total-mb", "0")[1].startswith("removed 1 document ")
    assert run("artifacts", "list")[1] == ""
    assert json.loads(run("artifacts", "prune", "--json")[1])["removed"] == []


def test_extract_reads_files_and_standard_input(fake, run_here, tmp_path, monkeypatch):
    page = tmp_path / "page.html"
    page.write_text(
        "<html><head><title>T</title></head><body><main><h1>Head</h1><p>Words to keep.</p></main></body></html>"
    )
    status, out, _ = run_here("extract", str(page))
    assert status == 0
    assert "Words to keep." in out
    status, out, _ = run_here("extract", str(page), "--json")
    assert json.loads(out)["title"] == "T"
    status, out, err = run_here("extract", str(tmp_path / "none"))
    assert (status, out) == (2, "")
    assert "cannot read" in err
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)))
    assert run_here("extract", str(tmp_path / "noise.bin"))[0] == 1
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(page.read_bytes())))
    status, out, _ = run_here("extract", "-")
    assert status == 0
    assert "Words to keep." in out


# The daemon's verbs


def test_status_stop_and_restart(fake, run):
    status, out, _ = run("status")
    assert status == 3
    assert "no daemon runs" in out
    assert json.loads(run("status", "--json")[1])["running"] is False
    assert fake.starts == []
    assert run("stop")[:2] == (0, "no daemon was running\n")
    run("fetch", "fake:ok")
    status, out, _ = run("status", "--json")
    assert status == 0
    assert json.loads(out)["pid"] == fake.starts[0]
    assert run("restart")[:2] == (0, f"started, process {fake.starts[1]}\n")
    assert "cdpfetch 0.1.0, process" in run("status")[1]
    assert run("stop")[:2] == (0, "stopped\n")
    assert run("close-browser")[0] == 3


def test_open_browser(fake, run, monkeypatch):
    for name in wire.DISPLAY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISPLAY", ":5")
    status, out, _ = run("open-browser", "https://example.com/login")
    assert status == 0
    assert "quit it to resume" in out
    request = {"id": 1, "op": "open-browser", "url": "https://example.com/login", "environment": {"DISPLAY": ":5"}}
    assert request in fake.requests


@pytest.mark.parametrize(("sites", "words"), [(0, "0 sites"), (1, "1 site"), (3, "3 sites")])
def test_open_browser_waits_for_the_end_of_the_window(sites, words, fake, run):
    fake.script(answers={"open-browser": {"stage": "interactive", "pid": 7, "sites": sites}})
    status, out, _ = run("open-browser", "--wait")
    assert (status, out.splitlines()) == (
        0,
        [
            "the browser is open; quit it to resume fetching",
            f"the browser is closed; the profile is signed in to {words}",
        ],
    )
    (request,) = [one for one in fake.requests if one.get("op") == "open-browser"]
    assert request["wait"] is True


@pytest.mark.parametrize(
    ("closed", "words"), [(True, "the browser is closed\n"), (False, "no browser window was open\n")]
)
def test_close_browser(closed, words, fake, run):
    fake.script(answers={"close-browser": {"closed": closed}})
    run("status")
    run("fetch", "fake:ok")
    assert run("close-browser")[:2] == (0, words)


def cookie(name, expires=None, path="/"):
    return {"name": name, "domain": ".example.com", "path": path, "secure": True, "httpOnly": True, "expires": expires}


SITES = [
    {
        "site": "example.com",
        "recorded": True,
        "origins": ["https://example.com"],
        "cookies": [cookie("sid"), cookie("lang\x1b[2J", "2027-01-01T00:00:00+00:00", "/a")],
    },
    {"site": "example.net", "recorded": True, "origins": ["https://app.example.net"], "cookies": []},
    {"site": "example.org", "recorded": False, "origins": [], "cookies": [cookie("x")]},
]


def test_sessions_are_listed(fake, run):
    fake.script(answers={"sessions": {"sites": SITES}})
    status, out, err = run("sessions")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[:2] == ["example.com", "   sid (.example.com/): session"]
    assert lines[2].startswith("   lang")
    assert lines[2].endswith("(.example.com/a): 2027-01-01T00:00:00+00:00")
    assert "\x1b" not in out
    assert lines[3:] == [
        "example.net",
        "   no cookies; it was visited in the window, and may keep its session elsewhere",
        "example.org  (visited without it: not signed in to in the window)",
        "   x (.example.com/): session",
    ]
    listed = [json.loads(line) for line in run("sessions", "list", "--json")[1].splitlines()]
    assert [one["site"] for one in listed] == ["example.com", "example.net", "example.org"]
    assert listed[0]["cookies"][0]["http_only"] is True


def test_no_session_names_the_next_command(fake, run):
    fake.script(answers={"sessions": {"sites": []}})
    assert "cdpfetch open-browser URL" in run("sessions")[1]
    assert run("sessions", "--json")[:2] == (0, "")


def test_sessions_are_cleared(fake, run):
    fake.script(answers={"sessions": {"sites": ["example.com"], "cookies": 2}})
    assert run("sessions", "clear", "example.com")[:2] == (0, "removed 2 cookies of 1 site\n")
    assert {"id": 1, "op": "sessions", "action": "clear", "site": "example.com"} in fake.requests
    assert json.loads(run("sessions", "clear", "--json")[1]) == {"sites": ["example.com"], "cookies": 2}
    assert run("sessions", "list", "example.com")[0] == 2
    assert run("sessions", "forget")[0] == 2


def test_logs_show_the_end(fake, run):
    assert run("logs")[0] == 1
    os.makedirs(fake.home.logs)
    with open(fake.home.log, "w", encoding="utf-8") as file:
        file.write("".join(f"line {number}\n" for number in range(1000)) + "\x1b[2Jlast")
    assert run("logs", "-n", "3")[1] == "line 998\nline 999\nlast"
    assert run("logs", "-n", "0")[1] == ""
    assert len(run("logs")[1].splitlines()) == 50


@pytest.mark.parametrize("count", [0, 1, 3, 5000])
def test_last_lines_are_those_of_tail(count):
    lines = [b"x" * (number % 700) + b"\n" for number in range(2000)]
    assert last_lines(io.BytesIO(b"".join(lines)), count) == (lines[-count:] if count else [])
    assert last_lines(io.BytesIO(b""), count) == []


# config


def test_config_verbs(fake, run):
    assert run("config", "path") == (0, fake.home.config + "\n", "")
    assert run("config", "get", "browser.headless_idle") == (0, "60.0\n", "")
    status, out, _ = run("config", "set", "network.allow", "127.0.0.1:80,*.corp.example")
    assert status == 0
    assert out.startswith('network.allow = ["127.0.0.1:80", "*.corp.example"]\n')
    assert run("config", "get", "network.allow")[1] == "127.0.0.1:80,*.corp.example\n"
    assert 'allow = ["127.0.0.1:80", "*.corp.example"]  # config.toml' in run("config", "show")[1]
    assert os.stat(fake.home.config).st_mode & 0o777 == 0o600


def test_config_keeps_comments_and_secrets(fake, run):
    with open(fake.home.config, "w", encoding="utf-8") as file:
        file.write("# mine\n[fetch]\ntabs = 2 # few\n")
    assert run("config", "set", "github.token", "s3cret")[1].startswith('github.token = "[configured]"')
    run("config", "set", "fetch.challenge.escalation", "never")
    run("config", "set", "fetch.tabs", "3")
    text = Path(fake.home.config).read_text()
    assert "# mine" in text
    assert "tabs = 3 # few" in text
    assert 'token = "s3cret"' in text
    for arguments in (("show",), ("show", "--json"), ("get", "github.token")):
        _, out, _ = run("config", *arguments)
        assert "s3cret" not in out
        assert "[configured]" in out
    run("config", "set", "github.token", "")
    assert "s3cret" not in Path(fake.home.config).read_text()
    assert run("config", "get", "github.token")[1] == "\n"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("set", "fetch.tabs", "99"), "a whole number from 1 to 32"),
        (("set", "fetch.nothing", "1"), "keys of [fetch]: tabs"),
        (("get", "nothing"), "sections: browser"),
        (("set", "jina.enabled", "perhaps"), "true, false"),
    ],
)
def test_config_refuses_what_is_wrong(fake, run, arguments, named):
    status, out, err = run("config", *arguments)
    assert (status, out) == (2, "")
    assert named in err
    assert not os.path.exists(fake.home.config)


def test_a_variable_that_wins_is_told(fake, run, monkeypatch):
    monkeypatch.setenv("CDPFETCH_FETCH_TABS", "5")
    assert "CDPFETCH_FETCH_TABS is set and wins" in run("config", "set", "fetch.tabs", "4")[1]
