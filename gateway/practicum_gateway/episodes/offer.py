"""What an episode offers its model, and what the model's wishes come down to. Pure."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

from practicum.contracts.base import JsonObject
from practicum.contracts.episodes import Limits
from practicum.contracts.messages import ToolCall
from practicum.contracts.tools import Observation, Tool
from practicum.episode.disclosure import CHARACTERS_PER_TOKEN, Disclosure, Search
from practicum_connectors.catalogue.search import ToolIndex
from practicum_gateway.episodes.refusals import refusal
from practicum_gateway.models.tool_forms import function, restored
from practicum_gateway.record.values import StoredEpisode


@dataclass(frozen=True)
class Offer:
    """The tools of an episode as its model meets them, the same from its beginning to its end.

    Attributes:
        tools: the tools that it may call.
        budget: tokens of definitions that these exceed, so that two others find and call them; None where all are
            written out.
        profile: in which provider's form definitions are written; None for the tools' own.
    """

    tools: tuple[Tool, ...]
    budget: int | None = None
    profile: str | None = None

    @classmethod
    def of(cls, stored: StoredEpisode) -> Self:
        """What an episode offers."""
        return cls(stored.tools, stored.tool_budget, stored.tool_profile)

    @cached_property
    def shown(self) -> tuple[Tool, ...]:
        """The tools whose definitions the model is given."""
        return self.tools if self._disclosure is None else self._disclosure.tools

    @cached_property
    def definitions(self) -> tuple[JsonObject, ...]:
        """Their definitions as they are sent, in OpenAI's form."""
        return tuple(function(tool, self.profile) for tool in self.shown)

    def resolved(self, wish: ToolCall) -> ToolCall:
        """A wish as the call that it comes down to, with the tool's own arguments; what names no tool stays itself."""
        own = self._restored(wish)
        return own if self._disclosure is None else self._disclosure.resolved(own, self.tools)

    def read(self, wish: ToolCall, place: int, limits: Limits) -> ToolCall | Search | Observation:
        """The call to make, the search to answer, or what to say to a wish that is neither.

        Args:
            wish: the call as the model wrote it.
            place: its index within the turn.
            limits: the episode's limits.
        """
        callable_tools = self.tools if self._disclosure is None else (*self.shown, *self.tools)
        refused = refusal(wish, place, callable_tools, limits)
        if refused is not None:
            return refused
        own = self._restored(wish)
        return own if self._disclosure is None else self._disclosure.read(own, self.tools)

    def found(self, wanted: Search) -> Observation:
        """What a search among the tools answers: the ranking is that of the catalogue's own search.

        Raises:
            ValueError: the tools are all written out.
        """
        if self._disclosure is None or self.budget is None:
            raise ValueError("nothing is searched where every tool is shown")
        fitting = ToolIndex(self.tools).search(wanted.query, limit=len(self.tools))
        # Half of the budget: what a search showed stays in the conversation, beside what the next one shows.
        return self._disclosure.told(fitting, wanted, self.budget * CHARACTERS_PER_TOKEN // 2)

    @cached_property
    def _disclosure(self) -> Disclosure | None:
        return None if self.budget is None else Disclosure.of(self.tools)

    def _restored(self, wish: ToolCall) -> ToolCall:
        """The wish with its arguments out of the form that they were asked for in; only what is shown has one."""
        tool = next((tool for tool in self.shown if wish.name in (tool.name, tool.address)), None)
        if self.profile is None or tool is None or wish.malformed is not None:
            return wish
        return wish.model_copy(update={"arguments": restored(tool, wish.arguments, self.profile)})
