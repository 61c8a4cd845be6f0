"""The Model Context Protocol: a tool's own schema, and hints about its effect."""

from practicum.contracts.tools import Tool
from practicum_connectors.catalogue.profiles.profile import Profiled


class Mcp:
    """An entry of `tools/list`."""

    name = "mcp"

    def tool(self, tool: Tool) -> Profiled:
        """The tool as it is, with its annotations."""
        titled = {} if tool.title is None else {"title": tool.title}
        return Profiled(
            {
                "name": tool.name,
                **titled,
                "description": tool.description,
                "inputSchema": tool.input_schema,
                "annotations": tool.annotations,
            }
        )
