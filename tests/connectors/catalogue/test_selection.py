"""Which operations a registration takes over, by name, by method and path, by tag."""

import pytest

from practicum.contracts.connectors import ConnectorSpec
from practicum_connectors import check, load_document
from tests.connectors.documents import Json, document, operation


def described() -> Json:
    return document(
        {
            "/orders": {
                "get": operation(operationId="list_orders", tags=["orders"]),
                "post": operation(operationId="create_order", tags=["orders", "write"]),
            },
            "/orders/{id}": {"delete": operation(operationId="delete_order", tags=["write"])},
            "/users": {"get": operation(operationId="list_users")},
            "/broken": {"get": {"operationId": "broken", "parameters": [{"$ref": "#/nowhere"}], "tags": ["odd"]}},
            "/gone": {"$ref": "#/nowhere"},
        }
    )


CASES: list[tuple[tuple[str, ...], tuple[str, ...], set[str]]] = [
    (("list_*",), (), {"list_orders", "list_users"}),
    (("GET *",), (), {"list_orders", "list_users", "broken", "get_gone"}),
    (("GET /orders*",), (), {"list_orders"}),
    (("* /orders*",), ("DELETE *",), {"list_orders", "create_order"}),
    (("tag:orders",), (), {"list_orders", "create_order"}),
    (("tag:*",), ("tag:write",), {"list_orders", "broken"}),
    (("tag:odd", "list_users"), (), {"broken", "list_users"}),
]


@pytest.mark.parametrize(("include", "exclude", "expected"), CASES)
def test_patterns(include: tuple[str, ...], exclude: tuple[str, ...], expected: set[str]) -> None:
    spec = ConnectorSpec(name="crm", base_url="http://h", include=include, exclude=exclude)
    report = check(spec, load_document(described()))
    assert {one.operation for one in report.operations} == expected
    assert report.notes == ()


def test_a_pattern_that_names_nothing_is_told() -> None:
    spec = ConnectorSpec(name="crm", base_url="http://h", include=("*", "tag:nothing"), exclude=("PATCH *",))
    report = check(spec, load_document(described()))
    assert len(report.operations) >= 5
    assert report.notes == (
        "The pattern 'tag:nothing' names no operation.",
        "The pattern 'PATCH *' names no operation.",
    )


def test_an_overlay_hides_an_operation_and_names_another() -> None:
    made = described()
    made["paths"]["/users"]["get"]["x-practicum"] = {"hide": True}
    made["paths"]["/orders"]["post"]["x-practicum"] = {"name": "order_goods"}
    report = check(ConnectorSpec(name="crm", base_url="http://h"), load_document(made))
    tools = {one.operation: one.tool for one in report.operations}
    assert "list_users" not in tools
    assert tools["order_goods"] == "crm_order_goods"
    assert "create_order" not in tools
