"""``cdpfetch mcp``: the door for agents."""

from __future__ import annotations

import os

from cdpfetch.cli.output import tell
from cdpfetch.cli.parser import Parser
from cdpfetch.errors import EXIT_OK

MCP_EXAMPLES = """\
  cdpfetch mcp                            for a client that starts its servers
  cdpfetch mcp --http --port 8765         for clients on this machine, with the token that is printed
"""


def run_mcp(arguments: list[str]) -> int:
    """Serve the Model Context Protocol."""
    parser = Parser("mcp", "Serve agents over the Model Context Protocol (MCP).", MCP_EXAMPLES)
    parser.add_argument("--http", action="store_true", help="over HTTP on loopback instead of standard input/output")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="the port for --http (default: a free one)")
    given = parser.parse_args(arguments)
    if given.port and not given.http:
        parser.error("--port needs --http")
    from cdpfetch.adapters.mcp import serving

    if given.http:
        serving.serve_http(tell, port=given.port, token=os.environ.get(serving.VARIABLE) or None)
    else:
        import asyncio

        asyncio.run(serving.serve_stdio())
    return EXIT_OK
