import httpx
import pytest

from examples.systems.company import seed_states


@pytest.mark.parametrize("headers", [{}, {"X-API-Key": "wrong"}])
def test_without_the_key_nothing_is_told(crm: httpx.Client, headers: dict[str, str]) -> None:
    for path in ("/customers", "/_practice/state", "/_practice/effects"):
        assert httpx.get(f"{crm.base_url}{path}", headers=headers).status_code == 401


def test_cursors_lead_through_every_customer_once(crm: httpx.Client) -> None:
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = crm.get("/customers", params={"limit": 7, **({"cursor": cursor} if cursor else {})}).json()
        seen += [customer["id"] for customer in page["items"]]
        cursor = page.get("next_cursor")
        if cursor is None:
            break
    assert seen == sorted(seed_states(1)["crm"]["customers"])


def test_a_cursor_that_was_never_given_is_refused(crm: httpx.Client) -> None:
    assert crm.get("/customers", params={"cursor": "\u00e9"}).status_code == 400
    customer = crm.get("/customers", params={"limit": 1}).json()["items"][0]["id"]
    assert crm.get(f"/customers/{customer}/notes", params={"cursor": "Q1g="}).status_code == 400


def test_customers_are_found_by_part_of_the_name_and_by_email(crm: httpx.Client) -> None:
    wanted = crm.get("/customers", params={"limit": 1}).json()["items"][0]
    by_name = crm.get("/customers", params={"name": wanted["name"].lower()[1:]}).json()["items"]
    assert wanted in by_name
    by_email = crm.get("/customers", params={"email": wanted["email"].upper()}).json()["items"]
    assert wanted in by_email
    assert all(customer["email"] == wanted["email"] for customer in by_email)
    assert crm.get("/customers", params={"name": "Nobody%"}).json() == {"items": []}


def test_an_update_changes_the_given_fields_only(crm: httpx.Client) -> None:
    before = crm.get("/customers", params={"limit": 1}).json()["items"][0]
    after = crm.patch(f"/customers/{before['id']}", json={"email": "new@mail.example"}).json()
    assert after == {**before, "email": "new@mail.example"}
    assert crm.get(f"/customers/{before['id']}").json() == after
    assert crm.get("/_practice/effects").json() == {
        "count": 1,
        "effects": [
            {
                "number": 1,
                "operation": "update_customer",
                "record": f"customers/{before['id']}",
                "detail": {"email": "new@mail.example"},
            }
        ],
    }


@pytest.mark.parametrize("change", [{}, {"email": "no address"}, {"vip": True}, {"email": None}])
def test_a_change_that_makes_no_sense_is_refused(crm: httpx.Client, change: dict[str, object]) -> None:
    customer = crm.get("/customers", params={"limit": 1}).json()["items"][0]["id"]
    assert crm.patch(f"/customers/{customer}", json=change).status_code == 422
    assert crm.get("/_practice/effects").json()["count"] == 0


def test_notes_are_listed_page_by_page_for_their_customer(crm: httpx.Client) -> None:
    one, other = (customer["id"] for customer in crm.get("/customers", params={"limit": 2}).json()["items"])
    for text in ("first", "second", "third"):
        assert crm.post(f"/customers/{one}/notes", json={"text": text}).status_code == 201
    crm.post(f"/customers/{other}/notes", json={"text": "not here"})
    page = crm.get(f"/customers/{one}/notes", params={"limit": 2}).json()
    rest = crm.get(f"/customers/{one}/notes", params={"limit": 2, "cursor": page["next_cursor"]}).json()
    assert [note["text"] for note in page["items"] + rest["items"]] == ["first", "second", "third"]
    assert "next_cursor" not in rest


def test_a_ticket_is_opened_for_a_known_customer_only(crm: httpx.Client) -> None:
    customer = crm.get("/customers", params={"limit": 1}).json()["items"][0]["id"]
    wish = {"customer_id": customer, "subject": "parcel is late", "priority": "high"}
    assert crm.post("/tickets", json=wish).json() == {"id": 1, **wish, "status": "open"}
    assert crm.post("/tickets", json={**wish, "customer_id": "C000"}).status_code == 404
    assert crm.post("/tickets", json={**wish, "priority": "urgent"}).status_code == 422
    assert crm.get("/_practice/effects").json()["count"] == 1


def test_what_does_not_exist_is_not_found(crm: httpx.Client) -> None:
    assert crm.get("/customers/C000").json() == {"detail": "no customer C000"}
    assert crm.get("/customers/C000/notes").status_code == 404
    assert crm.post("/customers/C000/notes", json={"text": "hello"}).status_code == 404
    assert crm.patch("/customers/C000", json={"city": "Oslo"}).status_code == 404
