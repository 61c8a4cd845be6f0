import asyncio
from typing import Any

import httpx
import pytest

from examples.systems.company import seed_states
from tests.examples.loopback import CREDENTIALS, Clock, fetch_token

ORDERS = seed_states(1)["erp"]["orders"]


def order_with(*statuses: str) -> tuple[str, dict[str, Any]]:
    return next((key, order) for key, order in ORDERS.items() if order["status"] in statuses)


def problem(response: httpx.Response, status: int, kind: str) -> dict[str, Any]:
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert (response.status_code, body["status"], body["type"]) == (status, status, f"/problems/{kind}")
    return body


def effects(erp: httpx.Client) -> int:
    return erp.get("/_practice/effects").raise_for_status().json()["count"]


def test_a_token_lives_two_minutes(erp: httpx.Client, clock: Clock) -> None:
    clock.now += 119
    assert erp.get("/orders").status_code == 200
    clock.now += 1
    refused = erp.get("/orders")
    problem(refused, 401, "token")
    assert refused.headers["www-authenticate"] == 'Bearer error="invalid_token"'
    erp.headers["Authorization"] = f"Bearer {fetch_token(erp)}"
    assert erp.get("/orders").status_code == 200


def test_the_token_endpoint_takes_basic_and_form_and_nothing_else(erp: httpx.Client) -> None:
    form = {"grant_type": "client_credentials"}
    named = {"client_id": CREDENTIALS.erp_client_id, "client_secret": CREDENTIALS.erp_client_secret}
    with httpx.Client(base_url=erp.base_url, timeout=60) as stranger:
        issued = stranger.post("/oauth/token", data={**form, **named})
        assert (issued.json()["token_type"], issued.json()["expires_in"]) == ("Bearer", 120)
        assert issued.headers["cache-control"] == "no-store"
        wrong = stranger.post("/oauth/token", data={**form, **named, "client_secret": "guess"})
        assert (wrong.status_code, wrong.json()) == (401, {"error": "invalid_client"})
        other = stranger.post("/oauth/token", data={**named, "grant_type": "password"})
        assert (other.status_code, other.json()) == (400, {"error": "unsupported_grant_type"})
        broken = stranger.post("/oauth/token", data=form, headers={"Authorization": "Basic %%%"})
        assert broken.status_code == 401
        assert stranger.get("/orders", headers={"Authorization": "Bearer guess"}).status_code == 401
        assert stranger.put("/_practice/state", json={}).status_code == 401


def test_pages_lead_through_every_order_once(erp: httpx.Client) -> None:
    first = erp.get("/orders", params={"page_size": 25}).json()
    assert first["pages"] == 3
    pages = [erp.get("/orders", params={"page_size": 25, "page": page}).json()["items"] for page in (1, 2, 3, 4)]
    assert [len(page) for page in pages] == [25, 25, 10, 0]
    assert [str(order["id"]) for page in pages for order in page] == sorted(ORDERS)


def test_orders_are_listed_by_customer_and_status(erp: httpx.Client) -> None:
    customer = order_with("delivered")[1]["customer_id"]
    listed = erp.get("/orders", params={"customer_id": customer, "status": "delivered"}).json()["items"]
    wanted = {
        key for key, order in ORDERS.items() if (order["customer_id"], order["status"]) == (customer, "delivered")
    }
    assert {str(order["id"]) for order in listed} == wanted
    problem(erp.get("/orders", params={"status": "lost"}), 422, "invalid")


def test_refunds_add_up_to_what_was_paid_and_no_further(erp: httpx.Client) -> None:
    number, order = order_with("delivered")
    part = 0.1
    for count in (1, 2, 3):
        made = erp.post(f"/orders/{number}/refunds", json={"amount": part})
        assert (made.status_code, made.json()) == (201, {"id": count, "order_id": int(number), "amount": part})
    state = erp.get(f"/orders/{number}").json()
    assert state["refunded"] == 0.3
    too_much = erp.post(f"/orders/{number}/refunds", json={"amount": order["paid"]})
    assert f"only {state['refundable']:.2f} can" in problem(too_much, 409, "refund-exceeds-paid")["detail"]
    assert erp.post(f"/orders/{number}/refunds", json={"amount": state["refundable"]}).status_code == 201
    assert erp.get(f"/orders/{number}").json()["refundable"] == 0
    problem(erp.post(f"/orders/{number}/refunds", json={"amount": 0.01}), 409, "refund-exceeds-paid")
    assert effects(erp) == 4


def test_an_unpaid_order_is_not_refunded(erp: httpx.Client) -> None:
    number, _ = order_with("open")
    problem(erp.post(f"/orders/{number}/refunds", json={"amount": 1}), 409, "not-paid")


@pytest.mark.parametrize("amount", [0, -5, 1.005, "much", None, 1e9])
def test_an_amount_is_positive_and_whole_cents(erp: httpx.Client, amount: object) -> None:
    number, _ = order_with("delivered")
    problem(erp.post(f"/orders/{number}/refunds", json={"amount": amount}), 422, "invalid")
    assert effects(erp) == 0


def test_only_an_order_that_is_not_shipped_is_cancelled_and_only_once(erp: httpx.Client) -> None:
    number, _ = order_with("paid")
    assert erp.post(f"/orders/{number}/cancel").json()["status"] == "cancelled"
    problem(erp.post(f"/orders/{number}/cancel"), 409, "not-cancellable")
    shipped, _ = order_with("shipped")
    problem(erp.post(f"/orders/{shipped}/cancel"), 409, "not-cancellable")
    assert effects(erp) == 1


def test_stock_moves_and_stays_above_zero(erp: httpx.Client) -> None:
    sku, product = next(iter(seed_states(1)["erp"]["products"].items()))
    stock = int(product["stock"] or 0)
    assert erp.post(f"/products/{sku}/stock", json={"change": 5}).json()["stock"] == stock + 5
    problem(erp.post(f"/products/{sku}/stock", json={"change": -stock - 6}), 409, "out-of-stock")
    assert erp.get(f"/products/{sku}").json() == {
        "sku": sku,
        "name": product["name"],
        "price": product["price"],
        "stock": stock + 5,
    }


def test_the_warehouse_is_told_about_known_orders(erp: httpx.Client) -> None:
    number = int(order_with("delivered")[0])
    told = erp.post("/warehouse/messages", json={"order_id": number, "text": " broken "})
    assert (told.status_code, told.json()) == (201, {"id": 1, "order_id": number, "text": "broken"})
    problem(erp.post("/warehouse/messages", json={"order_id": 1, "text": "hello"}), 404, "not-found")
    problem(erp.post("/warehouse/messages", json={"order_id": number, "text": " "}), 422, "invalid")
    assert erp.get("/nowhere").headers["content-type"] == "application/problem+json"


def test_a_repeated_key_repeats_the_answer_and_not_the_effect(erp: httpx.Client) -> None:
    number, _ = order_with("delivered")
    key = {"Idempotency-Key": "ep_1:0:0"}
    first = erp.post(f"/orders/{number}/refunds", json={"amount": 2.5}, headers=key)
    again = erp.post(f"/orders/{number}/refunds", json={"amount": 2.5}, headers=key)
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert (again.headers.get("idempotency-replayed"), first.headers.get("idempotency-replayed")) == ("true", None)
    assert effects(erp) == 1
    assert erp.get(f"/orders/{number}").json()["refunded"] == 2.5


def test_a_key_with_another_request_is_refused(erp: httpx.Client) -> None:
    number, _ = order_with("delivered")
    key = {"Idempotency-Key": "ep_1:0:0"}
    erp.post(f"/orders/{number}/refunds", json={"amount": 2.5}, headers=key)
    problem(erp.post(f"/orders/{number}/refunds", json={"amount": 3}, headers=key), 422, "idempotency-key-reused")
    paid, _ = order_with("paid")
    problem(erp.post(f"/orders/{paid}/cancel", headers=key), 422, "idempotency-key-reused")
    assert effects(erp) == 1


def test_a_refusal_is_not_kept_under_its_key(erp: httpx.Client) -> None:
    number, order = order_with("delivered")
    key = {"Idempotency-Key": "ep_1:0:0"}
    wish = {"amount": order["paid"]}
    erp.post(f"/orders/{number}/refunds", json={"amount": 0.01})
    problem(erp.post(f"/orders/{number}/refunds", json=wish, headers=key), 409, "refund-exceeds-paid")
    erp.post("/_practice/reset").raise_for_status()
    assert erp.post(f"/orders/{number}/refunds", json=wish, headers=key).status_code == 201


def test_without_a_key_every_request_counts(erp: httpx.Client) -> None:
    number, _ = order_with("delivered")
    for _ in range(2):
        erp.post("/warehouse/messages", json={"order_id": int(number), "text": "broken"})
    assert effects(erp) == 2


def test_a_new_state_forgets_keys_but_not_tokens(erp: httpx.Client) -> None:
    number, _ = order_with("delivered")
    key = {"Idempotency-Key": "ep_1:0:0"}
    erp.post(f"/orders/{number}/refunds", json={"amount": 1}, headers=key)
    erp.put("/_practice/state", json=seed_states(1)["erp"]).raise_for_status()
    assert effects(erp) == 0
    assert erp.post(f"/orders/{number}/refunds", json={"amount": 2}, headers=key).status_code == 201


async def test_the_same_key_at_the_same_time_has_one_effect(erp: httpx.Client) -> None:
    number, _ = order_with("delivered")
    async with httpx.AsyncClient(base_url=erp.base_url, headers=erp.headers, timeout=60) as client:
        repeated = {"Idempotency-Key": "same"}
        wish = [client.post(f"/orders/{number}/refunds", json={"amount": 1}, headers=repeated) for _ in range(10)]
        single = [client.post("/warehouse/messages", json={"order_id": int(number), "text": "x"}) for _ in range(10)]
        reads = [client.get("/orders") for _ in range(10)]
        answers = await asyncio.gather(*wish, *single, *reads)
    assert {answer.status_code for answer in answers} == {200, 201}
    assert len({answer.content for answer in answers[:10]}) == 1
    assert effects(erp) == 11
