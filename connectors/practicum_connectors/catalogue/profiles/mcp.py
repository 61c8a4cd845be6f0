"""The Model Context Protocol: a tool's own schemas, and hints about its effect."""

from typing import Final

from practicum.contracts.base import JsonObject
from practicum.contracts.tools import Tool
from practicum_connectors.catalogue.profiles.profile import Profiled

PARTIAL: Final = "practicum/partial"
"""The member by which an answer says that it is not what the tool's schema says: it was cut, or departs from it."""


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
                **({} if tool.output_schema is None else {"outputSchema": answer_schema(tool.output_schema)}),
                "annotations": tool.annotations,
            }
        )


def answer_schema(schema: JsonObject) -> JsonObject:
    """What a call of a tool gives whose answer is described: that, or an object that says that it is something else.

    Args:
        schema: the description, an object's.
    """
    own = {key: value for key, value in schema.items() if key != "$defs"}
    partial: JsonObject = {"type": "object", "properties": {PARTIAL: {"type": "string"}}, "required": [PARTIAL]}
    whole: JsonObject = {"type": "object", "anyOf": [own, partial]}
    return {**whole, "$defs": schema["$defs"]} if "$defs" in schema else whole
