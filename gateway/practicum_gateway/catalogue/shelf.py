"""The shelf: what is registered right now, in memory, with nothing to await; the tools themselves stay in the store."""

import difflib
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from practicum.contracts.connectors import Connector
from practicum.contracts.tools import Tool
from practicum.episode.offering import named
from practicum.errors import NotFoundError

_SHOWN = 200
_MOST_AT_HAND = 2_000


@dataclass(frozen=True, slots=True)
class Card:
    """What a tool is found by.

    Attributes:
        name: exposed name.
        address: `connector.operation`.
    """

    name: str
    address: str


@dataclass(frozen=True)
class Shelf:
    """Connectors and tools at one moment.

    Attributes:
        connectors: by name.
        cards: the tools, by exposed name, sorted.
        identity: changes with every registration, refresh and removal.
    """

    connectors: dict[str, Connector]
    cards: dict[str, Card]
    identity: str
    _at_hand: OrderedDict[str, Tool] = field(default_factory=OrderedDict[str, Tool], repr=False)

    @classmethod
    def of(cls, connectors: Iterable[Connector], cards: Iterable[Card], identity: str) -> "Shelf":
        """Put them on the shelf in order."""
        return cls(
            {connector.name: connector for connector in connectors},
            {card.name: card for card in sorted(cards, key=lambda card: card.name)},
            identity,
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Exposed names of the tools, sorted: the order in which they are indexed."""
        return tuple(self.cards)

    def matching(self, patterns: Sequence[str]) -> tuple[str, ...]:
        """Exposed names of the tools that any of the glob patterns names, by `connector.operation` or exposed name."""
        if "*" in patterns:
            return self.names
        return tuple(card.name for card in self.cards.values() if named(card, patterns))

    def name_of(self, name: str) -> str:
        """The exposed name of a tool that is given by it, or by `connector.operation`.

        Raises:
            NotFoundError: there is none; the message names the nearest.
        """
        if name in self.cards:
            return name
        found = self._by_address.get(name)
        if found is not None:
            return found
        like = difflib.get_close_matches(name[:_SHOWN], [*self.cards, *self._by_address], n=6)
        near = list(dict.fromkeys(self._by_address.get(each, each) for each in like))[:3]
        mend = f"Did you mean {', '.join(near)}?" if near else "List the tools to see their names."
        raise NotFoundError(f"There is no tool '{name[:_SHOWN]}'.", mend=mend)

    def known(self, names: Collection[str]) -> dict[str, Tool]:
        """Those of some tools that are at hand."""
        return {name: self._at_hand[name] for name in names if name in self._at_hand}

    def keep(self, tools: Iterable[Tool]) -> None:
        """Keep tools at hand; those that came first go first."""
        for tool in tools:
            self._at_hand[tool.name] = tool
        while len(self._at_hand) > _MOST_AT_HAND:
            self._at_hand.popitem(last=False)

    @cached_property
    def _by_address(self) -> dict[str, str]:
        return {card.address: card.name for card in self.cards.values()}
