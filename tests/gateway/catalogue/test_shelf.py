"""Finding tools."""

import pytest

from practicum.contracts.tools import Effect, Tool
from practicum.errors import NotFoundError
from practicum_gateway.catalogue.shelf import Shelf


def tool(connector: str, operation: str, description: str = "") -> Tool:
    return Tool(
        name=f"{connector}_{operation}",
        connector=connector,
        operation=operation,
        description=description,
        input_schema={"type": "object"},
        effect=Effect.READ,
        method="GET",
        path=f"/{operation}",
    )


SHELF = Shelf.of(
    (),
    [
        tool("erp", "create_refund", "Give money back for an order."),
        tool("crm", "get_customer", "Look a customer up."),
        tool("crm", "add_note", "Write a note on a customer."),
        tool("cicd", "create_release", "Release a service."),
    ],
)


def names(tools: tuple[Tool, ...]) -> list[str]:
    return [tool.name for tool in tools]


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        (["crm.*"], ["crm_add_note", "crm_get_customer"]),
        (["*"], ["cicd_create_release", "crm_add_note", "crm_get_customer", "erp_create_refund"]),
        (["*.create_*"], ["cicd_create_release", "erp_create_refund"]),
        (["crm_get_customer", "erp.create_refund"], ["crm_get_customer", "erp_create_refund"]),
        (["CRM.*"], []),
        ([], []),
    ],
)
def test_patterns_name_tools_by_address_or_exposed_name(patterns: list[str], found: list[str]) -> None:
    assert names(SHELF.matching(patterns)) == found


def test_a_tool_is_found_by_name_and_by_address() -> None:
    assert SHELF.tool("crm_add_note") is SHELF.tool("crm.add_note")


@pytest.mark.parametrize("name", ["crm_add_notes", "crm.add_not", "erp_refund"])
def test_an_unknown_tool_names_the_nearest(name: str) -> None:
    with pytest.raises(NotFoundError, match="Did you mean"):
        SHELF.tool(name)


def test_an_unknown_tool_of_absurd_length_is_cut() -> None:
    with pytest.raises(NotFoundError) as caught:
        SHELF.tool("x" * 100_000)
    assert len(str(caught.value)) < 1000


def test_a_search_puts_the_best_fit_first_and_keeps_to_patterns() -> None:
    assert names(SHELF.search("refund an order", 2))[0] == "erp_create_refund"
    assert names(SHELF.search("customer", 5, ["crm.get_*"])) == ["crm_get_customer"]
    assert SHELF.search("weather in Paris", 5) == ()
    assert SHELF.search("", 5) == ()
