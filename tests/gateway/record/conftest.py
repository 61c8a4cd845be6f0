"""An episode in a record."""

from collections.abc import Awaitable, Callable

import pytest

from practicum.contracts.base import utc_now
from practicum.contracts.episodes import Driver, EpisodeRequest
from practicum.contracts.messages import Message
from practicum.contracts.models import Attempt, ModelCall, Sampled, Usage
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


def made(
    messages: tuple[Message, ...],
    response: Message | None,
    *,
    step: int = 0,
    attempt: int = 1,
    sampled: Sampled | None = None,
) -> ModelCall:
    """A call as it comes from a model: answered, or failed without a response."""
    return ModelCall(
        id=new_id("mc"),
        step=step,
        attempt=attempt,
        standing=Attempt.FAILED if response is None else Attempt.ACCEPTED,
        model="scripted",
        version="scripted-1",
        messages=messages,
        tools=({"type": "function", "function": {"name": f"tool_{step}"}},),
        response=response,
        usage=Usage(prompt_tokens=len(messages), completion_tokens=1),
        sampled=sampled,
        started=utc_now(),
        seconds=0.5,
        error="it broke" if response is None else None,
    )


def said(text: str) -> Message:
    """What an assistant said."""
    return Message(role="assistant", content=text)
