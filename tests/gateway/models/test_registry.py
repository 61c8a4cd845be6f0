"""Registered models: found by alias, their keys sealed."""

from pathlib import Path

import pytest

from practicum.contracts.models import ModelSpec, Provider, Sampling
from practicum.errors import NotFoundError, RequestError
from practicum_gateway.models.registry import Registry
from practicum_gateway.models.router import merged
from practicum_gateway.models.versions import version_of
from practicum_gateway.store.engine import Store
from practicum_gateway.store.vault import Vault, new_master_key

KEY = "sk-topsecret-0123456789"
SPEC = ModelSpec(alias="support", provider=Provider.LITELLM, target="openai/x", api_key=KEY)


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_file()]


@pytest.fixture
def registry(store: Store) -> Registry:
    return Registry(store, Vault(new_master_key()))


async def test_the_key_is_sealed_and_comes_back_for_the_call_alone(registry: Registry, tmp_path: Path) -> None:
    info = await registry.put(SPEC, by="ann")
    assert KEY not in info.model_dump_json()
    model = await registry.get("support")
    assert model.api_key == KEY
    assert model.spec.api_key is None
    assert KEY not in repr(model)
    assert not [path for path in files_of(tmp_path) if KEY.encode() in path.read_bytes()]


async def test_an_alias_is_replaced_at_once_key_and_all(registry: Registry) -> None:
    await registry.put(SPEC, by="ann")
    assert (await registry.get("support")).version == "openai/x"
    await registry.put(SPEC.model_copy(update={"target": "openai/y", "api_key": None}), by="ann")
    model = await registry.get("support")
    assert (model.version, model.api_key) == ("openai/y", None)
    assert [info.target for info, _ in await registry.list()] == ["openai/y"]


async def test_an_alias_that_is_not_there_says_which_are(registry: Registry) -> None:
    with pytest.raises(NotFoundError, match="POST /v1/models"):
        await registry.get("support")
    await registry.put(SPEC, by="ann")
    with pytest.raises(NotFoundError, match="support"):
        await registry.get("supprt")
    await registry.remove("support", by="ann")
    with pytest.raises(NotFoundError):
        await registry.remove("support", by="ann")


async def test_a_setting_that_would_do_nothing_is_refused(registry: Registry) -> None:
    for wrong in (
        SPEC.model_copy(update={"codec": "chatml-compact"}),
        SPEC.model_copy(update={"adapter": {0: 1.0}}),
        ModelSpec(alias="local", provider=Provider.LLAMA_CPP, target="x"),
    ):
        with pytest.raises(RequestError):
            await registry.put(wrong, by="ann")
    assert await registry.list() == ()


def test_a_version_names_the_adapters() -> None:
    local = ModelSpec(
        alias="l", provider=Provider.LLAMA_CPP, target="smol", base_url="http://x", adapter={1: 0.5, 0: 1}
    )
    assert version_of(local) == "smol+lora0:1+lora1:0.5"
    assert version_of(local.model_copy(update={"version": "v7"})) == "v7"


def test_overrides_hold_where_they_say_something() -> None:
    assert merged(Sampling(temperature=0.2, seed=1), Sampling(temperature=0.0)) == Sampling(temperature=0.0, seed=1)
