"""What proxy auto-config scripts may call, with names and times that are given."""

from __future__ import annotations

import datetime as dt
import fnmatch
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdpfetch.daemon.guard.pac.functions import Functions, matches

NAMES = {"www.example.com": "198.51.100.7", "wiki.corp.example": "10.1.2.3"}
# A Wednesday, half past ten in the evening, two hours before Greenwich's time.
NOW = dt.datetime(2026, 12, 30, 22, 30, 15, tzinfo=dt.timezone(dt.timedelta(hours=-2)))


def call(name: str, *args: Any, now: dt.datetime = NOW) -> Any:
    return Functions(NAMES.get, lambda: "192.0.2.9", lambda: now).table[name](*args)


@pytest.mark.parametrize(
    ("name", "args", "result"),
    [
        ("isPlainHostName", ("www",), True),
        ("isPlainHostName", ("www.example.com",), False),
        ("isPlainHostName", ("2001:db8::1",), False),
        ("dnsDomainIs", ("www.Example.com", ".example.com"), True),
        ("dnsDomainIs", ("www", ".example.com"), False),
        ("localHostOrDomainIs", ("www.example.com", "www.example.com"), True),
        ("localHostOrDomainIs", ("www", "www.example.com"), True),
        ("localHostOrDomainIs", ("www.other.com", "www.example.com"), False),
        ("localHostOrDomainIs", ("ww", "www.example.com"), False),
        ("isResolvable", ("www.example.com",), True),
        ("isResolvable", ("no.example.com",), False),
        ("dnsResolve", ("wiki.corp.example",), "10.1.2.3"),
        ("dnsResolve", ("10.9.9.9",), "10.9.9.9"),
        ("dnsResolve", ("no.example.com",), None),
        ("isInNet", ("wiki.corp.example", "10.0.0.0", "255.0.0.0"), True),
        ("isInNet", ("10.1.2.3", "10.1.0.0", "255.255.0.0"), True),
        ("isInNet", ("10.2.2.3", "10.1.0.0", "255.255.0.0"), False),
        ("isInNet", ("no.example.com", "0.0.0.0", "0.0.0.0"), False),
        ("isInNet", ("10.1.2.3", "nonsense", "255.0.0.0"), False),
        ("myIpAddress", (), "192.0.2.9"),
        ("dnsDomainLevels", ("www",), 0),
        ("dnsDomainLevels", ("www.example.com",), 2),
        ("shExpMatch", ("http://a.example/x", "*.example/*"), True),
        ("shExpMatch", ("a.example", "?.example"), True),
        ("shExpMatch", ("a.example", "a[.]example"), False),
        ("shExpMatch", ("a.example.org", "*.example"), False),
        ("alert", ("hello",), None),
        ("weekdayRange", ("WED",), True),
        ("weekdayRange", ("WED", "GMT"), False),
        ("weekdayRange", ("THU", "GMT"), True),
        ("weekdayRange", ("MON", "FRI"), True),
        ("weekdayRange", ("SAT", "WED"), True),
        ("weekdayRange", ("SAT", "TUE"), False),
        ("dateRange", (30,), True),
        ("dateRange", (31, "GMT"), True),
        ("dateRange", ("DEC",), True),
        ("dateRange", (2026,), True),
        ("dateRange", (2027,), False),
        ("dateRange", (24, "DEC"), False),
        ("dateRange", (30, "DEC"), True),
        ("dateRange", (30, "DEC", 2026), True),
        ("dateRange", (30, "DEC", 2025), False),
        ("dateRange", (1, 15), False),
        ("dateRange", (15, 31), True),
        ("dateRange", (20, 5), True),
        ("dateRange", ("NOV", "FEB"), True),
        ("dateRange", ("JAN", "MAR"), False),
        ("dateRange", (2025, 2027), True),
        ("dateRange", (1, "JUN", 15, "AUG"), False),
        ("dateRange", (24, "DEC", 6, "JAN"), True),
        ("dateRange", ("OCT", 2026, "MAR", 2027), True),
        ("dateRange", (1, "JAN", 2026, 29, "DEC", 2026), False),
        ("timeRange", (22,), True),
        ("timeRange", (23,), False),
        ("timeRange", (0, "GMT"), True),
        ("timeRange", (9, 17), False),
        ("timeRange", (21, 22), True),
        ("timeRange", (22, 6), True),
        ("timeRange", (22, 0, 22, 30), True),
        ("timeRange", (22, 0, 22, 29), False),
        ("timeRange", (22, 30, 15, 22, 30, 15), True),
        ("timeRange", (22, 30, 16, 22, 40, 0), False),
    ],
)
def test_a_function_of_scripts(name: str, args: tuple[Any, ...], result: Any) -> None:
    assert call(name, *args) == result


@given(st.text("ab*?.", max_size=12), st.text("ab.", max_size=12))
def test_a_pattern_is_what_the_shell_understands(pattern: str, text: str) -> None:
    assert matches(text, pattern) is bool(re.match(fnmatch.translate(pattern), text))


def test_a_hostile_pattern_takes_no_time() -> None:
    assert not matches("a" * 2000, "*a" * 400 + "b")
