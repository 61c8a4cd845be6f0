"""Servers of the Model Context Protocol as systems: their tools as a document, a call of one as a request.

What a server lists becomes a document like a system's own, an operation for each tool; so names, effects, overlays,
comparisons, checks and observations are those of every other connector. Only how it is spoken to is the protocol's.
"""

from practicum_connectors.mcp.listing import read_tools
from practicum_connectors.mcp.peer import KEY, Peer
from practicum_connectors.mcp.spec import require_fitting

__all__ = ["KEY", "Peer", "read_tools", "require_fitting"]
