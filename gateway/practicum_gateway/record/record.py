"""The record of everything that happens in episodes, by the noun it speaks of."""

from pydantic import JsonValue
from sqlalchemy import Connection

from practicum.contracts.episodes import EpisodeStatus, EventType
from practicum_gateway.record.bell import Bell
from practicum_gateway.record.episodes import EpisodeRecords
from practicum_gateway.record.events import Events, append_event_on
from practicum_gateway.record.journal import Journal
from practicum_gateway.record.model_calls import ModelCallRecords
from practicum_gateway.record.practice import PracticeRecords
from practicum_gateway.record.toolsets import Toolsets
from practicum_gateway.record.transcripts import TranscriptRecords
from practicum_gateway.store.engine import Store


class Record:
    """The record.

    Attributes:
        events: what happened, in order.
        episodes: begun once, ended once.
        transcripts: the accepted conversations.
        model_calls: every attempt as it was sampled.
        practice: the practice copies that episodes have.
        bell: wakes who follows an episode.
    """

    def __init__(self, store: Store, bell: Bell | None = None) -> None:
        """Keep the record in a store.

        Args:
            store: where.
            bell: one that others hear, too.
        """
        toolsets, journal = Toolsets(store), Journal(store)
        self.bell = bell or Bell()
        self.events = Events(store, self.bell)
        self.episodes = EpisodeRecords(store, journal, toolsets, self.events)
        self.transcripts = TranscriptRecords(store, journal)
        self.model_calls = ModelCallRecords(store, journal, toolsets, self.events)
        self.practice = PracticeRecords(store)

    async def event(self, episode: str, kind: EventType, step: int | None, data: dict[str, JsonValue], /) -> None:
        """Append an event to an episode's record; one that asks a person makes the episode wait.

        Raises:
            NotFoundError: there is no such episode.
        """
        await self.events.append(episode, kind, step, data)
        if kind == "approval.requested":
            await self.episodes.stand(episode, EpisodeStatus.WAITING)

    def event_on(
        self, connection: Connection, episode: str, kind: EventType, step: int | None, data: dict[str, JsonValue], /
    ) -> None:
        """Append an event within a transaction; `announce` wakes its readers once that is committed.

        Raises:
            NotFoundError: there is no such episode.
        """
        append_event_on(connection, episode, kind, step, data)

    def announce(self, episode: str, /) -> None:
        """Wake those who follow an episode."""
        self.events.announce(episode)
