"""The command ``cdpfetch``.  Only the module of the verb that is used is imported, and only its parser built."""

from __future__ import annotations

import os
import sys

from cdpfetch.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_SOME_FAILED, EXIT_USAGE, CdpFetchError, exit_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# Verb -> (module, one line of help).  Each module has a function ``run_<verb>(arguments) -> exit status``.
VERBS = {
    "fetch": ("fetching", "turn URLs into files and print a digest of each"),
    "batch": ("batching", "fetch the URLs of a file, any number, resumably"),
    "read": ("pages", "read a fetched document page by page"),
    "search": ("searching", "search the web and print a report"),
    "extract": ("pages", "turn an HTML or document file into Markdown, without a browser"),
    "artifacts": ("stored", "list or prune the fetched documents"),
    "status": ("daemons", "show the daemon and its browser"),
    "stop": ("daemons", "stop the daemon and its browser"),
    "restart": ("daemons", "stop the daemon and start a new one"),
    "logs": ("daemons", "show the daemon's log"),
    "doctor": ("checking", "check the installation and say what to do"),
    "config": ("settings", "show or change the settings"),
    "open-browser": ("daemons", "open a browser window on the shared profile, to sign in"),
    "close-browser": ("daemons", "close that browser window"),
    "sessions": ("daemons", "list or clear the sites that the profile is signed in to"),
    "service": ("services", "let systemd or launchd start the daemon when it is needed"),
    "mcp": ("agents", "serve agents over the Model Context Protocol"),
    "tool": ("tooling", "call one of the agents' tools, with JSON in and JSON lines out"),
    "adapters": ("connecting", "install cdpfetch into agents: MCP entries, the pi extension, the skill"),
    "daemon": ("daemons", "run the daemon in the foreground"),
}
EPILOG = """\
Examples:
  cdpfetch fetch https://example.com/
  cdpfetch fetch --json -o out https://example.com/a https://example.com/b
  cdpfetch read example.com-3m9x0q2k --section Install
  cdpfetch doctor

`cdpfetch VERB -h` explains a verb.  Files live in ~/.cdpfetch (CDPFETCH_HOME).

Exit status: 0 all well, 1 some failed, 2 wrong usage, 3 no browser or no daemon, 130 interrupted.
"""


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit status."""
    arguments = sys.argv[1:] if argv is None else argv
    try:
        status = _run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; what is left in the buffer must not fail once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_SOME_FAILED
    except CdpFetchError as error:
        from cdpfetch.cli.output import complain

        complain(error)
        return exit_status([error.code])


def _run(arguments: list[str]) -> int:
    verb = arguments[0] if arguments else "-h"
    if verb in VERBS:
        from importlib import import_module

        module = import_module(f"cdpfetch.cli.{VERBS[verb][0]}")
        run: Callable[[list[str]], int] = getattr(module, "run_" + verb.replace("-", "_"))
        return run(arguments[1:])
    if verb in ("-V", "--version", "version"):
        from cdpfetch._version import __version__

        print(f"cdpfetch {__version__}")
        return EXIT_OK
    if verb in ("-h", "--help", "help"):
        print(_help())
        return EXIT_OK if arguments else EXIT_USAGE
    hint = f"cdpfetch fetch {verb}" if "." in verb or "://" in verb else "cdpfetch -h"
    from cdpfetch.cli.output import tell

    tell(f"cdpfetch: unknown verb {verb!r}\n  hint: {hint}")
    return EXIT_USAGE


def _help() -> str:
    width = max(map(len, VERBS))
    lines = ["usage: cdpfetch VERB ...", "", "The web as files, fetched through the system Chrome.", ""]
    lines += [f"  {verb:{width}}  {text}" for verb, (_, text) in VERBS.items()]
    return "\n".join([*lines, "", EPILOG.rstrip()])
