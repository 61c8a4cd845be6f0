"""OpenAI: functions as they are, and functions in strict mode."""

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum.contracts.tools import Tool
from practicum_connectors.catalogue.keywords import cut
from practicum_connectors.catalogue.profiles.closed import Closer, Dialect
from practicum_connectors.catalogue.profiles.profile import Profiled
from practicum_connectors.catalogue.walking import any_for_one, rebuilt

_MOST_DESCRIPTION_CHARACTERS = 1024
_STRICT = Dialect(
    references=True,
    all_required=True,
    words_only=False,
    empty_objects=True,
    keywords=frozenset({"pattern", "format", "minItems", "maxItems", "multipleOf"})
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
    formats=frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}),
    most_levels=9,  # of ten; the arguments themselves are the first
    most_choices=1000,
    most_nodes=5000,
)


class OpenAI:
    """Chat completions and responses: `oneOf` is refused there, and a description has a limit."""

    name = "openai"

    def tool(self, tool: Tool) -> Profiled:
        """The tool as a function."""
        return Profiled(function(tool, rebuilt(tool.input_schema, any_for_one)))


class OpenAIStrict:
    """Strict functions: a model cannot write what the schema does not allow."""

    name = "openai_strict"

    def tool(self, tool: Tool) -> Profiled:
        """The tool as a strict function."""
        closer = Closer(_STRICT, tool.input_schema)
        closed = closer.close()
        return Profiled(function(tool, closed.schema, strict=True), closer.notes, closed.restorer)


def function(tool: Tool, schema: JsonObject, **more: JsonValue) -> JsonObject:
    """A tool as chat completions define it.

    Args:
        tool: the tool.
        schema: its parameters.
        more: further fields of the function.
    """
    described = cut(tool.description, _MOST_DESCRIPTION_CHARACTERS)
    return {
        "type": "function",
        "function": {"name": tool.name, "description": described, "parameters": schema, **more},
    }
