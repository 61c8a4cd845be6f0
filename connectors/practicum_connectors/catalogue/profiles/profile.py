"""What a profile is: a tool as one family of providers takes it, and the way back to the tool's own arguments."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from practicum.contracts.base import JsonObject
from practicum.contracts.tools import Tool
from practicum_connectors.catalogue.profiles.restoring import Restorer

_CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Profiled:
    """A tool as a provider takes it.

    Attributes:
        definition: the tool's definition, ready for the provider's list of tools.
        notes: what the provider's schemas cannot say. Nothing is lost on the wire: arguments are checked against the
            tool's own schema, whatever the provider let a model write.
    """

    definition: JsonObject
    notes: tuple[str, ...] = ()
    _restorer: Restorer | None = field(default=None, repr=False)

    def restore(self, arguments: JsonObject) -> JsonObject:
        """Arguments that a model wrote for this definition, as the tool itself takes them.

        What does not fit the definition is left as it is; the check of the tool's arguments tells what is wrong.

        Args:
            arguments: as the provider handed them over; they are not changed.
        """
        try:
            restored = arguments if self._restorer is None else self._restorer.restore(arguments)
        except RecursionError:  # nests deeper than any tool takes
            return arguments
        return restored if isinstance(restored, dict) else arguments


class Profile(Protocol):
    """How one family of providers takes tools."""

    @property
    def name(self) -> str:
        """The profile's name."""
        ...

    def tool(self, tool: Tool) -> Profiled:
        """The tool in this profile; the same tool always gives the same definition.

        Args:
            tool: the tool.
        """
        ...


def within(tools: Iterable[Tool], profile: Profile, budget_tokens: int) -> bool:
    """Whether the definitions of some tools fit a budget, at four characters a token.

    Args:
        tools: the tools.
        profile: how they are written.
        budget_tokens: most tokens.
    """
    left = budget_tokens * _CHARACTERS_PER_TOKEN
    for tool in tools:
        left -= len(json.dumps(profile.tool(tool).definition, ensure_ascii=False, separators=(",", ":")))
        if left < 0:
            return False
    return True
