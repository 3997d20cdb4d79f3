"""The argument parser of one verb."""

from __future__ import annotations

import argparse
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Formatter(argparse.RawDescriptionHelpFormatter):
    """The usual formatter, told its width: it is made for every argument, and would import shutil to find out."""

    def __init__(self, prog: str) -> None:
        try:
            columns = int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size(1).columns
        except (ValueError, OSError):
            columns = 80
        super().__init__(prog, width=max(40, columns - 2))


class Parser(argparse.ArgumentParser):
    """A parser with examples below its help, and without abbreviations of options."""

    def __init__(self, verb: str, description: str, examples: str = "") -> None:
        super().__init__(
            prog=f"cdpfetch {verb}",
            description=description,
            epilog=f"Examples:\n{examples}" if examples else None,
            formatter_class=Formatter,
            allow_abbrev=False,
        )

    def add_json(self) -> None:
        """The ``--json`` option."""
        self.add_argument("--json", action="store_true", help="print JSON, and nothing else, on standard output")


def positive(text: str) -> float:
    """A number above zero."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def seconds(text: str) -> float:
    """A number of at least zero."""
    return 0.0 if text.strip() == "0" else positive(text)


def whole(least: int) -> Callable[[str], int]:
    """A whole number of at least ``least``."""

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
        return number

    return parse


def header(text: str) -> tuple[str, str]:
    """``Name: value``."""
    name, colon, value = text.partition(":")
    good = name and all(char.isalnum() or char in "!#$%&'*+-.^_`|~" for char in name) and name.isascii()
    if not colon or not good or any(char < " " or char == "\x7f" for char in value):
        raise argparse.ArgumentTypeError(f"{text!r} is not 'Name: value'")
    return name, value.strip()
