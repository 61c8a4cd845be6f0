"""Toolsets: each is kept once, under its digest, however many episodes and calls were offered it."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

from pydantic import JsonValue
from sqlalchemy.exc import IntegrityError

from practicum_gateway.record.canonical import digest
from practicum_gateway.store.engine import Store
from practicum_gateway.store.record_tables import ToolsetRow

_REMEMBERED = 256


class Toolsets:
    """Keeps toolsets and the latest used of them in memory."""

    def __init__(self, store: Store) -> None:
        """Keep toolsets in a store."""
        self._store = store
        self._known: OrderedDict[str, list[JsonValue]] = OrderedDict()
        self._turn = asyncio.Lock()

    async def keep(self, tools: Sequence[JsonValue]) -> str:
        """The digest under which these tools can be found from now on."""
        listed = list(tools)
        key = digest(listed)
        if key in self._known:
            return key
        async with self._turn:  # many episodes may begin to offer the same at once: the first writes it down
            if key not in self._known:
                await self._write(key, listed)
                self._remember(key, listed)
        return key

    async def get(self, key: str) -> list[JsonValue]:
        """The tools kept under a digest.

        Raises:
            KeyError: none are.
        """
        if key not in self._known:
            async with self._store.read() as session:
                row = await session.get(ToolsetRow, key)
            if row is None:
                raise KeyError(key)
            self._remember(key, row.tools)
        self._known.move_to_end(key)
        return self._known[key]

    async def _write(self, key: str, listed: list[JsonValue]) -> None:
        try:
            async with self._store.write() as session:
                if await session.get(ToolsetRow, key) is None:
                    session.add(ToolsetRow(digest=key, tools=listed))
        except IntegrityError:
            pass  # another replica kept the same at the same moment

    def _remember(self, key: str, tools: list[JsonValue]) -> None:
        self._known[key] = tools
        self._known.move_to_end(key)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
