"""What can go wrong on the way to Chrome; the daemon maps these to the public codes."""

from __future__ import annotations


class CdpError(Exception):
    """Base of everything this package raises."""


class ProtocolError(CdpError):
    """Chrome answered a command with an error object."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"{method}: {message} ({code})")
        self.method = method
        self.code = code
        self.message = message


class CallTimeout(CdpError):
    """Chrome did not answer a command in time."""

    def __init__(self, method: str, seconds: float) -> None:
        super().__init__(f"{method}: no answer within {seconds:g} s")
        self.method = method
        self.seconds = seconds


class ConnectionClosed(CdpError):
    """The connection ended; ``cause`` says why, with Chrome's last words where there are any."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


class SessionClosed(CdpError):
    """The target went away: ``kind`` is ``detached``, ``crashed`` (``detail``: how) or ``closed``."""

    def __init__(self, kind: str, detail: str = "") -> None:
        super().__init__(f"the target is gone ({kind}{': ' + detail if detail else ''})")
        self.kind = kind
        self.detail = detail


class LaunchError(CdpError):
    """Chrome could not be started; ``returncode`` is its exit status where it ended by itself."""

    def __init__(self, reason: str, returncode: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.returncode = returncode
