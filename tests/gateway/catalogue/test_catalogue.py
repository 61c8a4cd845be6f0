"""Registering systems: whole or not at all, the same again or a conflict, found again after a restart."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import func, select, update

from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import ApiKeyAuth, ConnectorSpec, Fidelity, PracticeSpec
from practicum.errors import ConfigurationError, ConflictError, DocumentError, ForbiddenError, NotFoundError
from practicum_gateway.catalogue.catalogue import Catalogue
from practicum_gateway.store.catalogue_tables import ConnectorRow, DocumentRow, OperationRow
from practicum_gateway.store.engine import Store
from practicum_gateway.store.vault import Vault
from tests.gateway.conftest import spec_of
from tests.gateway.shop import SECRET, Shop, create_shop

KEY = bytes(32)
TABLES = (ConnectorRow, DocumentRow, OperationRow)


@pytest.fixture
async def catalogue(store: Store) -> AsyncIterator[Catalogue]:
    opened = Catalogue(store, Vault(KEY))
    yield opened
    await opened.close()


def carried(**changes: Any) -> ConnectorSpec:
    """A registration that carries the shop's document."""
    document: JsonObject = create_shop(Shop()).openapi()
    auth = ApiKeyAuth(value=SECRET)
    spec = ConnectorSpec(name="shop", document=document, base_url="http://127.0.0.1:9", auth=auth, private_network=True)
    return spec.model_copy(update=changes)


async def rows(store: Store) -> int:
    async with store.read() as session:
        counts = [await session.scalar(select(func.count()).select_from(table)) for table in TABLES]
    return sum(count or 0 for count in counts)


async def test_a_document_is_fetched_and_becomes_tools(catalogue: Catalogue, shop: Shop) -> None:
    report, is_new = await catalogue.register(spec_of(shop))
    assert is_new
    assert (report.connector.title, report.connector.tools, report.connector.auth) == ("Shop", 4, "api_key")
    assert {one.tool for one in report.operations} == {tool.name for tool in await catalogue.tools(["shop.*"])}
    assert all(one.fidelity is not Fidelity.REFUSED for one in report.operations)
    assert await catalogue.report("shop") == report
    assert await catalogue.connectors() == (report.connector,)


async def test_the_same_registration_again_changes_nothing(catalogue: Catalogue) -> None:
    first, _ = await catalogue.register(carried())
    again, is_new = await catalogue.register(carried())
    assert (again, is_new) == (first, False)


@pytest.mark.parametrize(
    "changes",
    [
        {"auth": ApiKeyAuth(value="another-secret")},
        {"base_url": "http://127.0.0.1:10"},
        {"include": ("get_*",)},
    ],
)
async def test_other_content_under_the_same_name_is_a_conflict(catalogue: Catalogue, changes: dict[str, Any]) -> None:
    first, _ = await catalogue.register(carried())
    with pytest.raises(ConflictError) as caught:
        await catalogue.register(carried(**changes))
    assert "another-secret" not in str(caught.value)
    assert await catalogue.report("shop") == first


async def test_two_registrations_at_once_leave_one(catalogue: Catalogue, store: Store) -> None:
    results = await asyncio.gather(catalogue.register(carried()), catalogue.register(carried()), return_exceptions=True)
    assert len(await catalogue.connectors()) == 1
    assert sum(isinstance(result, tuple) for result in results) >= 1
    async with store.read() as session:
        assert len((await session.scalars(select(OperationRow))).all()) == 4


async def test_exposed_names_do_not_clash(catalogue: Catalogue, store: Store) -> None:
    operation: JsonObject = {"operationId": "order", "responses": {"200": {"description": "ok"}}}
    document: JsonObject = {
        "openapi": "3.1.0",
        "info": {"title": "x", "version": "1"},
        "paths": {"/x": {"get": operation}},
    }
    await catalogue.register(carried())
    spec = ConnectorSpec(name="shop_get", document=document, base_url="http://127.0.0.1:9", private_network=True)
    before = await rows(store)
    with pytest.raises(ConflictError):
        await catalogue.register(spec)
    assert await rows(store) == before
    assert (await catalogue.tool("shop_get_order")).connector == "shop"


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"openapi": "3.1.0"},
        {"openapi": "9.9", "info": {"title": "x", "version": "1"}, "paths": {}},
        {"swagger": "2.0"},
        {"openapi": "3.0.0", "info": {"title": "x", "version": "1"}, "paths": {"/a": {"$ref": "#/no"}}},
        {"openapi": "3.0.0", "info": {"title": "x", "version": "1"}, "paths": []},
    ],
)
async def test_a_broken_document_leaves_nothing_behind(
    catalogue: Catalogue, store: Store, document: JsonObject
) -> None:
    with pytest.raises(DocumentError) as caught:
        await catalogue.register(ConnectorSpec(name="odd", document=document, base_url="https://example.com"))
    assert caught.value.mend
    assert await rows(store) == 0
    assert await catalogue.connectors() == ()


async def test_neither_document_nor_source_is_said_so(catalogue: Catalogue) -> None:
    with pytest.raises(DocumentError, match="neither"):
        await catalogue.register(ConnectorSpec(name="odd"))


async def test_a_private_source_needs_to_be_allowed(catalogue: Catalogue, shop: Shop, store: Store) -> None:
    with pytest.raises(DocumentError):
        await catalogue.register(spec_of(shop).model_copy(update={"private_network": False}))
    assert shop.seen == []
    assert await rows(store) == 0


async def test_a_source_that_does_not_answer_is_said_so(catalogue: Catalogue, store: Store) -> None:
    spec = ConnectorSpec(name="dead", source="http://127.0.0.1:9/openapi.json", private_network=True)
    with pytest.raises(DocumentError, match=r"127\.0\.0\.1:9"):
        await catalogue.register(spec)
    assert await rows(store) == 0


async def test_include_that_leaves_nothing_is_refused(catalogue: Catalogue, store: Store) -> None:
    with pytest.raises(DocumentError):
        await catalogue.register(carried(include=("nothing_*",)))
    assert await rows(store) == 0


async def test_after_a_restart_the_connector_is_compiled_from_what_was_stored(
    catalogue: Catalogue, store: Store, shop: Shop
) -> None:
    report, _ = await catalogue.register(spec_of(shop))
    tools = await catalogue.tools(["*"])
    later = Catalogue(store, Vault(KEY))
    assert await later.report("shop") == report
    assert await later.tools(["*"]) == tools
    async with later.reach("shop") as connector:
        assert dict(connector.tools) == {tool.name: tool for tool in tools}
        assert connector.digest == report.connector.digest
        sent = await connector.send(connector.prepare("shop_get_order", {"order": 1}))
        assert sent.response is not None
        assert sent.response.status == 200
    await later.close()


async def test_the_credential_is_sealed_and_bound_to_its_origin(catalogue: Catalogue, store: Store) -> None:
    await catalogue.register(carried())
    async with store.read() as session:
        row = (await session.scalars(select(ConnectorRow))).one()
    assert SECRET not in str({name: value for name, value in vars(row).items() if not name.startswith("_")})
    async with store.write() as session:
        await session.execute(update(ConnectorRow).values(base_url="https://elsewhere.example"))
    later = Catalogue(store, Vault(KEY))
    with pytest.raises(ConfigurationError, match="changed or moved"):
        async with later.reach("shop"):
            pass
    await later.close()


async def test_practice_copies_are_found_again_with_their_own_credential(
    catalogue: Catalogue, store: Store, shop: Shop
) -> None:
    other = "copies-secret-canary-77ab"
    practice = PracticeSpec(base_url=f"{shop.url}/copies/", auth=ApiKeyAuth(value=other), private_network=True)
    spec = carried(practice=practice)
    report, _ = await catalogue.register(spec)
    assert report.connector.practice == f"{shop.url}/copies"
    assert (await catalogue.register(spec))[0] == report
    with pytest.raises(ConflictError):
        await catalogue.register(carried())
    async with store.read() as session:
        row = (await session.scalars(select(ConnectorRow))).one()
    assert other not in str({name: value for name, value in vars(row).items() if not name.startswith("_")})

    later = Catalogue(store, Vault(KEY))
    assert await later.report("shop") == report
    assert await later.connectors() == (report.connector,)
    async with later.reach("shop", copy="ep_1") as connector:
        await connector.send(connector.prepare("shop_get_order", {"order": 1}))
    assert shop.seen[-1]["x-api-key"] == other
    await later.close()

    async with store.write() as session:
        moved = {**row.spec, "practice": {"base_url": "https://elsewhere.example"}}
        await session.execute(update(ConnectorRow).values(spec=moved))
    stranger = Catalogue(store, Vault(KEY))
    with pytest.raises(ConfigurationError, match="changed or moved"):
        async with stranger.reach("shop", copy="ep_1"):
            pass
    await stranger.close()


async def test_without_copies_no_copy_is_reached(catalogue: Catalogue) -> None:
    await catalogue.register(carried())
    with pytest.raises(ForbiddenError):
        async with catalogue.reach("shop", copy="ep_1"):
            pass


async def test_another_master_key_opens_nothing(catalogue: Catalogue, store: Store) -> None:
    await catalogue.register(carried())
    stranger = Catalogue(store, Vault(bytes(31) + b"1"))
    assert len(await stranger.tools(["*"])) == 4
    with pytest.raises(ConfigurationError, match="another master key"):
        async with stranger.reach("shop"):
            pass
    await stranger.close()


async def test_removing_forgets_everything_and_lets_calls_end(catalogue: Catalogue, store: Store, shop: Shop) -> None:
    await catalogue.register(spec_of(shop))
    async with catalogue.reach("shop") as connector:
        await catalogue.remove("shop")
        sent = await connector.send(connector.prepare("shop_get_order", {"order": 1}))
        assert sent.response is not None
    assert await rows(store) == 0
    assert await catalogue.tools(["*"]) == ()
    for attempt in (catalogue.remove("shop"), catalogue.report("shop"), catalogue.connector("shop")):
        with pytest.raises(NotFoundError):
            await attempt
    with pytest.raises(NotFoundError):
        async with catalogue.reach("shop"):
            pass
    _, is_new = await catalogue.register(spec_of(shop))
    assert is_new
