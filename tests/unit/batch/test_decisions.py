"""What becomes of outcomes."""

from __future__ import annotations

from typing import Any

import pytest

from cdpfetch.batch.decisions import Decision, decide, retry_after


def failed(code: str, status: int | None = None, hint: str | None = None) -> dict[str, Any]:
    return {"error": {"code": code, "reason": "r", "hint": hint}, "status": status}


def test_a_good_document_is_final() -> None:
    assert decide({"error": None, "status": 200}, 1, 3, 0.0, 0.5) == Decision()


@pytest.mark.parametrize(("code", "status"), [("http_error", 404), ("blocked_address", None), ("too_large", None)])
def test_what_will_not_pass_is_final(code: str, status: int | None) -> None:
    assert decide(failed(code, status), 1, 3, 0.0, 0.5) == Decision()


def test_pauses_double_and_end() -> None:
    assert [decide(failed("timeout"), tries, 3, 0.0, 0.5).again for tries in (1, 2, 3, 4)] == [2.0, 4.0, 8.0, None]
    assert decide(failed("dns_failed"), 30, 99, 0.0, 0.5).again == 300.0


def test_a_server_is_asked_when_it_says() -> None:
    decision = decide(failed("http_error", 429, "fetch it again later: Retry-After: 120"), 1, 3, 0.0, 0.5)
    assert decision == Decision(again=120.0, pause=120.0)
    date = {"hint": "x: Retry-After: Thu, 01 Jan 1970 00:01:00 GMT"}
    assert retry_after(date, 15.0) == 45.0
    assert retry_after({"hint": "Retry-After: soon"}, 0.0) is None


def test_what_is_not_the_urls_fault() -> None:
    assert decide(failed("disk_full"), 1, 3, 0.0, 0.5).halt
    assert not decide(failed("interactive_open"), 9, 0, 0.0, 0.5).counts
    assert decide(failed("daemon_unavailable"), 5, 0, 0.0, 0.5).again is not None
    assert decide(failed("daemon_unavailable"), 6, 0, 0.0, 0.5).again is None
