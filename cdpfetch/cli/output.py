"""What goes to standard output and standard error: bytes as UTF-8, and nothing that could steer a terminal."""

from __future__ import annotations

import json
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cdpfetch.errors import CdpFetchError

# JSON leaves these as they are, though a terminal may obey them: DEL and C1.
_ESCAPES = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}


def json_text(value: Any, indent: int | None = None) -> str:
    """A value as JSON with every control character escaped, other characters as they are."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return text if text.isascii() and "\x7f" not in text else text.translate(_ESCAPES)


def print_json(value: Any, indent: int | None = None) -> None:
    """One JSON value and a line feed, at once."""
    write(json_text(value, indent) + "\n")


def write(text: str) -> None:
    """Text as UTF-8, whatever the locale; a lone surrogate is written as its escape."""
    write_bytes(text.encode("utf-8", "backslashreplace"))


def write_bytes(data: bytes) -> None:
    """Exact bytes, at once; nowhere when there is no standard output."""
    if sys.stdout is None:
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def write_content(data: bytes) -> None:
    """Content of others: exact where it goes to a file or a pipe, disarmed on a terminal."""
    if sys.stdout is None or not sys.stdout.isatty():
        write_bytes(data)
        return
    from cdpfetch.delivery import terminal_safe

    write(terminal_safe(data.decode("utf-8", "replace")))


def complain(error: CdpFetchError, url: str | None = None) -> None:
    """An error on standard error, with its hint on a second line."""
    from cdpfetch.delivery import one_line

    where = f"{one_line(url, 2048)}: " if url else ""
    lines = [f"cdpfetch: {where}{one_line(error.reason)}"]
    if error.hint:
        lines.append(f"  hint: {one_line(error.hint)}")
    tell("\n".join(lines))


def tell(text: str) -> None:
    """A line on standard error."""
    if sys.stderr is not None:
        sys.stderr.write(text.encode("utf-8", "backslashreplace").decode("utf-8") + "\n")
        sys.stderr.flush()


class Progress:
    """One line on a terminal's standard error, rewritten as things happen; silent elsewhere."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self._shown = False
        self.enabled = sys.stderr is not None and sys.stderr.isatty()

    def update(self, url: str, event: dict[str, Any]) -> None:
        """Show the stage of a URL."""
        if not self.enabled:
            return
        import shutil

        from cdpfetch.delivery import human_bytes, one_line

        stage = str(event.get("stage"))
        received, whole = event.get("receivedBytes"), event.get("totalBytes")
        if isinstance(received, int):
            stage += f" {human_bytes(received)}" + (f" of {human_bytes(whole)}" if isinstance(whole, int) else "")
        count = f"[{self.done}/{self.total}] " if self.total > 1 else ""
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write("\r\x1b[K" + one_line(f"{count}{stage} {url}", max(20, width)))
        sys.stderr.flush()
        self._shown = True

    def clear(self) -> None:
        """Take the line away, before something else is printed."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False
