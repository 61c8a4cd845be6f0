"""Which practice copies were begun for an episode, and whether they are released."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import delete, select, update

from practicum_gateway.store.engine import Store
from practicum_gateway.store.practice_tables import PracticeCopyRow


@dataclass(frozen=True, slots=True)
class CopiesOfEpisode:
    """The practice copies of an episode.

    Attributes:
        connectors: whose copies were begun for it, by name.
        released: whether they were ended.
    """

    connectors: tuple[str, ...]
    released: bool


class PracticeRecords:
    """Remembers practice copies by episode and connector."""

    def __init__(self, store: Store) -> None:
        """Keep them in a store."""
        self._store = store

    async def begun(self, episode: str, connectors: Iterable[str]) -> None:
        """Note the connectors of which an episode has a copy now."""
        async with self._store.write() as session:
            session.add_all(PracticeCopyRow(episode=episode, connector=name) for name in connectors)

    async def of_episode(self, episode: str) -> CopiesOfEpisode:
        """The copies that were begun for an episode."""
        async with self._store.read() as session:
            rows = await session.scalars(
                select(PracticeCopyRow).where(PracticeCopyRow.episode == episode).order_by(PracticeCopyRow.connector)
            )
            copies = tuple(rows)
        return CopiesOfEpisode(tuple(row.connector for row in copies), any(row.released for row in copies))

    async def released(self, episode: str) -> None:
        """Note that an episode's copies were ended."""
        async with self._store.write() as session:
            await session.execute(
                update(PracticeCopyRow).where(PracticeCopyRow.episode == episode).values(released=True)
            )

    async def forget(self, episode: str) -> None:
        """Undo `begun` for an episode that did not come to be."""
        async with self._store.write() as session:
            await session.execute(delete(PracticeCopyRow).where(PracticeCopyRow.episode == episode))
