"""``python -m cdpfetch``: the command."""

from __future__ import annotations

import sys

from cdpfetch.cli import main

if __name__ == "__main__":
    sys.exit(main())
