"""Finding tools by patterns, names and words; the tools themselves are read when they are asked for."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import delete, event, func, select, update

from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import ConnectorSpec
from practicum.contracts.tools import Tool
from practicum.errors import ConflictError, NotFoundError
from practicum_gateway.catalogue.catalogue import Catalogue
from practicum_gateway.catalogue.shelf import Card, Shelf
from practicum_gateway.store.catalogue_tables import OperationRow, WordIndexRow
from practicum_gateway.store.engine import Store
from practicum_gateway.store.vault import Vault

KEY = bytes(32)
SYSTEMS = {
    "erp": {"create_refund": "Give money back for an order."},
    "crm": {"get_customer": "Look a customer up.", "add_note": "Write a note on a customer."},
    "cicd": {"create_release": "Release a service."},
}
SHELF = Shelf.of(
    (), [Card(f"{system}_{name}", f"{system}.{name}") for system, names in SYSTEMS.items() for name in names], "one"
)


def spec(system: str, operations: dict[str, str]) -> ConnectorSpec:
    paths: JsonObject = {
        f"/{name}": {"get": {"operationId": name, "summary": said, "responses": {"200": {"description": "ok"}}}}
        for name, said in operations.items()
    }
    document: JsonObject = {"openapi": "3.1.0", "info": {"title": system, "version": "1"}, "paths": paths}
    return ConnectorSpec(name=system, document=document, base_url=f"https://{system}.example.com")


@pytest.fixture
async def catalogue(store: Store) -> AsyncIterator[Catalogue]:
    opened = Catalogue(store, Vault(KEY))
    for system, operations in SYSTEMS.items():
        await opened.register(spec(system, operations))
    yield opened
    await opened.close()


def names(tools: tuple[Tool, ...]) -> list[str]:
    return [tool.name for tool in tools]


PATTERNS: list[tuple[list[str], list[str]]] = [
    (["crm.*"], ["crm_add_note", "crm_get_customer"]),
    (["*"], ["cicd_create_release", "crm_add_note", "crm_get_customer", "erp_create_refund"]),
    (["*.create_*"], ["cicd_create_release", "erp_create_refund"]),
    (["crm_get_customer", "erp.create_refund"], ["crm_get_customer", "erp_create_refund"]),
    (["CRM.*"], []),
    ([], []),
]


async def test_patterns_name_tools_by_address_or_exposed_name(catalogue: Catalogue) -> None:
    for patterns, found in PATTERNS:
        assert names(await catalogue.tools(patterns)) == found
        assert list(await catalogue.names(patterns)) == found
    assert names(await catalogue.tools(["*"], 2)) == ["cicd_create_release", "crm_add_note"]
    assert names(await catalogue.tools(["*"], 2, {"erp_create_refund"})) == ["erp_create_refund"]


def test_a_tool_is_found_by_name_and_by_address() -> None:
    assert SHELF.name_of("crm_add_note") == SHELF.name_of("crm.add_note") == "crm_add_note"


@pytest.mark.parametrize("name", ["crm_add_notes", "crm.add_not", "erp_refund"])
def test_an_unknown_tool_names_the_nearest(name: str) -> None:
    with pytest.raises(NotFoundError, match="Did you mean") as caught:
        SHELF.name_of(name)
    told = (caught.value.mend or "").removeprefix("Did you mean ").removesuffix("?").split(", ")
    assert len(set(told)) == len(told), "each tool once"
    assert set(told) <= set(SHELF.names), "by the name that it has"


def test_an_unknown_tool_of_absurd_length_is_cut() -> None:
    with pytest.raises(NotFoundError) as caught:
        SHELF.name_of("x" * 100_000)
    assert len(str(caught.value)) < 1000


def test_what_is_at_hand_is_bounded() -> None:
    made = Tool.model_validate(
        {
            "name": "a",
            "connector": "c",
            "operation": "a",
            "description": "",
            "input_schema": {},
            "effect": "read",
            "method": "GET",
            "path": "/",
        }
    )
    shelf = Shelf.of((), (), "one")
    shelf.keep(made.model_copy(update={"name": str(number)}) for number in range(5_000))
    assert shelf.known(["0", "4999"]).keys() == {"4999"}


async def test_a_search_puts_the_best_fit_first_and_keeps_to_patterns(catalogue: Catalogue) -> None:
    assert names(await catalogue.search("refund an order", 2))[0] == "erp_create_refund"
    assert names(await catalogue.search("customer", 5, ["crm.get_*"])) == ["crm_get_customer"]
    assert names(await catalogue.search("customer", 5, within={"crm_add_note"})) == ["crm_add_note"]
    assert await catalogue.search("weather in Paris", 5) == ()
    assert await catalogue.search("", 5) == ()


async def test_a_search_knows_what_came_and_went(catalogue: Catalogue) -> None:
    assert await catalogue.search("weather") == ()
    await catalogue.register(spec("weather", {"get_forecast": "The weather of tomorrow."}))
    assert names(await catalogue.search("weather")) == ["weather_get_forecast"]
    await catalogue.remove("weather")
    assert await catalogue.search("weather") == ()


async def test_the_index_is_kept_and_no_tool_is_read_to_find_one(store: Store, catalogue: Catalogue) -> None:
    await catalogue.search("refund")
    seen: list[str] = []
    event.listen(store.engine.sync_engine, "before_cursor_execute", lambda *said: seen.append(said[2]))
    again = Catalogue(store, Vault(KEY))
    assert names(await again.search("refund")) == ["erp_create_refund"]
    assert len([text for text in seen if "operations.tool " in text or "operations.tool\n" in text]) == 1, seen
    await again.close()


async def test_the_index_is_made_before_anybody_asks(store: Store, catalogue: Catalogue) -> None:
    _ = catalogue
    for _turn in range(200):
        async with store.read() as session:
            if await session.scalar(select(func.count()).select_from(WordIndexRow)):
                return
        await asyncio.sleep(0.02)
    raise AssertionError("it was not made")


async def test_a_broken_index_is_made_anew(store: Store, catalogue: Catalogue) -> None:
    await catalogue.search("refund")
    async with store.write() as session:
        await session.execute(update(WordIndexRow).values(content=b"broken"))
    again = Catalogue(store, Vault(KEY))
    assert names(await again.search("refund")) == ["erp_create_refund"]
    await again.close()


async def test_a_tool_that_somebody_took_out_of_the_store_is_gone(store: Store, catalogue: Catalogue) -> None:
    await catalogue.names(["*"])
    async with store.write() as session:
        await session.execute(delete(OperationRow).where(OperationRow.tool_name == "crm_add_note"))
    with pytest.raises(NotFoundError, match="just been removed"):
        await catalogue.tool("crm_add_note")
    assert names(await catalogue.search("customer")) == ["crm_get_customer"]


async def test_two_connectors_whose_tools_share_a_name_are_told_apart(catalogue: Catalogue) -> None:
    await catalogue.register(spec("a_b", {"c": "One."}))
    with pytest.raises(ConflictError) as caught:
        await catalogue.register(spec("a", {"b_c": "Another."}))
    assert "The tool 'a_b_c' that 'a' brings" in str(caught.value)
    assert "'a_b'" in str(caught.value)
    assert await catalogue.names(["a.*"]) == ()
