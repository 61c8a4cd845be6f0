"""What the ERP takes and answers. Amounts are in euros, numbers with at most two decimals."""

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from examples.systems.store import to_cents


def _exact(amount: float) -> float:
    to_cents(amount)
    return amount


Amount = Annotated[float, Field(gt=0, le=1_000_000), AfterValidator(_exact)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class Given(BaseModel):
    """A request body; what it does not know is an error."""

    model_config = ConfigDict(extra="forbid")


class OrderStatus(StrEnum):
    """Where an order stands; `open` is placed and not paid yet."""

    OPEN = "open"
    PAID = "paid"
    SHIPPED = "shipped"
    DELIVERED = "delivered"
    CANCELLED = "cancelled"


class Order(BaseModel):
    """An order."""

    id: int
    customer_id: str
    sku: str
    quantity: int
    status: OrderStatus
    paid: float
    refunded: float
    refundable: float = Field(description="What may still be refunded: paid minus refunded")


class OrderPage(BaseModel):
    """One page of orders."""

    items: list[Order]
    page: int
    pages: int


class NewRefund(Given):
    """A refund to make."""

    amount: Amount = Field(description="Amount to refund in euros")


class Refund(BaseModel):
    """A refund."""

    id: int
    order_id: int
    amount: float


class Product(BaseModel):
    """A product."""

    sku: str
    name: str
    price: float
    stock: int


class StockChange(Given):
    """How the stock changes."""

    change: int = Field(description="Pieces to add; negative to take away")


class NewMessage(Given):
    """A message to the warehouse."""

    order_id: int = Field(description="Order number")
    text: Text = Field(description="Message text")


class Message(BaseModel):
    """A message to the warehouse."""

    id: int
    order_id: int
    text: str
