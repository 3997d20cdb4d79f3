"""A virtual display of the tests, and hands for what is shown on it."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from typing import Self

import pytest
from commands import wait_for


class Display:
    """``with Display() as display:`` runs an X server without a screen; ``name`` is its ``DISPLAY``."""

    def __init__(self) -> None:
        reader, writer = os.pipe()
        try:
            self._server = subprocess.Popen(
                ["Xvfb", "-displayfd", str(writer), "-screen", "0", "1280x1000x24", "-nolisten", "tcp"],
                pass_fds=[writer],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        finally:
            os.close(writer)
        with os.fdopen(reader) as answer:
            self.name = f":{answer.readline().strip()}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.terminate()
        self._server.wait(10)

    def hands(self, *arguments: str) -> str:
        """One call of xdotool; what it printed."""
        done = subprocess.run(
            ["xdotool", *arguments],
            env={**os.environ, "DISPLAY": self.name},
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        return done.stdout.strip()

    def shows(self, title: str) -> str:
        """The windows whose title begins so, or an empty text."""
        return self.hands("search", "--onlyvisible", "--name", f"^{title}")

    def await_title(self, title: str, seconds: float = 30.0) -> str:
        """The window that gets this title."""
        found: list[str] = []

        def shown() -> bool:
            found[:] = self.shows(title).split()  # a page that goes on may have another title at the next look
            return bool(found)

        wait_for(shown, seconds)
        return found[0]

    def sign_in(self, password: str, onward: str) -> None:
        """Type into the page "Sign in" that is shown, until the page ``onward`` comes: keys come when they may."""
        window = self.await_title("Sign in")
        for _ in range(10):
            self.hands("windowfocus", "--sync", window)
            self.hands("type", "--delay", "20", password)
            self.hands("key", "Return")
            with contextlib.suppress(AssertionError):
                self.await_title(onward, 3.0)
                return
        self.await_title(onward, 1.0)


def require() -> None:
    """Skip a test where there is no virtual display to be had, or fail it where everything is required."""
    missing = [program for program in ("Xvfb", "xdotool") if shutil.which(program) is None]
    if not missing:
        return
    text = f"no {' and no '.join(missing)} on this machine (Debian: apt-get install xvfb xdotool)"
    if os.environ.get("CDPFETCH_REQUIRE_CHROME") == "1":
        pytest.fail(f"a virtual display is required here: {text}")
    pytest.skip(text)
