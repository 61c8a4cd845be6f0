"""A wish beside the registration of the same name: what differs is told field by field, and nothing is changed."""

import pytest

from practicum.contracts.base import JsonObject
from practicum.contracts.comparison import Difference
from practicum.contracts.connectors import (
    ApiKeyAuth,
    AuthorizationCodeAuth,
    BearerAuth,
    ConnectorLimits,
    ConnectorSpec,
    PracticeSpec,
    RefreshRequest,
)
from practicum.errors import ConflictError, DocumentError, NotFoundError
from practicum_gateway.catalogue.catalogue import Catalogue
from practicum_gateway.catalogue.registrations import Registrations
from practicum_gateway.store.engine import Store
from practicum_gateway.store.vault import Vault

KEY = bytes(32)
SCHEMES: JsonObject = {
    "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "code": {"type": "oauth2", "flows": {"authorizationCode": {"tokenUrl": "https://t.example/t", "scopes": {}}}},
}


def document(answer: str = "string", *more: str) -> JsonObject:
    def got(name: str) -> JsonObject:
        parameter: JsonObject = {"name": "id", "in": "query", "schema": {"type": answer}}
        return {"get": {"operationId": name, "parameters": [parameter], "responses": {"200": {"description": "ok"}}}}

    return {
        "openapi": "3.1.0",
        "info": {"title": "Vendor", "version": "1"},
        "components": {"securitySchemes": SCHEMES},
        "paths": {f"/{name}": got(name) for name in ("one", *more)},
    }


SPEC = ConnectorSpec(
    name="v",
    document=document(),
    base_url="https://v.example",
    auth=ApiKeyAuth(value="canary-1"),
    practice=PracticeSpec(base_url="https://copies.example/", auth=BearerAuth(token="canary-2")),
)


@pytest.fixture
def vault() -> Vault:
    return Vault(KEY)


async def test_the_same_differs_in_nothing_and_each_other_wish_in_what_it_says(store: Store, vault: Vault) -> None:
    catalogue = Catalogue(store, vault)
    new = await catalogue.compare(SPEC)
    assert (new.known, new.tools) == (False, 1)
    await catalogue.register(SPEC)
    assert SPEC.practice is not None
    same = await catalogue.compare(SPEC)
    assert (same.known, same.fields, same.changed, same.tools) == (True, (), False, None)
    practice = SPEC.practice.model_copy(update={"auth": BearerAuth(token="canary-3")})
    other = SPEC.model_copy(
        update={
            "limits": ConnectorLimits(per_second=5),
            "auth": ApiKeyAuth(value="canary-4"),
            "practice": practice,
        }
    )
    found = await catalogue.compare(other)
    assert found.fields == (
        Difference(where="limits.per_second", after=5.0),
        Difference(where="auth", secret=True),
        Difference(where="practice.auth", secret=True),
    )
    assert "canary" not in found.model_dump_json()
    none = await catalogue.compare(SPEC.model_copy(update={"practice": None}))
    assert [each.where for each in none.fields] == ["practice"]
    assert "canary" not in none.model_dump_json()
    with pytest.raises(DocumentError):
        await catalogue.compare(SPEC.model_copy(update={"include": ("nothing",), "limits": ConnectorLimits()}))
    assert (await catalogue.compare(SPEC)).fields == ()
    await catalogue.close()


async def test_a_newer_document_is_told_as_a_look_at_it_would(store: Store, vault: Vault) -> None:
    catalogue = Catalogue(store, vault)
    await catalogue.register(SPEC)
    newer = SPEC.model_copy(update={"document": document("integer", "two")})
    found = await catalogue.compare(newer)
    assert (found.changed, found.fields, found.tools) == (True, (), 2)
    looked = await catalogue.refresh("v", RefreshRequest(document=newer.document))
    assert (found.served, found.held, found.digest) == (looked.served, looked.held, looked.digest)
    assert found.held
    waiting = await catalogue.compare(newer)
    assert (waiting.changed, waiting.held) == (False, looked.held)
    back = await catalogue.compare(SPEC)
    assert (back.changed, back.held, back.served) == (True, (), ())
    await catalogue.close()


async def test_a_registration_takes_the_place_of_another_at_once(store: Store, vault: Vault) -> None:
    catalogue = Catalogue(store, vault)
    with pytest.raises(NotFoundError):
        await catalogue.replace(SPEC, accept=True)
    first, _ = await catalogue.register(SPEC)
    other = SPEC.model_copy(
        update={
            "base_url": "https://elsewhere.example",
            "auth": ApiKeyAuth(value="canary-5"),
            "document": document("string", "two"),
        }
    )
    replaced = await catalogue.replace(other, accept=False)
    assert (replaced.connector.base_url, replaced.connector.tools) == ("https://elsewhere.example", 2)
    assert replaced.connector.created == first.connector.created
    assert ((await catalogue.compare(other)).fields, (await catalogue.register(other))[1]) == ((), False)
    kept, _ = await Registrations(store, vault).load("v")
    assert kept.auth == ApiKeyAuth(value="canary-5")
    breaking = other.model_copy(update={"document": document("integer"), "limits": ConnectorLimits(per_second=5)})
    with pytest.raises(ConflictError, match="break calls"):
        await catalogue.replace(breaking, accept=False)
    assert (await catalogue.compare(other)).fields == ()
    assert (await catalogue.replace(breaking, accept=True)).connector.tools == 1
    unusable = other.model_copy(update={"include": ("nothing",)})
    with pytest.raises(DocumentError):
        await catalogue.replace(unusable, accept=True)
    async with catalogue.reach("v") as reached:
        assert list(reached.tools) == ["v_one"]
    await catalogue.close()


async def test_a_refresh_token_that_was_exchanged_is_no_difference(store: Store, vault: Vault) -> None:
    catalogue = Catalogue(store, vault)
    spec = SPEC.model_copy(update={"auth": AuthorizationCodeAuth(client_id="me", refresh_token="first")})
    await catalogue.register(spec)
    await Registrations(store, vault).rotate("v", "", "second", "first")
    found = await catalogue.compare(spec)
    assert (found.fields, found.rotated) == ((), True)
    limited = await catalogue.compare(spec.model_copy(update={"limits": ConnectorLimits(per_second=5)}))
    assert ([each.where for each in limited.fields], limited.rotated) == (["limits.per_second"], True)
    await catalogue.replace(spec.model_copy(update={"limits": ConnectorLimits(per_second=5)}), accept=False)
    kept, _ = await Registrations(store, vault).load("v")
    assert kept.auth == AuthorizationCodeAuth(client_id="me", refresh_token="second"), "the one in force stays"
    assert (await catalogue.compare(kept.model_copy(update={"document": SPEC.document, "auth": spec.auth}))).rotated
    fresh = AuthorizationCodeAuth(client_id="me", refresh_token="third")
    again = await catalogue.compare(spec.model_copy(update={"auth": fresh}))
    assert ([each.where for each in again.fields], again.rotated) == (["limits.per_second", "auth"], False)
    await catalogue.close()
