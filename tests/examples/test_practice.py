from pathlib import Path

import httpx
import pytest

from examples.systems.company import seed_states
from examples.systems.crm.app import create_app as create_crm
from examples.systems.store import StateError, Store, from_cents, to_cents
from tests.examples.loopback import CREDENTIALS


def clients(crm: httpx.Client, erp: httpx.Client, cicd: httpx.Client) -> dict[str, httpx.Client]:
    return {"crm": crm, "erp": erp, "cicd": cicd}


def test_every_system_gives_back_the_state_it_was_given(
    crm: httpx.Client, erp: httpx.Client, cicd: httpx.Client
) -> None:
    for name, client in clients(crm, erp, cicd).items():
        assert client.get("/_practice/state").json() == seed_states(1)[name]
        client.put("/_practice/state", json=seed_states(2)[name]).raise_for_status()
        assert client.get("/_practice/state").json() == seed_states(2)[name]
        client.post("/_practice/reset").raise_for_status()
        assert client.get("/_practice/state").json() == seed_states(1)[name]


def test_health_asks_for_no_credential(addresses: dict[str, str]) -> None:
    for address in addresses.values():
        assert httpx.get(f"{address}/healthz").json() == {"status": "ok"}


@pytest.mark.parametrize(
    ("state", "fault"),
    [
        ({"dragons": {}}, "no such table: /dragons"),
        ({"orders": {"1": {"colour": "red"}}}, "/orders/1: no such field: colour"),
        ({"refunds": {"1": {"order_id": 1, "amount": 0.001}}}, "/refunds/1/amount: must have at most two decimals"),
        ({"refunds": {"1": {"order_id": 1, "amount": "all"}}}, "/refunds/1/amount: must be an amount of money"),
        ({"refunds": {"1": {"order_id": None, "amount": 1}}}, "/refunds/1: NOT NULL constraint failed"),
        ({"refunds": {"one": {"order_id": 1, "amount": 1}}}, "/refunds/one: "),
        ({"refunds": {"1": {"order_id": [], "amount": 1}}}, "/refunds/1/order_id: must be text, a number or null"),
    ],
)
def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(
    erp: httpx.Client, state: dict[str, object], fault: str
) -> None:
    refused = erp.put("/_practice/state", json={"products": {}, **state})
    assert refused.status_code == 422
    assert fault in refused.json()["detail"]
    assert erp.get("/_practice/state").json() == seed_states(1)["erp"]


def test_bookkeeping_columns_are_no_part_of_a_state(cicd: httpx.Client) -> None:
    refused = cicd.put("/_practice/state", json={"builds": {"1": {"service": "a", "status": "running", "_ready": 0}}})
    assert "no such field: _ready" in refused.json()["error"]["message"]


def test_a_database_file_outlives_its_app(tmp_path: Path) -> None:
    path = tmp_path / "crm.sqlite3"
    first = create_crm(path, credentials=CREDENTIALS, seed=seed_states(1)["crm"])
    first.state.books.store.insert("notes", {"customer_id": "C1", "text": "kept"})
    first.state.books.store.close()
    second = create_crm(path, credentials=CREDENTIALS, seed=seed_states(2)["crm"])
    assert second.state.books.at_rest() == {
        **seed_states(1)["crm"],
        "notes": {"1": {"customer_id": "C1", "text": "kept"}},
    }
    second.state.books.store.close()


def test_a_transaction_that_fails_leaves_nothing() -> None:
    store = Store(":memory:", "CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT) STRICT;", ("things",))

    def half() -> None:
        with store.transaction():
            store.insert("things", {"name": "half"})
            raise StateError("no")

    with pytest.raises(StateError):
        half()
    assert store.empty
    store.close()


@pytest.mark.parametrize(("amount", "cents"), [(0.29, 29), (19.99, 1999), (1.1, 110), (299.5, 29950), (10**9, 10**11)])
def test_money_is_exact_cents_inside(amount: float, cents: int) -> None:
    assert to_cents(amount) == cents
    assert from_cents(cents) == amount


@pytest.mark.parametrize("amount", [0.001, 19.999, float("inf"), float("nan")])
def test_an_amount_that_is_no_money_is_refused(amount: float) -> None:
    with pytest.raises(ValueError, match="must"):
        to_cents(amount)


def test_a_seed_always_makes_the_same_company() -> None:
    assert seed_states(3) == seed_states(3)
    assert seed_states(3) != seed_states(4)
    state = seed_states(3)
    assert {order["customer_id"] for order in state["erp"]["orders"].values()} <= set(state["crm"]["customers"])
    assert {order["sku"] for order in state["erp"]["orders"].values()} <= set(state["erp"]["products"])
