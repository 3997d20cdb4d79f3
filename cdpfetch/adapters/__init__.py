"""Front doors for agents: the tools (one definition for all), the MCP server, and wrappers for agent libraries."""
