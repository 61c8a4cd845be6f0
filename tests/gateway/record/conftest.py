"""An episode in a record."""

from collections.abc import Awaitable, Callable

import pytest

from practicum.contracts.episodes import Driver, EpisodeRequest
from practicum.contracts.messages import Message
from practicum_gateway.record.record import Record
from practicum_gateway.record.values import NewEpisode
from practicum_gateway.store.engine import Store, new_id

OPENING = (Message(role="system", content="Be brief."), Message(role="user", content="Do it."))

Begin = Callable[..., Awaitable[str]]


@pytest.fixture
def record(store: Store) -> Record:
    return Record(store)


@pytest.fixture
def begin(record: Record) -> Begin:
    async def begun(opening: tuple[Message, ...] = OPENING) -> str:
        request = EpisodeRequest(task="Do it.", model="scripted", driver=Driver.CLIENT)
        new = NewEpisode(
            id=new_id("ep"), request=request, principal="ann", model="m", version="m-1", tools=(), opening=opening
        )
        episode, _ = await record.episodes.begin(new)
        return episode.id

    return begun
