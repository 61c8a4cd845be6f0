"""Splits in the store: set, switched, promoted out of and rolled back, each change written down."""

import pytest

from practicum.contracts.models import ModelSpec, Provider
from practicum.contracts.promotion import Change, PromotionRequest
from practicum.contracts.routing import Fallbacks, Split
from practicum.errors import NotFoundError, RequestError
from practicum_gateway.models.promotions import Promotions
from practicum_gateway.models.registry import Registry
from practicum_gateway.models.split import drawn
from practicum_gateway.store.engine import Store
from practicum_gateway.store.vault import Vault, new_key


def spec(version: str, alias: str = "support") -> ModelSpec:
    return ModelSpec(alias=alias, provider=Provider.LITELLM, target="openai/x", version=version, system=version)


async def test_a_split_is_set_switched_and_taken_back_each_in_one_step(store: Store) -> None:
    registry = Registry(store, Vault(new_key()))
    promotions = Promotions(store, registry)
    await registry.put(spec("v6"), by="ann")
    await registry.add(spec("v7"), by="ann")
    await registry.add(spec("v8"), by="ann")

    set_ = await promotions.split("support", Split(weights={"v7": 10, "v6": 90}), by="ann")
    assert (set_.change, set_.to_version, set_.split) == (Change.SPLIT, "v6", {"v6": 90, "v7": 10})
    assert await promotions.split("support", Split(weights={"v6": 90, "v7": 10}), by="ann") == set_
    await promotions.split("support", Split(weights={"v6": 50, "v7": 50}), by="ann")
    assert {each.version: each.weight for each in await registry.versions("support")} == {
        "v6": 50,
        "v7": 50,
        "v8": None,
    }
    units = [f"user-{number}" for number in range(40)]
    answering = {unit: (await registry.get("support", unit=unit)).version for unit in units}
    assert set(answering.values()) == {"v6", "v7"}
    assert {unit: (await registry.get("support", unit=unit)).version for unit in units} == answering
    assert {(await registry.get("support@v7", unit=unit)).version for unit in units} == {"v7"}
    assert (await registry.get("support")).version == "v6"

    back = await promotions.roll_back("support", by="ann")
    assert back.split == {"v6": 90, "v7": 10}
    ended = await promotions.promote("support", PromotionRequest(version="v6"), by="ann")
    assert (ended.to_version, ended.split, (await registry.info("support")).split) == ("v6", {}, {})
    assert (await promotions.roll_back("support", by="ann")).split == {"v6": 90, "v7": 10}
    assert (await promotions.roll_back("support", by="ann")).split == {}
    assert (await registry.get("support", unit="user-1")).split is False
    await promotions.split("support", Split(weights={"v6": 1, "v7": 1}), by="ann")
    await registry.put(spec("v9"), by="ann")
    assert (await registry.info("support")).split == {}

    with pytest.raises(RequestError, match="'v9', which 'support' names, has no part"):
        await promotions.split("support", Split(weights={"v6": 1, "v7": 1}), by="ann")
    with pytest.raises(NotFoundError, match="no version 'v5'"):
        await promotions.split("support", Split(weights={"v5": 1, "v9": 1}), by="ann")


async def test_fallbacks_are_models_that_there_are(store: Store) -> None:
    registry = Registry(store, Vault(new_key()))
    promotions = Promotions(store, registry)
    await registry.put(spec("v6"), by="ann")
    await registry.add(spec("v7"), by="ann")
    await registry.put(spec("s1", "spare"), by="ann")
    await promotions.fall_back("support", Fallbacks(fallbacks=("spare", "support@v7")))
    assert (await registry.get("support")).fallbacks == ("spare", "support@v7")
    assert (await registry.get("support@v6")).fallbacks == ()
    await registry.put(spec("v8"), by="ann")
    assert (await registry.info("support")).fallbacks == ("spare", "support@v7")
    for wrong, words in ((("support",), "itself"), (("spare", "spare"), "twice"), (("nobody",), "no model 'nobody'")):
        with pytest.raises(RequestError, match=words):
            await promotions.fall_back("support", Fallbacks(fallbacks=wrong))
    await promotions.fall_back("support", Fallbacks())
    assert (await registry.info("support")).fallbacks == ()


def test_shares_come_out_as_weighed_and_few_change_sides() -> None:
    units = [f"u{number}" for number in range(4_000)]
    before = {unit: drawn("support", {"v6": 90, "v7": 10}, unit) for unit in units}
    after = {unit: drawn("support", {"v6": 80, "v7": 20}, unit) for unit in units}
    assert 0.08 < sum(version == "v7" for version in before.values()) / len(units) < 0.12
    assert 0.18 < sum(version == "v7" for version in after.values()) / len(units) < 0.22
    assert all(after[unit] == "v7" for unit in units if before[unit] == "v7")
