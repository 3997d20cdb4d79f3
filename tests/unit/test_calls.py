"""What both clients share."""

import pytest

from cdpfetch import calls, wire
from cdpfetch._version import __version__
from cdpfetch.errors import CdpFetchError, DaemonUnavailable
from cdpfetch.paths import Home

HOME = Home("/home/ann/.cdpfetch")


def test_every_option_has_a_field_of_the_wire():
    assert set(calls.FETCH_OPTIONS.values()) | {"url", "downloadDir"} == set(wire.OPS["fetch"])


def test_fields_of_a_fetch():
    assert calls.fetch_fields(HOME, {}) == {"op": "fetch", "downloadDir": "/home/ann/.cdpfetch/artifacts"}
    fields = calls.fetch_fields(HOME, {"output_dir": "/x/../y", "allow": ("a",), "headers": {"A": "b"}, "digest": None})
    assert fields == {"op": "fetch", "downloadDir": "/y", "allow": ["a"], "headers": {"A": "b"}}


def test_a_request_is_checked_and_bounded():
    assert calls.request_of("status", {}, 7) == {"id": 7, "op": "status"}
    with pytest.raises(CdpFetchError, match="unknown field"):
        calls.request_of("status", {"x": 1}, 7)
    with pytest.raises(CdpFetchError, match="longer than"):
        calls.request_of("open-browser", {"url": "x" * wire.MAX_LINE}, 7)


def test_errors_fill_what_a_document_lacks():
    event = {"event": "error", "code": "http_error", "reason": "404", "document": {"status": 404, "title": "Gone"}}
    document = calls.document_of("https://example.com/", event)
    assert (document["status"], document["title"], document["ok"]) == (404, "Gone", False)
    assert document["error"] == {"code": "http_error", "reason": "404", "hint": None}
    assert document["attempts"] == [{"source": "local", "code": "http_error", "reason": "404"}]


def test_what_a_document_says_itself_stays():
    own = {"error": {"code": "timeout", "reason": "own", "hint": "h"}, "attempts": [{"source": "github"}]}
    document = calls.document_of("u", {"event": "error", "code": "timeout", "reason": "other", "document": own})
    assert document["error"]["reason"] == "own"
    assert document["attempts"] == [{"source": "github"}]


@pytest.mark.parametrize("document", [None, [], "x"])
def test_a_result_without_document_is_internal(document):
    event = {"event": "result", "op": "fetch", "document": document}
    assert calls.document_of("u", event)["error"]["code"] == "internal"


def test_peers():
    assert calls.judge_peer((wire.PROTOCOL, __version__)) == "use"
    assert calls.judge_peer((wire.PROTOCOL, "99.0")) == "use"
    assert calls.judge_peer((wire.PROTOCOL, "0.0.9")) == "replace"
    assert calls.judge_peer((wire.PROTOCOL - 1, "99.0")) == "replace"
    with pytest.raises(DaemonUnavailable, match="newer than this one"):
        calls.judge_peer((wire.PROTOCOL + 1, "99.0"))


def test_the_lost_are_counted():
    error = calls.lost(CdpFetchError("daemon_unavailable", "it died", "again"), 1)
    assert (error.reason, error.hint) == ("it died while 1 request was under way", "again")
