import pytest

from practicum.contracts.tools import Effect
from tests.connectors.documents import document, one_tool


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


def test_the_document_has_the_last_word() -> None:
    assert one_tool(document({"/orders": {"get": {"x-practicum-effect": "money"}}})).effect is Effect.MONEY
    assert one_tool(document({"/orders": {"get": {"x-practicum-effect": "nonsense"}}})).effect is Effect.READ
