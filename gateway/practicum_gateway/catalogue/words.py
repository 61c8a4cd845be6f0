"""Finding tools by words: an index over all of them, made when it is first needed and kept until they change."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence

from sqlalchemy.exc import SQLAlchemyError

from practicum.contracts.tools import Tool
from practicum.episode.offering import named
from practicum.errors import ConfigurationError
from practicum_connectors.catalogue.search import WordIndex
from practicum_gateway.catalogue.registrations import Registrations
from practicum_gateway.catalogue.shelf import Shelf

_LOG = logging.getLogger(__name__)
_AT_A_TIME = 100
"""Tools that are read at once; with their definitions they can be large."""


class Words:
    """The index of one shelf at a time."""

    def __init__(self, registrations: Registrations) -> None:
        """Read tools from the store, and keep the index there."""
        self._registrations = registrations
        self._making = asyncio.Lock()
        self._made: tuple[str, WordIndex] | None = None
        self._preparing: asyncio.Task[None] | None = None

    def prepare(self, present: Callable[[], Awaitable[Shelf]]) -> None:
        """Make the index in the background: of ten thousand tools it takes seconds, which no search should wait for.

        Args:
            present: gives the shelf.
        """
        if self._preparing is not None:
            self._preparing.cancel()
        self._preparing = asyncio.create_task(self._prepare(present))

    async def close(self) -> None:
        """Leave off what is being prepared."""
        if self._preparing is not None:
            self._preparing.cancel()
            await asyncio.wait({self._preparing})

    async def find(
        self, shelf: Shelf, query: str, limit: int, patterns: Sequence[str], within: Collection[str] | None
    ) -> list[str] | None:
        """Exposed names of the tools that fit best, best first; None where the shelf is not the present one any more.

        Args:
            shelf: what is searched.
            query: words.
            limit: most names to return.
            patterns: glob patterns of which one has to name a tool.
            within: exposed names of the tools that may be found; None for all.
        """
        index = await self._index(shelf)
        if index is None:
            return None
        names = shelf.names

        def wanted(place: int) -> bool:
            card = shelf.cards[names[place]]
            return (within is None or card.name in within) and named(card, patterns)

        chosen = None if within is None and "*" in patterns else wanted
        found = await asyncio.to_thread(index.find, query, limit, chosen)
        return [names[place] for place in found]

    async def _prepare(self, present: Callable[[], Awaitable[Shelf]]) -> None:
        try:
            await self._index(await present())
        except (SQLAlchemyError, ConfigurationError):  # whoever searches tries again, and is told
            _LOG.warning("The index of the tools could not be prepared.", exc_info=True)

    async def _index(self, shelf: Shelf) -> WordIndex | None:
        async with self._making:
            if self._made is not None and self._made[0] == shelf.identity:
                return self._made[1]
            kept = await self._registrations.index(shelf.identity)
            index = None if kept is None else await asyncio.to_thread(WordIndex.load, kept)
            if index is None or index.size != len(shelf.names):
                tools = await self._tools(shelf)
                if tools is None:
                    return None
                index = await asyncio.to_thread(WordIndex.of, tools)
                await self._registrations.keep_index(shelf.identity, await asyncio.to_thread(index.dump))
            self._made = shelf.identity, index
            return index

    async def _tools(self, shelf: Shelf) -> list[Tool] | None:
        """All tools, as far as words say something of them; None where one is gone."""
        found: list[Tool] = []
        for start in range(0, len(shelf.names), _AT_A_TIME):
            names = shelf.names[start : start + _AT_A_TIME]
            tools = await self._registrations.tools(names)
            if len(tools) < len(names):
                return None
            found.extend(map(_wordy, tools))
        return found


def _wordy(tool: Tool) -> Tool:
    """The tool with nothing of its arguments but their names."""
    properties = tool.input_schema.get("properties")
    names = dict.fromkeys(properties if isinstance(properties, dict) else (), True)
    return tool.model_copy(update={"input_schema": {"properties": names}})
