"""The ERP's API."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Query, Response

from examples.systems.credentials import Credentials
from examples.systems.erp import idempotency, problems, tokens
from examples.systems.erp.idempotency import Once, once
from examples.systems.erp.models import (
    Message,
    NewMessage,
    NewRefund,
    Order,
    OrderPage,
    OrderStatus,
    Product,
    Refund,
    StockChange,
)
from examples.systems.erp.problems import ProblemError, documented
from examples.systems.practice import Books, add_practice, store_of
from examples.systems.store import Row, State, Store, from_cents, to_cents

_SCHEMA = """
CREATE TABLE IF NOT EXISTS products (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, price_cents INTEGER NOT NULL, stock INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS orders (
    id INTEGER PRIMARY KEY, customer_id TEXT NOT NULL, sku TEXT NOT NULL, quantity INTEGER NOT NULL,
    status TEXT NOT NULL, paid_cents INTEGER NOT NULL, refunded_cents INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS refunds (
    id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL, amount_cents INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS messages (
    id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL, text TEXT NOT NULL
) STRICT;
"""
_TABLES = ("products", "orders", "refunds", "messages")

_Db = Annotated[Store, Depends(store_of)]
_Once = Annotated[Once, Depends(once)]

_router = APIRouter(dependencies=[Depends(tokens.check_token)])


def create_app(
    store: Path | str,
    *,
    credentials: Credentials,
    seed: State | None = None,
    token_seconds: float = 120,
    token_store: Store | None = None,
    clock: Callable[[], float] = time.time,
) -> FastAPI:
    """Make the ERP over its own database.

    Args:
        store: the database file, or `:memory:` for a private one.
        credentials: what it asks of its callers.
        seed: what an empty database is filled with, and reset to.
        token_seconds: how long an access token lives.
        token_store: where tokens are kept, so that several copies recognise the same ones; its own database if absent.
        clock: seconds since some fixed moment, by which tokens expire.

    Returns:
        The application.
    """
    app = FastAPI(
        title="ERP", version="5.1.0", summary="Orders, refunds, stock and the warehouse", docs_url=None, redoc_url=None
    )
    own = Store(store, _SCHEMA + tokens.SCHEMA + idempotency.SCHEMA, _TABLES, (idempotency.TABLE,))
    app.state.desk = tokens.Desk(token_store or own, credentials, token_seconds, clock)
    problems.install(app)
    app.include_router(tokens.router)
    app.include_router(_router)
    add_practice(app, Books(own, seed), tokens.check_token)
    return app


@_router.get("/orders", operation_id="list_orders", summary="List orders", responses=documented(401, 422))
async def list_orders(
    db: _Db,
    customer_id: Annotated[str | None, Query(description="Only this customer's")] = None,
    status: Annotated[OrderStatus | None, Query(description="Only with this status")] = None,
    page: Annotated[int, Query(ge=1, description="Page number from 1")] = 1,
    page_size: Annotated[int, Query(ge=1, le=100, description="Orders on a page")] = 20,
) -> OrderPage:
    """Ordered by number."""
    found = db.rows(
        "SELECT * FROM orders WHERE (:customer IS NULL OR customer_id = :customer)"
        " AND (:status IS NULL OR status = :status) ORDER BY id",
        customer=customer_id,
        status=status,
    )
    shown = found[(page - 1) * page_size : page * page_size]
    return OrderPage(items=[_order(row) for row in shown], page=page, pages=-(-len(found) // page_size))


@_router.get(
    "/orders/{order_id}", operation_id="get_order", summary="Get an order", responses=documented(401, 404, 422)
)
async def get_order(db: _Db, order_id: int) -> Order:
    """Get an order by its number."""
    return _order(_found(db, "orders", order_id))


@_router.post(
    "/orders/{order_id}/cancel",
    operation_id="cancel_order",
    summary="Cancel an order that is not shipped",
    response_model=Order,
    responses=documented(401, 404, 409, 422),
)
async def cancel_order(act: _Once, order_id: int) -> Response:
    """One that is shipped, delivered or cancelled already is refused with 409."""
    return act.answer(lambda: _cancel(act.db, order_id), 200)


@_router.post(
    "/orders/{order_id}/refunds",
    operation_id="create_refund",
    summary="Refund money on a paid order",
    status_code=201,
    response_model=Refund,
    responses=documented(401, 404, 409, 422),
)
async def create_refund(act: _Once, order_id: int, refund: NewRefund) -> Response:
    """More than paid minus refunded is refused with 409."""
    return act.answer(lambda: _refund(act.db, order_id, to_cents(refund.amount)))


@_router.get(
    "/products/{sku}", operation_id="get_product", summary="Get a product and its stock", responses=documented(401, 404)
)
async def get_product(db: _Db, sku: str) -> Product:
    """Its price and how many are in stock."""
    return _product(_found(db, "products", sku))


@_router.post(
    "/products/{sku}/stock",
    operation_id="adjust_stock",
    summary="Add or remove stock",
    response_model=Product,
    responses=documented(401, 404, 409, 422),
)
async def adjust_stock(act: _Once, sku: str, stock: StockChange) -> Response:
    """Below zero is refused with 409."""
    return act.answer(lambda: _adjust(act.db, sku, stock.change), 200)


@_router.post(
    "/warehouse/messages",
    operation_id="message_warehouse",
    summary="Tell the warehouse something about an order",
    status_code=201,
    response_model=Message,
    responses=documented(401, 404, 422),
)
async def message_warehouse(act: _Once, message: NewMessage) -> Response:
    """The warehouse reads it before it handles the order again."""
    return act.answer(lambda: _tell(act.db, message))


def _found(db: Store, table: str, key: int | str) -> Row:
    row = db.row(f"SELECT * FROM {table} WHERE id = :id", id=key)  # noqa: S608  # own names
    if row is None:
        raise ProblemError(404, "not-found", "Not found", f"no {table.removesuffix('s')} {key}")
    return row


def _order(row: Row) -> Order:
    paid, refunded = int(row["paid_cents"] or 0), int(row["refunded_cents"] or 0)
    amounts = {"paid": paid, "refunded": refunded, "refundable": paid - refunded}
    return Order.model_validate({**row, **{name: from_cents(cents) for name, cents in amounts.items()}})


def _product(row: Row) -> Product:
    return Product.model_validate({**row, "sku": row["id"], "price": from_cents(int(row["price_cents"] or 0))})


def _cancel(db: Store, order_id: int) -> Order:
    row = _found(db, "orders", order_id)
    if row["status"] not in (OrderStatus.OPEN, OrderStatus.PAID):
        raise ProblemError(409, "not-cancellable", "Order cannot be cancelled", f"order {order_id} is {row['status']}")
    db.write("UPDATE orders SET status = 'cancelled' WHERE id = :id", id=order_id)
    db.count_effect("cancel_order", f"orders/{order_id}", {"status": "cancelled"})
    return _order({**row, "status": "cancelled"})


def _refund(db: Store, order_id: int, cents: int) -> Refund:
    order = _order(_found(db, "orders", order_id))
    if not order.paid:
        raise ProblemError(409, "not-paid", "Order is not paid", f"order {order_id} is not paid")
    if cents > to_cents(order.refundable):
        detail = f"only {order.refundable:.2f} can still be refunded on order {order_id}"
        raise ProblemError(409, "refund-exceeds-paid", "Refund exceeds what was paid", detail)
    db.write("UPDATE orders SET refunded_cents = refunded_cents + :cents WHERE id = :id", cents=cents, id=order_id)
    number = db.insert("refunds", {"order_id": order_id, "amount_cents": cents})
    db.count_effect("create_refund", f"refunds/{number}", {"order_id": order_id, "amount": from_cents(cents)})
    return Refund(id=number, order_id=order_id, amount=from_cents(cents))


def _adjust(db: Store, sku: str, change: int) -> Product:
    row = _found(db, "products", sku)
    stock = int(row["stock"] or 0) + change
    if stock < 0:
        raise ProblemError(409, "out-of-stock", "Not enough stock", f"only {row['stock']} of {sku} in stock")
    db.write("UPDATE products SET stock = :stock WHERE id = :id", stock=stock, id=sku)
    db.count_effect("adjust_stock", f"products/{sku}", {"change": change})
    return _product({**row, "stock": stock})


def _tell(db: Store, message: NewMessage) -> Message:
    _found(db, "orders", message.order_id)
    row: Row = {"order_id": message.order_id, "text": message.text}
    number = db.insert("messages", row)
    db.count_effect("message_warehouse", f"messages/{number}", row)
    return Message(id=number, order_id=message.order_id, text=message.text)
