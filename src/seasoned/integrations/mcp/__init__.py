"""MCP: a server that gives one memory's verbs to any client of the protocol, over stdio or HTTP."""

from seasoned.integrations.mcp.server import server
from seasoned.integrations.mcp.serving import Address, address, serve_http, serve_stdio

__all__ = ["Address", "address", "serve_http", "serve_stdio", "server"]
