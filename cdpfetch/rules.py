"""What a setting may be: each rule checks a value from TOML, parses one from text, and says what is allowed."""

from __future__ import annotations

import math
import os
from typing import Any

from cdpfetch.errors import ConfigError


class Rule:
    """The common part: ``allowed`` describes the good values; ``secret`` ones are never shown."""

    allowed = ""
    secret = False

    def check(self, key: str, value: Any, where: str) -> Any:
        """The value in the form that Config holds.  Raises ConfigError."""
        raise NotImplementedError

    def parse(self, key: str, text: str) -> Any:
        """A value from the command line or an environment variable, for ``check`` to judge."""
        return text

    def refuse(self, key: str, value: Any, where: str) -> ConfigError:
        """The error for a value that is not allowed."""
        shown = "[hidden]" if self.secret else repr(value)
        return ConfigError(f"{key} in {where} is {shown}", f"allowed: {self.allowed}")


class Text(Rule):
    """A text without control characters, or a URL of one of the given schemes; empty means unset (None)."""

    def __init__(self, *schemes: str, secret: bool = False) -> None:
        self.schemes = schemes
        self.secret = secret
        self.allowed = " or ".join(f"{scheme}://..." for scheme in schemes) if schemes else "a text of one line"

    def check(self, key: str, value: Any, where: str) -> str | None:
        if not isinstance(value, str) or not is_line(value):
            raise self.refuse(key, value, where)
        scheme, mark, rest = value.partition("://")
        if value and self.schemes and not (mark and rest and scheme.lower() in self.schemes):
            raise self.refuse(key, value, where)
        return value or None


class Path(Rule):
    """An absolute path, ``~`` allowed; empty means unset (None)."""

    allowed = "an absolute path"

    def check(self, key: str, value: Any, where: str) -> str | None:
        if not isinstance(value, str) or not is_line(value):
            raise self.refuse(key, value, where)
        path = os.path.expanduser(value)
        if value and not os.path.isabs(path):
            raise self.refuse(key, value, where)
        return path or None


class Location(Rule):
    """An http(s) URL or an absolute path, ``~`` allowed; empty means unset (None)."""

    allowed = "http://..., https://... or an absolute path"

    def check(self, key: str, value: Any, where: str) -> str | None:
        if isinstance(value, str) and "://" in value:
            return Text("http", "https").check(key, value, where)
        return Path().check(key, value, where)


class Choice(Rule):
    """One of a few words."""

    def __init__(self, *words: str) -> None:
        self.words = words
        self.allowed = ", ".join(words)

    def check(self, key: str, value: Any, where: str) -> str:
        if not isinstance(value, str) or value not in self.words:
            raise self.refuse(key, value, where)
        return value


class Number(Rule):
    """A finite number within bounds, both included."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high
        self.allowed = f"a number from {low:g} to {high:g}"

    def check(self, key: str, value: Any, where: str) -> float:
        good = isinstance(value, int | float) and not isinstance(value, bool)
        if not good or not math.isfinite(value) or not self.low <= value <= self.high:
            raise self.refuse(key, value, where)
        return float(value)

    def parse(self, key: str, text: str) -> Any:
        try:
            return float(text)
        except ValueError:
            return text


class Whole(Rule):
    """A whole number within bounds, both included."""

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high
        self.allowed = f"a whole number from {low} to {high}"

    def check(self, key: str, value: Any, where: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not self.low <= value <= self.high:
            raise self.refuse(key, value, where)
        return value

    def parse(self, key: str, text: str) -> Any:
        try:
            return int(text)
        except ValueError:
            return text


class Flag(Rule):
    """True or false."""

    allowed = "true, false"

    def check(self, key: str, value: Any, where: str) -> bool:
        if not isinstance(value, bool):
            raise self.refuse(key, value, where)
        return value

    def parse(self, key: str, text: str) -> Any:
        return {"true": True, "1": True, "false": False, "0": False}.get(text.strip().lower(), text)


class Texts(Rule):
    """A list of texts, each with the given beginning; from text, separated by commas."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.allowed = "a list of texts" + (f" that begin with {prefix}" if prefix else "")

    def check(self, key: str, value: Any, where: str) -> tuple[str, ...]:
        if not isinstance(value, list | tuple):
            raise self.refuse(key, value, where)
        for entry in value:
            if not isinstance(entry, str) or not is_line(entry) or not self.is_good(entry):
                raise ConfigError(f"{key} in {where} holds {entry!r}", f"allowed: {self.allowed}")
        return tuple(value)

    def is_good(self, entry: str) -> bool:
        """Whether one entry is allowed."""
        return bool(entry.strip()) and entry.startswith(self.prefix)

    def parse(self, key: str, text: str) -> Any:
        text = text.strip()
        if text.startswith("["):
            import tomllib

            try:
                return tomllib.loads(f"list = {text}")["list"]
            except tomllib.TOMLDecodeError:
                return text
        return [entry.strip() for entry in text.split(",") if entry.strip()]


class Network(Texts):
    """Hosts, host:port, *.suffix, addresses and CIDRs; the daemon's policy judges their form in full."""

    def __init__(self) -> None:
        super().__init__()
        self.allowed = "a list of hosts, host:port, *.suffix, addresses or CIDRs"

    def is_good(self, entry: str) -> bool:
        return bool(entry) and not any(char.isspace() or char in "\"'@?#" for char in entry) and "://" not in entry


def is_line(text: str) -> bool:
    """Whether a text is one line of sane length without control characters."""
    return len(text) <= 8192 and not any(char < " " or "\x7f" <= char <= "\x9f" for char in text)
