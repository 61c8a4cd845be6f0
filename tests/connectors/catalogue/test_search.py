import time

import pytest

from practicum.contracts.tools import Effect, Tool
from practicum_connectors import ToolIndex


def tool(operation: str, description: str = "", path: str = "/x", **arguments: object) -> Tool:
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in arguments}}
    return Tool.model_validate(
        {
            "name": f"erp_{operation}",
            "connector": "erp",
            "operation": operation,
            "description": description,
            "input_schema": schema,
            "effect": Effect.READ,
            "method": "GET",
            "path": path,
        }
    )


TOOLS = [
    tool("create_refund", "Refund money on an order", "/orders/{id}/refunds", amount=1),
    tool("get_order", "Get an order and its refunds", "/orders/{id}"),
    tool("listCustomers", "List the customers", "/customers", email=1),
    tool("repos/create-in-org", "Create an organization repository", "/orgs/{org}/repos"),
    tool("deploy", "Release a build of a service", "/deployments"),
]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("refund an order", "create_refund"),
        ("refunding", "create_refund"),
        ("orders", "get_order"),
        ("customer by email", "listCustomers"),
        ("list customers", "listCustomers"),
        ("new repository for an organization", "repos/create-in-org"),
        ("release the service", "deploy"),
    ],
)
def test_the_right_tool_comes_first(query: str, first: str) -> None:
    assert ToolIndex(TOOLS).search(query)[0].operation == first


def test_no_shared_word_finds_nothing() -> None:
    index = ToolIndex(TOOLS)
    assert index.search("zebra") == []
    assert index.search("the of and") == []
    assert index.search("") == []
    assert ToolIndex([]).search("order") == []


def test_the_limit_and_the_order_hold() -> None:
    same = [tool(f"thing_{number}", "A thing") for number in range(9)]
    assert [found.operation for found in ToolIndex(same).search("thing", limit=3)] == ["thing_0", "thing_1", "thing_2"]


def test_ten_thousand_tools_are_searched_in_no_time() -> None:
    words = ["order", "customer", "invoice", "build", "refund", "service", "user", "report"]
    many = [
        tool(f"get_{words[n % 8]}_{words[n // 8 % 8]}_{n}", f"Get the {words[n % 8]} {n}", f"/{words[n % 8]}/{n}")
        for n in range(10_000)
    ]
    index = ToolIndex(many)
    started = time.process_time()
    found = index.search("get the refund report 4711")
    assert time.process_time() - started < 0.25
    assert found[0].operation.endswith("_4711")
