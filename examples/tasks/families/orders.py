"""Tasks about orders and stock, some of which reach into the CRM."""

from examples.systems.store import Row, State
from examples.tasks.sketch import Brief, Sketch, call, created, updated

_CUSTOMERS, _ORDERS, _PRODUCTS = 5, 7, 4


class _Shop:
    """The CRM and the ERP of a small company, and the order that a task is about.

    Attributes:
        number: the order's number.
        order: the order.
        customer: id of its customer.
        start: the start state.
        entities: the order and its customer.
    """

    def __init__(self, brief: Brief, *statuses: str) -> None:
        """Draw them; the order has one of these statuses."""
        company = brief.company
        if brief.order is not None:
            company.reserve(brief.order)
        crm = company.crm(_CUSTOMERS)
        customers = list(crm["customers"])
        self._erp = company.erp(customers, _ORDERS, _PRODUCTS)
        self.number = brief.order or int(company.draw.choice(list(self._erp["orders"])))
        self.customer = company.draw.choice(customers)
        self.order: Row = company.order(self.customer, self._erp["products"], company.draw.choice(statuses))
        self._erp["orders"][str(self.number)] = self.order
        self.start: dict[str, State] = {"crm": crm, "erp": self._erp}
        self.entities = (f"order {self.number}", f"customer {self.customer}")

    @property
    def paid_cents(self) -> int:
        """What was paid for the order."""
        return round(float(self.order["paid"] or 0) * 100)

    def refund_part(self, cents: int) -> None:
        """Let a part of what was paid be refunded already."""
        self.order["refunded"] = cents / 100
        self._erp["refunds"]["1"] = {"order_id": self.number, "amount": cents / 100}


def _shop_with_rest(brief: Brief, *statuses: str) -> tuple[_Shop, float]:
    """A shop whose order can be refunded, every second time only in part; and the amount that is left."""
    shop = _Shop(brief, *statuses)
    part = brief.company.draw.randrange(100, shop.paid_cents // 2, 5) if brief.turn % 2 else 0
    if part:
        shop.refund_part(part)
    return shop, (shop.paid_cents - part) / 100


def order_status(brief: Brief) -> Sketch:
    """Tell an order's status: one read."""
    shop = _Shop(brief, "open", "paid", "shipped", "delivered", "cancelled")
    status = str(shop.order["status"])
    return Sketch(
        words={"order": str(shop.number)},
        start=shop.start,
        calls=(call("erp_get_order", order_id=shop.number),),
        conclusion=f"Order {shop.number} is {status}.",
        entities=shop.entities,
        answer=status,
    )


def stock_level(brief: Brief) -> Sketch:
    """Tell how many of a product are in stock: one read."""
    erp = brief.company.erp(["C0"], 0, 5)
    sku = brief.company.draw.choice(list(erp["products"]))
    stock = str(erp["products"][sku]["stock"])
    return Sketch(
        words={"sku": sku},
        start={"erp": erp},
        calls=(call("erp_get_product", sku=sku),),
        conclusion=f"There are {stock} of {sku} in stock.",
        entities=(f"product {sku}",),
        answer=stock,
    )


def refund_amount(brief: Brief) -> Sketch:
    """Refund a given amount: one call."""
    shop = _Shop(brief, "paid", "shipped", "delivered")
    amount = brief.company.amount(100, shop.paid_cents // 2)
    return Sketch(
        words={"order": str(shop.number), "amount": f"{amount:.2f}"},
        start=shop.start,
        calls=(call("erp_create_refund", order_id=shop.number, amount=amount),),
        conclusion=f"I refunded {amount:.2f} on order {shop.number}.",
        entities=shop.entities,
        expected=(
            updated(f"erp/orders/{shop.number}", refunded=amount),
            created("erp/refunds", order_id=shop.number, amount=amount),
        ),
    )


def cancel_order(brief: Brief) -> Sketch:
    """Cancel an order: one call."""
    shop = _Shop(brief, "open", "paid")
    return Sketch(
        words={"order": str(shop.number)},
        start=shop.start,
        calls=(call("erp_cancel_order", order_id=shop.number),),
        conclusion=f"Order {shop.number} is cancelled.",
        entities=shop.entities,
        expected=(updated(f"erp/orders/{shop.number}", status="cancelled"),),
    )


def refund_full(brief: Brief) -> Sketch:
    """Look up what is refundable and refund it: two calls."""
    shop, rest = _shop_with_rest(brief, "paid", "shipped", "delivered")
    return Sketch(
        words={"order": str(shop.number)},
        start=shop.start,
        calls=(
            call("erp_get_order", order_id=shop.number),
            call("erp_create_refund", order_id=shop.number, amount=rest),
        ),
        conclusion=f"I refunded {rest:.2f} on order {shop.number}.",
        entities=shop.entities,
        expected=(
            updated(f"erp/orders/{shop.number}", refunded=shop.paid_cents / 100),
            created("erp/refunds", order_id=shop.number, amount=rest),
        ),
    )


def customer_email(brief: Brief) -> Sketch:
    """Tell the email address of an order's customer: a read in the ERP, then one in the CRM."""
    shop = _Shop(brief, "open", "paid", "shipped", "delivered")
    email = str(shop.start["crm"]["customers"][shop.customer]["email"])
    return Sketch(
        words={"order": str(shop.number)},
        start=shop.start,
        calls=(call("erp_get_order", order_id=shop.number), call("crm_get_customer", customer_id=shop.customer)),
        conclusion=f"The email address is {email}",
        entities=(*shop.entities, f"email {email}"),
        answer=email,
    )


def cancel_and_note(brief: Brief) -> Sketch:
    """Cancel an order and note it on its customer: three calls in two systems."""
    shop = _Shop(brief, "open", "paid")
    text = f"Order {shop.number} was cancelled."
    return Sketch(
        words={"order": str(shop.number)},
        start=shop.start,
        calls=(
            call("erp_get_order", order_id=shop.number),
            call("erp_cancel_order", order_id=shop.number),
            call("crm_add_note", customer_id=shop.customer, text=text),
        ),
        conclusion=f"Order {shop.number} is cancelled and noted on customer {shop.customer}.",
        entities=shop.entities,
        expected=(
            updated(f"erp/orders/{shop.number}", status="cancelled"),
            created("crm/notes", customer_id=shop.customer, mentions={"text": str(shop.number)}),
        ),
    )


def broken_order(brief: Brief) -> Sketch:
    """Refund a broken order, note it on its customer and tell the warehouse: four calls in two systems."""
    shop, rest = _shop_with_rest(brief, "delivered")
    text = f"Order {shop.number} arrived broken."
    return Sketch(
        words={"order": str(shop.number)},
        start=shop.start,
        calls=(
            call("erp_get_order", order_id=shop.number),
            call("erp_create_refund", order_id=shop.number, amount=rest),
            call("crm_add_note", customer_id=shop.customer, text=text),
            call("erp_message_warehouse", order_id=shop.number, text=text),
        ),
        conclusion=f"I refunded {rest:.2f} on order {shop.number}, noted it and told the warehouse.",
        entities=shop.entities,
        expected=(
            updated(f"erp/orders/{shop.number}", refunded=shop.paid_cents / 100),
            created("erp/refunds", order_id=shop.number, amount=rest),
            created("crm/notes", customer_id=shop.customer, mentions={"text": str(shop.number)}),
            created("erp/messages", order_id=shop.number, mentions={"text": None}),
        ),
    )
