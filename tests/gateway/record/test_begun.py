"""A key with which an episode was begun is known as long as the store is, whatever release reads it."""

import pytest
from sqlalchemy import text

from practicum.contracts.episodes import Driver, EpisodeRequest
from practicum.contracts.models import Sampling
from practicum.errors import ConflictError
from practicum_gateway.record.record import Record
from practicum_gateway.record.values import NewEpisode
from practicum_gateway.store.engine import Store, new_id
from tests.gateway.record.conftest import OPENING

BEFORE = (
    (Sampling(), "cdcd669becc94545e33cd733a25afd57e13c5cf3b1d44b7122af95aa59402911"),
    (Sampling(temperature=0.5), "ee1116d593a5ef0b221a53cee97d7c5bd48dd7c55e2d83024a20c0ddf74ebd58"),
)
"""What was kept of two requests when there was less that a request could say."""


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("sampling", "kept"), BEFORE)
async def test_a_request_is_the_same_after_an_upgrade(
    record: Record, store: Store, sampling: Sampling, kept: str
) -> None:
    request = EpisodeRequest(
        task="Do it.", model="scripted", driver=Driver.CLIENT, idempotency_key="k", sampling=sampling
    )
    new = NewEpisode(
        id=new_id("ep"), request=request, principal="ann", model="m", version="m-1", tools=(), opening=OPENING
    )
    begun, _ = await record.episodes.begin(new)
    async with store.read() as session:
        assert await session.scalar(text("SELECT request_hash FROM episodes")) == kept
    assert await record.episodes.begun("ann", request) == begun
    other = request.model_copy(update={"sampling": sampling.model_copy(update={"stop": ("END",)})})
    with pytest.raises(ConflictError):
        await record.episodes.begun("ann", other)
