"""Credentials at rest: exchanged keys, exchanged master keys, stores of earlier releases; calls go on."""

import asyncio
import base64
import secrets
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretBytes
from sqlalchemy import delete, select, update

from practicum.contracts.base import utc_now
from practicum.contracts.connectors import ApiKeyAuth, ConnectorSpec, PracticeSpec
from practicum.contracts.models import ModelSpec, Provider
from practicum.errors import ConfigurationError
from practicum_gateway.app import build, running
from practicum_gateway.house import House
from practicum_gateway.rotation import Rotation
from practicum_gateway.settings import Settings
from practicum_gateway.store.catalogue_tables import ConnectorRow
from practicum_gateway.store.data_keys import DataKeys
from practicum_gateway.store.model_tables import ModelVersionRow
from practicum_gateway.store.secret_tables import DataKeyRow
from practicum_gateway.store.vault import LocalMasterKey, Vault, new_key
from tests.gateway.conftest import KeyOf, spec_of
from tests.gateway.shop import SECRET, Shop

MODEL_KEY = "model-key-canary-71f3"


async def fill(house: House, shop: Shop) -> ConnectorSpec:
    practice = PracticeSpec(base_url=f"{shop.url}/practice", auth=ApiKeyAuth(value=SECRET), private_network=True)
    spec = spec_of(shop).model_copy(update={"practice": practice})
    await house.catalogue.register(spec)
    model = ModelSpec(alias="m", provider=Provider.LITELLM, target="openai/x", api_key=MODEL_KEY)
    await house.registry.put(model, by="ada")
    return spec


async def seals(house: House) -> set[str]:
    """Ids of the keys that something is sealed under."""
    async with house.store.read() as session:
        found = [
            *await session.scalars(select(ConnectorRow.credential)),
            *await session.scalars(select(ConnectorRow.practice_credential)),
            *await session.scalars(select(ModelVersionRow.api_key)),
        ]
    return {sealed.split(":")[1] for sealed in found if sealed}


async def works(house: House) -> None:
    async with house.catalogue.reach("shop") as connector:
        sent = await connector.send(connector.prepare("shop_get_order", {"order": 1}))
        assert connector.observe(sent).http_status == 200
    assert (await house.registry.get("m")).api_key == MODEL_KEY


async def test_everything_is_sealed_anew_while_calls_go_on(house: House, shop: Shop) -> None:
    spec = await fill(house, shop)
    before = await seals(house)
    calls = [asyncio.create_task(works(house)) for _ in range(20)]
    done = await house.rotation.rotate()
    await asyncio.gather(*calls)
    assert (done.credentials, await seals(house)) == (3, {done.key_id})
    assert done.key_id not in before
    await works(house)
    async with house.store.read() as session:
        kept = list(await session.scalars(select(DataKeyRow.purpose)))
    assert sorted(kept) == ["names", "seal"]
    _, is_new = await house.catalogue.register(spec)
    assert not is_new, "the same registration is known again"


def under(settings: Settings, key: bytes, *former: bytes) -> Settings:
    keys = {"master_key": SecretBytes(key), "former_master_keys": tuple(SecretBytes(each) for each in former)}
    return settings.model_copy(update=keys)


async def test_the_master_key_is_exchanged_by_naming_the_former_one(settings: Settings, shop: Shop) -> None:
    former, present = secrets.token_bytes(32), secrets.token_bytes(32)
    async with running(build(under(settings, former))) as estate:
        spec = await fill(estate.main, shop)
        await estate.create("sales", "ada")
        sales = estate.house("sales")
        assert sales is not None
        await fill(sales, shop)
    with pytest.raises(ConfigurationError, match="another master key"):
        async with running(build(under(settings, present))):
            pass
    async with running(build(under(settings, present, former))) as estate:
        await works(estate.main)
    async with running(build(under(settings, present))) as estate:
        await works(estate.main)
        assert not (await estate.main.catalogue.register(spec))[1]
        sales = estate.house("sales")
        assert sales is not None
        await works(sales)


async def test_what_an_earlier_release_sealed_is_sealed_anew(settings: Settings, shop: Shop) -> None:
    master = secrets.token_bytes(32)
    async with running(build(under(settings, master))) as estate:
        await fill(estate.main, shop)
        house, legacy = estate.main, Vault(master)
        async with house.store.write() as session:
            row = await session.get_one(ConnectorRow, "shop")
            auth = ApiKeyAuth(value=SECRET).model_dump_json()
            origin = shop.url
            row.credential = legacy.seal(auth, f"connector shop at {origin}")
            row.practice_credential = legacy.seal(auth, f"practice copies of connector shop at {origin}")
            kept = legacy.seal(MODEL_KEY, "model m")
            await session.execute(update(ModelVersionRow).values(api_key=kept))
            await session.execute(delete(DataKeyRow))
    async with running(build(under(settings, master))) as estate:
        await works(estate.main)
        assert legacy.key_id not in await seals(estate.main)


async def test_an_exchange_that_broke_off_is_finished_at_the_next_start(settings: Settings, shop: Shop) -> None:
    async with running(build(settings)) as estate:
        await fill(estate.main, shop)
        before = await seals(estate.main)
        await estate.main.rotation._keys.renew()  # pyright: ignore[reportPrivateUsage]
    async with running(build(settings)) as estate:
        after = await seals(estate.main)
        assert (len(after), before & after) == (1, set())
        await works(estate.main)


async def test_a_clock_that_was_set_back_loses_no_key(settings: Settings, shop: Shop) -> None:
    async with running(build(settings)) as estate:
        await fill(estate.main, shop)
        async with estate.main.store.write() as session:
            await session.execute(update(DataKeyRow).values(created=utc_now() + timedelta(days=1)))
        await estate.main.rotation.rotate()
    async with running(build(settings)) as estate:
        await works(estate.main)
        await estate.main.rotation.rotate()
        await works(estate.main)


async def test_nothing_is_added_under_the_older_key_while_all_is_sealed_anew(house: House) -> None:
    adding = house.catalogue._changing  # pyright: ignore[reportPrivateUsage]  # what holds who registers
    async with house.store.write(in_turn=True), adding:
        anew = [asyncio.create_task(each.seal_anew()) for each in (house.catalogue, house.registry, house.webhooks)]
        assert not (await asyncio.wait(anew, timeout=0.1))[0]
    assert await asyncio.gather(*anew) == [0, 0, 0]


async def test_two_exchanges_take_turns(house: House) -> None:
    keys, seen = DataKeys(house.store, Vault(new_key()), LocalMasterKey(new_key())), list[str]()
    async with house.store.write() as session:
        await session.execute(delete(DataKeyRow))

    async def keeper() -> int:
        seen.append("begins")
        await asyncio.sleep(0.05)  # the other one would make a key now, and this one forget the one sealed under
        async with house.store.read() as session:
            seen.append(f"{len(list(await session.scalars(select(DataKeyRow.id))))} keys")
        return 0

    rotation = Rotation(keys, [keeper])
    await rotation.open()
    seen.clear()
    reports = await asyncio.gather(rotation.rotate(), rotation.rotate())
    assert reports[0].key_id != reports[1].key_id
    assert seen == ["begins", "3 keys"] * 2


async def test_the_door(gateway: httpx.AsyncClient, house: House, shop: Shop, key_of: KeyOf) -> None:
    await fill(house, shop)
    assert (await gateway.post("/v1/secrets/rotate", headers=key_of("approver"))).status_code == 403
    done = await gateway.post("/v1/secrets/rotate")
    assert (done.status_code, done.json()["credentials"]) == (200, 3)


async def test_no_secret_lies_in_the_store_in_clear(settings: Settings, shop: Shop) -> None:
    async with running(build(settings)) as estate:
        await fill(estate.main, shop)
        await estate.main.rotation.rotate()
    for path in settings.data_dir.rglob("*"):
        if path.is_file():
            _without(path, SECRET, MODEL_KEY)


def _without(path: Path, *words: str) -> None:
    data = path.read_bytes()
    for word in words:
        assert word.encode() not in data, path
        assert base64.b64encode(word.encode()) not in data, path


@pytest.mark.parametrize("given", ["x", "aGVsbG8=", ","])
def test_former_master_keys_that_are_none_are_refused(given: str) -> None:
    variables: dict[str, Any] = {"PRACTICUM_FORMER_MASTER_KEYS": given}
    with pytest.raises(ConfigurationError, match="FORMER_MASTER_KEYS") as caught:
        Settings.read(variables)
    assert given not in str(caught.value) or len(given) < 3
