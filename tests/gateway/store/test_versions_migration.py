"""A store from before there were versions: each registered model is the first version of its alias."""

import json
from datetime import UTC, datetime
from typing import Any

from alembic import command
from sqlalchemy import Connection, bindparam, text

from practicum.contracts.models import ModelSpec, Provider, Sampling
from practicum.contracts.promotion import Change, PromotionRequest
from practicum_gateway.models.promotions import Promotions
from practicum_gateway.models.registry import Registry
from practicum_gateway.store.engine import Store, UtcDateTime
from practicum_gateway.store.migrate import configuration, migrate
from practicum_gateway.store.vault import Vault, new_key

REGISTERED = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)
LOCAL = ModelSpec(
    alias="local",
    provider=Provider.LLAMA_CPP,
    target="smollm2",
    base_url="http://127.0.0.1:8322",
    adapter={0: 1.0},
    sampling=Sampling(temperature=0),
)
_INSERT = text("INSERT INTO models VALUES (:alias, :spec, :key, :at)").bindparams(bindparam("at", type_=UtcDateTime))
HOSTED = ModelSpec(alias="hosted", provider=Provider.LITELLM, target="openai/x", version="v7")


def upgrade(connection: Connection, revision: str) -> None:
    config = configuration()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def stored(spec: ModelSpec) -> str:
    """A registration as the gateway of that time wrote it: it knew nothing of bundles."""
    return json.dumps(spec.model_dump(mode="json", exclude={"api_key", "bundle"}))


async def test_a_registered_model_is_the_first_version_of_its_alias(empty_url: str) -> None:
    store, vault = Store(empty_url), Vault(new_key())
    async with store.write() as session:
        await (await session.connection()).run_sync(upgrade, "0002")
        rows: list[dict[str, Any]] = [
            {"alias": "local", "spec": stored(LOCAL), "key": None, "at": REGISTERED},
            {
                "alias": "hosted",
                "spec": stored(HOSTED),
                "key": vault.seal("sk-secret", "model hosted"),
                "at": REGISTERED,
            },
        ]
        await session.execute(_INSERT, rows)

    await migrate(store)

    registry = Registry(store, vault)
    promotions = Promotions(store, registry)
    hosted = await registry.get("hosted")
    assert (hosted.version, hosted.api_key) == ("v7", "sk-secret")
    (first,) = await registry.versions("local")
    assert (first.version, first.created, first.current) == ("smollm2+lora0:1", REGISTERED, True)
    assert (await registry.put(LOCAL, by="ann")).version == "smollm2+lora0:1"
    await registry.add(LOCAL.model_copy(update={"adapter": {1: 1.0}}), by="ann")
    await promotions.promote("local", PromotionRequest(version="smollm2+lora1:1", override="Try it."), by="ann")
    assert (await promotions.roll_back("local", by="ann")).to_version == "smollm2+lora0:1"
    assert [each.change for each in await promotions.history("local")][-1] is Change.REGISTERED
    await store.close()
