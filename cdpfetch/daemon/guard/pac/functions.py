"""The functions that a proxy auto-config script may call, as browsers understand them; names and times are given.

The set is that of Netscape's original description, which browsers follow; hours, minutes and seconds that a range of
times leaves out are inclusive, as in Chrome.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Callable
from typing import Any

Resolve = Callable[[str], str | None]
"""The first IPv4 address of a name, or None."""

_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


class Functions:
    """Them all; ``table`` has them by their names in scripts."""

    def __init__(self, resolve: Resolve, own: Callable[[], str], now: Callable[[], dt.datetime]) -> None:
        self._resolve = resolve
        self._own = own
        self._now = now  # with a zone
        self.table: dict[str, Callable[..., Any]] = {
            "isPlainHostName": is_plain,
            "dnsDomainIs": domain_is,
            "localHostOrDomainIs": host_or_domain_is,
            "isResolvable": lambda host, *_: self._address(host) is not None,
            "isInNet": self._in_net,
            "dnsResolve": lambda host, *_: self._address(host),
            "myIpAddress": lambda *_: self._own(),
            "dnsDomainLevels": lambda host, *_: str(host).count("."),
            "shExpMatch": lambda text, pattern, *_: matches(str(text), str(pattern)),
            "weekdayRange": lambda *args: weekday_range(self._at(args), _named(args)),
            "dateRange": lambda *args: date_range(self._at(args), _named(args)),
            "timeRange": lambda *args: time_range(self._at(args), _named(args)),
            "alert": lambda *_: None,
        }

    def _address(self, host: object) -> str | None:
        text = str(host)
        return text if _ipv4(text) is not None else self._resolve(text)

    def _in_net(self, host: object, pattern: object, mask: object, *_: object) -> bool:
        found = self._address(host)
        address, wanted, bits = _ipv4(found or ""), _ipv4(str(pattern)), _ipv4(str(mask))
        if address is None or wanted is None or bits is None:
            return False
        return int(address) & int(bits) == int(wanted) & int(bits)

    def _at(self, args: tuple[object, ...]) -> dt.datetime:
        """Now, here or (a last argument ``"GMT"``) in Greenwich."""
        now = self._now()
        return now.astimezone(dt.UTC) if args and args[-1] == "GMT" else now


def is_plain(host: object, *_: object) -> bool:
    """Whether a host name has no dots."""
    return "." not in str(host) and ":" not in str(host)


def domain_is(host: object, domain: object, *_: object) -> bool:
    """Whether a host's name ends so."""
    return str(host).lower().endswith(str(domain).lower())


def host_or_domain_is(host: object, whole: object, *_: object) -> bool:
    """Whether a host is the one named, or its name without a domain."""
    name, wanted = str(host).lower(), str(whole).lower()
    return name == wanted or ("." not in name and wanted.startswith(name + "."))


def matches(text: str, pattern: str) -> bool:
    """Whether a shell pattern (``*`` and ``?``) covers a text, in time that grows with both and no more."""
    at = where = 0
    star, retry = -1, 0  # the last star in the pattern, and where in the text to go on from it
    while at < len(text):
        if where < len(pattern) and pattern[where] == "*":
            star, retry = where, at
            where += 1
        elif where < len(pattern) and pattern[where] in ("?", text[at]):
            at, where = at + 1, where + 1
        elif star >= 0:
            retry += 1
            at, where = retry, star + 1
        else:
            return False
    return not pattern[where:].strip("*")


def weekday_range(now: dt.datetime, args: list[Any]) -> bool:
    """``("MON")`` or ``("FRI", "MON")``."""
    days = [_DAYS.index(str(day).upper()) for day in args]
    return _within((days[0],), ((now.weekday() + 1) % 7,), (days[-1],))


def date_range(now: dt.datetime, args: list[Any]) -> bool:
    """A day, month or year, several of these in this order for one date, or two such dates for a range."""
    parts = [_date_part(arg) for arg in args]
    half = len(parts) // 2
    kinds = [kind for kind, _ in parts]
    is_range = len(parts) % 2 == 0 and kinds[:half] == kinds[half:]
    first, last = (parts[:half], parts[half:]) if is_range else (parts, parts)
    present = {"d": now.day, "m": now.month, "y": now.year}
    order = sorted({kind for kind, _ in first}, key="ymd".index)
    low, high = ([dict(one)[kind] for kind in order] for one in (first, last))
    return _within(tuple(low), tuple(present[kind] for kind in order), tuple(high))


def time_range(now: dt.datetime, args: list[Any]) -> bool:
    """``(hour)``, or two times of an hour, an hour and a minute, or an hour, a minute and a second each."""
    numbers = [int(arg) for arg in args]
    half = max(1, len(numbers) // 2)
    low, high = numbers[:half], numbers[-half:]
    return _within(
        tuple([*low, 0, 0][:3]),
        (now.hour, now.minute, now.second),
        tuple([*high, 59, 59][:3]),
    )


def _within(low: tuple[int, ...], value: tuple[int, ...], high: tuple[int, ...]) -> bool:
    """Whether a value is in a range, which may lead over the end of the week, year or day."""
    return low <= value <= high if low <= high else value >= low or value <= high


def _date_part(arg: object) -> tuple[str, int]:
    if isinstance(arg, str) and not arg.isdigit():
        return "m", _MONTHS.index(arg.upper()) + 1
    number = int(str(arg).partition(".")[0])
    return ("d" if number <= 31 else "y"), number


def _named(args: tuple[object, ...]) -> list[object]:
    """The arguments but for the zone, and for what scripts leave undefined."""
    return [arg for arg in args if arg not in ("GMT", None)]


def _ipv4(text: str) -> ipaddress.IPv4Address | None:
    try:
        return ipaddress.IPv4Address(text)
    except ValueError:
        return None
