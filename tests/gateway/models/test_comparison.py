"""A wish for a model beside what its alias names; nothing is changed and no key is shown."""

from practicum.contracts.comparison import Difference
from practicum.contracts.models import ModelSpec, Provider, Sampling
from practicum_gateway.models.registry import Registry
from practicum_gateway.store.engine import Store
from practicum_gateway.store.vault import Vault, new_key

SPEC = ModelSpec(alias="support", provider=Provider.LITELLM, target="openai/x", api_key="canary-1")


async def test_what_differs_is_told_beside_the_version_that_is_the_same_model(store: Store) -> None:
    registry = Registry(store, Vault(new_key()))
    assert not (await registry.compare(SPEC)).known
    await registry.put(SPEC, by="ann")
    same = await registry.compare(SPEC)
    assert (same.names, same.version, same.fields) == ("openai/x", "openai/x", ())
    keyed = await registry.compare(SPEC.model_copy(update={"api_key": "canary-2", "base_url": "https://m.example"}))
    assert keyed.version == "openai/x"
    assert keyed.fields == (
        Difference(where="base_url", after="https://m.example"),
        Difference(where="api_key", secret=True),
    )
    warm = SPEC.model_copy(update={"sampling": Sampling(temperature=0.5), "version": "warm"})
    other = await registry.compare(warm)
    assert (other.version, {each.where for each in other.fields}) == (None, {"sampling.temperature", "version"})
    await registry.put(warm, by="ann")
    back = await registry.compare(SPEC)
    assert (back.names, back.version, back.fields) == ("warm", "openai/x", ())
    assert "canary" not in keyed.model_dump_json()
    assert len(await registry.versions("support")) == 2
