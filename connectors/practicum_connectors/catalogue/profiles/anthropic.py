"""Anthropic: JSON Schema as it is, with keys of 64 characters at most and nothing but an object at the root."""

from practicum.contracts.tools import Tool
from practicum_connectors.catalogue.profiles.keys import with_safe_keys
from practicum_connectors.catalogue.profiles.profile import Profiled


class Anthropic:
    """The messages API. The arguments of a tool are an object without a union already: its bodies have a key."""

    name = "anthropic"

    def tool(self, tool: Tool) -> Profiled:
        """The tool with safe keys throughout."""
        schema, restorer = with_safe_keys(tool.input_schema)
        return Profiled(
            {"name": tool.name, "description": tool.description, "input_schema": schema}, _restorer=restorer
        )
