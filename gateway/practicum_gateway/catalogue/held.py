"""Compiled connectors that calls hold: one that has been replaced or removed is closed by its last user."""

import asyncio
from dataclasses import dataclass, field

from practicum_connectors.connector import CompiledConnector


@dataclass(slots=True)
class Held:
    """A compiled connector and how many calls use it; a retired one is closed by its last user."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    compiled: CompiledConnector | None = None
    users: int = 0
    retired: bool = False


async def close_if_unused(held: Held) -> None:
    """Close a connector that is retired, once nobody uses it."""
    if held.retired and held.users == 0 and held.compiled is not None:
        compiled, held.compiled = held.compiled, None
        await compiled.aclose()
