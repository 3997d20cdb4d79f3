"""The MCP server: the tools and the fetched files for any client of the Model Context Protocol."""
