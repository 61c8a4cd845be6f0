"""Registered models: found by alias and version, their keys sealed."""

from pathlib import Path
from typing import Any

import pytest

from practicum.codecs.registry import codec_named
from practicum.contracts.models import BundleFacts, ModelSpec, Provider, Sampling
from practicum.errors import ConfigurationError, ConflictError, NotFoundError, RequestError
from practicum_gateway.models.registry import Registry
from practicum_gateway.models.router import merged
from practicum_gateway.models.versions import version_of
from practicum_gateway.store.engine import Store
from practicum_gateway.store.model_tables import ModelVersionRow
from practicum_gateway.store.vault import Vault, new_key

KEY = "sk-topsecret-0123456789"
SPEC = ModelSpec(alias="support", provider=Provider.LITELLM, target="openai/x", api_key=KEY)
BUNDLE = BundleFacts(
    digest="d" * 64,
    stage="sft",
    codec="chatml-compact",
    template_hash=codec_named("chatml-compact").template_hash,
    base_hash="b" * 64,
    weights_hash="a" * 64,
    data_hashes=("c" * 64,),
)
COMPLETIONS = ModelSpec(
    alias="own", provider=Provider.COMPLETIONS, target="qwen", base_url="http://127.0.0.1:1/v1", codec="hermes"
)
TRAINED = ModelSpec(
    alias="support", provider=Provider.LLAMA_CPP, target="smol", base_url="http://127.0.0.1:1", bundle=BUNDLE
)


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_file()]


def changed(spec: ModelSpec, **changes: Any) -> ModelSpec:
    return spec.model_copy(update=changes)


@pytest.fixture
def registry(store: Store) -> Registry:
    return Registry(store, Vault(new_key()))


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
    await registry.put(changed(SPEC, target="openai/y", api_key=None), by="ben")
    model = await registry.get("support")
    assert (model.version, model.api_key) == ("openai/y", None)
    assert [info.target for info, _ in await registry.list()] == ["openai/y"]


async def test_what_was_replaced_stays_as_a_version(registry: Registry) -> None:
    await registry.put(SPEC, by="ann")
    await registry.put(changed(SPEC, target="openai/y", api_key=None), by="ben")
    new, old = await registry.versions("support")
    assert [(each.version, each.created_by, each.current) for each in (new, old)] == [
        ("openai/y", "ben", True),
        ("openai/x", "ann", False),
    ]
    assert new.created > old.created
    before = await registry.get("support@openai/x")
    assert (before.spec.target, before.api_key) == ("openai/x", KEY)
    assert (await registry.info("support@openai/x")).version == "openai/x"


async def test_the_same_model_is_the_same_version_wherever_it_is_reached(registry: Registry) -> None:
    await registry.put(SPEC, by="ann")
    for moved in (changed(SPEC, base_url="http://there"), changed(SPEC, version="openai/x", api_key="sk-new")):
        await registry.put(moved, by="ben")
        assert [each.version for each in await registry.versions("support")] == ["openai/x"]
        model = await registry.get("support")
        assert (model.spec.base_url, model.api_key) == (moved.base_url, moved.api_key)


async def test_another_model_under_a_version_that_is_taken_gets_a_number(registry: Registry) -> None:
    await registry.put(SPEC, by="ann")
    cold = changed(SPEC, sampling=Sampling(temperature=0))
    assert (await registry.put(cold, by="ann")).version == "openai/x#2"
    assert (await registry.put(changed(cold, base_url="http://there"), by="ann")).version == "openai/x#2"
    assert (await registry.put(changed(cold, version="openai/x"), by="ann")).version == "openai/x#2"
    assert (await registry.put(changed(SPEC, system="Be brief."), by="ann")).version == "openai/x#3"
    assert (await registry.put(SPEC, by="ann")).version == "openai/x"


async def test_a_candidate_never_changes_what_its_version_is(registry: Registry) -> None:
    with pytest.raises(NotFoundError, match="first version"):
        await registry.add(SPEC, by="ann")
    await registry.put(SPEC, by="ann")
    added = await registry.add(changed(SPEC, target="openai/y", version="next"), by="ben")
    assert (added.version, added.current, added.created_by) == ("next", False, "ben")
    assert (await registry.get("support")).version == "openai/x"
    assert (await registry.get("support@next")).spec.target == "openai/y"
    with pytest.raises(ConflictError, match="other content"):
        await registry.add(changed(SPEC, target="openai/z", version="next"), by="ben")
    again = await registry.add(changed(SPEC, target="openai/y", version="next", base_url="http://there"), by="ben")
    assert (again.created, again.base_url) == (added.created, "http://there")


async def test_an_alias_that_is_not_there_says_which_are(registry: Registry) -> None:
    with pytest.raises(NotFoundError, match="POST /v1/models"):
        await registry.get("support")
    await registry.put(SPEC, by="ann")
    with pytest.raises(NotFoundError, match="support"):
        await registry.get("supprt")
    for missing in ("support@v7", "support@"):
        with pytest.raises(NotFoundError, match="openai/x"):
            await registry.get(missing)
    await registry.remove("support", by="ann")
    for name in ("support", "support@openai/x"):
        with pytest.raises(NotFoundError):
            await registry.get(name)
    with pytest.raises(NotFoundError):
        await registry.remove("support", by="ann")


async def test_a_forgotten_model_leaves_no_key(registry: Registry, store: Store) -> None:
    await registry.put(SPEC, by="ann")
    await registry.put(changed(SPEC, target="openai/y"), by="ann")
    await registry.remove("support", by="ann")
    async with store.read() as session:
        rows = [await session.get_one(ModelVersionRow, ("support", version)) for version in ("openai/x", "openai/y")]
    assert [row.api_key for row in rows] == [None, None]
    await registry.put(changed(SPEC, api_key=None), by="ann")
    assert (await registry.get("support")).api_key is None
    assert len(await registry.versions("support")) == 2


async def test_a_setting_that_would_do_nothing_is_refused(registry: Registry) -> None:
    for wrong in (
        changed(SPEC, codec="chatml-compact"),
        changed(SPEC, adapter={0: 1.0}),
        changed(SPEC, bundle=BUNDLE),
        ModelSpec(alias="local", provider=Provider.LLAMA_CPP, target="x"),
        ModelSpec(alias="local", provider=Provider.COMPLETIONS, target="x", codec="hermes"),
        ModelSpec(alias="local", provider=Provider.COMPLETIONS, target="x", base_url="http://127.0.0.1:1/v1"),
        COMPLETIONS.model_copy(update={"codec": "klingon"}),
        COMPLETIONS.model_copy(update={"adapter": {0: 1.0}}),
        COMPLETIONS.model_copy(update={"tool_profile": "openai"}),
    ):
        with pytest.raises(RequestError):
            await registry.put(wrong, by="ann")
    assert await registry.list() == ()
    assert (await registry.put(COMPLETIONS, by="ann")).codec == "hermes"


async def test_a_bundle_of_another_template_is_refused(registry: Registry) -> None:
    for wrong, said in (
        (changed(TRAINED, bundle=changed_bundle(template_hash="e" * 64)), "another template"),
        (changed(TRAINED, bundle=changed_bundle(codec="hermes")), "trained in the codec 'hermes'"),
        (changed(TRAINED, codec="klingon", bundle=changed_bundle(codec="klingon")), "no codec 'klingon'"),
    ):
        with pytest.raises(RequestError, match=said):
            await registry.put(wrong, by="ann")
    assert (await registry.put(TRAINED, by="ann")).bundle == BUNDLE
    with pytest.raises(RequestError, match="another template"):
        await registry.add(changed(TRAINED, bundle=changed_bundle(template_hash="e" * 64)), by="ann")


async def test_a_model_is_not_asked_with_a_template_that_changed_since(registry: Registry, store: Store) -> None:
    await registry.put(TRAINED, by="ann")
    await forge_template(store, "support", "smol")
    with pytest.raises(ConfigurationError, match=r"another template(?s:.)*Roll the alias back"):
        await registry.get("support")
    assert (await registry.info("support")).version == "smol"


def changed_bundle(**changes: str) -> BundleFacts:
    return BUNDLE.model_copy(update=changes)


async def forge_template(store: Store, alias: str, version: str) -> None:
    """Make a version one that was registered by a gateway which rendered otherwise."""
    async with store.write() as session:
        row = await session.get_one(ModelVersionRow, (alias, version))
        row.spec = {**row.spec, "bundle": changed_bundle(template_hash="e" * 64).model_dump(mode="json")}


def test_a_version_names_the_adapters() -> None:
    local = ModelSpec(
        alias="l", provider=Provider.LLAMA_CPP, target="smol", base_url="http://x", adapter={1: 0.5, 0: 1}
    )
    assert version_of(local) == "smol+lora0:1+lora1:0.5"
    assert version_of(changed(local, version="v7")) == "v7"


def test_overrides_hold_where_they_say_something() -> None:
    assert merged(Sampling(temperature=0.2, seed=1), Sampling(temperature=0.0)) == Sampling(temperature=0.0, seed=1)
