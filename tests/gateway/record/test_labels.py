"""Labels: episodes are found by them, whatever characters they are of."""

import httpx
import pytest
from pydantic import ValidationError

from practicum.contracts.episodes import Driver, EpisodeRequest
from practicum_gateway.record.record import Record
from practicum_gateway.record.values import NewEpisode
from practicum_gateway.store.engine import new_id
from tests.gateway.record.conftest import OPENING

ODD = {"suite": "crm", "a.b[0]{c},\"d'": "100% \\ \u2603", "empty": ""}


async def begun(record: Record, metadata: dict[str, str]) -> str:
    request = EpisodeRequest(task="Do\0it.", model="scripted", driver=Driver.CLIENT, metadata=metadata)
    new = NewEpisode(
        id=new_id("ep"), request=request, principal="ann", model="m", version="m-1", tools=(), opening=OPENING
    )
    return (await record.episodes.begin(new))[0].id


async def test_episodes_are_found_by_all_their_labels(record: Record) -> None:
    odd, plain = await begun(record, ODD), await begun(record, {"suite": "crm"})
    for wanted, found in (
        ({"suite": "crm"}, (plain, odd)),
        (ODD, (odd,)),
        ({"suite": "CRM"}, ()),
        ({"suite": "crm", "split": "test"}, ()),
    ):
        assert tuple(each.id for each in await record.episodes.list(metadata=wanted)) == found


async def test_a_label_with_a_nul_is_refused(gateway: httpx.AsyncClient) -> None:
    for metadata in ({"a\0": "b"}, {"a": "\0"}):
        with pytest.raises(ValidationError):
            EpisodeRequest(task="Do it.", model="scripted", metadata=metadata)
    for label in ("a\0:b", "a:\0"):
        assert (await gateway.get("/v1/episodes", params={"metadata": label})).status_code == 422
