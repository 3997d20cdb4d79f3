"""The blocking client against scripted daemons: starting, multiplexing, and every way in which a daemon can fail."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from cdpfetch import process, starting
from cdpfetch.client import Client
from cdpfetch.connection import NotRunning
from cdpfetch.errors import CdpFetchError, DaemonUnavailable, FetchError


def codes(outcomes):
    return [outcome.error.code if outcome.error else "ok" for outcome in outcomes]


def alive(pid):
    return process.start_time(pid) is not None


def wait_for(condition, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# Starting


def test_the_first_call_starts_a_daemon_and_later_ones_use_it(fake):
    with Client() as client:
        assert client.fetch("fake:ok:One").title == "One"
    with Client(fake.root) as client:
        assert client.fetch("fake:ok:Two").title == "Two"
    assert len(fake.starts) == 1


@pytest.mark.parametrize(
    ("ask", "warm"),
    [
        (lambda client: client.fetch("fake:ok"), True),
        (lambda client: client.fetch("fake:ok", engine="http"), False),
        (lambda client: client.request({"op": "sessions"}), False),
    ],
)
def test_only_for_a_fetch_that_needs_it_the_browser_starts_with_the_daemon(fake, ask, warm):
    with Client() as client, contextlib.suppress(CdpFetchError):
        ask(client)
    assert ("--warm" in process.command_line(fake.starts[0])) == warm


def test_the_daemon_is_detached(fake):
    with Client() as client:
        client.fetch("fake:ok")
    pid = fake.starts[0]
    assert os.getsid(pid) != os.getsid(0)
    assert process._parents()[pid] != os.getpid()
    assert "-m" not in process.command_line(pid)
    if os.path.isdir(f"/proc/{pid}/fd"):
        held = {name: os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")}
        assert held["0"] == os.devnull
        assert held["1"] == held["2"] == fake.home.log
        assert not [target for target in held.values() if target.startswith("pipe:")]
        assert os.readlink(f"/proc/{pid}/cwd") == "/"


def test_inherited_descriptors_do_not_reach_the_daemon(fake):
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    with Client() as client:
        client.fetch("fake:ok")
    os.close(writer)
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_the_home_is_private(fake):
    os.rmdir(fake.root)
    with Client() as client:
        client.fetch("fake:ok")
    for directory in (fake.home.root, fake.home.run, fake.home.logs):
        assert os.stat(directory).st_mode & 0o777 == 0o700


def test_the_daemon_gets_the_environment_that_is_given(fake):
    with Client(fake.root, environment={"PATH": os.environ["PATH"], "CDPFETCH_TEST": "yes"}) as client:
        client.fetch("fake:ok")
    if os.path.isdir("/proc/self"):
        with open(f"/proc/{fake.starts[0]}/environ", encoding="utf-8") as file:
            found = dict(line.partition("=")[::2] for line in file.read().split("\0") if line)
        assert found["CDPFETCH_TEST"] == "yes"
        assert found["CDPFETCH_HOME"] == fake.root
        assert "HOME" not in found


def test_many_clients_start_one_daemon(fake):
    titles = []

    def fetch(number):
        with Client() as client:
            titles.append(client.fetch(f"fake:ok:{number}").title)

    threads = [threading.Thread(target=fetch, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(titles, key=int) == [str(number) for number in range(20)]
    assert len(fake.starts) == 1


def test_without_start_nothing_is_started(fake):
    with Client(start=False) as client, pytest.raises(NotRunning):
        client.request("status")
    with Client() as client, pytest.raises(DaemonUnavailable, match="no daemon listens"):
        client.status()
    assert fake.starts == []


@pytest.mark.parametrize(
    ("start", "code", "words"),
    [
        ("refuse", "browser_not_found", "no Chrome"),
        ("crash", "daemon_unavailable", "crashed on purpose"),
    ],
)
def test_a_daemon_that_cannot_start_says_why(fake, start, code, words):
    fake.script(start=start)
    with Client() as client, pytest.raises(CdpFetchError, match=words) as caught:
        client.request("status")
    assert caught.value.code == code
    with Client() as client:
        assert codes(client.fetch_many(["fake:ok", "fake:ok"])) == [code, code]


def test_a_daemon_that_never_gets_ready_is_given_up(fake, monkeypatch):
    monkeypatch.setattr(starting, "START_SECONDS", 0.3)
    fake.script(start="mute")
    with Client() as client, pytest.raises(DaemonUnavailable, match="not ready within"):
        client.request("status")


def test_a_stale_socket_file_is_no_daemon(fake):
    os.makedirs(fake.home.run, 0o700)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(fake.home.socket)
    listener.close()
    with Client() as client:
        assert client.fetch("fake:ok").ok


def test_a_holder_of_the_lock_without_a_socket_is_replaced(fake, monkeypatch):
    monkeypatch.setattr(starting, "END_SECONDS", 0.5)
    with Client() as client:
        client.fetch("fake:ok")
    os.unlink(fake.home.socket)
    with Client() as client:
        assert client.fetch("fake:ok").ok
    assert not alive(fake.starts[0])
    assert len(fake.starts) > 1


def test_a_home_that_cannot_be_is_explained(tmp_path):
    (tmp_path / "file").write_text("")
    with Client(str(tmp_path / "file")) as client, pytest.raises(CdpFetchError) as caught:
        client.request("status")
    assert caught.value.code == "config_error"


def test_a_runtime_directory_that_others_may_enter_is_narrowed(fake):
    os.makedirs(fake.home.run, 0o700)
    os.chmod(fake.home.run, 0o777)
    with Client() as client:
        client.fetch("fake:ok")
    assert os.stat(fake.home.run).st_mode & 0o777 == 0o700


# Requests


def test_results_come_in_request_order(fake):
    urls = ["fake:wait:0.2 ok:A", "fake:ok:B", "fake:error:timeout", "fake:wait:0.1 ok:D"]
    seen = []
    with Client() as client:
        documents = client.fetch_documents(urls, on_document=lambda index, document: seen.append(index))
    assert [document["title"] for document in documents] == ["A", "B", None, "D"]
    assert [document["url"] for document in documents] == urls
    assert sorted(seen) == [0, 1, 2, 3]
    assert seen[-1] == 0


def test_more_requests_than_the_window(fake):
    urls = [f"fake:ok:{number}" for number in range(300)]
    with Client() as client:
        assert [outcome.document.title for outcome in client.fetch_many(urls)] == [str(n) for n in range(300)]


def test_no_requests_need_no_daemon(fake):
    with Client() as client:
        assert client.fetch_many([]) == []
    assert fake.starts == []


def test_options_become_fields(fake):
    with Client() as client:
        client.fetch(
            "fake:ok",
            wait_for="#x",
            keep_page=True,
            headers={"A": "b"},
            allow=("127.0.0.1:1",),
            deadline=3,
            format=None,
        )
        client.fetch("fake:ok", output_dir="~/somewhere")
    first, second = [request for request in fake.requests if request.get("op") == "fetch"]
    assert first == {
        "id": 1,
        "op": "fetch",
        "downloadDir": fake.home.artifacts,
        "url": "fake:ok",
        "waitFor": "#x",
        "keepPage": True,
        "headers": {"A": "b"},
        "allow": ["127.0.0.1:1"],
        "deadline": 3,
    }
    assert second["downloadDir"] == os.path.expanduser("~/somewhere")


def test_a_relative_output_directory_is_the_callers(fake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Client() as client:
        assert client.fetch("fake:ok", output_dir="out").dir == str(tmp_path / "out")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"colour": 1}, "unknown option 'colour'"),
        ({"deadline": "soon"}, "deadline"),
        ({"format": "pdf"}, "format"),
        ({"redirects": "never"}, "redirects"),
    ],
)
def test_a_wrong_call_is_an_error_before_any_daemon(fake, options, words):
    with Client() as client, pytest.raises(CdpFetchError, match=words) as caught:
        client.fetch_many(["fake:ok"], **options)
    assert caught.value.code == "invalid_request"
    assert fake.starts == []


def test_an_overlong_request_fails_alone(fake):
    with Client() as client:
        outcomes = client.fetch_many(["fake:ok", "fake:" + "x" * 600_000, "fake:ok"])
    assert codes(outcomes) == ["ok", "invalid_request", "ok"]


def test_progress_reaches_the_callback(fake):
    seen = []
    with Client() as client:
        client.fetch("fake:status:3 ok", on_status=lambda url, event: seen.append((url, event["stage"])))
    assert seen == [("fake:status:3 ok", "queued")] + [("fake:status:3 ok", "downloading")] * 3


def test_a_flood_of_events_is_no_trouble(fake):
    with Client() as client:
        assert client.fetch("fake:status:20000 ok:End").title == "End"


def test_messages_in_single_bytes_and_for_unknown_ids_are_fine(fake):
    with Client() as client:
        assert client.fetch("fake:drip").title == "dripped"


def test_a_failed_url_raises_with_its_trail(fake):
    with Client() as client, pytest.raises(FetchError) as caught:
        client.fetch("fake:error:timeout")
    assert (caught.value.code, caught.value.reason, caught.value.hint) == ("timeout", "seen timeout", "try")
    assert caught.value.attempts == [{"source": "local", "code": "timeout", "reason": "seen timeout"}]


def test_a_failed_document_is_kept(fake):
    with Client() as client:
        outcome = client.fetch_many(["fake:partial:http_error"])[0]
    assert outcome.error is not None
    assert outcome.error.code == "http_error"
    assert outcome.document.status == 404
    assert outcome.document.bodies == [{"name": "content.md"}]


def test_a_result_without_document_is_an_internal_error(fake):
    with Client() as client:
        assert codes(client.fetch_many(["fake:nothing"])) == ["internal"]


def test_an_unknown_code_becomes_internal(fake):
    with Client() as client:
        assert codes(client.fetch_many(["fake:error:strange"])) == ["internal"]


def test_a_timeout_cancels_the_request(fake):
    with Client() as client:
        with pytest.raises(CdpFetchError, match=r"no answer within 0\.2 s") as caught:
            client.request("fetch", url="fake:stall", downloadDir="/x", timeout=0.2)
        assert caught.value.code == "timeout"
        assert client.fetch("fake:ok").ok
    assert {"id": 2, "op": "cancel", "target": 1} in fake.requests


def test_leaving_hangs_up(fake):
    with Client() as client:
        client.fetch("fake:ok")
    wait_for(lambda: {"hang-up": True} in fake.requests)


def test_a_callback_that_raises_hangs_up(fake):
    def explode(_url, _event):
        raise KeyboardInterrupt

    with Client() as client:
        with pytest.raises(KeyboardInterrupt):
            client.fetch("fake:stall", on_status=explode)
        wait_for(lambda: {"hang-up": True} in fake.requests)


# Failing daemons


def test_a_daemon_that_dies_fails_what_it_had_at_once(fake):
    start = time.monotonic()
    with Client() as client:
        outcomes = client.fetch_many(["fake:stall", "fake:wait:0.1 die", "fake:stall"])
        assert codes(outcomes) == ["daemon_unavailable"] * 3
        assert "while 3 requests were under way" in outcomes[0].error.reason
        assert outcomes[0].error.hint
        assert time.monotonic() - start < 5
        assert client.fetch("fake:ok").ok
    assert len(fake.starts) == 2


def test_what_was_done_before_the_death_stays_done(fake):
    with Client() as client:
        assert codes(client.fetch_many(["fake:ok", "fake:wait:0.2 die"])) == ["ok", "daemon_unavailable"]


def test_what_was_not_sent_goes_to_a_new_daemon(fake):
    urls = ["fake:wait:0.2 die"] + ["fake:stall"] * 63 + ["fake:ok"] * 5
    with Client() as client:
        assert codes(client.fetch_many(urls)) == ["daemon_unavailable"] * 64 + ["ok"] * 5
    assert len(fake.starts) == 2


def test_a_request_that_nobody_heard_of_is_tried_once_more(fake):
    with Client() as client:
        assert codes(client.fetch_many(["fake:quit"])) == ["daemon_unavailable"]
    assert len(fake.starts) == 2


def test_an_idle_daemon_that_left_is_replaced_unseen(fake):
    with Client() as client:
        client.fetch("fake:ok")
        os.kill(fake.starts[0], signal.SIGKILL)
        wait_for(lambda: not alive(fake.starts[0]))
        assert client.fetch("fake:ok").ok


def test_nonsense_on_the_socket_ends_the_connection(fake):
    with Client() as client:
        assert codes(client.fetch_many(["fake:garbage stall"])) == ["daemon_unavailable"]
        assert client.fetch("fake:ok").ok


@pytest.mark.parametrize("hello", ["silent", "hang-up"])
def test_a_daemon_that_does_not_greet_is_got_over(fake, short_silence, hello):
    fake.script(hello=hello)
    with Client() as client:
        if hello == "silent":
            threading.Timer(0.3, fake.script).start()
        assert client.fetch("fake:ok").ok


def test_another_program_on_the_socket_is_named(fake):
    fake.script(hello="garbage")
    with Client() as client, pytest.raises(DaemonUnavailable, match=r"not a cdpfetch daemon: .* no message"):
        client.request("status")


def test_a_wedged_daemon_is_ended_and_replaced(fake, short_silence, monkeypatch):
    monkeypatch.setattr(starting, "FOLLOW_SECONDS", 0.3)
    fake.script(browser=True)
    with Client() as client:
        client.fetch("fake:ok")
        daemon, browser = fake.starts[0], int(fake.lines("browser")[0])
        os.kill(daemon, signal.SIGSTOP)
        outcomes = client.fetch_many(["fake:ok", "fake:ok"])
        assert codes(outcomes) == ["daemon_unavailable"] * 2
        assert "silent" in outcomes[0].error.reason
        assert "was ended" in outcomes[0].error.reason
        assert not alive(daemon)
        assert not alive(browser)
        assert client.fetch("fake:ok").ok
    assert len(fake.starts) == 2


def test_a_call_that_finds_a_wedged_daemon_is_not_lost(fake, short_silence):
    with Client() as client:
        client.fetch("fake:ok")
    os.kill(fake.starts[0], signal.SIGSTOP)
    with Client() as client:
        assert client.fetch("fake:ok").ok
    assert not alive(fake.starts[0])


def test_heartbeats_keep_a_slow_request_alive(fake, short_silence):
    with Client() as client:
        assert client.fetch("fake:wait:1.2 ok:slow").title == "slow"


def test_a_process_that_is_not_ours_is_never_ended(fake, short_silence):
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()", "cdpfetch"], stdin=-1) as other:
        with Client() as client:
            client.fetch("fake:ok")
            with open(fake.home.pidfile, "w", encoding="utf-8") as file:
                json.dump({"pid": other.pid, "started": "1", "version": "0.1.0"}, file)
            os.kill(fake.starts[0], signal.SIGSTOP)
            outcome = client.fetch_many(["fake:ok"])[0]
        assert outcome.error.code == "daemon_unavailable"
        assert "by hand" in outcome.error.hint
        assert other.poll() is None
        assert alive(fake.starts[0])
        other.stdin.close()


# Versions


@pytest.mark.parametrize("behaviour", [{"version": "0.0.9"}, {"protocol": 0}])
def test_an_older_daemon_is_drained_and_replaced(fake, behaviour):
    fake.script(**behaviour)
    with Client(start=False) as client:
        starting.start(client.home)
    fake.script()
    with Client() as client:
        assert client.fetch("fake:ok").ok
    assert len(fake.starts) == 2
    assert not alive(fake.starts[0])
    assert {"id": 0, "op": "shutdown", "drain": True} in fake.requests


def test_a_newer_daemon_of_the_same_protocol_is_used(fake):
    fake.script(version="9.0.0")
    with Client() as client:
        assert client.fetch("fake:ok").ok


def test_a_newer_daemon_of_another_protocol_is_an_error(fake):
    fake.script(version="9.0.0", protocol=2)
    with Client() as client, pytest.raises(DaemonUnavailable, match=r"9\.0\.0 \(protocol 2\), newer than this one"):
        client.request("status")
    assert alive(fake.starts[0])


# Stopping


def test_stop_waits_until_all_is_gone(fake, monkeypatch):
    monkeypatch.setattr(starting, "FOLLOW_SECONDS", 0.3)
    fake.script(browser=True)
    with Client() as client:
        client.fetch("fake:ok")
        assert client.stop() is True
        assert not alive(fake.starts[0])
        assert not alive(int(fake.lines("browser")[0]))
        assert client.stop() is False


def test_stop_ends_a_wedged_daemon(fake, short_silence):
    with Client() as client:
        client.fetch("fake:ok")
        os.kill(fake.starts[0], signal.SIGSTOP)
        assert client.stop() is True
    assert not alive(fake.starts[0])


def test_stop_finds_a_daemon_that_lost_its_socket(fake):
    with Client() as client:
        client.fetch("fake:ok")
        os.unlink(fake.home.socket)
        assert client.stop() is True
    assert not alive(fake.starts[0])


def test_restart_gives_another_process(fake):
    with Client() as client:
        client.fetch("fake:ok")
        assert client.restart()["pid"] == fake.starts[1]
        assert client.status()["pid"] == fake.starts[1]
