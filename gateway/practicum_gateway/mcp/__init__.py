"""The Model Context Protocol: the gateway's tools for any MCP client."""
