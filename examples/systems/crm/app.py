"""The CRM's API."""

import base64
import binascii
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request, Security
from fastapi.security import APIKeyHeader

from examples.systems.credentials import Credentials, same_secret
from examples.systems.crm.models import (
    Customer,
    CustomerChange,
    CustomerPage,
    NewNote,
    NewTicket,
    Note,
    NotePage,
    Ticket,
)
from examples.systems.practice import Books, add_practice, store_of
from examples.systems.store import Row, State, Store

_SCHEMA = """
CREATE TABLE IF NOT EXISTS customers (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, city TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS notes (
    id INTEGER PRIMARY KEY, customer_id TEXT NOT NULL, text TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS tickets (
    id INTEGER PRIMARY KEY, customer_id TEXT NOT NULL, subject TEXT NOT NULL, priority TEXT NOT NULL,
    status TEXT NOT NULL
) STRICT;
"""
_TABLES = ("customers", "notes", "tickets")


async def _check_key(
    request: Request, key: Annotated[str | None, Security(APIKeyHeader(name="X-API-Key", auto_error=False))]
) -> None:
    if not same_secret(key, request.app.state.credentials.crm_api_key):
        raise HTTPException(401, "missing or wrong X-API-Key")


_Db = Annotated[Store, Depends(store_of)]
_Cursor = Annotated[str | None, Query(description="next_cursor of the page before")]
_Limit = Annotated[int, Query(ge=1, le=100, description="Most items on a page")]

_router = APIRouter(dependencies=[Depends(_check_key)])


def create_app(store: Path | str, *, credentials: Credentials, seed: State | None = None) -> FastAPI:
    """Make the CRM over its own database.

    Args:
        store: the database file, or `:memory:` for a private one.
        credentials: what it asks of its callers.
        seed: what an empty database is filled with, and reset to.

    Returns:
        The application.
    """
    app = FastAPI(title="CRM", version="2.3.0", summary="Customers, notes and tickets", docs_url=None, redoc_url=None)
    app.state.credentials = credentials
    app.include_router(_router)
    add_practice(app, Books(Store(store, _SCHEMA, _TABLES), seed), _check_key)
    return app


@_router.get(
    "/customers",
    operation_id="find_customers",
    summary="Find customers by name or email",
    response_model_exclude_none=True,
)
async def find_customers(
    db: _Db,
    name: Annotated[str | None, Query(description="Part of the name")] = None,
    email: Annotated[str | None, Query(description="Exact email address")] = None,
    cursor: _Cursor = None,
    limit: _Limit = 20,
) -> CustomerPage:
    """Ordered by id; without a filter, all of them."""
    found = db.rows(
        "SELECT * FROM customers WHERE id > :after"
        " AND (:name IS NULL OR instr(lower(name), lower(:name)))"
        " AND (:email IS NULL OR lower(email) = lower(:email)) ORDER BY id LIMIT :limit",
        after=_after(cursor) or "",
        name=name,
        email=email,
        limit=limit + 1,
    )
    return CustomerPage(items=[Customer.model_validate(row) for row in found[:limit]], next_cursor=_next(found, limit))


@_router.get("/customers/{customer_id}", operation_id="get_customer", summary="Get a customer")
async def get_customer(db: _Db, customer_id: str) -> Customer:
    """Get a customer by id."""
    return Customer.model_validate(_customer(db, customer_id))


@_router.patch("/customers/{customer_id}", operation_id="update_customer", summary="Change a customer's data")
async def update_customer(db: _Db, customer_id: str, change: CustomerChange) -> Customer:
    """Fields that are not given stay as they are."""
    fields = change.model_dump(exclude_none=True)
    with db.transaction():
        row = _customer(db, customer_id) | fields
        db.write("UPDATE customers SET name = :name, email = :email, city = :city WHERE id = :id", **row)
        db.count_effect("update_customer", f"customers/{customer_id}", fields)
    return Customer.model_validate(row)


@_router.get(
    "/customers/{customer_id}/notes",
    operation_id="list_notes",
    summary="List a customer's notes",
    response_model_exclude_none=True,
)
async def list_notes(db: _Db, customer_id: str, cursor: _Cursor = None, limit: _Limit = 20) -> NotePage:
    """Oldest first."""
    _customer(db, customer_id)
    found = db.rows(
        "SELECT * FROM notes WHERE customer_id = :customer AND id > :after ORDER BY id LIMIT :limit",
        customer=customer_id,
        after=_after_number(cursor),
        limit=limit + 1,
    )
    return NotePage(items=[Note.model_validate(row) for row in found[:limit]], next_cursor=_next(found, limit))


@_router.post(
    "/customers/{customer_id}/notes", operation_id="add_note", summary="Add a note to a customer", status_code=201
)
async def add_note(db: _Db, customer_id: str, note: NewNote) -> Note:
    """Add a note to a customer."""
    row: Row = {"customer_id": customer_id, "text": note.text}
    with db.transaction():
        _customer(db, customer_id)
        number = db.insert("notes", row)
        db.count_effect("add_note", f"notes/{number}", row)
    return Note.model_validate({"id": number, **row})


@_router.post("/tickets", operation_id="create_ticket", summary="Open a ticket for a customer", status_code=201)
async def create_ticket(db: _Db, ticket: NewTicket) -> Ticket:
    """Open a ticket for a customer."""
    row: Row = {**ticket.model_dump(mode="json"), "status": "open"}
    with db.transaction():
        _customer(db, ticket.customer_id)
        number = db.insert("tickets", row)
        db.count_effect("create_ticket", f"tickets/{number}", row)
    return Ticket.model_validate({"id": number, **row})


def _customer(db: Store, customer_id: str) -> Row:
    row = db.row("SELECT * FROM customers WHERE id = :id", id=customer_id)
    if row is None:
        raise HTTPException(404, f"no customer {customer_id}")
    return row


def _next(found: list[Row], limit: int) -> str | None:
    """The cursor after the first `limit` rows, if there are more: opaque to callers, the last id to us."""
    if len(found) <= limit:
        return None
    return base64.urlsafe_b64encode(str(found[limit - 1]["id"]).encode()).decode()


def _after(cursor: str | None) -> str:
    try:
        return base64.b64decode((cursor or "").encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise HTTPException(400, "not a cursor of this list") from error


def _after_number(cursor: str | None) -> int:
    after = _after(cursor)
    if after and not after.isdecimal():
        raise HTTPException(400, "not a cursor of this list")
    return int(after or 0)
