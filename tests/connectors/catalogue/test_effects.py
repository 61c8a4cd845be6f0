import pytest

from practicum.contracts.tools import Effect
from tests.connectors.documents import Json, document, one_tool, operation, tool_of


@pytest.mark.parametrize(
    ("effect", "method", "at", "operation_id"),
    [
        ("read", "get", "/orders", None),
        ("read", "get", "/payments/{id}", "getPayment"),
        ("read", "head", "/x", None),
        ("read", "post", "/orders/search", None),
        ("read", "post", "/invoices/search", "searchInvoices"),
        ("read", "post", "/documents:batchGet", None),
        ("read", "post", "/graph", "queryGraph"),
        ("read", "post", "/flows/filter", "read_flows_flows_filter_post"),
        ("read", "post", "/flows/paginate", "paginate_flows_flows_paginate_post"),
        ("read", "get", "/repos/{r}/pulls/{n}/merge", "pulls/check-if-merged"),
        ("read", "get", "/migrations/{id}/archive", "migrations/get-archive-for-org"),
        ("create", "post", "/orders", "createOrder"),
        ("create", "post", "/checks", "createCheck"),
        ("create", "post", "/repos/{r}/check-suites", "checks/create-suite"),
        ("create", "post", "/saved-searches", "saveSearch"),
        ("update", "patch", "/orders/{id}", "updateOrder"),
        ("update", "put", "/orders/{id}", None),
        ("update", "post", "/orders/{id}/cancel", None),
        ("update", "get", "/users/{id}/deactivate", None),
        ("update", "get", "/u/{id}", "activateUser"),
        ("delete", "delete", "/orders/{id}", None),
        ("delete", "post", "/users/{id}/remove", None),
        ("delete", "post", "/bulk_delete", "bulkDeleteUsers"),
        ("delete", "get", "/cache/purge", None),
        ("external", "post", "/emails", "sendEmail"),
        ("external", "post", "/deployments", None),
        ("external", "post", "/workflows/{id}/dispatches", None),
        ("external", "get", "/reports/{id}/send", None),
        ("money", "post", "/orders/{id}/refund", None),
        ("money", "post", "/refunds", "createRefund"),
        ("money", "post", "/v1/payment_intents/{id}/capture", None),
        ("money", "delete", "/invoices/{id}", None),
        ("money", "post", "/transfers", None),
        ("money", "get", "/subscriptions/{id}/refund", None),
    ],
)
def test_effects(effect: str, method: str, at: str, operation_id: str | None) -> None:
    made = {"operationId": operation_id} if operation_id else {}
    assert one_tool(document({at: {method: made}})).effect == effect


def effect_of(method: str = "post", at: str = "/things", body: Json | None = None, hints: Json | None = None) -> Effect:
    return tool_of(operation(body=body, **(hints or {})), method, at).effect


def test_the_document_has_the_last_word() -> None:
    assert effect_of("get", hints={"x-practicum-effect": "money"}) is Effect.MONEY
    assert effect_of("get", hints={"x-practicum-effect": "nonsense"}) is Effect.READ
    assert effect_of("delete", hints={"x-practicum": {"effect": "read"}}) is Effect.READ
    assert effect_of("delete", hints={"x-practicum": {"effect": 3}}) is Effect.DELETE


def test_vendors_hints_are_heard() -> None:
    reads = {"readOnlyHint": True}
    assert effect_of("post", hints={"x-mcp-annotations": reads}) is Effect.READ
    assert effect_of("post", hints={"x-mcp": {"annotations": reads}}) is Effect.READ
    assert effect_of("delete", hints={"x-mcp-annotations": reads}) is Effect.DELETE
    assert effect_of("get", hints={"x-mcp-annotations": {"readOnlyHint": False}}) is Effect.UPDATE
    assert effect_of("post", hints={"x-mcp-annotations": {"destructiveHint": True}}) is Effect.DELETE
    assert effect_of("get", hints={"x-openai-isConsequential": True}) is Effect.UPDATE
    assert effect_of("post", hints={"x-ms-pageable": {"nextLinkName": "next"}}) is Effect.READ


@pytest.mark.parametrize(
    ("effect", "properties"),
    [
        ("money", {"amount": {"type": "integer"}, "currency": {"type": "string"}}),
        ("money", {"amount": {"type": "object", "properties": {"value": {}, "currency": {"type": "string"}}}}),
        ("money", {"total_amount": {}, "currencyCode": {}}),
        ("create", {"amount": {"type": "integer"}}),
        ("create", {"price": {}, "currency": {}}),
        ("create", {"discount_amount": {}, "currency": {}}),
    ],
)
def test_an_amount_and_a_currency_are_money(effect: str, properties: Json) -> None:
    assert effect_of(body={"type": "object", "properties": properties}) == effect
    assert effect_of(at="/things/search", body={"type": "object", "properties": properties}) is Effect.READ
